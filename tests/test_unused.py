"""Which rules of a style sheet stay, and which photographs get lighter."""

import base64
import io
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image
from vitedu_book import images, sheets, unused

PAGE = (
    '<script defer src="_static/a.js?v=1"></script>'
    '<p class="note big">x &gt; y</p>'
)
SCRIPT = 'node.classList.add("open"); side("tip-" + where);'


@pytest.fixture
def used(tmp_path):
    (tmp_path / "_static").mkdir()
    (tmp_path / "page.html").write_text(PAGE, "utf-8")
    (tmp_path / "_static" / "a.js").write_text(SCRIPT, "utf-8")
    # A template of the theme, and a script that no page loads.
    (tmp_path / "_static" / "t.html").write_text('<script src="b.js">')
    (tmp_path / "_static" / "b.js").write_text('give("small")', "utf-8")
    return unused.read_site(tmp_path)


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
    assert unused.shortened(sheet, used) == kept


def test_all_characters_of_the_pages_are_used(used):
    assert set("x > y") <= used.characters
    assert "z" not in used.characters


def drawing(values: np.ndarray, folder: Path) -> Path:
    png = io.BytesIO()
    Image.fromarray(values).save(png, "PNG")
    text = base64.b64encode(png.getvalue()).decode()
    file = folder / "_images" / "a.svg"
    file.parent.mkdir(exist_ok=True)
    file.write_text(f'<image href="data:image/png;base64,\n{text}"/>', "utf-8")
    return file


def compress(folder: Path, exception: Exception | None = None) -> None:
    html = SimpleNamespace(format="html")
    images.compress(SimpleNamespace(outdir=folder, builder=html), exception)


def test_a_photograph_becomes_lighter_and_looks_the_same(tmp_path):
    # Noise on a slope: a PNG cannot shorten it.
    noise = np.random.default_rng(0).normal(0, 4, (200, 200, 1))
    slope = np.linspace(60, 180, 200)[:, None, None]
    values = (slope + noise).repeat(4, axis=2).astype("uint8")
    values[..., 3] = 255
    file = drawing(values, tmp_path)
    before = file.stat().st_size
    compress(tmp_path)
    assert file.stat().st_size < before / 2
    text = file.read_text("utf-8").split("base64,")[1].split('"')[0]
    image = Image.open(io.BytesIO(base64.b64decode(text)))
    assert image.format == "JPEG"
    error = np.asarray(image, float) - values[..., :3]
    assert np.abs(error).mean() < 3
    again = file.read_bytes()
    compress(tmp_path)
    assert file.read_bytes() == again


@pytest.mark.parametrize("alpha", [254, 255])
def test_what_is_small_or_transparent_stays_exact(tmp_path, alpha):
    size = 200 if alpha < 255 else 20
    noise = np.random.default_rng(0).integers(0, 256, (size, size, 4))
    values = noise.astype("uint8")
    values[..., 3] = alpha
    file = drawing(values, tmp_path)
    before = file.read_bytes()
    compress(tmp_path)
    assert file.read_bytes() == before


def test_nothing_changes_after_a_failed_build(tmp_path):
    values = np.random.default_rng(0).integers(0, 256, (200, 200, 3))
    file = drawing(values.astype("uint8"), tmp_path)
    before = file.read_bytes()
    compress(tmp_path, RuntimeError())
    assert file.read_bytes() == before


def test_joined_sheets_keep_their_addresses_and_their_order(tmp_path):
    (tmp_path / "fonts").mkdir()
    (tmp_path / "a.css").write_text("a{src:url(b.png)}", "utf-8")
    (tmp_path / "fonts" / "f.css").write_text(
        'f{src:url("../x.woff2"),url(g.woff),url(data:x),url(/r),url(#s)}'
    )
    sheet = tmp_path / "joined" / "one.css"
    sheets.write(sheet, ["fonts/f.css", "a.css"])
    assert sheet.read_text("utf-8") == (
        'f{src:url("../x.woff2"),url("../fonts/g.woff"),url(data:x),url(/r),'
        'url(#s)}\na{src:url("../b.png")}'
    )
    with pytest.raises(FileNotFoundError, match="gone"):
        sheets.write(sheet, ["a.css", "gone.css"])
