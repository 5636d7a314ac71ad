// Parts of drawings.

import { fill, svg } from "./dom.js";

// The path of a map of weights, a row for each query: in each place of side
// `cell` a square whose area is the weight. One path with many squares is drawn
// much sooner than many squares of their own.
export function weightSquares(rows, cell = 1) {
  let path = "";
  rows.forEach((weights, down) => weights.forEach((weight, right) => {
    const side = 0.94 * Math.sqrt(weight);
    const [x, y, s] = [right + (1 - side) / 2, down + (1 - side) / 2, side]
      .map((size) => Number((cell * size).toFixed(5)));
    path += `M${x} ${y}h${s}v${s}h-${s}z`;
  }));
  return path;
}

// For places in a drawing; much quicker than toFixed().
export function hundredths(number) {
  return Math.round(100 * number) / 100;
}

// Two strokes, dark under light: seen on any photograph.
export function edged(tag, name) {
  const strokes = ["under", "over"].map((place) =>
    svg(tag, { class: `${name} ${place}` }));
  return {
    strokes, set: (attributes) =>
      strokes.forEach((stroke) => fill(stroke, attributes, [])),
  };
}
