// Attention in the plane: a query turns, and the output follows.

import WORDS from "./attention_plane.words.json" with { type: "json" };
import { attend, pointAt, rowsOf } from "./attention_plane_maths.js";
import { decodeArray } from "./core/arrays.js";
import {
  button, noted, panel, range, settingButtons, titled,
} from "./core/controls.js";
import { fill, html, svg, write } from "./core/dom.js";
import { explorer, followTraits, setTraits } from "./core/frame.js";
import { whileSeen } from "./core/frames.js";
import { sentence, tidy } from "./core/texts.js";
import { makeTools } from "./core/tools.js";

// What the buttons set.
const STILL = { angle: 24, playing: false };
const LENGTHS = {
  "long query": { ...STILL, length: 4 },
  "short query": { ...STILL, length: 0.5 },
  "no length": { ...STILL, length: 0 },
};
// A tour of the words on the first page.
const TOUR_NAMES = "river water shore money loan coin the";

// The plane runs from -REACH to REACH in both directions.
const REACH = 4.4;
const SIDE = 320;
const MAX_LENGTH = 4;
const DEGREES_PER_SECOND = 6;
const THICKEST = 14;
// What stands for what, around (0, 0).
const SIGNS = {
  query: () => svg("path", { class: "tip", d: "M13 0L-10 10L-5 0L-10 -10z" }),
  key: () => svg("circle", { class: "key", r: 6 }),
  value: () => svg("rect", {
    class: "value", x: -6, y: -6, width: 12, height: 12,
  }),
  output: () => svg("path", { class: "output", d: "M0 -11L11 0L0 11L-11 0z" }),
  mean: () => svg("circle", { class: "mean", r: 8 }),
};

const across = (x) => (SIDE * (x + REACH)) / (2 * REACH);
const down = (y) => (SIDE * (REACH - y)) / (2 * REACH);

function plane(label, ...children) {
  const rings = [1, 2, 3, 4].map((radius) => svg("circle", {
    class: "ring", cx: across(0), cy: down(0), r: across(radius) - across(0),
  }));
  return svg("svg", {
    class: "plane", viewBox: `0 0 ${SIDE} ${SIDE}`, role: "img",
    "aria-label": label,
  }, ...rings, ...children);
}

function lineBetween(line, [x1, y1], [x2, y2], weight) {
  line.setAttribute(
    "d", `M${across(x1)} ${down(y1)}L${across(x2)} ${down(y2)}`,
  );
  line.setAttribute("stroke-width", weight * THICKEST);
}

// A number or a word beside its point, away from the centre.
const namesOf = (points, names) => points.map(([x, y], i) => {
  const far = 1 + 0.42 / Math.max(0.4, Math.hypot(x, y));
  const place = names.length
    ? { x: across(x), y: down(y) + (y < 0 ? 22 : -12) }
    : { x: across(x * far), y: down(y * far) + 4 };
  return svg("text", {
    class: "name", "text-anchor": "middle", ...place, text: names[i] ?? i + 1,
  });
});

function legend(...names) {
  return html("p", { class: "signs" }, ...names.map((name) => html("span", {},
    svg("svg", { viewBox: "-13 -13 26 26", "aria-hidden": "true" },
      SIGNS[name]()),
    WORDS.signs[name])));
}

function lookPlane(keys, names, asking, onDrag) {
  const lines = keys.map(() => svg("path", { class: "key-line" }));
  const arrow = svg("path", { class: "query" });
  const tip = SIGNS.query();
  const asker = svg("text", {
    class: "name asker", "text-anchor": "middle", text: asking,
  });
  const handle = svg("circle", { class: "handle", r: 24 });
  const root = plane(
    WORDS.lookPicture, ...lines,
    ...keys.map(([x, y]) =>
      fill(SIGNS.key(), { cx: across(x), cy: down(y) }, [])),
    arrow, tip, ...namesOf(keys, names), ...(asking ? [asker] : []), handle,
  );
  handle.addEventListener("pointerdown", (event) => {
    event.preventDefault();
    handle.setPointerCapture(event.pointerId);
  });
  handle.addEventListener("pointermove", (event) => {
    if (!handle.hasPointerCapture(event.pointerId)) return;
    const box = root.getBoundingClientRect();
    const unit = box.width / (2 * REACH);
    onDrag(
      (event.clientX - box.left) / unit - REACH,
      REACH - (event.clientY - box.top) / unit,
    );
  });
  function show(query, weights) {
    keys.forEach((key, j) => lineBetween(lines[j], query, key, weights[j]));
    const [x, y] = [across(query[0]), down(query[1])];
    arrow.setAttribute("d", `M${across(0)} ${down(0)}L${x} ${y}`);
    const degrees = (Math.atan2(-query[1], query[0]) * 180) / Math.PI;
    tip.setAttribute("transform", `translate(${x} ${y}) rotate(${degrees})`);
    handle.setAttribute("cx", x);
    handle.setAttribute("cy", y);
    // Beside the middle of the shaft, farther off where a word would cross it.
    const turned = Math.PI / 180 * degrees;
    const middle = [(x + across(0)) / 2, (y + down(0)) / 2];
    asker.setAttribute("x", middle[0] + (8 + 5 * asking.length) * Math.sin(turned));
    asker.setAttribute("y", middle[1] - 16 * Math.cos(turned) + 5);
  }
  return { root, show };
}

