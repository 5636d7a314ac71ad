// The network of the explorer ReverseTrainer and its training: an encoder of
// one block reads LENGTH letters and says, at each place, the letter at the
// mirrored place.

import { normalNumbers, uniformNumbers } from "./core/numbers.js";
import {
  BATCH, D_MODEL, LENGTH, attention, embedding, layerNorm, linear, matrix,
  relu, residual, softmaxRows, tensor,
} from "./reverse_trainer_layers.js";

export const SYMBOLS = 8;
const TOKENS = BATCH * LENGTH;
const D_FF = 64;
const BASE = 10_000;
// Sequences that it is tested on, in batches.
export const TEST_BATCHES = 4;
export const MAX_STEPS = 2000;
const WARM_UP = 50;
// What one can reach, on average, who knows the letters of a sequence but not
// their order: the letter to say is one of the nine others, each as likely as
// it is frequent.
export const WITHOUT_ORDER = { loss: 1.6133, right: 0.3118 };
const [BETA_1, BETA_2, ADAM_EPS] = [0.9, 0.999, 1e-8];

// Names, shapes and their order as in `vitedu`.
const SHAPES = {
  "embed.weight": [SYMBOLS, D_MODEL],
  "block.norm1.weight": [D_MODEL],
  "block.norm1.bias": [D_MODEL],
  "block.attn.qkv.weight": [3 * D_MODEL, D_MODEL],
  "block.attn.qkv.bias": [3 * D_MODEL],
  "block.attn.proj.weight": [D_MODEL, D_MODEL],
  "block.attn.proj.bias": [D_MODEL],
  "block.norm2.weight": [D_MODEL],
  "block.norm2.bias": [D_MODEL],
  "block.mlp.fc1.weight": [D_FF, D_MODEL],
  "block.mlp.fc1.bias": [D_FF],
  "block.mlp.fc2.weight": [D_MODEL, D_FF],
  "block.mlp.fc2.bias": [D_MODEL],
  "norm.weight": [D_MODEL],
  "norm.bias": [D_MODEL],
  "head.weight": [SYMBOLS, D_MODEL],
  "head.bias": [SYMBOLS],
};

// The variance of a fresh matrix: Xavier's, and 1 for the table of letters.
function variance(name, [rows, columns]) {
  return name === "embed.weight" ? 1 : 2 / (rows + columns);
}

// All weights stand in one row of numbers, so that Adam is one loop; each
// name is a view into it.
function makeParameters(normal) {
  const size = ([rows, columns = 1]) => rows * columns;
  const total = Object.values(SHAPES).reduce((sum, s) => sum + size(s), 0);
  const [values, grads] = [new Float64Array(total), new Float64Array(total)];
  const named = {};
  let start = 0;
  for (const [name, shape] of Object.entries(SHAPES)) {
    const isMatrix = shape.length === 2;
    const [rows, columns] = isMatrix ? shape : [1, ...shape];
    const end = start + size(shape);
    const part = (data) => matrix(data.subarray(start, end), rows, columns);
    named[name] = { value: part(values), grad: part(grads) };
    const { data } = named[name].value;
    if (isMatrix) {
      const spread = Math.sqrt(variance(name, shape));
      for (let i = 0; i < data.length; i++) data[i] = spread * normal();
    } else {
      data.fill(name.endsWith("weight") ? 1 : 0);
    }
    start = end;
  }
  return { values, grads, named };
}

// Sines and cosines in turn, as `vitedu.positions.sinusoidal_table`.
function placeTable() {
  return Float64Array.from({ length: LENGTH * D_MODEL }, (_, at) => {
    const [place, column] = [Math.floor(at / D_MODEL), at % D_MODEL];
    const angle = place / BASE ** ((column - (column % 2)) / D_MODEL);
    return column % 2 ? Math.cos(angle) : Math.sin(angle);
  });
}

// The place, among all tokens of a batch, of the letter to say at `token`.
function mirrored(token) {
  const place = token % LENGTH;
  return token - place + LENGTH - 1 - place;
}

