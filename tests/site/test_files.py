"""The files of the built site: links, images, descriptions, weight."""

import gzip
import json
import re
from collections import Counter
from urllib.parse import unquote, urlsplit

import pytest
from bs4 import BeautifulSoup
from pages import ALL_PAGES, PAGES, ROOT, is_broken, read

# Chapter 16 has the most: the maps of its heads at both ends of training.
SCRIPT_LIMIT = 310_000
# With the 169,280 or 169,536 weights of a translator that runs in the page,
# and words for each of its stages.
TRANSLATOR_LIMIT = 440_000
TRANSLATORS = {"chapters/09-transformer.html", "chapters/10-decoding.html"}
SIDES = ("width", "height")
SHORTEST_ALT = 40


@pytest.mark.parametrize("path", ["index.html", *ALL_PAGES])
def test_links_lead_somewhere(site, path):
    page = site.folder / path
    broken = [link for link in read(page).links if is_broken(page, link)]
    assert broken == []


def test_links_of_the_other_pages_lead_somewhere(site):
    # 404.html has links from the root of the host.
    apart = ["404.html", "zh/404.html"]
    known = {site.folder / path for path in [*ALL_PAGES, *apart]}
    others = {
        page
        for page in site.folder.rglob("*.html")
        if "_static" not in page.parts
    } - known
    assert len(others) > 50
    assert [
        (page.name, link)
        for page in others
        for link in read(page).links
        if is_broken(page, link)
    ] == []


def test_what_style_sheets_name_is_there(site):
    named = [
        sheet.parent / unquote(name.strip("\"'").split("?")[0].split("#")[0])
        for sheet in site.folder.rglob("*.css")
        for name in re.findall(r"url\(([^)]*)\)", sheet.read_text("utf-8"))
        if not name.strip("\"'").startswith(("data:", "#"))
    ]
    assert len(named) > 20
    assert [path for path in named if not path.is_file()] == []


@pytest.mark.parametrize("path", ALL_PAGES)
def test_every_image_is_described(site, path):
    images = [
        image
        for image in read(site.folder / path).images
        if "logo__image" not in image.get("class", "")
    ]
    alts = [image.get("alt", "") for image in images]
    assert [
        alt
        for alt in alts
        if len(alt) < SHORTEST_ALT or alt.startswith("_images/")
    ] == []


@pytest.mark.parametrize("path", ALL_PAGES)
def test_every_image_keeps_its_place_until_it_arrives(site, path):
    assert [
        image["src"]
        for image in read(site.folder / path).images
        if not all(image.get(side, "").isdigit() for side in SIDES)
    ] == []


def test_descriptions_are_there_and_each_says_something_else(site):
    described = {
        path: read(site.folder / path).metas["description"] for path in PAGES
    }
    assert [
        path for path, text in described.items() if not 50 <= len(text) <= 170
    ] == []
    assert max(Counter(described.values()).values()) == 1


@pytest.mark.parametrize("path", ALL_PAGES)
def test_page_has_a_title_a_language_and_a_card(site, path):
    html = read(site.folder / path)
    assert html.title.endswith("From Transformer to ViT")
    assert html.title.count("From Transformer to ViT") == 1
    assert html.lang == "en"
    card = site.folder / path
    card = (card.parent / html.metas["og:image"]).resolve()
    assert card.read_bytes()[:4] == b"\x89PNG"
    assert html.metas["og:title"] in html.title
    assert html.metas["twitter:card"] == "summary_large_image"


def test_titles_are_different(site):
    titles = [read(site.folder / path).title for path in ALL_PAGES]
    assert max(Counter(titles).values()) == 1


@pytest.mark.parametrize("path", ALL_PAGES)
def test_scripts_are_few(site, path):
    page = site.folder / path
    names = {urlsplit(script).path for script in read(page).scripts}
    weights = {
        script: len(gzip.compress((page.parent / script).read_bytes(), 6))
        for script in names
    }
    limit = TRANSLATOR_LIMIT if path in TRANSLATORS else SCRIPT_LIMIT
    assert sum(weights.values()) <= limit, weights
    assert [s for s in names if re.search("mathjax|thebe|require", s)] == []
    assert not [s for s in names if "fontawesome" in s]


def test_pages_and_downloads_say_what_is_allowed(site):
    for path in PAGES:
        text = (site.folder / path).read_text(encoding="utf-8")
        footer = BeautifulSoup(text, "html.parser").select_one(".copyright")
        assert footer.select_one('[rel~="license"]'), path
        assert "code: MIT" in footer.get_text(), path
    for notebook in (site.folder / "_sources/chapters").glob("*.ipynb"):
        last = json.loads(notebook.read_text(encoding="utf-8"))["cells"][-1]
        assert "CC BY 4.0" in "".join(last["source"]), notebook
        name = f"chapters/{notebook.stem}.html"
        assert "© 2026 its authors" not in (site.folder / name).read_text()


def test_styles_come_in_one_file(site):
    for path in ALL_PAGES:
        text = (site.folder / path).read_text(encoding="utf-8")
        head = re.sub(r"<noscript>.*?</noscript>", "", text, flags=re.DOTALL)
        assert head.count('rel="stylesheet"') == 1, path


def test_pictures_below_the_window_wait(site):
    for path in PAGES:
        for image in read(site.folder / path).images:
            drawn = "_images/" in image["src"]
            assert (image.get("loading") == "lazy") == drawn, path


def test_scripts_of_widgets_are_on_pages_with_widgets_only(site):
    for path in PAGES:
        html = read(site.folder / path)
        has_host = any("widget-host.js" in script for script in html.scripts)
        assert has_host == bool(html.views), path


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


def test_a_build_after_the_chapters_ran_executes_nothing(site, request):
    if not request.config.option.nbmake:
        pytest.skip("the chapters did not run in this session (--nbmake)")
    lines = site.build_log.splitlines()
    of_chapters = [line for line in lines if "chapters/" in line]
    assert [line for line in of_chapters if "Using cached" in line]
    assert [line for line in of_chapters if "Executing" in line] == []


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
