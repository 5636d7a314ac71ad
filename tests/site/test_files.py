"""The files of the built site: links, images, descriptions, weight."""

import gzip
import json
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from pages import ALL_PAGES, PAGES, ROOT, is_broken, read

# Chapter 16 has the most: the maps of its heads at both ends of training. They
# come out of a training run, so another processor moves the sum by some 8,000.
SCRIPT_LIMIT = 330_000
# With the 169,280 or 169,536 weights of a translator that runs in the page,
# and words for each of its stages.
TRANSLATOR_LIMIT = 440_000
# What a first visit brings before an explorer asks for more.
VISIT_LIMIT = 400_000
# The most letters that a page asks for: four faces for text, six for formulas.
LETTERS = 145_000
TRANSLATORS = {"chapters/09-transformer.html", "chapters/10-decoding.html"}
BOOK = "From Transformer to ViT"
SIDES = ("width", "height")
SHORTEST_ALT = 40


@cache
def packed(path: Path) -> int:
    """Return the weight of a file as it travels."""
    return len(gzip.compress(path.read_bytes(), 6))


def test_links_lead_somewhere(site):
    # 404.html has links from the root of the host.
    apart = {site.folder / path for path in ("404.html", "zh/404.html")}
    pages = {
        page
        for page in site.folder.rglob("*.html")
        if "_static" not in page.parts
    } - apart
    assert len(pages) > 150
    assert [
        (page.relative_to(site.folder), link)
        for page in pages
        for link in read(page).links
        if is_broken(page, link)
    ] == []


def first_visit(page: Path) -> int:
    """Return what a first visit to a page brings, at most.

    That is the document, its styles and scripts, letters, and the pictures
    that do not wait.
    """
    html = read(page)
    text = page.read_text(encoding="utf-8")
    named = {
        *re.findall(r'rel="stylesheet"[^>]* href="([^"]*)"', text),
        *(name for name in html.scripts if "/widget-state/" not in name),
        *(x["src"] for x in html.images if x.get("loading") != "lazy"),
        *re.findall(r'<image [^>]*\bhref="(?!data:)([^"]*)"', text),
    }
    files = {(page.parent / urlsplit(name).path).resolve() for name in named}
    return LETTERS + sum(map(packed, {page, *files}))


def test_a_first_visit_to_any_page_is_light(site):
    pages = {
        str(page.relative_to(site.folder)): page
        for page in site.folder.rglob("*.html")
        if "_static" not in page.parts and page.name != "404.html"
    }
    assert {*ALL_PAGES, *(f"zh/{path}" for path in ALL_PAGES)} <= {*pages}
    brought = {path: first_visit(page) for path, page in pages.items()}
    assert {
        path: weight
        for path, weight in brought.items()
        if weight > VISIT_LIMIT
    } == {}


def image_faults(path: str, image: dict[str, str]) -> Iterator[str]:
    """Say what an image lacks."""
    alt = image.get("alt", "")
    # What is in a drawing is described with it.
    in_drawing = image["src"].endswith((".avif", ".webp"))
    if in_drawing:
        if alt:
            yield "is described twice"
    elif "logo__image" not in image.get("class", "") and (
        len(alt) < SHORTEST_ALT or alt.startswith("_images/")
    ):
        yield "is not described"
    if not all(image.get(side, "").isdigit() for side in SIDES):
        yield "keeps no place until it arrives"
    drawn = "_images/" in image["src"]
    if path in PAGES and (image.get("loading") == "lazy") != drawn:
        yield f"is loaded {image.get('loading')}"


