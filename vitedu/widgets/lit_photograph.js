// A photograph that is lit where a value is large.

import { fill } from "./core/dom.js";

// From dark to bright; brightness grows all the way.
const GLOW = [
  [14, 10, 34], [74, 20, 108], [166, 44, 96], [232, 98, 44], [252, 180, 46],
  [252, 250, 190],
];
// How much of a photograph stays where a value is 0, in grey, and where it is
// 1, in its colours, with how much of the glow. Between, values are raised.
const DIM = 0.3;
const KEPT = 0.75;
const ADDED = 0.5;
const raised = (value) => Math.max(0, value) ** 0.75;

// The colour of a value from 0 to 1.
export function glow(value) {
  const at = Math.min(1, Math.max(0, value)) * (GLOW.length - 1);
  const low = Math.min(GLOW.length - 2, Math.floor(at));
  return GLOW[low].map((from, channel) =>
    from + (at - low) * (GLOW[low + 1][channel] - from));
}

// Lights a photograph where `values`, in rows of `side`, are large.
export function light(canvas, { width, height, data }, values, side) {
  if (canvas.width !== width) fill(canvas, { width, height }, []);
  const shares = Float32Array.from(values, raised);
  const colours = Float32Array.from(Array.from(shares, glow).flat());
  const lit = new ImageData(width, height);
  for (let y = 0, i = 0; y < height; y += 1) {
    const row = Math.floor((y * side) / height) * side;
    for (let x = 0; x < width; x += 1, i += 4) {
      const at = row + Math.floor((x * side) / width);
      const share = shares[at];
      const grey = DIM * (1 - share)
        * (0.3 * data[i] + 0.59 * data[i + 1] + 0.11 * data[i + 2]);
      for (let c = 0; c < 3; c += 1) {
        lit.data[i + c] = grey
          + share * (KEPT * data[i + c] + ADDED * colours[3 * at + c]);
      }
      lit.data[i + 3] = 255;
    }
  }
  canvas.getContext("2d").putImageData(lit, 0, 0);
}
