"""The widget host alone, on pages made by hand."""

import base64
import copy
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import dedent

import numpy as np
import pytest
from mounted import elements
from pages import ROOT
from playwright.sync_api import Browser, Page, expect
from vitedu_book.widget_state import scripts_of, write_states

COUNTER = """
function render({ model, el }) {
  const button = document.createElement("button");
  const draw = () => { button.textContent = `count ${model.get("count")}`; };
  button.onclick = () => {
    model.set("count", model.get("count") + 1);
    model.save_changes();
  };
  model.on("change:count", draw);
  draw();
  el.append(button);
}
export default { render };
"""


def any_model(esm: str, buffers: list[dict] | None = None, **state) -> dict:
    """Return the saved state of an anywidget."""
    return {
        "model_name": "AnyModel",
        "model_module": "anywidget",
        "state": {"_esm": dedent(esm), **state},
        "buffers": buffers or [],
    }


HEAD = """<!doctype html><html lang="en"><head><title>t</title>{saved}
<script defer src="{host}" {state}></script></head><body>{body}</body></html>
"""


def write_page(
    folder: Path, *views: str, before: str = "", state: str = "", saved=""
) -> str:
    """Write a page with a view of each id; return its address."""
    places = "".join(
        f'<div id="place-{number}"><script type="application/'
        f'vnd.jupyter.widget-view+json">{{"model_id": "{view}"}}'
        "</script></div>"
        for number, view in enumerate(views)
    )
    host = (ROOT / "book/web/widget-host.js").as_uri()
    text = HEAD.format(
        saved=saved,
        host=host,
        state=f'data-state="{state}"' if state else "",
        body=before + places,
    )
    (folder / "page.html").write_text(text, encoding="utf-8")
    return (folder / "page.html").as_uri()


@pytest.fixture(scope="module")
def one_page(browser: Browser) -> Iterator[Page]:
    """One page for all tests: a new one takes longer than they do."""
    page = browser.new_page()
    page.on("pageerror", lambda error: page.errors.append(str(error)))
    page.on("request", lambda request: page.loaded.append(request.url))
    yield page
    page.close()


@pytest.fixture
def page(one_page: Page) -> Iterator[Page]:
    """The page, which must not throw."""
    one_page.errors, one_page.loaded = [], []
    yield one_page
    assert one_page.errors == []


@pytest.fixture
def host_page(page: Page, tmp_path: Path) -> Callable[..., Page]:
    """Open a page from disk with these models and a view of each id."""

    def open_one(models: dict[str, dict], *views: str) -> Page:
        saved = elements({"state": copy.deepcopy(models)})
        page.goto(write_page(tmp_path, *views, saved=saved))
        return page

    return open_one


def test_views_share_the_state_of_their_model_alone(host_page):
    css = ".vitedu-widget { color: rgb(1, 2, 3); }"
    models = {
        "a": any_model(COUNTER, count=1, _css=css, _dom_classes=["wide"]),
        "b": any_model(COUNTER, count=7, _css=css),
    }
    page = host_page(models, "a", "a", "b")
    page.locator("#place-1 button").click()
    for place, count in enumerate((2, 2, 7)):
        button = page.locator(f"#place-{place} button")
        expect(button).to_have_text(f"count {count}")
    # Its style is put into the page once, its classes on the element.
    widget = page.locator("#place-0 > .vitedu-widget.wide")
    expect(widget).to_have_css("color", "rgb(1, 2, 3)")
    assert page.evaluate("document.adoptedStyleSheets.length") == 1


def test_binary_buffers_arrive_as_data_views_at_their_paths(host_page):
    numbers = np.array([1.5, -2.0, 4.0], "<f4")
    bytes_ = np.array([7, 8], "u1")
    esm = """
    export default { render({ model, el }) {
      const { data, shape } = model.get("array");
      const floats = [0, 1, 2].map((i) => data.getFloat32(4 * i, true));
      const nested = model.get("list")[1];
      el.textContent = [...floats, shape, nested.getUint8(1),
        data instanceof DataView].join(" ");
    } };
    """

    def buffer(path: list, array: np.ndarray) -> dict:
        data = base64.b64encode(array.tobytes()).decode()
        return {"path": path, "encoding": "base64", "data": data}

    model = any_model(
        esm,
        [buffer(["array", "data"], numbers), buffer(["list", 1], bytes_)],
        array={"shape": [3]},
        list=["first", None],
    )
    page = host_page({"a": model}, "a")
    expect(page.locator("#place-0")).to_have_text("1.5 -2 4 3 8 true")


def test_a_throwing_widget_says_so_and_leaves_the_others_alive(host_page):
    models = {
        "throws": any_model(
            "export default { render() { throw new Error('no axis'); } }"
        ),
        "no script": any_model("this is no JavaScript\nexport default 1"),
        "late": any_model(
            "export default { async render() { throw new Error('late'); } }"
        ),
        "other": {
            "model_name": "IntSliderModel",
            "model_module": "@jupyter-widgets/controls",
            "state": {},
        },
        "listens": any_model(
            """
            export default { render({ model, el }) {
              const see = () => { el.textContent = model.get("count"); };
              model.on("change:count", () => { throw new Error("heard"); });
              model.on("change:count", see);
              model.set("count", 2);
            } };
            """,
            count=1,
        ),
        "good": any_model(COUNTER, count=1),
    }
    page = host_page(models, *models, "absent")
    page.locator("#place-5 button").click()
    expect(page.locator("#place-5 button")).to_have_text("count 2")
    expect(page.locator("#place-4")).to_have_text("2")
    alerts = page.get_by_role("alert")
    expect(alerts).to_have_count(5)
    expect(alerts.nth(0)).to_have_text(
        "This interactive figure could not be started: no axis"
    )
    for place, words in {
        1: "its script is not in the page",
        2: "late",
        3: "IntSliderModel",
        4: "the page holds no widget absent",
    }.items():
        expect(alerts.nth(place)).to_contain_text(words)
    assert sorted(page.errors) == ["Unexpected identifier 'is'", "heard"]
    page.errors.clear()


