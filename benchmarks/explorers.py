"""How soon an explorer shows what a mouse or a key asks for.

Each slider is dragged from end to end, each picture and table is crossed
with the button pressed, marks are chosen with the arrow keys, and numbers are
typed into each text field. Where little of that changes anything, the mouse
moves over the whole explorer. The clock runs in the page, from the moment
when the browser hands the move to the page until it has drawn the first frame
that differs. Up to 16 ms, every frame of a screen with 60 frames a second
shows the newest move. The browser hands over what a mouse does as a frame
begins, but a key at once: what then passes before the frame begins is the
screen's, and does not count. A slider is dragged without a rest; elsewhere a
rest follows each move, as only the page can tell which of them changes
anything: an answer later than that would belong to the next. What follows
outside of the page's thread, composing and the screen itself, is not in it.
"""

import random
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import Browser, Locator, Page

from benchmarks.browser import PAGES, chromium, read, start_explorers
from benchmarks.table import Row, percentile

Point = tuple[float, float]

LIMIT = 16
MOVES = 60
# Fewer answers than these come from something that does not follow a mouse.
FEWEST = 10
# A control is used until so many answers are there; sliders with few steps
# are dragged up to so many times.
ENOUGH = 100
TIMES = 8
SPACE = 8
LINE, MOST_LINES = 60, 30  # pixels between lines, lines
ROUNDS, STEPS = 30, 5  # rounds over marks, steps to each side
# ms, three frames and a bit. A key is pressed as long, as by a finger: if it
# came up at once, the browser would put off the clock until the frame after.
REST = 60
SETTLED = 2000  # ms
# A frame's drawing is over when the message arrives that it posted first. An
# event is over when it has bubbled up: no explorer answers in a task of its
# own, other than a frame.
# Two frames without a change: the move has changed nothing.
CLOCK = """root => {
  let start = null, frames = 0, changed = false, handled, frameBegan;
  const { port1, port2 } = new MessageChannel();
  globalThis.answers = [];
  new MutationObserver((records) => {
    changed ||= records.some(
      ({ target: { parentElement, closest }, target }) =>
        !(closest ? target : parentElement)?.closest("[aria-live]"));
  }).observe(root, {
    subtree: true, childList: true, attributes: true, characterData: true,
  });
  const begin = (time) => {
    if (start !== null) return;
    [start, frames, changed, handled, frameBegan] =
      [time, 0, false, Infinity, null];
  };
  // A slider and a text say themselves whether a move has changed them.
  let moved;
  for (const type of ["pointermove", "keydown"]) {
    addEventListener(type, ({ target }) => {
      moved = performance.now();
      if (!target.matches?.("input")) begin(moved);
    }, { capture: true });
  }
  let first;
  addEventListener("input", () => {
    first = start === null;
    begin(moved);
  }, { capture: true });
  addEventListener("keydown", () => (handled = performance.now()));
  // A slider may round to the value that it had.
  const said = new WeakMap();
  addEventListener("input", ({ target }) => {
    if (target.type === "text") handled = performance.now();
    if (target.type !== "range") return;
    if (first && said.get(target) === target.ariaValueText) start = null;
    said.set(target, target.ariaValueText);
  });
  port1.onmessage = () => {
    // Without its beginning, the frame began before the event.
    if (start === null || frameBegan === null) return;
    const waited = Math.max(0, frameBegan - handled);
    if (changed) answers.push(performance.now() - start - waited);
    if (changed || (frames += 1) > 2) start = null;
  };
  requestAnimationFrame(function frame() {
    frameBegan ??= performance.now();
    port2.postMessage(null);
    requestAnimationFrame(frame);
  });
}"""


def rows(site: Path) -> Iterator[Row]:
    """Yield one row for each explorer of the site, in reading order.

    Raises:
        RuntimeError: An explorer answers to nothing.
    """
    with chromium() as browser:
        for path in PAGES:
            if read(site / path).views:
                yield slowest(path, measure(browser, site / path))


def slowest(path: str, answers: dict[str, list[float]]) -> Row:
    """Return the row of an explorer: its control with the largest p95."""
    p95 = {
        name: percentile(times, 0.95)
        for name, times in answers.items()
        if len(times) >= FEWEST
    }
    if not p95:
        raise RuntimeError(f"{path}: the explorer answers to nothing")
    name = max(p95, key=p95.get)
    return Row(
        what=path,
        ours=p95[name],
        peer="limit",
        theirs=LIMIT,
        unit="ms",
        note=f"{name}, slowest of {len(p95)}; {len(answers[name])} answers",
    )


