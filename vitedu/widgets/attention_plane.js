// Attention in the plane: a query turns, and the output follows.

import WORDS from "./attention_plane.words.json" with { type: "json" };
import { attend, pointAt, rowsOf } from "./attention_plane_maths.js";
import {
  MAX_LENGTH, REACH, SIDE, SIGNS, lookPlane, outPlane, weightBars,
} from "./attention_plane_pictures.js";
import { decodeArray } from "./core/arrays.js";
import { button, noted, panel, titled } from "./core/controls.js";
import { html, renew, svg, write } from "./core/dom.js";
import { defineExplorer, slider } from "./core/explorer.js";
import { whileSeen } from "./core/frames.js";
import { sentence, tidy } from "./core/texts.js";

// What the buttons set.
const STILL = { angle: 24, playing: false };
const STARTS = {
  "long query": { ...STILL, length: 4 },
  "short query": { ...STILL, length: 0.5 },
  "no length": { ...STILL, length: 0 },
};
// A tour of the words on the first page.
const TOUR_NAMES = "river water shore money loan coin the";
const DEGREES_PER_SECOND = 6;

function read(model) {
  const [keys, values] = ["key_points", "value_points"].map(
    (name) => rowsOf(decodeArray(model.get(name))));
  return {
    keys, values, names: model.get("names"), asking: model.get("asking"),
    mean: attend([0, 0], keys, values).output,
  };
}

export function compute({ angle, length, playing }, given) {
  const query = pointAt(angle, length);
  const { weights, output } = attend(query, given.keys, given.values);
  return {
    ...given, query, weights, output,
    published: { angle, length, playing, query, weights, output },
  };
}

export function say({ names, weights, output, published: { length } }) {
  const most = weights.indexOf(Math.max(...weights));
  const key = names.length ? sentence(WORDS.word, { word: names[most] })
    : sentence(WORDS.key, { number: most + 1 });
  return { reading: sentence(length ? WORDS.most : WORDS.tie, {
    key, weight: weights[most].toFixed(2),
    x: tidy(output[0], 2), y: tidy(output[1], 2),
  }) };
}

// What a reader moves stands still. The angle is that on display: while the
// query turns by itself, Python hears of none.
const stops = (name) => (value, { angle }) =>
  ({ angle, playing: false, [name]: value });

// A slider that moves by itself cannot be read or operated.
function direction(knows) {
  const made = slider({
    sets: stops("angle"), format: (angle) =>
      sentence(WORDS.degrees, { angle: Math.round(angle) }),
  })(knows);
  made.root.addEventListener("focusin", () =>
    knows.set(null, (_, { angle }) => ({ angle, playing: false })));
  return made;
}

function turning({ set, settings, move, frame }) {
  const motion = whileSeen(frame, (seconds) => {
    const { angle, playing } = settings();
    // It may have been stopped since the last frame.
    if (playing) move({ angle: (angle + DEGREES_PER_SECOND * seconds) % 360 });
  });
  const toggle = button("", () => {
    const { angle, playing } = settings();
    set({ angle, playing: !playing });
  });
  function show({ published: { playing } }) {
    write(toggle, playing ? WORDS.pause : WORDS.play);
    motion.run(playing);
  }
  return {
    root: html("div", {}, toggle), show, quiet: () => settings().playing,
    dispose: motion.dispose,
  };
}

function legend(names) {
  return html("p", { class: "signs" }, ...names.map((name) => {
    const sign = svg("svg", {
      viewBox: "-13 -13 26 26", "aria-hidden": "true",
    });
    renew(sign, [SIGNS[name]({})]);
    return html("span", {}, sign, WORDS.signs[name]);
  }));
}

// A plane in its panel; `drag` is told where its handle is drawn to.
function planeOf(name, signs, draw, drag) {
  const { title, note, label } = WORDS.planes[name];
  const root = svg("svg", {
    class: "plane", viewBox: `0 0 ${SIDE} ${SIDE}`, role: "img",
    "aria-label": label,
    onpointerdown: (event) => {
      if (!event.target.matches(".handle")) return;
      event.preventDefault();
      event.target.setPointerCapture(event.pointerId);
    },
    onpointermove: (event) => {
      if (!event.target.hasPointerCapture(event.pointerId)) return;
      const box = root.getBoundingClientRect();
      const unit = box.width / (2 * REACH);
      drag((event.clientX - box.left) / unit - REACH,
        REACH - (event.clientY - box.top) / unit);
    },
  });
  return {
    root: panel(name, titled(title), noted(note), legend(signs), root),
    show: (found) => renew(root, draw(found)),
  };
}

const look = ({ set }) =>
  planeOf("look", ["query", "key"], lookPlane, (x, y) => set({
    angle: (Math.atan2(y, x) * 180 / Math.PI + 360) % 360, playing: false,
    length: Math.min(MAX_LENGTH, Math.hypot(x, y)),
  }));

const out = () => planeOf("out", ["value", "output", "mean"], outPlane);

function weights() {
  const root = html("div", { class: "bars" });
  return {
    root: panel("weights", titled(WORDS.weightsTitle),
      noted(WORDS.weightsNote), root),
    show: (found) => renew(root, weightBars(found)),
  };
}

export default defineExplorer("attention-plane", {
  words: WORDS,
  controls: {
    angle: direction,
    length: slider({
      step: 0.05, sets: stops("length"), format: (length) => length.toFixed(2),
    }),
  },
  starts: STARTS,
  read, compute, say,
  parts: { look, out, turning, weights },
  layout: [
    { box: "panels", rows: [
      "look",
      { box: "settings", rows: [["angle", "length", "turning"], "starts"] },
      "weights", "out",
    ] },
    "reading",
  ],
  from: { ...STILL, length: 2.5 },
  tour: (steps, { names }) => (names.join(" ") === TOUR_NAMES ? steps : []),
  usual: () => (matchMedia("(prefers-reduced-motion: reduce)").matches
    ? { playing: false } : {}),
});
