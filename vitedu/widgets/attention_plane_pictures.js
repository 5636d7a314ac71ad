// The planes of the explorer AttentionPlane and its bars, as drafts.

import { draft } from "./core/dom.js";

export const SIDE = 320;
// A plane runs from -REACH to REACH in both directions.
export const REACH = 4.4;
export const MAX_LENGTH = 4;
const THICKEST = 14;

const drawn = (tag, attributes) => (more) =>
  draft(tag, { ...attributes, ...more });
// What stands for what, around (0, 0).
export const SIGNS = {
  query: drawn("path", { class: "tip", d: "M13 0L-10 10L-5 0L-10 -10z" }),
  key: drawn("circle", { class: "key", r: 6 }),
  value: drawn("rect", {
    class: "value", x: -6, y: -6, width: 12, height: 12,
  }),
  output: drawn("path", { class: "output", d: "M0 -11L11 0L0 11L-11 0z" }),
  mean: drawn("circle", { class: "mean", r: 8 }),
};

const across = (x) => (SIDE * (x + REACH)) / (2 * REACH);
const down = (y) => (SIDE * (REACH - y)) / (2 * REACH);
const at = ([x, y]) => ({ transform: `translate(${across(x)} ${down(y)})` });

const rings = () => [1, 2, 3, 4].map((radius) => draft("circle", {
  class: "ring", cx: across(0), cy: down(0), r: across(radius) - across(0),
}));

const line = (kind, [x1, y1], [x2, y2], more = {}) => draft("path", {
  class: kind, d: `M${across(x1)} ${down(y1)}L${across(x2)} ${down(y2)}`,
  ...more,
});

// From a point to all others, as thick as their weights.
const weighed = (kind, from, points, weights) => points.map((point, i) =>
  line(kind, from, point, { "stroke-width": THICKEST * weights[i] }));

// A number or a word beside its point, away from the centre.
const namesOf = (points, names) => points.map(([x, y], i) => {
  const far = 1 + 0.42 / Math.max(0.4, Math.hypot(x, y));
  const place = names.length
    ? { x: across(x), y: down(y) + (y < 0 ? 22 : -12) }
    : { x: across(x * far), y: down(y * far) + 4 };
  return draft("text", {
    class: "name", "text-anchor": "middle", ...place, text: names[i] ?? i + 1,
  });
});

export function lookPlane({ keys, names, asking, query, weights }) {
  const [x, y] = [across(query[0]), down(query[1])];
  const turned = Math.atan2(-query[1], query[0]);
  // Beside the middle of the shaft, farther off where a word would cross it.
  const asker = asking && draft("text", {
    class: "name asker", "text-anchor": "middle", text: asking,
    x: (x + across(0)) / 2 + (8 + 5 * asking.length) * Math.sin(turned),
    y: (y + down(0)) / 2 - 16 * Math.cos(turned) + 5,
  });
  return [
    ...rings(), ...weighed("key-line", query, keys, weights),
    ...keys.map((key) => SIGNS.key(at(key))),
    line("query", [0, 0], query),
    SIGNS.query({
      transform: `translate(${x} ${y}) rotate(${180 * turned / Math.PI})`,
    }),
    ...namesOf(keys, names), ...(asker ? [asker] : []),
    draft("circle", { class: "handle", r: 24, cx: x, cy: y }),
  ];
}

export function outPlane({ values, names, mean, weights, output }) {
  return [
    ...rings(), ...weighed("value-line", output, values, weights),
    ...values.map((value) => SIGNS.value(at(value))),
    SIGNS.mean(at(mean)), SIGNS.output(at(output)), ...namesOf(values, names),
  ];
}

export function weightBars({ names, weights }) {
  return Array.from(weights, (weight, i) => draft("div", { class: "bar" },
    draft("div", { class: "bar-weight", text: weight.toFixed(2) }),
    draft("div", { class: "bar-track" }, draft("div", {
      class: "bar-level", style: `transform: scaleY(${weight})`,
    })),
    draft("div", { class: "bar-name", text: names[i] ?? i + 1 })));
}
