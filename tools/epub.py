"""Make an e-book of the built site: python -m tools.epub [LANGUAGE]

It is an EPUB 3, written into `_build/from-transformer-to-vit.epub`, that of
the site in Chinese into `_build/from-transformer-to-vit-zh.epub`. Formulas are
MathML, figures are those of the site, explorers are photographed as they open;
nothing in it runs.
"""

import html
import io
import mimetypes
import re
import sys
import zipfile
from datetime import UTC, datetime
from pathlib import Path
from uuid import NAMESPACE_URL, uuid5

from bs4 import Tag
from playwright.sync_api import Browser

from tools import ensure_browser, paper, stills
from tools.translated import saying, site_of, target
from vitedu.atomic_files import write_whole

BOOK = "from-transformer-to-vit.epub"
KEPT = {
    *("alt", "class", "colspan", "height", "href", "id", "rowspan", "scope"),
    *("src", "start", "style", "title", "type", "width"),
}
LIGHT = re.compile(
    r'^html\[data-theme="light"\] (\.highlight .*)', re.MULTILINE
)
DOCTYPE = re.compile(rb"<!DOCTYPE[^>]*>")
EMPTY_PATH = re.compile(rb"<path (?![^>]*\bd=)")
CONTAINER = """<?xml version="1.0" encoding="utf-8"?>
<container version="1.0"
    xmlns="urn:oasis:names:tc:opendocument:xmlns:container">
  <rootfiles>
    <rootfile full-path="EPUB/package.opf"
        media-type="application/oebps-package+xml"/>
  </rootfiles>
</container>
"""
PAGE = """<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE html>
<html xmlns="http://www.w3.org/1999/xhtml"
    xmlns:epub="http://www.idpf.org/2007/ops"
    lang="{language}" xml:lang="{language}">
<head>
<title>{title}</title>
<link rel="stylesheet" type="text/css" href="style.css"/>
</head>
<body>
{body}
</body>
</html>
"""
PACKAGE = """<?xml version="1.0" encoding="utf-8"?>
<package xmlns="http://www.idpf.org/2007/opf" version="3.0"
    unique-identifier="id" xml:lang="{language}">
  <metadata xmlns:dc="http://purl.org/dc/elements/1.1/">
    <dc:identifier id="id">urn:uuid:{identifier}</dc:identifier>
    <dc:title>{title}</dc:title>
    <dc:language>{language}</dc:language>
    <dc:creator>{authors}</dc:creator>
    <dc:rights>{rights}</dc:rights>
    <meta property="dcterms:modified">{modified}</meta>
  </metadata>
  <manifest>
{manifest}
  </manifest>
  <spine>
{spine}
  </spine>
</package>
"""


def main(language: str = "") -> None:
    """Write the e-book, and say where it is."""
    site, path = site_of(language), target(BOOK, language)
    path.parent.mkdir(exist_ok=True)
    pages = [page for _, pages in paper.contents() for page in pages]
    with ensure_browser.started() as browser:
        write_whole(path, pack(browser, site, pages, language))
    print(f"The e-book is {path.relative_to(paper.ROOT)}")


def pack(
    browser: Browser, site: Path, pages: list[str], language: str = ""
) -> bytes:
    """Return an EPUB of pages of the site.

    Args:
        browser: A running Chromium.
        site: The folder of the built site.
        pages: Pages as in `_toc.yml`, such as `chapters/04-masking`. Links
            to other pages of the site become plain words.
        language: Of the site.

    Raises:
        FileNotFoundError: The site has no such page, or a page no such image.
    """
    say, folder = saying(language), target("stills", language)
    sections = {}
    for page in pages:
        pictures = stills.photograph(browser, site, page, folder)
        sections[page] = paper.read(site, page, say, pictures)
    for section in sections.values():
        _write_out_machines(section)
    titles = {page: paper.title(text) for page, text in sections.items()}
    files = {
        "nav.xhtml": _navigation(titles, language).encode(),
        "style.css": _style(site).encode(),
    }
    for page, section in sections.items():
        paper.link(section, page, lambda *where: _address(titles, *where))
        files.update(_images(section, site / page))
        _make_plain(section)
        text = _page(titles[page], section, language)
        files[_name(page)] = text.encode()
    order = [_name(page) for page in pages]
    files["package.opf"] = _package(files, order, language).encode()
    return _zipped(files)


def _page(title: str, body: object, language: str) -> str:
    return PAGE.format(
        title=html.escape(title), body=body, language=language or "en"
    )


def _name(page: str) -> str:
    return f"{paper.name(page)}.xhtml"


