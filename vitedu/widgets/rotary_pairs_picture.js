// The clocks of the explorer RotaryPairs, and its curve.

import { draft } from "./core/dom.js";
import { hundredths } from "./core/drawing.js";
import { tidy } from "./core/texts.js";
import WORDS from "./rotary_pairs.words.json" with { type: "json" };
import { MOST_APART, PAIRS } from "./rotary_pairs_maths.js";

const CLOCKS = { columns: 4, head: 20, foot: 22 };
const CHART = { left: 38, right: 12, top: 10, height: 200, foot: 40 };
export const CURVE_HEIGHT = CHART.top + CHART.height + CHART.foot;

export const signedText = (number) =>
  (number < -0.005 ? "−" : "+") + Math.abs(number).toFixed(2);

export function clocksHeight(width) {
  return (PAIRS / CLOCKS.columns) * rowHeight(width);
}

function rowHeight(width) {
  return CLOCKS.head + CLOCKS.foot + 2 * clockRadius(width);
}

function clockRadius(width) {
  return Math.min(48, width / CLOCKS.columns / 2 - 6);
}

// A hand from the middle; its end is a dot, or a ring.
function handOf(name, [x, y], scale) {
  const [right, down] = [hundredths(scale * x), hundredths(-scale * y)];
  return [
    draft("path", { class: `hand ${name}`, d: `M0 0L${right} ${down}` }),
    draft("circle", { class: `end ${name}`, cx: right, cy: down, r: 4.5 }),
  ];
}

export function clocks({ queries, keys, parts, speeds }, width) {
  const radius = clockRadius(width);
  const across = width / CLOCKS.columns;
  const longest = Math.max(...[...queries, ...keys].map((pair) =>
    Math.hypot(...pair)));
  return queries.map((query, at) => {
    const x = hundredths(across * (at % CLOCKS.columns + 0.5));
    const y = hundredths(CLOCKS.head + radius
      + rowHeight(width) * Math.floor(at / CLOCKS.columns));
    const label = (dy, kind, text) => draft("text", {
      y: dy, class: kind, "text-anchor": "middle", text,
    });
    return draft("g", { transform: `translate(${x} ${y})` },
      draft("circle", { class: "face", r: radius }),
      ...handOf("of-key", keys[at], (radius - 5) / longest),
      ...handOf("of-query", query, (radius - 5) / longest),
      label(-radius - 6, "speed", tidy(speeds[at], 2)),
      label(radius + 16, "part", signedText(parts[at])));
  });
}

export function scoreCurve({ curve, distance, most }, width) {
  const { left, right, top, height } = CHART;
  const end = width - right;
  const x = (apart) => hundredths(left + (end - left) * apart / MOST_APART);
  const y = (score) => hundredths(top + height / 2 * (1 - score / most));
  const text = (at, down, anchor, words) => draft("text", {
    x: at, y: down, "text-anchor": anchor, text: words,
  });
  const line = curve.map((score, apart) =>
    `${apart ? "L" : "M"}${x(apart)} ${y(score)}`).join("");
  return [
    ...[most, 0, -most].flatMap((score) => [
      draft("path", { class: "grid", d: `M${left} ${y(score)}H${end}` }),
      text(left - 6, y(score) + 4, "end", tidy(score, 2)),
    ]),
    ...[0, 16, 32, 48, 64].map((apart) =>
      text(x(apart), top + height + 20, "middle", apart)),
    text((left + end) / 2, top + height + 36, "middle", WORDS.pictures.curve.across),
    draft("path", { class: "curve", d: line }),
    draft("path", { class: "stem",
      d: `M${x(distance)} ${top}V${top + height}` }),
    draft("circle", {
      class: "now", cx: x(distance), cy: y(curve[distance]), r: 6,
    }),
  ];
}
