// From strokes to a picture as the data have them. Whoever scanned those gave
// every digit the height of 32 dots, slanted it until the leftmost ink of its
// first and of its last line lay below each other, and counted the inked dots
// in each block of 4 x 4.

import { inRows } from "./core/arrays.js";
import { PICTURE } from "./digit_picture.js";

export const SCAN = { side: 32, wide: 22, pen: 4.6, block: 4 };
// No drawing is slanted more than this, in dots a line.
const MOST_LEAN = 0.6;
// A dash or a dot is not blown up to a digit: a drawing counts as at least that
// high, as a share of its width and of the field.
const FLATTEST = { ofWidth: 0.35, ofField: 0.15 };

// `strokes` are lists of points [x, y] in shares of the field; returns 64
// numbers from 0 to 16.
export function inkOf(strokes) {
  if (!strokes.length) return new Uint8Array(PICTURE.side ** 2);
  const { placed, across, down } = place(strokes);
  const lean = leanOf(scanOf(placed)) * down / across;
  const straight = place(strokes.map((stroke) =>
    stroke.map(([x, y]) => [x - lean * y, y]))).placed;
  return pixelsOf(scanOf(straight));
}

// The inked dots in each block of a scan.
export function pixelsOf(scan) {
  const ink = new Uint8Array(PICTURE.side ** 2);
  scan.forEach((dot, i) => {
    const row = Math.floor(i / SCAN.side / SCAN.block);
    const column = Math.floor((i % SCAN.side) / SCAN.block);
    ink[row * PICTURE.side + column] += dot;
  });
  return ink;
}

export function scanOf(strokes, pen = SCAN.pen) {
  const scan = new Uint8Array(SCAN.side ** 2);
  for (const stroke of strokes) {
    stroke.forEach((point, i) =>
      inkLine(scan, stroke[Math.max(0, i - 1)], point, pen / 2));
  }
  return scan;
}

// How far the leftmost ink moves to the right from line to line.
function leanOf(scan) {
  const lines = inRows(scan, SCAN.side);
  const first = lines.findIndex((line) => line.includes(1));
  const last = lines.findLastIndex((line) => line.includes(1));
  const moved = lines[last].indexOf(1) - lines[first].indexOf(1);
  const lean = moved / Math.max(1, last - first);
  return Math.min(MOST_LEAN, Math.max(-MOST_LEAN, lean));
}

// Moves and stretches strokes to where a digit is in the scan.
function place(strokes) {
  const ends = [0, 1].map((axis) => {
    const all = strokes.flat().map((point) => point[axis]);
    return [Math.min(...all), Math.max(...all)];
  });
  const [wide, high] = ends.map(([low, end]) => end - low);
  const down = (SCAN.side - SCAN.pen)
    / Math.max(high, FLATTEST.ofWidth * wide, FLATTEST.ofField);
  const across = Math.min(down, (SCAN.wide - SCAN.pen) / Math.max(wide, 1e-3));
  const middle = ends.map(([low, end]) => (low + end) / 2);
  const placed = strokes.map((stroke) => stroke.map(([x, y]) => [
    SCAN.side / 2 + (x - middle[0]) * across,
    SCAN.side / 2 + (y - middle[1]) * down,
  ]));
  return { placed, across, down };
}

// Inks the dots that are as near to a piece of a line as `pen`.
function inkLine(scan, from, to, pen) {
  const [[left, right], [top, bottom]] = [0, 1].map((axis) => [
    Math.max(0, Math.floor(Math.min(from[axis], to[axis]) - pen)),
    Math.min(SCAN.side - 1, Math.floor(Math.max(from[axis], to[axis]) + pen)),
  ]);
  for (let y = top; y <= bottom; y += 1) {
    for (let x = left; x <= right; x += 1) {
      const near = distance([x + 0.5, y + 0.5], from, to) <= pen ** 2;
      if (near) scan[y * SCAN.side + x] = 1;
    }
  }
}

// The square of the distance from a dot to a piece of a line.
function distance([x, y], [ax, ay], [bx, by]) {
  const [dx, dy] = [bx - ax, by - ay];
  const length = dx * dx + dy * dy;
  const along = length && ((x - ax) * dx + (y - ay) * dy) / length;
  const t = Math.min(1, Math.max(0, along));
  return (x - ax - t * dx) ** 2 + (y - ay - t * dy) ** 2;
}
