"""Pictures keep their place until they arrive."""

import re

from sphinx.application import Sphinx
from sphinx.util.images import get_image_size

from .written import change_text, picture_file

IMAGE = re.compile(r'<img (?=[^>]*\bsrc="[^"]*_images/(?P<name>[^"/]+)")')


def setup(app: Sphinx) -> None:
    """Work on each page before it is written."""
    change_text(app, reserve)


def reserve(app: Sphinx, body: str) -> str:
    """Give each picture its size, and let the far ones wait."""

    def sized(found: re.Match[str]) -> str:
        file = picture_file(app, found["name"])
        width, height = get_image_size(str(file))
        size = f'width="{width}" height="{height}"'
        return f'{found[0]}{size} loading="lazy" '

    return IMAGE.sub(sized, body)
