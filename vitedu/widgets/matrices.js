// Matrices: {data, rows, columns}, row by row; and how one number of a matrix
// came about, as `workedText` in opened_stage.js says it.

import { softmax } from "./core/numbers.js";

export function zeros(rows, columns) {
  return { data: new Float32Array(rows * columns), rows, columns };
}

export function rowOf({ data, columns }, row) {
  return data.subarray(row * columns, (row + 1) * columns);
}

export function sumOf(a, b) {
  const sum = zeros(a.rows, a.columns);
  for (let i = 0; i < sum.data.length; i += 1) {
    sum.data[i] = a.data[i] + b.data[i];
  }
  return sum;
}

export function softmaxRows(scores) {
  const weights = zeros(scores.rows, scores.columns);
  for (let row = 0; row < scores.rows; row += 1) {
    rowOf(weights, row).set(softmax(rowOf(scores, row)));
  }
  return weights;
}

// Some columns of a matrix, as those of one head.
export function columnsOf({ data, rows, columns }, first, count) {
  const some = zeros(rows, count);
  for (let row = 0; row < rows; row += 1) {
    const from = row * columns + first;
    some.data.set(data.subarray(from, from + count), row * count);
  }
  return some;
}

// Where the largest of some chances is.
export function likeliest(chances) {
  return chances.indexOf(Math.max(...chances));
}

// Of two lists of numbers, how far apart they are where they differ most.
export function largestChange(a, b) {
  return a.reduce((most, number, i) =>
    Math.max(most, Math.abs(number - b[i])), 0);
}

export function pairs(a, b) {
  return Array.from(a, (number, i) => [number, b[i]]);
}

// Where the second is switched off, the first is all there is.
export function plus(a, b, row, column, both = true) {
  const numbers = { a: rowOf(a, row)[column], b: rowOf(b, row)[column] };
  return both ? { numbers } : { words: "alone", numbers };
}

export function shared(scores, column) {
  let total = 0;
  for (const score of scores) total += Math.exp(score);
  return { numbers: { x: scores[column], total } };
}
