// The numbers of the explorer AskPatch, out of the bytes that
// vitedu.book.asked_patches has packed.

import { fromHalf } from "./core/arrays.js";

// Patches a side, of which every third can be asked; squares of two by two.
export const GRID = 24;
export const STEP = 3;
export const ROW = GRID / STEP;
export const QUERIES = ROW ** 2;
export const PATCHES = GRID ** 2;
export const SQUARES = (GRID / 2) ** 2;
export const LEVELS = 20;
const SHADES = 10;
// As far off as this, down or across, another patch is no neighbour.
const FAR = 6;

// Each layer is written as its steps from the one before.
export function readCosines(steps, keys) {
  const size = QUERIES * keys;
  const levels = Int8Array.from(steps);
  for (let i = size; i < levels.length; i += 1) levels[i] += levels[i - size];
  return (layer, query) => {
    const first = layer * size + query * keys;
    return Float64Array.from(
      levels.subarray(first, first + keys), (level) => level / LEVELS,
    );
  };
}

// The largest weight of each map, the maps, two numbers a byte, the cosines.
export function readAnswers(buffer, layers, heads) {
  const rows = layers * heads * QUERIES;
  const largest = fromHalf(new Uint16Array(buffer, 0, rows));
  const pairs = new Uint8Array(buffer, 2 * rows, (rows * SQUARES) / 2);
  const steps = new Int8Array(buffer, 2 * rows + pairs.length);
  // Shares of the largest weight.
  function shares(layer, head, query) {
    const row = (layer * heads + head) * QUERIES + query;
    const first = (row * SQUARES) / 2;
    return Float64Array.from({ length: SQUARES }, (_, at) => {
      const pair = pairs[first + (at >> 1)];
      return (at % 2 ? pair & 15 : pair >> 4) / SHADES;
    });
  }
  return {
    cosines: readCosines(steps, PATCHES), shares,
    largest: (layer, head, query) =>
      largest[(layer * heads + head) * QUERIES + query],
  };
}

export const placeIn = (side, at) => [Math.floor(at / side), at % side];

// The grid of the patches that can be asked begins such that it meets a patch
// that is worth it.
export function placeOfQuery({ row, column }, query) {
  const [down, across] = placeIn(ROW, query);
  return [down * STEP + (row % STEP), across * STEP + (column % STEP)];
}

export function queryNear({ row, column }, [down, across]) {
  const [i, j] = [down - (row % STEP), across - (column % STEP)].map((at) =>
    Math.min(ROW - 1, Math.max(0, Math.floor((at + 1) / STEP))));
  return i * ROW + j;
}

// The largest value, and all places that share it, among those allowed.
export function best(values, allowed = () => true) {
  let most = -Infinity;
  let places = [];
  values.forEach((value, at) => {
    if (value < most || !allowed(at)) return;
    if (value > most) places = [];
    most = value;
    places.push(at);
  });
  return { most, places };
}

// The best of those that are not around a patch.
export function bestFarFrom([row, column], values) {
  return best(values, (at) => {
    const [down, across] = placeIn(GRID, at);
    return Math.max(Math.abs(down - row), Math.abs(across - column)) >= FAR;
  });
}