// Pre-norm: what enters a branch is normalised, the sum is not. Gradients
// then reach the letters unhindered, and the warm-up can be short.
function makeNetwork({ positions, scaled, numHeads }, normal) {
  const parameters = makeParameters(normal);
  const at = (name) => ({
    weight: parameters.named[`${name}.weight`],
    bias: parameters.named[`${name}.bias`],
  });
  const ids = new Uint8Array(TOKENS);
  const made = [];
  const make = (columns) => {
    made.push(tensor(TOKENS, columns));
    return made.at(-1);
  };
  const [x0, x1, x2] = [make(D_MODEL), make(D_MODEL), make(D_MODEL)];
  const [n0, n1, n2] = [make(D_MODEL), make(D_MODEL), make(D_MODEL)];
  const [mixed, branch1, branch2] = [
    make(D_MODEL), make(D_MODEL), make(D_MODEL),
  ];
  const [qkv, hidden, active] = [make(3 * D_MODEL), make(D_FF), make(D_FF)];
  const logits = make(SYMBOLS);
  const scale = scaled ? Math.sqrt(numHeads / D_MODEL) : 1;
  const attend = attention(qkv, numHeads, scale, mixed);
  const layers = [
    embedding(ids, at("embed"), positions ? placeTable() : null, x0),
    layerNorm(x0, at("block.norm1"), n0),
    linear(n0, at("block.attn.qkv"), qkv),
    attend,
    linear(mixed, at("block.attn.proj"), branch1),
    residual(x0, branch1, x1),
    layerNorm(x1, at("block.norm2"), n1),
    linear(n1, at("block.mlp.fc1"), hidden),
    relu(hidden, active),
    linear(active, at("block.mlp.fc2"), branch2),
    residual(x1, branch2, x2),
    layerNorm(x2, at("norm"), n2),
    linear(n2, at("head"), logits),
  ];
  const backwards = layers.toReversed();
  const shares = new Float64Array(TOKENS * SYMBOLS);
  const sharesTable = matrix(shares, TOKENS, SYMBOLS);
  const said = (token) => token * SYMBOLS + ids[mirrored(token)];

  // From `ids` to the mean cross-entropy in nats.
  function forward() {
    for (const layer of layers) layer.forward();
    shares.set(logits.value.data);
    softmaxRows(sharesTable);
    let loss = 0;
    for (let i = 0; i < TOKENS; i++) loss -= Math.log(shares[said(i)]);
    return loss / TOKENS;
  }
  // To the gradients of all weights.
  function backward() {
    parameters.grads.fill(0);
    for (const { grad } of made) grad.data.fill(0);
    const grads = logits.grad.data;
    for (let i = 0; i < TOKENS; i++) grads[said(i)] = -1 / TOKENS;
    for (let i = 0; i < grads.length; i++) grads[i] += shares[i] / TOKENS;
    for (const layer of backwards) layer.backward();
  }
  return {
    ids, parameters, logits: logits.value.data, shares,
    maps: attend.weights, forward, backward,
  };
}

// The rate grows to its full value over the first WARM_UP steps.
function makeAdam({ values, grads }) {
  const means = new Float64Array(values.length);
  const squares = new Float64Array(values.length);
  let steps = 0;
  return function update(learningRate) {
    steps += 1;
    const rate = learningRate * Math.min(1, steps / WARM_UP);
    const [unbias1, unbias2] = [1 - BETA_1 ** steps, 1 - BETA_2 ** steps];
    for (let i = 0; i < values.length; i++) {
      const grad = grads[i];
      means[i] += (1 - BETA_1) * (grad - means[i]);
      squares[i] += (1 - BETA_2) * (grad * grad - squares[i]);
      values[i] -= (rate * means[i]) / unbias1
        / (Math.sqrt(squares[i] / unbias2) + ADAM_EPS);
    }
  };
}

export function largestOf(numbers, start, count) {
  let best = start;
  for (let i = start; i < start + count; i++) {
    if (numbers[i] > numbers[best]) best = i;
  }
  return best - start;
}

// A run. Weights, test sequences and training sequences come from the seed,
// in this order; every training batch is new.
export function makeTrainer(settings) {
  const { numHeads, seed } = settings;
  const uniform = uniformNumbers(seed);
  const network = makeNetwork(settings, normalNumbers(seed, uniform));
  const update = makeAdam(network.parameters);
  const { ids, shares, maps } = network;
  const draw = (into) => {
    for (let i = 0; i < into.length; i++) {
      into[i] = Math.floor(SYMBOLS * uniform());
    }
  };
  const tests = new Uint8Array(TEST_BATCHES * TOKENS);
  draw(tests);
  const losses = new Float64Array(MAX_STEPS);
  let steps = 0;

  function step(learningRate) {
    draw(ids);
    losses[steps] = network.forward();
    network.backward();
    update(learningRate);
    steps += 1;
  }
  function test(batch) {
    ids.set(tests.subarray(batch * TOKENS, (batch + 1) * TOKENS));
    return network.forward();
  }
  // On all test sequences: mean loss, share of right letters, and for each
  // head the mean weight on the mirrored letter.
  function evaluate() {
    let [loss, right] = [0, 0];
    const mirror = new Float64Array(numHeads);
    for (let batch = 0; batch < TEST_BATCHES; batch++) {
      loss += test(batch) / TEST_BATCHES;
      for (let i = 0; i < TOKENS; i++) {
        right += largestOf(shares, i * SYMBOLS, SYMBOLS) === ids[mirrored(i)];
      }
      for (let row = 0; row < TOKENS * numHeads; row++) {
        const head = Math.floor(row / LENGTH) % numHeads;
        mirror[head] += maps[row * LENGTH + mirrored(row) % LENGTH];
      }
    }
    const tokens = TEST_BATCHES * TOKENS;
    return {
      step: steps, loss, right: right / tokens,
      mirror: mirror.map((sum) => sum / tokens),
    };
  }
  // One of the first BATCH test sequences: its letters, what is said and how
  // surely, and the map of each head.
  function look(sequence) {
    test(0);
    const start = sequence * LENGTH;
    const places = [...Array(LENGTH).keys()].map((place) => start + place);
    const says = places.map((token) =>
      largestOf(shares, token * SYMBOLS, SYMBOLS));
    const size = LENGTH * LENGTH;
    return {
      reads: places.map((token) => ids[token]),
      should: places.map((token) => ids[mirrored(token)]),
      says,
      sure: places.map((token, i) => shares[token * SYMBOLS + says[i]]),
      maps: Array.from({ length: numHeads }, (_, head) => {
        const first = (sequence * numHeads + head) * size;
        return maps.subarray(first, first + size);
      }),
    };
  }
  return {
    network, tests, losses, step, evaluate, look,
    get steps() {
      return steps;
    },
  };
}
