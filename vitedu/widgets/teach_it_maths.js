// A linear map on the features of photographs, as `fit_ridge` of
// vitedu.pretrained.probes fits it, and what it says of photographs.

import { softmax } from "./core/numbers.js";

// How strongly large weights are penalised: half decades.
const STRENGTHS = Array.from({ length: 9 }, (_, k) => 10 ** (k / 2));
// How sharp the probabilities are: factors of the scores, an octave in four.
const SHARPNESS = Array.from({ length: 41 }, (_, k) => 2 ** (k / 4));
// Fewer photographs of a class than this are not enough to know.
export const ENOUGH = 5;

export function indexOfLargest(numbers) {
  return numbers.reduce((best, number, i) =>
    (number > numbers[best] ? i : best), 0);
}

function sum(numbers) {
  return numbers.reduce((total, number) => total + number, 0);
}

// Rows, each feature with mean 0 and standard deviation 1.
function standardised(rows) {
  const width = rows[0].length;
  const mean = new Float64Array(width);
  const std = new Float64Array(width);
  for (const row of rows) {
    for (let j = 0; j < width; j += 1) mean[j] += row[j] / rows.length;
  }
  for (const row of rows) {
    for (let j = 0; j < width; j += 1) std[j] += (row[j] - mean[j]) ** 2;
  }
  for (let j = 0; j < width; j += 1) {
    std[j] = Math.sqrt(std[j] / (rows.length - 1)) + 1e-6;
  }
  const x = rows.map((row) => Float64Array.from(row, (value, j) =>
    (value - mean[j]) / std[j]));
  return { x, mean, std };
}

// Products of rows with rows, and the 1 whose weight is the bias.
function productsOf(x) {
  const products = x.map(() => new Float64Array(x.length));
  for (let i = 0; i < x.length; i += 1) {
    for (let k = 0; k <= i; k += 1) {
      const [a, b] = [x[i], x[k]];
      let product = 1;
      for (let j = 0; j < a.length; j += 1) product += a[j] * b[j];
      products[i][k] = products[k][i] = product;
    }
  }
  return products;
}

// The inverse of a symmetric positive definite matrix, with `added` on its
// diagonal: L of L Lᵀ first (Cholesky), then columns of L's inverse.
export function inverseOf(matrix, added = 0) {
  const n = matrix.length;
  const lower = matrix.map((row) => Float64Array.from(row));
  for (let j = 0; j < n; j += 1) {
    for (let i = j; i < n; i += 1) {
      const [row, other] = [lower[i], lower[j]];
      let rest = row[j] + (i === j ? added : 0);
      for (let k = 0; k < j; k += 1) rest -= row[k] * other[k];
      lower[i][j] = i === j ? Math.sqrt(rest) : rest / lower[j][j];
    }
  }
  const columns = Array.from({ length: n }, (_, j) => {
    const column = new Float64Array(n);
    for (let i = j; i < n; i += 1) {
      const row = lower[i];
      let rest = i === j ? 1 : 0;
      for (let k = j; k < i; k += 1) rest -= row[k] * column[k];
      column[i] = rest / row[i];
    }
    return column;
  });
  return columns.map((one, i) => Float64Array.from(columns, (other, j) => {
    let product = 0;
    for (let k = Math.max(i, j); k < n; k += 1) product += one[k] * other[k];
    return product;
  }));
}

// The fit with one strength: {error, strength, dual, leftOut}, the last two
// (sample, class). Each sample is left out of the fit that gives its score.
function fitWith(strength, products, wanted) {
  const inverse = inverseOf(products, strength);
  const dual = inverse.map((row) => wanted[0].map((_, c) => {
    let product = 0;
    for (let k = 0; k < row.length; k += 1) product += row[k] * wanted[k][c];
    return product;
  }));
  const leftOut = wanted.map((row, i) =>
    row.map((value, c) => value - dual[i][c] / inverse[i][i]));
  const errors = wanted.map((row, i) =>
    sum(row.map((value, c) => (value - leftOut[i][c]) ** 2)));
  const error = sum(errors) / (wanted.length * wanted[0].length);
  return { error, strength, dual, leftOut };
}