function outPlane(values, names) {
  const lines = values.map(() => svg("path", { class: "value-line" }));
  const output = SIGNS.output();
  const alike = attend([0, 0], values, values).output;
  const root = plane(
    WORDS.outPicture, ...lines,
    ...values.map(([x, y]) => fill(
      SIGNS.value(), { x: across(x) - 6, y: down(y) - 6 }, [],
    )),
    fill(SIGNS.mean(), { cx: across(alike[0]), cy: down(alike[1]) }, []),
    output, ...namesOf(values, names),
  );
  function show(point, weights) {
    values.forEach((value, j) =>
      lineBetween(lines[j], point, value, weights[j]));
    output.setAttribute(
      "transform", `translate(${across(point[0])} ${down(point[1])})`,
    );
  }
  return { root, show };
}

function weightBars(count, names) {
  const bars = Array.from({ length: count }, (_, j) => {
    const level = html("div", { class: "bar-level" });
    const number = html("div", { class: "bar-weight" });
    const root = html(
      "div", { class: "bar" }, number,
      html("div", { class: "bar-track" }, level),
      html("div", { class: "bar-name", text: names[j] ?? j + 1 }),
    );
    return { root, level, number };
  });
  const root = html("div", { class: "bars" }, ...bars.map((bar) => bar.root));
  function show(weights) {
    bars.forEach(({ level, number }, j) => {
      level.style.transform = `scaleY(${weights[j]})`;
      write(number, weights[j].toFixed(2));
    });
  }
  return { root, show };
}

function render({ model, el }) {
  const frame = explorer(el, "attention-plane", WORDS.label);
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches
    ? { playing: false } : {};
  const tools = makeTools(frame, model, {
    usual: still, tour: model.get("names").join(" ") === TOUR_NAMES ? WORDS.tour : [],
  });
  const keys = rowsOf(decodeArray(model.get("key_points")));
  const values = rowsOf(decodeArray(model.get("value_points")));
  // While it turns by itself the angle stays here: Python hears of it when
  // the query stands still.
  let angle = model.get("angle");

  const take = (changes) =>
    setTraits(model, { angle, playing: false, ...changes });
  const names = model.get("names");
  const look = lookPlane(keys, names, model.get("asking"), (x, y) => {
    const degrees = (Math.atan2(y, x) * 180) / Math.PI;
    take({
      angle: (degrees + 360) % 360,
      length: Math.min(MAX_LENGTH, Math.hypot(x, y)),
    });
  });
  const out = outPlane(values, names);
  const bars = weightBars(keys.length, names);
  const direction = range({
    label: WORDS.angle, min: 0, max: 360, value: angle,
    format: (number) =>
      sentence(WORDS.degrees, { angle: Math.round(number) }),
    onInput: (degrees) => take({ angle: degrees }),
  });
  // A slider that moves by itself cannot be read or operated.
  direction.input.addEventListener("focus", () => take({}));
  const length = range({
    label: WORDS.length, min: 0, max: MAX_LENGTH, step: 0.05,
    value: model.get("length"), format: (number) => number.toFixed(2),
    onInput: (number) => take({ length: number }),
  });
  const toggle = button("", () =>
    setTraits(model, { angle, playing: !model.get("playing") }));

  const lengths = settingButtons(model, WORDS.lengths, LENGTHS);

  function show(speak) {
    const size = model.get("length");
    const query = pointAt(angle, size);
    const { weights, output } = attend(query, keys, values);
    look.show(query, weights);
    out.show(output, weights);
    bars.show(weights);
    direction.set(angle);
    const most = weights.indexOf(Math.max(...weights));
    const key = names.length ? sentence(WORDS.word, { word: names[most] })
      : sentence(WORDS.key, { number: most + 1 });
    frame.read(sentence(size ? WORDS.reading : WORDS.tie, {
      key, weight: weights[most].toFixed(2),
      x: tidy(output[0], 2), y: tidy(output[1], 2),
    }), { speak });
    frame.publish({ angle, length: size, query, weights, output });
  }
  const turning = whileSeen(frame.root, (seconds) => {
    angle = (angle + DEGREES_PER_SECOND * seconds) % 360;
    show(false);
  });
  function update() {
    const playing = model.get("playing");
    angle = model.get("angle");
    write(toggle, playing ? WORDS.pause : WORDS.play);
    frame.root.dataset.playing = playing;
    length.set(model.get("length"));
    lengths.update();
    turning.run(playing);
    show(!playing);
  }

  setTraits(model, still);
  frame.root.append(
    html("div", { class: "panels" },
      panel(
        "look", titled(WORDS.lookTitle), noted(WORDS.lookNote),
        legend("query", "key"), look.root,
      ),
      html("div", { class: "vitedu-controls" },
        direction.root, length.root, html("div", {}, toggle),
        lengths.root),
      panel(
        "weights", titled(WORDS.weightsTitle), noted(WORDS.weightsNote),
        bars.root,
      ),
      panel(
        "out", titled(WORDS.outTitle), noted(WORDS.outNote),
        legend("value", "output", "mean"), out.root,
      )),
    ...frame.reading,
    ...tools.foot,
  );
  update();
  return followTraits(
    model, ["angle", "length", "playing"], update,
    turning.dispose, tools.dispose, frame.dispose,
  );
}

export default { render };
