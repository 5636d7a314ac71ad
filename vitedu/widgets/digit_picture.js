// A picture of a handwritten digit.

import { draft } from "./core/dom.js";

export const PICTURE = { side: 8, most: 16 };

// Pixels with ink from 0 to 16, as squares of one unit.
export function inkSquares(ink, { gap = 0, side = 2 } = {}) {
  return Array.from(ink, (pixel, i) => {
    const [row, column] = [Math.floor(i / PICTURE.side), i % PICTURE.side];
    return draft("rect", {
      class: "ink", width: 1, height: 1,
      x: column + gap * Math.floor(column / side),
      y: row + gap * Math.floor(row / side),
      "fill-opacity": pixel / PICTURE.most,
    });
  });
}
