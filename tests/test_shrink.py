"""A site gets lighter, looks the same, and is not touched twice."""

import base64
import io
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from chapter_files import ROOT
from fontTools.ttLib import TTFont
from PIL import Image

from tools import shrink

FONT = "katex/fonts/KaTeX_Main-Regular.woff2"
PAGE = (
    '<script defer src="_static/a.js?v=1"></script>'
    '<p class="note big">x &gt; y</p>'
)
SCRIPT = 'node.classList.add("open"); side("tip-" + where);'


@pytest.fixture
def used(tmp_path):
    (tmp_path / "a.js").write_text(SCRIPT, "utf-8")
    (tmp_path / "b.js").write_text('give("small")', "utf-8")  # no page has it
    return shrink.read_site([PAGE], tmp_path)


@pytest.mark.parametrize(
    ("sheet", "kept"),
    [
        ("p{a:b}", "p{a:b}"),
        (".note .big{a:b}", ".note .big{a:b}"),
        (".note .small{a:b}", ""),
        (".small,.note>p , .gone{a:b}", ".note>p{a:b}"),
        (".open,.tip-left{a:b}", ".open,.tip-left{a:b}"),
        ("p:not(.small){a:b}", "p:not(.small){a:b}"),
        ("p:is(:not(.a,.b),.c).small{a:b}", ""),
        ("@media print{.small{a:b}.note{c:d}}", "@media print{.note{c:d}}"),
        ("@media print{.small{a:b}}", ""),
        ("@font-face{src:url(a.b)}", "@font-face{src:url(a.b)}"),
        ("@keyframes x{0%{a:b}}", "@keyframes x{0%{a:b}}"),
        ('a:before{content:"."}', 'a:before{content:"."}'),
        # An icon by its number, which the fonts are searched for.
        (r'a:before{content:"\f002"}', r'a:before{content:"\f002 "}'),
    ],
)
def test_rules_stay_where_something_may_match(used, sheet, kept):
    assert shrink.shortened(sheet, used) == kept


def test_all_characters_of_the_pages_are_used(used):
    assert set("x > y") <= used.characters
    assert "z" not in used.characters


HEAD = """<html><head>
<script src="{0}_static/theme.js"></script>
<noscript><link rel="stylesheet" href="{0}_static/no.css" /></noscript>
<link rel="stylesheet" type="text/css" href="{0}_static/a.css?v=1" />
<script src="{0}_static/first.js?v=2"></script>
<script>let n = 1;</script>
<script>let m = 2;</script>
<script>let n = 1;</script>
<script>DOCUMENTATION_OPTIONS.pagename = 'page';</script>
<link rel="stylesheet" type="text/css" href="{0}_static/f/b.css" />
<script defer src="{0}_static/last.js"></script>
</head><body><p class="note">xy \u00e9</p></body></html>
"""
NAMES = re.compile(r'(?:href|src)="[^"]*_static/([^"?]+)')


@pytest.fixture
def site(tmp_path):
    """A site as Sphinx leaves it: two pages, two sheets, a font, a picture."""
    site = tmp_path / "html"
    (site / "_static" / "f").mkdir(parents=True)
    (site / "chapters").mkdir()
    (site / "_images").mkdir()
    (site / "index.html").write_text(HEAD.format(""), "utf-8")
    (site / "chapters" / "one.html").write_text(HEAD.format("../"), "utf-8")
    (site / "_static" / "template.html").write_text("{{ this }}")
    (site / "_static" / "a.css").write_text(".note{src:url(b.png)}.gone{c:d}")
    (site / "_static" / "f" / "b.css").write_text(
        'p{src:url("../x.woff2"),url(g.woff),url(data:x),url(/r),url(#s)}'
    )
    copy_font(site)
    draw(photograph(), site)
    return site


def copy_font(site: Path) -> None:
    """Do what Sphinx does to a static file that is not as it was."""
    (site / "_static" / FONT).parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(ROOT / "book" / "web" / FONT, site / "_static" / FONT)


