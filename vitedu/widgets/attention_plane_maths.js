// The numbers of the explorer AttentionPlane. A point is [x, y].

import { softmax } from "./core/numbers.js";

export function pointAt(degrees, length) {
  const radians = (degrees * Math.PI) / 180;
  return [length * Math.cos(radians), length * Math.sin(radians)];
}

export function rowsOf({ data, shape: [rows] }) {
  return Array.from(
    { length: rows }, (_, i) => [data[2 * i], data[2 * i + 1]],
  );
}

export function attend([x, y], keys, values) {
  const scores = keys.map(([a, b]) => (a * x + b * y) / Math.SQRT2);
  const weights = softmax(scores);
  const output = [0, 1].map((axis) =>
    values.reduce((sum, value, j) => sum + weights[j] * value[axis], 0));
  return { weights, output };
}
