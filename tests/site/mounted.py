"""Explorers on a page of their own, mounted by the book's widget host."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from axe_playwright_python.sync_playwright import Axe
from ipywidgets.embed import dependency_state
from playwright.sync_api import Browser, Locator, Page, expect
from vitedu_book.widget_state import scripts_of

from vitedu.widgets.base import Explorer

EXPLORER = ".vitedu-explorer"
TWO_FRAMES = """() => new Promise((done) =>
  requestAnimationFrame(() => requestAnimationFrame(done)))"""
STYLES = '<link rel="stylesheet" href="{}/book.css">'
VIEW = '<script type="application/vnd.jupyter.widget-view+json">{}</script>'


def elements(saved: dict) -> str:
    """Return script elements that hold saved widgets, as the site has them."""
    texts = [text.replace("</", "<\\/") for text in scripts_of(saved)]
    return "".join(f"<script>{text}</script>" for text in texts)


@contextmanager
def mounted(
    browser: Browser,
    root: Path,
    file: Path,
    widget: Explorer,
    *others: Explorer,
    views: int = 1,
    width: int = 900,
    theme: str = "light",
    book_css: bool = True,
    content_root: str | None = None,
    **context: str,
) -> Iterator[Page]:
    """Open a page from disk; until it is closed it must not throw or ask.

    With `content_root` it knows its way to the files of a site, as pages do.
    """
    shown = [*views * [widget], *others]
    state = {"state": dependency_state(shown, drop_defaults=False)}
    places = "".join(
        VIEW.format(json.dumps({"model_id": one.model_id})) for one in shown
    )
    web = f"{root.as_uri()}/book/web"
    way = f' data-content_root="{content_root}"' if content_root else ""
    file.write_text(
        f'<!doctype html><html lang="en" data-theme="{theme}"{way}><head>'
        '<meta charset="utf-8"><title>t</title>'
        f"{book_css * STYLES.format(web)}"
        f"{elements(state)}"
        f'<script defer src="{web}/widget-host.js"></script></head>'
        # As wide as the fonts of the site: texts wrap where they do there.
        '<body style="font-family: system-ui">'
        f"<main><h1>t</h1>{places}</main></body></html>",
        encoding="utf-8",
    )
    size = {"width": width, "height": 1000}
    page = browser.new_page(viewport=size, **context)
    errors, asked = [], []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(file.as_uri())
    expect(page.locator(EXPLORER)).to_have_count(len(shown))
    yield page
    page.close()
    assert errors == []
    inside = ("file:", "data:", "blob:")
    assert [url for url in asked if not url.startswith(inside)] == []


def explorer_of(page: Page) -> Locator:
    """Return the first explorer of a page."""
    return page.locator(EXPLORER).first


def stop_clock(page: Page) -> None:
    """Let time pass only by `page.clock.run_for`, however slow we are."""
    page.clock.install(time=0)
    page.clock.pause_at(3600)


def published(root: Locator) -> dict[str, object]:
    """Return the figures that an explorer puts on its page."""
    texts = root.evaluate("node => ({...node.dataset})")
    return {name: value_of(text) for name, text in texts.items()}


def value_of(text: str) -> object:
    """Return what a published text stands for."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


def expect_published(explorer: Locator, **values: object) -> None:
    """Wait until the page shows these settings; head_dim for headDim."""
    for name, value in values.items():
        kebab = name.replace("_", "-")
        expect(explorer).to_have_attribute(f"data-{kebab}", str(value))


def settle(page: Page) -> None:
    """Wait until explorers have drawn, and counted what they count."""
    page.evaluate(TWO_FRAMES)
    expect(page.locator("[aria-busy=true]")).to_have_count(0)


def ready(page: Page) -> Locator:
    """Wait like `settle`, and return the first explorer of a page."""
    settle(page)
    return explorer_of(page)


def button(page: Page, name: str) -> Locator:
    """Return the button with exactly this name."""
    return page.get_by_role("button", name=name, exact=True)


def press(page: Page, name: str) -> None:
    """Press the button with exactly this name."""
    button(page, name).click()


def wait_for_step(page: Page, step: int) -> None:
    """Wait until a training has come so far."""
    page.wait_for_function(
        "([root, step]) =>"
        " Number(document.querySelector(root).dataset.step) >= step",
        arg=[EXPLORER, step],
    )


def choose_setting(page: Page, name: str) -> None:
    """Press a named setting; it is then the one that holds."""
    setting = button(page, name)
    setting.click()
    expect(setting).to_have_attribute("aria-pressed", "true")
    expect(page.locator(".vitedu-settings [aria-pressed=true]")).to_have_count(
        1
    )


def accessibility_faults(page: Page) -> list[str]:
    """Return what axe finds inside the explorers of a page."""
    found = Axe().run(page, context=EXPLORER).response["violations"]
    return [
        f"{fault['id']}: {node['html']}"
        for fault in found
        for node in fault["nodes"]
    ]


def overflow(page: Page) -> int:
    """Return by how many pixels the page is wider than the window."""
    return page.evaluate(
        "document.documentElement.scrollWidth - window.innerWidth"
    )


def expect_accessible_and_inside(page: Page) -> None:
    """Let axe look at the explorers; nothing may stick out of the window."""
    assert accessibility_faults(page) == []
    assert overflow(page) == 0
