"""Pictures keep their place until they arrive."""

import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from sphinx.application import Sphinx
from sphinx.util.images import get_image_size

IMAGE = re.compile(r'<img (?=[^>]*\bsrc="[^"]*_images/(?P<name>[^"/]+)")')


def setup(app: Sphinx) -> None:
    """Work on each page before it is written."""
    app.connect("html-page-context", reserve)


def reserve(
    app: Sphinx,
    pagename: str,
    templatename: str,
    context: dict[str, Any],
    doctree: Any,
) -> None:
    """Give each picture its size, and let the far ones wait."""
    sources = {name: path for path, name in app.builder.images.items()}

    def sized(found: re.Match[str]) -> str:
        path = Path(app.srcdir, sources[unquote(found["name"])])
        width, height = get_image_size(str(path))
        size = f'width="{width}" height="{height}"'
        return f'{found[0]}{size} loading="lazy" '

    context["body"] = IMAGE.sub(sized, context.get("body", ""))
