"""An explorer on a host, under the policy that a page of the book has."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from conftest import watch
from ipywidgets.embed import dependency_state
from playwright.sync_api import Browser, Page
from vitedu_book.widget_state import HOST, scripts_of

from tools.serve import make_server
from vitedu.widgets.base import Explorer


@contextmanager
def serving(
    root: Path, folder: Path, browser: Browser, make: Callable[[], Explorer]
) -> Iterator[Callable[..., Page]]:
    """Give a way to open an explorer at an address, until the end.

    `folder` becomes the site; `change` is what happens to the text of the
    policies. The page has `asked`, the addresses that it has asked for.
    """
    pages = []

    def open_one(at: str, change=lambda policies: policies) -> Page:
        headers = (root / "book/hosting/_headers").read_text("utf-8")
        (folder / "_headers").write_text(change(headers), "utf-8")
        (folder / "index.html").touch()
        script = (root / "book/web" / HOST).read_text("utf-8")
        (folder / "_static" / HOST).write_text(script, "utf-8")
        explorer = make()
        state = {"state": dependency_state(explorer, drop_defaults=False)}
        text = "".join(scripts_of(state))
        (folder / "_static" / "state.js").write_text(text, "utf-8")
        path = folder / at
        path.parent.mkdir(exist_ok=True)
        path.write_text(
            '<!doctype html><html lang="en" data-content_root="../">'
            "<head><title>t</title><link rel=icon href=data:,>"
            '<script defer src="../_static/state.js"></script>'
            f'<script defer src="../_static/{HOST}"></script></head><body>'
            '<script type="application/vnd.jupyter.widget-view+json">'
            f'{{"model_id": "{explorer.model_id}"}}</script></body></html>',
            encoding="utf-8",
        )
        server = make_server(folder)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}"
        page = browser.new_page()
        watch(page, address)
        page.asked = []
        page.on("request", lambda request: page.asked.append(request.url))
        pages.append((page, server))
        page.goto(f"{address}/{at}")
        return page

    yield open_one
    for page, server in pages:
        page.close()
        server.shutdown()
        server.server_close()