// The cross-entropy with labels that are smoothed: of n samples of k classes
// each has the share (n + 1) / (n + k) in its own, and 1 / (n + k) in others.
function smoothLoss(scores, labels, factor) {
  const [n, k] = [scores.length, scores[0].length];
  return sum(scores.map((row, i) => {
    const most = Math.max(...row);
    const logits = row.map((score) => factor * (score - most));
    const whole = Math.log(sum(logits.map(Math.exp)));
    return whole - (n * logits[labels[i]] + sum(logits)) / (n + k);
  })) / n;
}

const smallest = (all, sizeOf) => all.reduce((best, one) =>
  (sizeOf(one) < sizeOf(best) ? one : best));

// `rows` are features of samples, `labels` the numbers of their classes, from
// 0 on; of each class there are two samples at least. `weight` of what is
// returned has a row for each class; the other names are those of `Ridge`.
export function fitRidge(rows, labels, strengths = STRENGTHS) {
  const { x, mean, std } = standardised(rows);
  const classes = Math.max(...labels) + 1;
  const wanted = labels.map((label) =>
    Array.from({ length: classes }, (_, c) => (c === label ? 1 : -1)));
  const products = productsOf(x);
  const { error, strength, dual, leftOut } = smallest(
    strengths.map((one) => fitWith(one, products, wanted)),
    (fit) => fit.error);
  const factor = smallest(
    SHARPNESS.map((one) => [one, smoothLoss(leftOut, labels, one)]),
    ([, loss]) => loss)[0];
  const weight = wanted[0].map((_, c) => {
    const row = new Float64Array(mean.length);
    x.forEach((features, i) => {
      const share = factor * dual[i][c];
      for (let j = 0; j < row.length; j += 1) {
        row[j] += share * features[j] / std[j];
      }
    });
    return row;
  });
  const bias = weight.map((row, c) => factor * sum(dual.map((all) => all[c]))
    - sum(Array.from(row, (value, j) => value * mean[j])));
  return {
    weight, bias, strength, error,
    leftOut: leftOut.map((row) => row.map((score) => factor * score)),
    right: leftOut.filter((row, i) =>
      indexOfLargest(row) === labels[i]).length,
  };
}

// The scores of the classes, of features that begin at a place of an array.
function scoresOf({ weight, bias }, features, from = 0) {
  return bias.map((start, c) => {
    const row = weight[c];
    let score = start;
    for (let j = 0; j < row.length; j += 1) {
      score += row[j] * features[from + j];
    }
    return score;
  });
}

// What each patch adds to the scores, (patch, class). The features are a mean
// over the patches and the map is linear: the mean of these is the scores.
export function byPatch(head, tokens) {
  const width = head.weight[0].length;
  return Array.from({ length: tokens.length / width }, (_, patch) =>
    scoresOf(head, tokens, patch * width));
}

// The scores of a photograph and the probabilities of its classes.
export function answerOf(head, features) {
  const scores = scoresOf(head, features);
  return { scores, chances: Array.from(softmax(scores)) };
}

// The features of a block, from 1 on, out of those of all blocks in a row.
export function ofBlock(means, block, blocks) {
  const width = means.length / blocks;
  return means.subarray((block - 1) * width, block * width);
}

function repeatsOf(samples) {
  const same = (a, b) => a.means.every((value, i) => value === b.means[i]);
  return samples.filter((one, i) =>
    samples.slice(0, i).some((before) => same(one, before))).length;
}

// What `teach` finds out: the same head on the features of every block and on
// bare pixels. `samples` are of {label, means, pixels}. `best` is the block
// whose fit has the smallest leave-one-out error.
export function evidenceOf(samples, blocks) {
  const labels = samples.map(({ label }) => label);
  const fits = Array.from({ length: blocks }, (_, at) => fitRidge(
    samples.map(({ means }) => ofBlock(means, at + 1, blocks)), labels));
  const counts = Array.from({ length: Math.max(...labels) + 1 }, (_, c) =>
    labels.filter((label) => label === c).length);
  return {
    fits, samples: samples.length, counts,
    byBlock: fits.map(({ right }) => right),
    best: 1 + indexOfLargest(fits.map(({ error }) => -error)),
    pixels: fitRidge(samples.map(({ pixels }) => pixels), labels).right,
    mostFrequent: Math.max(...counts), repeated: repeatsOf(samples),
    isEnough: Math.min(...counts) >= ENOUGH,
  };
}
