// The numbers of the explorer PatchByPatch, out of the bytes that
// vitedu.book.followed_photograph has packed.

import { fromHalf, inRows } from "./core/arrays.js";

// Patches a side, of which every fourth can be followed, from these on.
export const GRID = 16;
const [STEP, ROW, COLUMN] = [4, 3, 1];
const ACROSS = GRID / STEP;
export const PATCHES = GRID ** 2;
const [LEVELS, SHADES] = [100, 20];
export const STAGES = ["image", "patches", "tokens", "class token",
  "positions", "first norm", "attention", "first sum", "second norm",
  "second sum", "depth", "answer"];
export const IN_BLOCK = STAGES.slice(5, 10);
// Before the class token comes.
const EARLY = STAGES.slice(0, 3);
// Steps of the tokens: two before the blocks, six in each.
const [FIRST, IN_EACH] = [2, 6];
const PARTS = { norm1: 0, attended: 1, middle: 2, norm2: 3, fed: 4, after: 5 };
// The network of the chapter's figure, to compare.
export const BASE = { side: 224, patch: 16, width: 768, heads: 12, layers: 12 };

const TYPES = { f2: [2, (bytes) => fromHalf(new Uint16Array(bytes))],
  u2: [2, (bytes) => new Uint16Array(bytes)],
  u1: [1, (bytes) => new Uint8Array(bytes)],
  i1: [1, (bytes) => new Int8Array(bytes)] };

// The arrays by name, each with its shape.
export function readWalk(buffer, layout) {
  let at = 0;
  const found = {};
  for (const [name, dtype, shape] of layout) {
    const [size, read] = TYPES[dtype];
    const end = at + size * shape.reduce((all, one) => all * one, 1);
    found[name] = { data: read(buffer.slice(at, end)), shape };
    at = end;
  }
  const { data, shape } = found.cosines;
  const depth = shape[1] * shape[2];
  // Each depth is written as its steps from the one before.
  for (let i = depth; i < data.length; i += 1) data[i] += data[i - depth];
  return found;
}

// What is at a place of the first axes: a row.
export function rowAt({ data, shape }, ...place) {
  let [first, size] = [0, data.length];
  place.forEach((at, axis) => {
    size /= shape[axis];
    first += at * size;
  });
  return data.subarray(first, first + size);
}

// The row and the column of a patch that can be followed, from 0.
export function placeOf(token) {
  const patch = token - 1;
  return [ROW + STEP * Math.floor(patch / ACROSS),
    COLUMN + STEP * (patch % ACROSS)];
}

// Among all tokens, of which the class token is the first.
export function indexOf(token) {
  if (!token) return 0;
  const [row, column] = placeOf(token);
  return 1 + row * GRID + column;
}

// The class token is not there from the start: then this patch is followed.
const INSTEAD = 6;
export const followable = (stage, token) =>
  (token === 0 && EARLY.includes(stage) ? INSTEAD : token);

export const stepIn = (block, part) =>
  FIRST + IN_EACH * (block - 1) + PARTS[part];
// Of what enters block 1, and of what leaves a block.
export const stepAfter = (block) => (block ? stepIn(block, "after") : 1);

// A table's shape as it is at each stage.
export function shapeAt(stage, { side, patch, width, heads, layers }) {
  const patches = (side / patch) ** 2;
  const tokens = patches + 1;
  return {
    image: [side, side, 3], patches: [patches, patch * patch * 3],
    tokens: [patches, width], attention: [heads, tokens, tokens],
    depth: [layers + 1, tokens, width], answer: [1, width],
  }[stage] ?? [tokens, width];
}

// The rows of numbers that a stage shows of a token, by name.
function stepsOf(stage, block, layers) {
  const before = stepAfter(block - 1);
  const part = (name) => stepIn(block, name);
  return {
    tokens: { projected: 0 }, "class token": { projected: 0 },
    positions: { before: 0, position: null, after: 1 },
    "first norm": { before, normed: part("norm1") },
    "first sum": { before, attended: part("attended"), after: part("middle") },
    "second norm": { before: part("middle"), normed: part("norm2") },
    "second sum": { before: part("middle"), fed: part("fed"),
      after: part("after") },
    depth: { after: part("after") },
    answer: { before: stepAfter(layers), normed: stepAfter(layers) + 1 },
  }[stage] ?? {};
}