def test_events_follow_backbone(host_page):
    esm = """
    export default { render({ model, el }) {
      const seen = [];
      const note = () => seen.push("dropped");
      model.on("change:a change:b", (_, value) => seen.push(value));
      model.on("change", () => seen.push("any"));
      model.on("change:a", note);
      model.off("change:a", note);
      model.set("a", 2);
      model.set("a", 2);
      model.set("list", [1, { x: 2 }]);
      model.set({ a: 3, b: 4 });
      model.off();
      model.set("a", 9);
      model.send({ type: "nobody listens" });
      el.textContent = seen.join(" ") + " / " + model.get("a");
    } };
    """
    model = any_model(esm, a=1, b=1, list=[1, {"x": 2}])
    page = host_page({"a": model}, "a")
    expect(page.locator("#place-0")).to_have_text("2 any 3 4 any / 9")


def test_cleanup_runs_when_the_page_is_left(host_page):
    esm = """
    const note = (word) => () => { document.title += " " + word; };
    export default { render({ model }) {
      model.on("change:n", note("heard"));
      document.title = "ready";
      return note("view");
    } };
    """
    page = host_page({"a": any_model(esm, n=1)}, "a")
    expect(page).to_have_title("ready")
    leave = """persisted =>
        dispatchEvent(new PageTransitionEvent("pagehide", { persisted }))"""
    page.evaluate(leave, True)
    expect(page).to_have_title("ready")
    page.evaluate(leave, False)
    expect(page).to_have_title("ready view")


@pytest.fixture
def far_page(page: Page, tmp_path: Path) -> Page:
    """Open a page of ten windows with a widget at its end and a state file."""
    state = {"state": {"a": any_model(COUNTER, count=1)}}
    (tmp_path / "state.js").write_text("".join(scripts_of(state)))
    long = '<p style="height: 1000vh">long</p>'
    page.goto(write_page(tmp_path, "a", before=long, state="state.js"))
    return page


def test_a_far_widget_waits_for_the_reader(far_page):
    def is_loaded() -> bool:
        return any(url.endswith("state.js") for url in far_page.loaded)

    far_page.mouse.wheel(0, 3000)
    far_page.wait_for_function("scrollY === 3000")
    assert not is_loaded()
    assert far_page.locator("button").count() == 0
    far_page.evaluate("scrollTo(0, document.body.scrollHeight - 1200)")
    expect(far_page.locator("#place-0 button")).to_have_text("count 1")
    assert is_loaded()
    assert far_page.locator(".vitedu-widget").count() == 1


def test_a_far_widget_starts_for_a_reader_with_a_keyboard(far_page):
    far_page.keyboard.press("Shift")
    expect(far_page.locator("#place-0 button")).to_have_text("count 1")
    far_page.keyboard.press("Tab")
    expect(far_page.locator("#place-0 button")).to_be_focused()


def test_a_missing_state_is_told(far_page, tmp_path):
    (tmp_path / "state.js").unlink()
    far_page.keyboard.press("Shift")
    expect(far_page.locator("#place-0 [role=alert]")).to_have_text(
        "This interactive figure could not be started: "
        "this script could not be loaded: state.js"
    )


ASKS = """
export default { render({ model, el }) {
  el.onclick = async () => {
    const found = ["kid", "kid", "other"].map(async (id) => {
      const kept = await model.widget_manager.get_model(id);
      return kept.get("data").getUint8(0);
    });
    el.textContent = await Promise.all(found).then(String, String);
  };
  el.textContent = "ask";
} };
"""


def test_bytes_are_loaded_when_a_widget_asks_and_once(page, tmp_path):
    def kept(data: str) -> dict:
        buffer = {"path": ["data"], "encoding": "base64", "data": data}
        module = "@jupyter-widgets/base"
        return {"model_module": module, "state": {}, "buffers": [buffer]}

    models = {"a": any_model(ASKS), "kid": kept("Bw=="), "other": kept("CQ==")}
    states = tmp_path / "states/of.js"
    write_states({"state": models}, states)
    page.goto(write_page(tmp_path, "a", state="states/of.js?v=1"))
    widget = page.locator(".vitedu-widget")
    expect(widget).to_have_text("ask")
    files = sorted(states.with_suffix("").iterdir())
    assert len(files) == 2
    assert not {file.as_uri() for file in files} & {*page.loaded}
    hidden = files[0].rename(tmp_path / "hidden.js")
    widget.click()
    expect(widget).to_have_text(
        f"Error: this script could not be loaded: {files[0].as_uri()}"
    )
    hidden.rename(files[0])
    widget.click()
    expect(widget).to_have_text("7,7,9")
    asked = [page.loaded.count(file.as_uri()) for file in files]
    assert asked == [2, 1]
