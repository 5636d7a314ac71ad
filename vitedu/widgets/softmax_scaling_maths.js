// The numbers of the explorer SoftmaxScaling.

import { entropy, normalNumbers, softmax } from "./core/numbers.js";

const QUERIES = 64;
export const MAX_KEYS = 256;
export const MAX_HEAD_DIM = 1024;
export const DEAD_BELOW = 1e-3;
const NUM_HEADS = 12;

// Dot products are kept after every so many dimensions, so that any head_dim
// is at most this many dimensions away from a kept one.
const BLOCK = 32;
// So many dimensions are drawn in one bit of idle time.
const BIT = 8;

// Queries q, keys k, values v and upstream gradients u of one seed. A
// dimension is drawn when it is first needed: the numbers of the first 64 do
// not depend on whether there are more.
export function makeDraw(seed) {
  const next = normalNumbers(seed);
  const normals = (count) => Float64Array.from({ length: count }, next);
  const columns = [];
  const kept = [emptySums()];
  // The sums that were asked for last, of so many dimensions and keys. Those
  // of other keys are not complete; the next question overwrites all.
  const latest = { ...emptySums(), headDim: 0, numKeys: 0 };

  function emptySums() {
    return {
      dots: new Float64Array(QUERIES * MAX_KEYS),
      // How much the loss of a query likes a value: u times v.
      liking: new Float64Array(QUERIES * MAX_KEYS),
      // Dot products of keys with keys: the lower triangle, row after row.
      gram: new Float64Array((MAX_KEYS * (MAX_KEYS + 1)) / 2),
    };
  }
  function addDimension({ dots, liking, gram }, { q, u, k, v }, numKeys) {
    for (let i = 0; i < QUERIES; i++) {
      const [ofQuery, ofLoss, at] = [q[i], u[i], i * MAX_KEYS];
      for (let j = 0; j < numKeys; j++) {
        dots[at + j] += ofQuery * k[j];
        liking[at + j] += ofLoss * v[j];
      }
    }
    for (let i = 0, at = 0; i < numKeys; i++) {
      const factor = k[i];
      for (let j = 0; j <= i; j++, at++) gram[at] += factor * k[j];
    }
  }
  // Puts into `sums` those of the first keys, up to a dimension.
  function sumUntil(headDim, numKeys, sums) {
    const block = Math.min(Math.floor(headDim / BLOCK), kept.length - 1);
    for (const name of Object.keys(kept[block])) {
      sums[name].set(kept[block][name]);
    }
    for (let dim = block * BLOCK; dim < headDim; dim++) {
      addDimension(sums, columns[dim], numKeys);
    }
    return sums;
  }
  function drawUntil(headDim) {
    while (columns.length < headDim) {
      columns.push({
        q: normals(QUERIES), u: normals(QUERIES),
        k: normals(MAX_KEYS), v: normals(MAX_KEYS),
      });
    }
  }
  function keepNext() {
    const to = kept.length * BLOCK;
    drawUntil(to);
    kept.push(sumUntil(to, MAX_KEYS, emptySums()));
  }
  function products(headDim, numKeys) {
    if (latest.headDim !== headDim || latest.numKeys < numKeys) {
      while (kept.length * BLOCK <= headDim) keepNext();
      drawUntil(headDim);
      sumUntil(headDim, numKeys, latest);
      Object.assign(latest, { headDim, numKeys });
    }
    return latest;
  }
  // Does a bit of what larger head_dim need; tells whether more is to do.
  function prepare() {
    const next = kept.length * BLOCK;
    if (next > MAX_HEAD_DIM) return false;
    if (columns.length < next) drawUntil(Math.min(next, columns.length + BIT));
    else keepNext();
    return true;
  }
  return { products, prepare };
}

export function scaleFactor(scale, headDim, temperature) {
  return {
    "1/sqrt(head_dim)": headDim ** -0.5,
    "none": 1,
    "1/sqrt(d_model)": (NUM_HEADS * headDim) ** -0.5,
    "temperature": 1 / temperature,
  }[scale];
}

// The norm of scale * sum_j dL/ds_j k_j, from the keys' dot products.
function gradientNorm(weights, c, gram, scale) {
  const n = weights.length;
  // Counted from the value of the largest weight: nothing cancels, however
  // close to 1 that weight is.
  const origin = c[weights.indexOf(Math.max(...weights))];
  let mean = 0;
  for (let j = 0; j < n; j++) mean += weights[j] * (c[j] - origin);
  const ds = weights.map((weight, j) => weight * (c[j] - origin - mean));
  let squared = 0;
  for (let i = 0, at = 0; i < n; at += ++i) {
    if (ds[i] === 0) continue;
    let row = 0.5 * ds[i] * gram[at + i];
    for (let j = 0; j < i; j++) row += ds[j] * gram[at + j];
    squared += 2 * ds[i] * row;
  }
  return scale * Math.sqrt(Math.max(0, squared));
}

function standardDeviation(values) {
  let sum = 0;
  for (const value of values) sum += value;
  const mean = sum / values.length;
  let squares = 0;
  for (const value of values) squares += (value - mean) ** 2;
  return Math.sqrt(squares / values.length);
}

function quantile(sorted, share) {
  const at = share * (sorted.length - 1);
  const below = Math.floor(at);
  const above = Math.min(below + 1, sorted.length - 1);
  return sorted[below] + (at - below) * (sorted[above] - sorted[below]);
}

export function readings(draw, headDim, n, scale) {
  const { dots, liking, gram } = draw.products(headDim, n);
  const all = new Float64Array(QUERIES * n);
  const norms = new Float64Array(QUERIES);
  let weights;
  let sumOfEntropies = 0;
  for (let i = QUERIES - 1; i >= 0; i--) {
    const from = i * MAX_KEYS;
    const scores = dots.subarray(from, from + n).map((dot) => dot * scale);
    all.set(scores, i * n);
    weights = softmax(scores);
    sumOfEntropies += entropy(weights);
    norms[i] = gradientNorm(weights, liking.subarray(from), gram, scale);
  }
  const sorted = norms.toSorted();
  return {
    headDim, numKeys: n, scale, scores: all.subarray(0, n), weights,
    scoreStd: standardDeviation(all.subarray(0, n)),
    scoreStdAll: standardDeviation(all),
    theoryStd: Math.sqrt(headDim) * scale,
    entropy: sumOfEntropies / QUERIES, maxEntropy: Math.log(n),
    gradNorms: norms,
    gradP10: quantile(sorted, 0.1), gradMedian: quantile(sorted, 0.5),
    deadShare: sorted.filter((norm) => norm < DEAD_BELOW).length / QUERIES,
  };
}
