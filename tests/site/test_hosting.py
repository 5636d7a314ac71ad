"""The site on a web host: its policy, its headers, its place, its 404."""

import re
import threading
from importlib.metadata import distribution
from urllib.request import urlopen

import pytest
import yaml
from conftest import watch
from pages import start_explorers
from playwright.sync_api import expect
from vitedu_book.hosting import _policy
from vitedu_book.third_party import FOLDER, MANIFEST, PACKAGES

from tools.serve import headers_of, make_server

OTHER = "chapters/16-looking-inside"
OWN = ("chapters/20-real-vit", "chapters/21-fine-tuning")
CHAPTER = f"{OTHER}.html"
POLICY = "Content-Security-Policy"
PLANTED = """async (kind) => {
  const told = new Promise((done) =>
    addEventListener("securitypolicyviolation", done, { once: true }));
  const element = document.createElement(kind);
  element.textContent = kind === "script" ? "window.planted = 1"
    : "h1 { color: rgb(1, 2, 3) !important }";
  document.head.append(element);
  // A second, where nothing is refused.
  await Promise.race([told, new Promise((go) => setTimeout(go, 1000))]);
  return [window.planted, getComputedStyle(document.querySelector("h1")).color]
}"""
BLOB = """async () => {
  const blob = new Blob(["export default 1"], { type: "text/javascript" });
  return import(URL.createObjectURL(blob)).then(() => "ran", () => "refused");
}"""
# In `_static`, made by the build out of the pages.
MADE = re.compile(
    r"settings/|widget-state/|networks/|joined/|licences/|previews/|"
    r"pygments\.css|katex-math\.css|documentation_options\.js|"
    r"search-index\.js|mystnb\.\w+\.css"
)


def test_every_answer_has_the_headers(site, root):
    assert (site.folder / ".nojekyll").is_file()
    expected = headers_of(root / "book" / "hosting")
    assert len(expected) == 6
    for path in ("index.html", "_static/book.js", "_static/favicon.png"):
        with urlopen(site.url(path)) as answer:
            sent = answer.headers
        assert [(name, sent[name]) for name, _ in expected] == expected


def parts_of(policy: str) -> set[str]:
    return set(policy.split("; "))


@pytest.mark.parametrize("page", OWN)
def test_a_page_may_do_what_its_explorer_needs(root, page):
    folder = root / "book" / "hosting"
    usual, own = (
        dict(headers_of(folder, f"/{it}.html")) for it in (OTHER, page)
    )
    assert {name for name in usual if own.get(name) != usual[name]} == {POLICY}
    loose, strict = parts_of(own[POLICY]), parts_of(usual[POLICY])
    assert strict - loose == {"script-src 'self'"}
    assert loose - strict == {
        "script-src 'self' 'wasm-unsafe-eval'",
        "worker-src blob:",
        "connect-src 'self'",
    }
    # The same stands in the pages, for hosts that send no headers.
    for it, headers in ((OTHER, usual), (page, own)):
        in_page, sent = parts_of(_policy(it)), parts_of(headers[POLICY])
        assert sent - in_page == {"frame-ancestors 'self'"}
        assert in_page < sent


def test_headers_are_those_of_the_rules_that_match(tmp_path):
    (tmp_path / "_headers").write_text(
        "/*\n  A: 1\n  B: 2: 3\n/c/d*\n  ! A\n  B: 4\n  C: 5\n",
        encoding="utf-8",
    )
    assert headers_of(tmp_path, "/c/") == [("A", "1"), ("B", "2: 3")]
    assert headers_of(tmp_path, "/c/d.html") == [("B", "4"), ("C", "5")]
    assert headers_of(tmp_path / "none", "/") == []


def test_what_is_planted_in_a_page_is_refused(open_page):
    page = open_page("book/notation.html")
    for kind in ("script", "style"):
        planted, colour = page.evaluate(PLANTED, kind)
        assert planted is None
        assert colour != "rgb(1, 2, 3)"
        message = f"policy: {kind}-src-elem forbids inline"
        assert message in page.console_errors
    assert page.evaluate(BLOB) == "refused"
    page.console_errors.clear()


def test_a_missing_page_is_answered_at_any_depth(open_page, site):
    page = open_page("no/such/chapter.html")
    expect(page.locator("h1").last).to_have_text("There is no such page")
    assert any("404" in error for error in page.console_errors)
    page.console_errors.clear()
    page.get_by_role("link", name="3. Scaled dot-product").first.click()
    expect(page).to_have_title(re.compile("Scaled dot-product"))
    assert page.url == site.url(
        "chapters/03-scaled-dot-product-attention.html"
    )


def test_a_site_without_an_address_names_none(site):
    # `SITE_URL` in the environment of these tests would be one.
    assert not (site.folder / "sitemap.xml").exists()
    assert not (site.folder / "robots.txt").exists()
    page = (site.folder / CHAPTER).read_text(encoding="utf-8")
    assert 'rel="canonical"' not in page
    assert "Content-Security-Policy" not in page


@pytest.fixture
def below(site, tmp_path):
    """Serve the site in a folder below the root of a host."""
    (tmp_path / "some").mkdir()
    (tmp_path / "some" / "path").symlink_to(site.folder)
    (tmp_path / "_headers").symlink_to(site.folder / "_headers")
    (tmp_path / "index.html").touch()
    with make_server(tmp_path) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/some/path/"
        server.shutdown()


def test_the_site_works_in_a_folder_of_a_host(below, browser):
    page = browser.new_page()
    watch(page, below)
    page.goto(below)
    expect(page).to_have_title(re.compile("From Transformer to ViT"))
    page.goto(below + CHAPTER)
    start_explorers(page)
    assert page.locator(".vitedu-explorer").count()
    page.goto(f"{below}search.html?q=softmax")
    first = page.locator("#search-results li p").first
    expect(first).to_contain_text(re.compile("softmax", re.IGNORECASE))
    page.locator("#search-results a").first.click()
    page.wait_for_url(re.compile(f"^{below}(book|chapters)/"))
    page.close()
    assert page.requests_outside == []
    assert page.console_errors == []


def test_everything_shipped_has_an_owner_and_a_licence(site, root):
    listed = yaml.safe_load(MANIFEST.read_text(encoding="utf-8"))
    owned = {
        f"{library['folder'].removeprefix('book/web/')}/{file}"
        for library in listed.values()
        for file in library["files"]
    }
    owned |= {path.name for path in (root / "book" / "web").iterdir()}
    packed = {
        # Some are templates there.
        file.name.removesuffix(".jinja").removesuffix("_t")
        for package in map(distribution, PACKAGES)
        for file in package.files
    }
    static = site.folder / "_static"
    unknown = [
        name
        for path in static.rglob("*")
        if path.is_file()
        and (name := path.relative_to(static).as_posix()) not in owned
        and path.name not in packed | {"predict.css"}
        and not MADE.match(name)
    ]
    assert unknown == []
    for name in (*listed, *(distribution(p).name for p in PACKAGES)):
        text = site.folder / FOLDER / f"{name}.txt"
        assert "Copyright" in text.read_text(encoding="utf-8"), name