function rowsOf(walk, stage, block, token, layers) {
  const steps = stepsOf(stage, block, layers);
  const numbers = (step) => rowAt(walk.numbers, token, step);
  return Object.entries(steps).map(([name, step]) => (step === null
    ? { name, length: null, values: numbers(1).map((value, at) =>
      value - numbers(0)[at]) }
    : { name, values: numbers(step),
      length: rowAt(walk.lengths, step)[indexOf(token)] }));
}

// What the photograph is covered with: colours, or values up to 1.
function coverOf(walk, { stage, block, head, token }, layers) {
  const colours = (depth) =>
    ({ kind: "colours", colours: inRows(rowAt(walk.colours, depth), 3) });
  const lengths = (step) => {
    const all = rowAt(walk.lengths, step).subarray(1);
    const [least, most] = [Math.min(...all), Math.max(...all)];
    return { kind: "lengths", most, least, values: Array.from(all, (length) =>
      (length - least) / (most - least || 1)) };
  };
  const made = {
    image: () => ({ kind: "plain" }), patches: () => ({ kind: "grid" }),
    tokens: () => colours(0), "class token": () => colours(0),
    positions: () => colours(1),
    "first norm": () => lengths(stepAfter(block - 1)),
    attention: () => ({ kind: "weights", values: Array.from(
      rowAt(walk.shades, block - 1, head - 1, token).subarray(1),
      (shade) => Math.sqrt(shade / SHADES)) }),
    "first sum": () => lengths(stepIn(block, "attended")),
    "second norm": () => lengths(stepIn(block, "middle")),
    "second sum": () => lengths(stepIn(block, "fed")),
    depth: () => colours(block + 1), answer: () => colours(layers + 2),
  };
  return made[stage]();
}

// Where a head looks: the tokens that get most, itself, the class token.
function looksOf(walk, { block, head, token }) {
  const [keys, weights] = [walk.best, walk.weights].map((array) =>
    [...rowAt(array, block - 1, head - 1, token)]);
  const [own, ofClass] = weights.slice(keys.length);
  const others = [[indexOf(token), own], [0, ofClass]].filter(
    ([key], at) => !keys.includes(key) && (at === 0 || token !== 0));
  return { own, ofClass, largest: weights[0],
    listed: [...keys.map((key, at) => [key, weights[at]]), ...others] };
}

const cosinesAt = (walk, depth, token) =>
  Array.from(rowAt(walk.cosines, depth, token), (level) => level / LEVELS);

const mean = (values) =>
  values.reduce((sum, value) => sum + value, 0) / values.length;

// How a token's length changes with depth, and how like others it is: the
// eight patches around it, and all others.
function courseOf(walk, token, layers) {
  const [row, column] = token ? placeOf(token) : [NaN, NaN];
  const apart = (at) => Math.max(Math.abs(Math.floor(at / GRID) - row),
    Math.abs(at % GRID - column));
  const depths = Array.from({ length: layers + 1 }, (_, depth) => depth);
  const among = (depth, wanted) => mean(cosinesAt(walk, depth, token)
    .filter((_, at) => wanted(apart(at))));
  return {
    lengths: depths.map((depth) =>
      rowAt(walk.lengths, stepAfter(depth))[indexOf(token)]),
    near: token ? depths.map((depth) => among(depth, (far) => far === 1)) : [],
    all: depths.map((depth) => among(depth, (far) => far !== 0)),
  };
}

// Everything that a view shows.
export function walkAt(walk, view, { layers, ...sizes }) {
  const { stage, block, token } = view;
  const depth = stage === "answer" ? layers : block;
  return {
    shape: shapeAt(stage, { layers, ...sizes }), base: shapeAt(stage, BASE),
    rows: rowsOf(walk, stage, block, token, layers),
    ofClass: rowsOf(walk, stage, block, 0, layers),
    cover: coverOf(walk, view, layers),
    pixels: token ? rowAt(walk.pixels, token - 1) : null,
    looks: looksOf(walk, view), depth,
    cosines: cosinesAt(walk, depth, token),
    course: courseOf(walk, token, layers),
  };
}