def photograph(size: int = 200) -> np.ndarray:
    """Return noise on a slope: a PNG cannot shorten it."""
    noise = np.random.default_rng(0).normal(0, 4, (size, size, 1))
    slope = np.linspace(60, 180, size)[:, None, None]
    values = (slope + noise).repeat(4, axis=2).astype("uint8")
    values[..., 3] = 255
    return values


def draw(values: np.ndarray, site: Path) -> None:
    png = io.BytesIO()
    Image.fromarray(values).save(png, "PNG")
    text = base64.b64encode(png.getvalue()).decode()
    (site / "_images" / "a.svg").write_text(
        f'<image href="data:image/png;base64,\n{text}"/>', "utf-8"
    )


def files(site: Path) -> dict[Path, tuple[bytes, int]]:
    """Return what is where, and since when."""
    return {
        path: (path.read_bytes(), path.stat().st_mtime_ns)
        for path in site.rglob("*")
        if path.is_file()
    }


def characters(site: Path) -> set[str]:
    return {*map(chr, TTFont(site / "_static" / FONT).getBestCmap())}


def test_a_page_has_one_sheet_and_its_scripts_are_files_that_wait(site):
    shrink.shrink(site)
    for path, up in (("index.html", ""), ("chapters/one.html", "../")):
        text = (site / path).read_text("utf-8")
        names = NAMES.findall(text)
        theme, no, sheet, first, settings, last = names
        assert (theme, no, first, last) == (
            "theme.js",
            "no.css",
            "first.js",
            "last.js",
        )
        assert f'href="{up}_static/{sheet}"' in text
        assert (site / "_static" / sheet).read_text("utf-8") == (
            "/* a.css f/b.css */\n"
            '.note{src:url("../b.png")}\n'
            'p{src:url("../x.woff2"),url("../f/g.woff"),url(data:x),url(/r),'
            "url(#s)}\n"
        )
        script = (site / "_static" / settings).read_text("utf-8")
        assert script == "let n = 1;\nlet m = 2;\n"
        assert f'<script src="{up}_static/theme.js">' in text
        assert text.count("<script defer src=") == 3
        assert text.count("<script") == 4
        assert text.endswith(HEAD.partition("</head>")[2])


def test_a_font_holds_the_characters_of_the_pages(site):
    before = characters(site)
    shrink.shrink(site)
    assert {"x", "y", "\u00e9"} & before < characters(site)
    assert "z" in before - characters(site)


def test_a_photograph_becomes_lighter_and_looks_the_same(site):
    file = site / "_images" / "a.svg"
    before = file.stat().st_size
    shrink.shrink(site)
    assert file.stat().st_size < before / 2
    text = file.read_text("utf-8").split("base64,")[1].split('"')[0]
    image = Image.open(io.BytesIO(base64.b64decode(text)))
    assert image.format == "JPEG"
    error = np.asarray(image, float) - photograph()[..., :3]
    assert np.abs(error).mean() < 3


@pytest.mark.parametrize(("size", "alpha"), [(200, 254), (20, 255)])
def test_what_is_small_or_transparent_stays_exact(site, size, alpha):
    values = photograph(size)
    values[..., 3] = alpha
    draw(values, site)
    file = site / "_images" / "a.svg"
    before = file.read_bytes()
    shrink.shrink(site)
    assert file.read_bytes() == before


def test_after_another_build_all_pages_share_the_new_sheet(site):
    shrink.shrink(site)
    [old] = (site / "_static" / shrink.JOINED).iterdir()
    text = HEAD.format("").replace("note", "gone").replace("xy", "z")
    (site / "index.html").write_text(text, "utf-8")
    copy_font(site)
    shrink.shrink(site)
    [new] = (site / "_static" / shrink.JOINED).iterdir()
    assert new != old
    assert ".gone{c:d}" in new.read_text("utf-8")
    assert ".note{" in new.read_text("utf-8")  # of the other page
    for path in ("index.html", "chapters/one.html"):
        assert f"joined/{new.name}" in (site / path).read_text("utf-8")
    assert {"x", "y", "z"} < characters(site)
