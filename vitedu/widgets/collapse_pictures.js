// The pictures of the explorer Collapse, each with a column for every run.

import { draft } from "./core/dom.js";
import { hundredths } from "./core/drawing.js";
import { sentence } from "./core/texts.js";
import WORDS from "./collapse.words.json" with { type: "json" };
import { GROUPS } from "./collapse_network.js";
import { HIGHEST, points } from "./collapse_maths.js";

const GAP = 14;
// How far the plane is shown, from its middle.
const REACH = 0.8;
const PLANE = { head: 38, most: 190 };
export const MEANS_HEIGHT = 84;
const MEANS = { top: 4, foot: 18 };
export const CURVES_HEIGHT = 176;
const CURVES = { left: 30, top: 10, foot: 38 };
// A sign for each dimension, around 0 0.
const SIGNS = [
  "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z", "M-3.5-3.5h7v7h-7z",
  "M0-4.8L4.6 3.4h-9.2z", "M0-5L5 0L0 5L-5 0z",
  "M-1.5-5h3v3.5h3.5v3h-3.5v3.5h-3v-3.5h-3.5v-3h3.5z",
  "M0 4.8L4.6-3.4h-9.2z",
];

function columns(runs, width, draw) {
  const wide = (width - GAP * (runs.length - 1)) / runs.length;
  return runs.map((run, at) => draft("g", {
    class: "run", transform: `translate(${hundredths(at * (wide + GAP))} 0)`,
  }, ...draw(run, wide)));
}

const text = (x, y, words, attributes = {}) =>
  draft("text", { x: hundredths(x), y: hundredths(y), ...attributes,
    text: words });
const middle = { "text-anchor": "middle" };

const planeSide = (width) =>
  Math.min(PLANE.most, (width - 2 * GAP) / 3);
export const pointsHeight = (width) =>
  Math.round(PLANE.head + planeSide(width));

// All points, each as the sign of its largest output.
export function pointSigns({ runs }, width) {
  const side = planeSide(width);
  const scale = side / 2 / REACH;
  const size = hundredths(Math.max(0.65, side / PLANE.most));
  return columns(runs, width, ({ seed, look, verdict }, wide) => {
    const [x, y] = [wide / 2, PLANE.head + side / 2];
    return [
      text(x, 13, sentence(WORDS.seed, { seed }), { ...middle, class: "name" }),
      text(x, 29, WORDS.verdicts[verdict], middle),
      draft("rect", {
        class: "plane", x: hundredths(x - side / 2), y: PLANE.head + 0.5,
        width: hundredths(side), height: hundredths(side - 1), rx: 6,
      }),
      ...look.chosen.map((dimension, at) => draft("path", {
        class: `sign dimension-${dimension}`, d: SIGNS[dimension],
        "fill-opacity": hundredths(0.15 + 0.85 * look.sure[at]),
        transform: `translate(${
          hundredths(x + scale * points[2 * at])} ${
          hundredths(y - scale * points[2 * at + 1])}) scale(${size})`,
      })),
    ];
  });
}

// A bar for each dimension; under it, its sign.
export function meanBars({ runs }, width) {
  const { top, foot } = MEANS;
  const floor = MEANS_HEIGHT - foot;
  return columns(runs, width, ({ look }, wide) => {
    const step = Math.min(wide, PLANE.most) / GROUPS;
    const left = (wide - step * GROUPS) / 2;
    const level = hundredths(floor - (floor - top) / GROUPS);
    return [
      ...Array.from(look.mean, (share, dimension) => {
        const high = (floor - top) * share;
        const x = left + step * dimension;
        return draft("g", { class: `dimension-${dimension}` },
          draft("rect", {
            x: hundredths(x + step / 6), y: hundredths(floor - high),
            width: hundredths(step * 2 / 3), height: hundredths(high),
          }),
          draft("path", {
            class: "sign", d: SIGNS[dimension],
            transform: `translate(${hundredths(x + step / 2)} ${floor + 10})`,
          }));
      }),
      draft("path", { class: "axis",
        d: `M${hundredths(left)} ${floor}h${hundredths(step * GROUPS)}` }),
      draft("path", { class: "highest",
        d: `M${hundredths(left)} ${level}h${hundredths(step * GROUPS)}` }),
    ];
  });
}

const line = (name, marks) =>
  draft("path", { class: name, d: `M${marks.join("L")}` });

// Both entropies of a run, up to the step that is shown.
export function entropyCurves({ runs, most }, width) {
  const { left, top, foot } = CURVES;
  const floor = CURVES_HEIGHT - foot;
  return columns(runs, width, ({ curve }, wide) => {
    const end = wide - 6;
    const x = (step) => hundredths(left + (end - left) * step / most);
    const y = (nats) => hundredths(floor - (floor - top) * nats / HIGHEST);
    const marks = (name) => curve.map((one) =>
      `${x(one.step)} ${y(one[name])}`);
    const last = curve.at(-1);
    return [
      draft("path", { class: "axis", d: `M${left} ${top}V${floor}H${end}` }),
      draft("path", { class: "highest", d: `M${left} ${y(HIGHEST)}H${end}` }),
      text(left - 4, y(HIGHEST) + 4, WORDS.pictures.entropies.highest,
        { "text-anchor": "end" }),
      ...[0, 1].map((nats) =>
        text(left - 4, y(nats) + 4, nats, { "text-anchor": "end" })),
      ...[[0, "start"], [most, "end"]].map(([step, anchor]) =>
        text(x(step), floor + 15, step, { "text-anchor": anchor })),
      text((left + end) / 2, floor + 31, WORDS.pictures.entropies.across,
        middle),
      line("of-mean", marks("ofMean")), line("of-each", marks("ofEach")),
      ...["ofMean", "ofEach"].map((name) => draft("circle", {
        class: `end ${name === "ofMean" ? "of-mean" : "of-each"}`, r: 3.5,
        cx: x(last.step), cy: y(last[name]),
      })),
    ];
  });
}