def measure(browser: Browser, file: Path) -> dict[str, list[float]]:
    """Return the times in ms that each control of an explorer took."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(file.as_uri())
    start_explorers(page)
    explorer = page.locator(".vitedu-explorer").first
    explorer.evaluate(CLOCK)
    # It may prepare for its reader in idle time.
    page.wait_for_timeout(SETTLED)
    found = {}
    for kind, use in CONTROLS.items():
        for place, control in enumerate(explorer.locator(kind).all(), 1):
            if control.is_visible():
                found[f"{kind} {place}"] = answers(page, control, use)
    if max(map(len, found.values()), default=0) < FEWEST:
        found["mouse over it"] = answers(page, explorer, cross)
    page.close()
    return found


def answers(page: Page, control: Locator, use) -> list[float]:
    """Use a control, and return what the clock has counted meanwhile."""
    control.scroll_into_view_if_needed()
    page.wait_for_timeout(500)
    page.evaluate("answers.length = 0")
    times = []
    for _ in use(page, control):
        page.wait_for_timeout(200)
        times = page.evaluate("[...answers]")
        if len(times) >= ENOUGH:
            break
    return times


def drag(page: Page, control: Locator) -> Iterator[None]:
    """Drag from the left end to the right one and back, again and again."""
    box = control.bounding_box()
    left, right = box["x"] + SPACE, box["x"] + box["width"] - SPACE
    y = box["y"] + box["height"] / 2
    for _ in range(TIMES):
        page.mouse.move(left, y)
        page.mouse.down()
        for x in (right, left):
            page.mouse.move(x, y, steps=MOVES)
        page.mouse.up()
        yield


def stroke(page: Page, control: Locator) -> Iterator[None]:
    """Move through its middle with the button pressed, left to right."""
    left, top, width, height = control.bounding_box().values()
    y = top + height / 2
    page.mouse.move(left + SPACE, y)
    page.mouse.down()
    walk(page, (left + SPACE, y), (left + width - SPACE, y), MOVES)
    page.mouse.up()
    yield


def cross(page: Page, control: Locator) -> Iterator[None]:
    """Move over it, line by line, here and there."""
    left, top, width, height = control.bounding_box().values()
    rows = range(int(top) + SPACE, int(top + height), LINE)
    columns = range(int(left) + SPACE, int(left + width), LINE)
    lines = [((left, y), (left + width, y)) for y in rows]
    lines += [((x, top), (x, top + height)) for x in columns]
    random.Random(0).shuffle(lines)
    for start, end in lines[:MOST_LINES]:
        walk(page, start, end, MOVES // 3)
        yield


def choose(page: Page, control: Locator) -> Iterator[None]:
    """Go from mark to mark with the arrow keys, around and around."""
    stop = control.locator("[role=radio][tabindex='0']")
    if not stop.count():  # the keyboard comes to it from another group
        return
    stop.focus()
    for _ in range(ROUNDS):
        for key in ("ArrowRight", "ArrowDown", "ArrowLeft", "ArrowUp"):
            for _ in range(STEPS):
                page.keyboard.press(key, delay=REST)
        yield


def walk(page: Page, start: Point, end: Point, moves: int) -> None:
    """Move in steps, and wait after each."""
    for move in range(moves + 1):
        share = move / moves
        x, y = (a + share * (b - a) for a, b in zip(start, end, strict=True))
        page.mouse.move(x, y)
        page.wait_for_timeout(REST)


def write(page: Page, control: Locator) -> Iterator[None]:
    """Type numbers, and delete them, again and again."""
    control.fill("")
    for _ in range(TIMES):
        for number in ("12345", "67", "9080"):
            control.press_sequentially(number, delay=REST)
            for _ in number:
                control.press("Backspace", delay=REST)
            yield


CONTROLS = {
    "input[type=range]": drag,
    "input[type=text]": write,
    "[role=radiogroup]": choose,
    "svg[role=img]": stroke,
    "canvas": stroke,
    "table": stroke,
}