def page_faults(folder: Path, path: str) -> Iterator[str]:
    """Say what is wrong with the head and the images of a page."""
    page = folder / path
    html = read(page)
    for image in html.images:
        for fault in image_faults(path, image):
            yield f"{image['src']} {fault}"
    if (
        not html.title.endswith(BOOK)
        or html.title.count(BOOK) != 1
        or html.metas["og:title"] not in html.title
        or html.lang != "en"
    ):
        yield f"title or language: {html.title!r}, {html.lang!r}"
    card = (page.parent / html.metas["og:image"]).resolve()
    if (
        card.read_bytes()[:4] != b"\x89PNG"
        or html.metas["twitter:card"] != "summary_large_image"
    ):
        yield "no card"
    names = {urlsplit(script).path for script in html.scripts}
    weight = sum(packed((page.parent / s).resolve()) for s in names)
    if weight > (TRANSLATOR_LIMIT if path in TRANSLATORS else SCRIPT_LIMIT):
        yield f"scripts of {weight} bytes"
    for script in names:
        if re.search("mathjax|thebe|require|fontawesome", script):
            yield f"has {script}"
    if any("widget-host.js" in s for s in names) != bool(html.views):
        yield f"{html.views} widgets, and {names}"
    text = page.read_text(encoding="utf-8")
    head = re.sub(r"<noscript>.*?</noscript>", "", text, flags=re.DOTALL)
    if head.count('rel="stylesheet"') != 1:
        yield "styles do not come in one file"
    footer = text.partition('class="copyright"')[2]
    if path in PAGES and not (
        re.search(r'rel="[^"]*\blicense\b', footer) and "code: MIT" in footer
    ):
        yield "does not say what is allowed"
    if path in PAGES and not 50 <= len(html.metas["description"]) <= 170:
        yield f"description: {html.metas['description']!r}"


def test_every_page_is_light_and_says_what_it_is(site):
    assert [
        (path, fault)
        for path in ALL_PAGES
        for fault in page_faults(site.folder, path)
    ] == []
    pages = {path: read(site.folder / path) for path in ALL_PAGES}
    titles = [page.title for page in pages.values()]
    described = [pages[path].metas["description"] for path in PAGES]
    for texts in (titles, described):
        assert [x for x, times in Counter(texts).items() if times > 1] == []


def test_what_style_sheets_name_is_there(site):
    named = [
        sheet.parent / unquote(name.strip("\"'").split("?")[0].split("#")[0])
        for sheet in site.folder.rglob("*.css")
        for name in re.findall(r"url\(([^)]*)\)", sheet.read_text("utf-8"))
        if not name.strip("\"'").startswith(("data:", "#"))
    ]
    assert len(named) > 20
    assert [path for path in named if not path.is_file()] == []


def test_downloads_say_what_is_allowed(site):
    for notebook in (site.folder / "_sources/chapters").glob("*.ipynb"):
        last = json.loads(notebook.read_text(encoding="utf-8"))["cells"][-1]
        assert "CC BY 4.0" in "".join(last["source"]), notebook
        page = site.folder / f"chapters/{notebook.stem}.html"
        assert "© 2026 its authors" not in page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("kind", "page", "sentence"),
    [
        ("claim", "book/claims.html", "The book makes {} claims."),
        ("rung", "book/ladder.html", "The book proves {} rungs."),
    ],
)
def test_every_entry_is_in_its_ledger(site, kind, page, sentence):
    entries = {
        f"../{path}#{name}"
        for path in PAGES
        for name in read(site.folder / path).ids
        if name.startswith(f"{kind}-")
    }
    listed = [
        link for link in read(site.folder / page).links if f"#{kind}-" in link
    ]
    assert entries
    assert set(listed) == entries
    assert len(listed) == len(entries)
    text = (site.folder / page).read_text(encoding="utf-8")
    assert sentence.format(len(entries)) in text


def test_licences_travel_with_what_we_ship(site):
    licence = site.folder / "_static" / "katex" / "LICENSE"
    assert "MIT" in licence.read_text(encoding="utf-8")


def test_the_shipped_katex_is_the_one_that_draws(root):
    from sphinxcontrib import katex

    css = (ROOT / "book/web/katex/katex.min.css").read_text(encoding="utf-8")
    assert f'content:"{katex.katex_version}"' in css
    fonts = set(re.findall(r"fonts/([\w-]+\.woff2)", css))
    shipped = {p.name for p in (ROOT / "book/web/katex/fonts").iterdir()}
    assert fonts == shipped


def test_the_icon_fonts_hold_only_what_the_pages_use(site):
    fonts = list(site.folder.rglob("fa-*.woff2"))
    assert fonts
    assert max(font.stat().st_size for font in fonts) < 10_000
