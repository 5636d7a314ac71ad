"""Pictures keep their place until they arrive: the page must not jump."""

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
    """Write the size of each picture into the page's text."""
    sources = {name: path for path, name in app.builder.images.items()}

    def sized(found: re.Match[str]) -> str:
        path = Path(app.srcdir, sources[unquote(found["name"])])
        width, height = get_image_size(str(path))
        return f'{found[0]}width="{width}" height="{height}" '

    context["body"] = IMAGE.sub(sized, context.get("body", ""))
