// The network of the explorer Collapse: `GroupHead` of the library on points
// of the plane, forwards and backwards. Two linear maps with a GELU between
// them, then cosines with learned directions.

import { erf } from "./core/numbers.js";

const HIDDEN = 16;
export const GROUPS = 6;
// Names, order and shapes as in `vitedu`.
const SHAPES = {
  "0.weight": [HIDDEN, 2],
  "0.bias": [HIDDEN],
  "2.weight": [HIDDEN, HIDDEN],
  "2.bias": [HIDDEN],
  "3.weight": [GROUPS, HIDDEN],
};
const BELL = 1 / Math.sqrt(2 * Math.PI);

const sizeOf = ([rows, columns = 1]) => rows * columns;
const PARAMETERS = Object.values(SHAPES).reduce(
  (sum, shape) => sum + sizeOf(shape), 0);

// All parameters are in one array, so that a step is one loop; these are
// views into it.
function named(parameters) {
  let end = 0;
  return Object.values(SHAPES).map((shape) =>
    parameters.subarray(end, end += sizeOf(shape)));
}

// As in PyTorch: uniform up to 1 / √inputs, and normal directions.
export function initialParameters(uniform, normal) {
  const parameters = new Float64Array(PARAMETERS);
  named(parameters).forEach((part, at) => {
    const inputs = at < 2 ? 2 : HIDDEN;
    for (let i = 0; i < part.length; i++) {
      part[i] = at === 4 ? normal()
        : (2 * uniform() - 1) / Math.sqrt(inputs);
    }
  });
  return parameters;
}

// out = x weightᵀ + bias, row by row.
function linear(x, weight, bias, inputs) {
  const outputs = bias.length;
  const rows = x.length / inputs;
  const out = new Float64Array(rows * outputs);
  for (let row = 0; row < rows; row++) {
    for (let to = 0; to < outputs; to++) {
      let sum = bias[to];
      for (let from = 0; from < inputs; from++) {
        sum += weight[to * inputs + from] * x[row * inputs + from];
      }
      out[row * outputs + to] = sum;
    }
  }
  return out;
}

// Adds the gradients of a weight and, where there is one, of a bias.
function addGradients(grad, x, gradWeight, outputs, gradBias) {
  const inputs = gradWeight.length / outputs;
  for (let row = 0; row < grad.length / outputs; row++) {
    for (let to = 0; to < outputs; to++) {
      const slope = grad[row * outputs + to];
      if (gradBias) gradBias[to] += slope;
      for (let from = 0; from < inputs; from++) {
        gradWeight[to * inputs + from] += slope * x[row * inputs + from];
      }
    }
  }
}

// The gradient of what a linear map gets, from that of what it gives.
function backThrough(grad, weight, outputs) {
  const inputs = weight.length / outputs;
  const gradX = new Float64Array(grad.length / outputs * inputs);
  for (let row = 0; row < grad.length / outputs; row++) {
    for (let to = 0; to < outputs; to++) {
      const slope = grad[row * outputs + to];
      for (let from = 0; from < inputs; from++) {
        gradX[row * inputs + from] += slope * weight[to * inputs + from];
      }
    }
  }
  return gradX;
}

// Rows of length 1, and how long they were.
function normalised(x, width) {
  const lengths = new Float64Array(x.length / width);
  const rows = new Float64Array(x.length);
  for (let row = 0; row < lengths.length; row++) {
    const from = row * width;
    let squares = 0;
    for (let i = from; i < from + width; i++) squares += x[i] * x[i];
    lengths[row] = Math.sqrt(squares);
    for (let i = from; i < from + width; i++) rows[i] = x[i] / lengths[row];
  }
  return { rows, lengths };
}

// Adds to `into` what of a gradient changes a row's direction.
function normalisedBackward(grad, { rows, lengths }, into) {
  const width = rows.length / lengths.length;
  for (let row = 0; row < lengths.length; row++) {
    const from = row * width;
    let along = 0;
    for (let i = from; i < from + width; i++) along += grad[i] * rows[i];
    for (let i = from; i < from + width; i++) {
      into[i] += (grad[i] - along * rows[i]) / lengths[row];
    }
  }
}

// Points, (x, y) each, to scores; with what the way back needs.
export function forward(parameters, points) {
  const [weight1, bias1, weight2, bias2, weight3] = named(parameters);
  const before = linear(points, weight1, bias1, 2);
  const shares = before.map((x) => (1 + erf(x * Math.SQRT1_2)) / 2);
  const active = before.map((x, i) => x * shares[i]);
  const features = normalised(
    linear(active, weight2, bias2, HIDDEN), HIDDEN);
  const directions = normalised(weight3, HIDDEN);
  const scores = linear(
    features.rows, directions.rows, new Float64Array(GROUPS), HIDDEN);
  return { points, before, shares, active, features, directions, scores };
}

// Adds the gradients of all parameters to `grads`, for those of the scores.
export function backward(parameters, made, gradScores, grads) {
  const { points, before, shares, active, features, directions } = made;
  const [, , weight2] = named(parameters);
  const [grad1, gradBias1, grad2, gradBias2, grad3] = named(grads);
  const gradDirections = new Float64Array(grad3.length);
  addGradients(gradScores, features.rows, gradDirections, GROUPS);
  normalisedBackward(gradDirections, directions, grad3);
  const gradRows = backThrough(gradScores, directions.rows, GROUPS);
  const gradFeatures = new Float64Array(gradRows.length);
  normalisedBackward(gradRows, features, gradFeatures);
  addGradients(gradFeatures, active, grad2, HIDDEN, gradBias2);
  const gradActive = backThrough(gradFeatures, weight2, HIDDEN);
  const gradBefore = gradActive.map((grad, i) => grad
    * (shares[i] + before[i] * BELL * Math.exp(-(before[i] ** 2) / 2)));
  addGradients(gradBefore, points, grad1, HIDDEN, gradBias1);
}
