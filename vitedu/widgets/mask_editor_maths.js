// What the explorer MaskEditor computes. Everything is (query, key), row by
// row in one array.

import { softmax } from "./core/numbers.js";

export const SMALLEST = -3.4028234663852886e38; // finfo.min of float32
const FILLS = {
  "finfo.min and clear": SMALLEST, "-inf": -Infinity, "finfo.min": SMALLEST,
  "-1e9": -1e9,
};

export function presetMask(name, tokens) {
  return Uint8Array.from({ length: tokens.length ** 2 }, (_, index) => {
    const query = Math.floor(index / tokens.length);
    const key = index % tokens.length;
    const future = name.includes("causal") && key > query;
    return !future && !(name.includes("padding") && tokens[key] === "<pad>");
  });
}

// The mask as others write it, in numbers: 1 for True, 0 for False.
function writtenAs(mask, convention) {
  return Float64Array.from(mask, (seen) => ({
    "nn.MultiheadAttention": 1 - seen, "additive": seen ? 0 : -Infinity,
  }[convention] ?? seen));
}

function eachRow(array, change) {
  const size = Math.sqrt(array.length);
  const rows = new Float64Array(array.length);
  for (let start = 0; start < array.length; start += size) {
    rows.set(change(array.subarray(start, start + size)), start);
  }
  return rows;
}

const total = (row) => row.reduce((sum, number) => sum + number, 0);
const sumsOf = (rows, size) => Float64Array.from({ length: size }, (_, row) =>
  total(rows.subarray(row * size, (row + 1) * size)));

// Masked scores and weights. A row without anything to see becomes what the
// arithmetic makes of it: 0 / 0 is NaN here, too.
function attendBy(scores, seen, method, fillValue) {
  const keep = (numbers) => numbers.map((number, at) => number * seen[at]);
  if (method === "fill before softmax") {
    const masked = scores.map((s, at) => (seen[at] ? s : FILLS[fillValue]));
    const weights = eachRow(masked, softmax);
    const clear = fillValue === "finfo.min and clear";
    return { masked, weights: clear ? keep(weights) : weights };
  }
  if (method === "multiply before softmax") {
    const masked = keep(scores);
    return { masked, weights: eachRow(masked, softmax) };
  }
  const weights = keep(eachRow(scores, softmax));
  if (method === "multiply after softmax") return { masked: scores, weights };
  const shares = (row) => row.map((weight) => weight / total(row));
  return { masked: scores, weights: eachRow(weights, shares) };
}

// A mask given to an attention that expects another convention.
function misread(scores, form, convention) {
  const filled = (reads, fillValue) =>
    attendBy(scores, form.map(reads), "fill before softmax", fillValue);
  if (convention === "integers") { // to one that adds
    const masked = scores.map((score, at) => score + form[at]);
    return { masked, weights: eachRow(masked, softmax) };
  }
  if (convention === "nn.MultiheadAttention") { // to one with True = attend
    return filled((value) => value === 1, "finfo.min and clear");
  }
  if (convention === "additive") { // to one that fills where it finds a 0
    return filled((value) => value !== 0, "-1e9");
  }
  return filled((value) => value === 0, "-inf"); // to one with True = hide
}

export function readings({ scores, mask, method, fillValue, convention, handedOver }) {
  const form = writtenAs(mask, convention);
  const { masked, weights } = handedOver
    ? misread(scores, form, convention)
    : attendBy(scores, mask, method, fillValue);
  // A product, so that a row of NaN has no share either.
  const onHidden = weights.map((weight, at) => weight * (1 - mask[at]));
  const size = Math.sqrt(mask.length);
  return {
    written: form, masked, weights, sums: sumsOf(weights, size),
    leaks: sumsOf(onHidden, size),
  };
}