def _address(titles: dict[str, str], page: str, place: str) -> str | None:
    if page not in titles:
        return None
    return f"{_name(page)}#{place}" if place else _name(page)


def _write_out_machines(section: Tag) -> None:
    """Put lists in place of the drawings whose parts are links."""
    for drawing in section.select(".machine-map svg"):
        for lane in drawing.select("[role=list]"):
            for chip in lane.select(".chip"):
                chip.decompose()
            for link in lane.select("a"):
                link.string = link.title.get_text()
                link.parent.name = "li"
            lane.name = "ol"
            lane.insert_before(lane["aria-label"])
        for element in drawing.select("svg > text, [aria-hidden]"):
            element.decompose()
        drawing.name = "div"


def _images(section: Tag, page: Path) -> dict[str, bytes]:
    """Return the images of a page, and point the page to them."""
    files = {}
    for image in section.select("img"):
        path = (page.parent / image["src"]).resolve()
        image["src"] = f"images/{path.name}"
        files[image["src"]] = _clean(path.name, path.read_bytes())
    return files


def _clean(name: str, image: bytes) -> bytes:
    """Drop from a drawing what the format does not allow."""
    if not name.endswith(".svg"):
        return image
    # The type of the document names files of another server; a glyph without
    # a line, such as a space, has to say so.
    return EMPTY_PATH.sub(rb'<path d="" ', DOCTYPE.sub(b"", image))


def _make_plain(section: Tag) -> None:
    """Make formulas MathML, and keep what the format knows."""
    for formula in section.select(".katex"):
        math = formula.select_one("math")
        source = math.annotation.extract().get_text()
        math["alttext"] = " ".join(source.split())
        math.semantics.unwrap()
        formula.replace_with(math)
    for element in (section, *section.find_all(True)):
        if element.name != "math" and not element.find_parent("math"):
            for name in element.attrs.keys() - KEPT:
                del element[name]


def _style(site: Path) -> str:
    colours = (site / "_static" / "pygments.css").read_text(encoding="utf-8")
    own = Path(__file__).with_name("epub.css").read_text(encoding="utf-8")
    return "\n".join([own, *LIGHT.findall(colours)])


def _navigation(titles: dict[str, str], language: str) -> str:
    say = saying(language)
    parts, title = [], say("Contents")
    for caption, pages in paper.contents():
        lines = "".join(
            f'<li><a href="{_name(page)}">{html.escape(titles[page])}</a></li>'
            for page in pages
            if page in titles
        )
        words = html.escape(say(caption))
        named = f"<li><span>{words}</span><ol>{lines}</ol></li>"
        parts.append(named if caption and lines else lines)
    body = (
        f'<nav epub:type="toc" id="toc"><h1>{title}</h1>'
        f"<ol>{''.join(parts)}</ol></nav>"
    )
    return _page(title, body, language)


def _package(files: dict[str, bytes], order: list[str], language: str) -> str:
    say = saying(language)
    numbers = {name: f"file-{n}" for n, name in enumerate(files)}
    manifest = [
        f'    <item id="{numbers[name]}" href="{name}" '
        f'media-type="{_kind(name)}"{_properties(name, content)}/>'
        for name, content in files.items()
    ]
    spine = [
        f'    <itemref idref="{numbers[name]}"/>'
        for name in [order[0], "nav.xhtml", *order[1:]]
    ]
    return PACKAGE.format(
        identifier=uuid5(NAMESPACE_URL, target(BOOK, language).stem),
        title=say("From Transformer to ViT"),
        language=language or "en",
        authors=say("The authors of From Transformer to ViT"),
        rights=say("Text and figures: CC BY 4.0. Code: MIT."),
        modified=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        manifest="\n".join(manifest),
        spine="\n".join(spine),
    )


def _kind(name: str) -> str:
    if name.endswith(".xhtml"):
        return "application/xhtml+xml"
    return mimetypes.guess_type(name)[0]


def _properties(name: str, content: bytes) -> str:
    if name == "nav.xhtml":
        return ' properties="nav"'
    has_math = name.endswith(".xhtml") and b"<math" in content
    return ' properties="mathml"' if has_math else ""


def _zipped(files: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        # Readers look for it at a fixed place, uncompressed.
        archive.writestr(
            "mimetype", "application/epub+zip", zipfile.ZIP_STORED
        )
        archive.writestr("META-INF/container.xml", CONTAINER)
        for name, content in files.items():
            archive.writestr(f"EPUB/{name}", content)
    return packed.getvalue()


if __name__ == "__main__":
    main(*sys.argv[1:])
