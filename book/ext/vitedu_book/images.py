"""Pictures are files of their own, and keep their place until they arrive.

A drawing comes with its photographs and maps as PNG in its text, where a
reader would wait for all of them before the first line of the page.
"""

import base64
import hashlib
import io
import re
from pathlib import Path

from PIL import Image
from sphinx.application import Sphinx
from sphinx.util.images import get_image_size

from .written import change_text, picture_file

# What does not say already how it is loaded.
IMAGE = re.compile(
    r'<img (?![^>]*\bloading=)(?=[^>]*\bsrc="[^"]*_images/(?P<name>[^"/]+)")'
)
PICTURE = re.compile(r"<image ([^>]*?)/?>(?:</image>)?")
ATTRIBUTE = re.compile(r'([\w-]+)="([^"]*)"')
DATA = "data:image/png;base64,"
FLIPPED = "scale(1 -1)"
# Bytes of a PNG; pictures of numbers are smaller, and stay exact.
PHOTOGRAPH = 20_000
# Bytes; to ask for less costs more than it weighs.
LEAST = 1_000


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


def take_out(drawing: str, folder: Path, address: str) -> str:
    """Put the pictures of a drawing into files, which are loaded when near.

    Browsers load each `<image>` of an SVG at once, even of one that is not
    shown; an `<img>` waits. The smallest pictures stay in the text.

    Args:
        drawing: SVG, to stand in a page.
        folder: Where the files go; it is made.
        address: Of that folder, as the page names it.
    """

    def moved(found: re.Match[str]) -> str:
        given = dict(ATTRIBUTE.findall(found[1]))
        if not given.get("href", "").startswith(DATA):
            return found[0]
        data = base64.b64decode(given.pop("href").removeprefix(DATA))
        image = Image.open(io.BytesIO(data))
        flipped = given.get("transform", "").startswith(FLIPPED)
        if flipped:
            image = image.transpose(Image.Transpose.FLIP_TOP_BOTTOM)
        placed = _placed(given, image.size, flipped)
        kind, content = _packed(image, len(data))
        if len(content) < LEAST:
            text = base64.b64encode(content).decode()
            source = f"data:image/{kind};base64,{text}"
            return f'<image {placed} href="{source}"/>'
        name = f"{hashlib.sha256(content).hexdigest()[:16]}.{kind}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
        size = 'width="{}" height="{}"'.format(*image.size)
        return (
            f'<foreignObject {placed}><img alt="" {size} loading="lazy" '
            f'src="{address}/{name}"></foreignObject>'
        )

    return PICTURE.sub(moved, drawing)


def _placed(
    given: dict[str, str], size: tuple[int, int], flipped: bool
) -> str:
    """Return attributes that put a box of so many pixels into a place.

    In its own units a box of HTML has whole pixels.

    Args:
        given: Attributes of the place; a height that is flipped goes up.
        size: Width and height in pixels.
        flipped: Whether the rows of the picture have been turned since.
    """
    x, y = (float(given.pop(name, 0)) for name in ("x", "y"))
    width, height = (float(given.pop(name)) for name in ("width", "height"))
    across, down = width / size[0], height / size[1]
    if flipped:
        y, down = y + height, -down
    transform = (
        f"{given.pop('transform', '')} translate({x:.6g} {y:.6g}) "
        f"scale({across:.6g} {down:.6g})"
    )
    box = {"width": size[0], "height": size[1], "transform": transform}
    return " ".join(f'{key}="{value}"' for key, value in (box | given).items())


def _packed(image: Image.Image, size: int) -> tuple[str, bytes]:
    """Return the format and the bytes of a picture whose PNG is that large."""
    file = io.BytesIO()
    opaque = image.convert("RGBA").getextrema()[3][0] == 255
    if opaque:
        image = image.convert("RGB")
    if opaque and size >= PHOTOGRAPH:
        # As true as a JPEG of quality 90, at half its weight.
        image.save(file, "AVIF", quality=80, subsampling="4:4:4")
        return "avif", file.getvalue()
    image.save(file, "WEBP", lossless=True)
    return "webp", file.getvalue()
