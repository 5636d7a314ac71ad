"""Pictures keep their place until they arrive, and arrive soon."""

import base64
import io
import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from PIL import Image
from sphinx.application import Sphinx
from sphinx.util.images import get_image_size

IMAGE = re.compile(r'<img (?=[^>]*\bsrc="[^"]*_images/(?P<name>[^"/]+)")')
# A drawing holds its photographs as PNG, seven times what a JPEG needs.
PHOTOGRAPH = re.compile(r"data:image/png;base64,([^\"]+)")
# Bytes of a PNG; drawings of numbers are smaller, and stay exact.
SMALL = 20_000


def setup(app: Sphinx) -> None:
    """Work on each page before it is written, and on the pictures after."""
    app.connect("html-page-context", reserve)
    app.connect("build-finished", compress)


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


def compress(app: Sphinx, exception: Exception | None) -> None:
    """Store the photographs inside of drawings as JPEG."""
    if exception is not None or app.builder.format != "html":
        return
    for drawing in Path(app.outdir, "_images").glob("*.svg"):
        text = drawing.read_text("utf-8")
        lighter = PHOTOGRAPH.sub(_as_jpeg, text)
        if lighter != text:
            drawing.write_text(lighter, "utf-8")


def _as_jpeg(found: re.Match[str]) -> str:
    data = base64.b64decode(found[1])
    image = Image.open(io.BytesIO(data))
    if len(data) < SMALL or image.convert("RGBA").getextrema()[3][0] < 255:
        return found[0]
    jpeg = io.BytesIO()
    image.convert("RGB").save(jpeg, "JPEG", quality=90, subsampling=0)
    text = base64.b64encode(jpeg.getvalue()).decode()
    return f"data:image/jpeg;base64,{text}"
