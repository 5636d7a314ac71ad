// The field in which one draws: with a pen, a finger, a mouse or keys.

import { html, newId, put, renew, svg, write } from "./core/dom.js";
import { onceAFrame } from "./core/frame.js";
import { PICTURE, inkSquares } from "./digit_picture.js";
import { inkOf } from "./follow_digit_ink.js";

// A point closer to the last one says nothing new, in shares of the field.
const CLOSE = 0.008;

// Calls `draw` with the ink of what is drawn, once a frame. `onto` lays another
// ground under what is drawn from then on: {ground, make, key, help} say which
// picture that is, what ink it has with strokes on it, which stroke a key
// makes, and what one may do; null is the empty field again.
export function drawingField({ label, help }, draw) {
  let strokes = [];
  let made = null; // the ink of these strokes
  let pen = null; // the pointer that is down
  let ink = new Uint8Array(PICTURE.side ** 2);
  let at = [3, 3]; // where the keys are
  let lay = null; // what one draws on
  const squares = svg("g");
  const line = svg("path", { class: "stroke" });
  const cursor = svg("rect", { class: "cursor", width: 1, height: 1 });
  const about = html("p", {
    class: "vitedu-hidden", id: newId(), text: help,
  });
  const root = html("div", {
    class: "field", tabindex: 0, role: "application", "aria-label": label,
    "aria-describedby": about.id,
    onpointerdown: down, onpointermove: move, onpointerup: up,
    onpointercancel: up, onkeydown: press,
  }, svg("svg", { viewBox: "0 0 8 8", "aria-hidden": "true" },
    squares, line, cursor), about);
  const send = onceAFrame(() => {
    made = lay ? lay.make(strokes) : inkOf(strokes);
    draw(made);
  });

  function pointOf(event) {
    const box = root.getBoundingClientRect();
    return [(event.clientX - box.x) / box.width,
      (event.clientY - box.y) / box.height];
  }
  function down(event) {
    if (pen !== null || event.button) return;
    pen = event.pointerId;
    root.setPointerCapture(pen);
    strokes.push([pointOf(event)]);
    redraw();
    send();
  }
  function move(event) {
    if (event.pointerId !== pen) return;
    const passed = event.getCoalescedEvents?.() ?? [];
    for (const one of passed.length ? passed : [event]) {
      const point = pointOf(one);
      const last = strokes.at(-1).at(-1);
      if (Math.hypot(point[0] - last[0], point[1] - last[1]) < CLOSE) continue;
      strokes.at(-1).push(point);
    }
    redraw();
    send();
  }
  function up(event) {
    if (event.pointerId === pen) pen = null;
  }
  function press(event) {
    const [row, column] = at;
    const end = PICTURE.side - 1;
    const to = {
      ArrowUp: [Math.max(0, row - 1), column],
      ArrowDown: [Math.min(end, row + 1), column],
      ArrowLeft: [row, Math.max(0, column - 1)],
      ArrowRight: [row, Math.min(end, column + 1)],
    }[event.key];
    const inks = event.key === " " || event.key === "Enter";
    const clears = event.key === "Delete" || event.key === "Backspace";
    if (!to && !inks && !clears) return;
    event.preventDefault();
    if (to) {
      at = to;
      redraw();
    } else if (lay) {
      const stroke = inks && lay.key(strokes, row, column);
      if (stroke) strokes.push(stroke);
      if (clears) strokes.pop();
      redraw();
      send();
    } else if (inks) {
      const changed = Uint8Array.from(ink);
      const pixel = row * PICTURE.side + column;
      // Nothing, half, full, nothing.
      changed[pixel] = changed[pixel] >= PICTURE.most
        ? 0 : Math.min(PICTURE.most, changed[pixel] + PICTURE.most / 2);
      draw(changed);
    } else {
      clear();
    }
  }
  function clear() {
    strokes = [];
    draw(new Uint8Array(PICTURE.side ** 2));
  }
  function undo() {
    strokes.pop();
    redraw();
    send();
  }
  function onto(other) {
    send.cancel();
    [lay, strokes, pen] = [other, [], null];
    made = lay && lay.make(strokes);
    root.classList.toggle("laid", lay !== null);
    write(about, lay ? lay.help : help);
    redraw();
  }
  function redraw() {
    const under = lay ? lay.ground() : strokes.length ? [] : ink;
    put(line, "d", strokes.map((stroke) => `M${stroke.concat([stroke[0]])
      .slice(0, Math.max(2, stroke.length))
      .map(([x, y]) => `${(8 * x).toFixed(2)} ${(8 * y).toFixed(2)}`)
      .join("L")}`).join(""));
    renew(squares, inkSquares(under));
    put(cursor, "y", String(at[0]));
    put(cursor, "x", String(at[1]));
  }
  // Strokes stay while the picture is theirs.
  function show(shown) {
    if (pen === null && made?.some((pixel, i) => pixel !== shown[i])) {
      strokes = [];
      made = null;
    }
    ink = shown;
    redraw();
  }
  return { root, show, clear, undo, onto, dispose: send.cancel };
}
