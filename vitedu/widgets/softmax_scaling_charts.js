// The charts of the explorer SoftmaxScaling. Every one has the same margins,
// so that their axes line up; each draws in grey, behind the values, what the
// right scale gives (`rooted`; null where that is the scale).

import { draft } from "./core/dom.js";
import { superscript } from "./core/texts.js";
import WORDS from "./softmax_scaling.words.json" with { type: "json" };
import { DEAD_BELOW } from "./softmax_scaling_maths.js";

const LEFT = 34;
const RIGHT = 12;

// `text` says of what the axis is, and with which scale.
function axis(width, y, ticks, place, text) {
  const line = draft("path", {
    class: "axis", d: `M${LEFT} ${y}H${width - RIGHT}`,
  });
  const below = draft("text", {
    x: (LEFT + width - RIGHT) / 2, y: y + 35, "text-anchor": "middle", text,
  });
  return [line, below, ...ticks.flatMap(([value, text]) => {
    const x = place(value);
    return [
      draft("path", { class: "axis", d: `M${x} ${y}v5` }),
      draft("text", { x, y: y + 18, "text-anchor": "middle", text }),
    ];
  })];
}

// Points that are many and overlap get different heights, always the same.
function spreadOut(values, place, top, height) {
  return Array.from(values, (value, i) => [
    place(value), top + height * ((0.5 + i * 0.618034) % 1),
  ]);
}

const dotsPath = (points) => points.map(([x, y]) => `M${x} ${y}h0`).join("");

// Linear near zero and logarithmic far away: spreads of 1 and of 32 both show.
export function scoresChart({ values, rooted }, width) {
  const { scores, scoreStd, theoryStd } = values;
  const limit = Math.asinh(600);
  const half = (width - LEFT - RIGHT) / 2;
  const place = (score) => LEFT + half
    + (half * Math.max(-limit, Math.min(limit, Math.asinh(score)))) / limit;
  const ticks = [-100, -10, -1, 0, 1, 10, 100]
    .map((value) => [value, String(value).replace("-", "−")]);
  const at = (std) => `M${place(-std)} 6V78M${place(std)} 6V78`;
  const dots = (some) => ({
    d: dotsPath(spreadOut(some, place, 22, 46)),
    "stroke-width": some.length > 64 ? 5 : 8,
  });
  return [
    draft("path", { class: "compared", ...dots(rooted?.scores ?? []) }),
    draft("path", { class: "keys", ...dots(scores) }),
    draft("path", { class: "theory", d: at(theoryStd) }),
    draft("path", {
      class: "spread", d: `M${place(-scoreStd)} 10H${place(scoreStd)}`,
    }),
    ...axis(width, 80, ticks, place, WORDS.pictures.scores.axis),
  ];
}

// Where bars of weights stand; above them is a line of words.
const BASE = 112;

// The root keeps the small weights of many keys apart from zero.
export function weightsChart({ values: { weights }, rooted }, width) {
  const step = (width - LEFT - RIGHT) / weights.length;
  const bar = step * (weights.length > 64 ? 1 : 0.8);
  const y = (weight) => BASE - 80 * Math.sqrt(weight);
  const bars = (some) => Array.from(some, (weight, j) =>
    `M${LEFT + j * step} ${BASE}V${y(weight)}h${bar}V${BASE}z`).join("");
  const alike = y(1 / weights.length);
  return [
    draft("path", { class: "compared", d: bars(rooted?.weights ?? []) }),
    draft("path", { class: "bars", d: bars(weights) }),
    draft("path", { class: "theory", d: `M${LEFT} ${alike}H${width - RIGHT}` }),
    draft("path", {
      class: "axis", d: `M${LEFT} ${y(1)}V${BASE}H${width - RIGHT}`, fill: "none",
    }),
    ...[0, 0.1, 0.5, 1].map((weight) => draft("text", {
      x: LEFT - 6, y: y(weight) + 4, "text-anchor": "end", text: weight,
    })),
    draft("text", { x: 0, y: 12, text: WORDS.pictures.weights.axis }),
  ];
}

export function entropyChart({ values, rooted }, width) {
  const { entropy: mean, maxEntropy } = values;
  const full = width - LEFT - RIGHT;
  const bar = { x: LEFT, y: 14, height: 22, rx: 4 };
  return [
    draft("rect", { class: "track", width: full, ...bar }),
    draft("rect", { class: "level", width: (full * mean) / maxEntropy, ...bar }),
    draft("path", {
      class: "compared", "stroke-width": 4,
      d: rooted ? `M${LEFT + (full * rooted.entropy) / maxEntropy} 8v34` : "",
    }),
    draft("text", { x: LEFT, y: 54, text: WORDS.pictures.entropy.oneKey }),
    draft("text", {
      x: width - RIGHT, y: 54, "text-anchor": "end", text: WORDS.pictures.entropy.allKeys,
    }),
  ];
}

export function gradientChart({ values, rooted }, width) {
  const { gradNorms, gradP10, gradMedian } = values;
  const [low, high] = [-12, 3];
  const full = width - LEFT - RIGHT;
  const place = (norm) => LEFT
    + (full * (Math.max(low, Math.min(high, Math.log10(norm))) - low))
      / (high - low);
  const dots = (norms) => spreadOut(norms, place, 34, 40);
  const points = dots(gradNorms);
  const isDead = (_, i) => gradNorms[i] < DEAD_BELOW;
  const border = place(DEAD_BELOW);
  const ticks = [-12, -9, -6, -3, 0, 3].map((power) =>
    [10 ** power, (power === low ? "≤ 10" : "10") + superscript(power)]);
  const cross = ([x, y]) => `M${x - 3} ${y - 3}l6 6m0 -6l-6 6`;
  const mark = (norm, text, anchor, dx) => [
    draft("path", { class: "mark", d: `M${place(norm)} 18V78` }),
    draft("text", {
      class: "strong", x: place(norm) + dx, y: 28, "text-anchor": anchor, text,
    }),
  ];
  return [
    draft("rect", {
      class: "dead-zone", x: LEFT, y: 0, width: border - LEFT, height: 80,
    }),
    draft("text", { x: LEFT + 6, y: 14, text: WORDS.pictures.gradient.deadZone }),
    draft("path", { class: "theory", d: `M${border} 0V80` }),
    draft("path", {
      class: "compared", d: dotsPath(dots(rooted?.gradNorms ?? [])),
      "stroke-width": 8,
    }),
    draft("path", {
      class: "alive", d: dotsPath(points.filter((p, i) => !isDead(p, i))),
    }),
    draft("path", {
      class: "dead", d: points.filter(isDead).map(cross).join(""),
    }),
    ...mark(gradP10, WORDS.pictures.gradient.tenth, "end", -4),
    ...mark(gradMedian, WORDS.pictures.gradient.median, "start", 4),
    ...axis(width, 80, ticks, place, WORDS.pictures.gradient.axis),
  ];
}
