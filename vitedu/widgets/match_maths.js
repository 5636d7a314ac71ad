// Two encoders that map scenes of digits and sentences into one space: what
// vitedu/objectives/contrastive.py computes.

import { softmax } from "./core/numbers.js";
import { cutPatches, makeLayers, tensorsOf } from "./follow_digit_maths.js";
import { rowOf, sumOf, zeros } from "./matrices.js";

export const SCENE = { side: 20, digit: 8, most: 16, pairs: 6 };
const OPPOSITES = {
  "left of": "right of", "right of": "left of",
  above: "below", below: "above",
};
export const RELATIONS = Object.keys(OPPOSITES);
// What stands along which axis, and which of them is said of the second digit.
const axisOf = (said) => (RELATIONS.indexOf(said) < 2 ? 0 : 1);
const isOfSecond = (said) => RELATIONS.indexOf(said) % 2 === 1;

// A sentence is {first, said, second}; a scene {first, second, relation}, with
// relation 0 for left of and 1 for above.
export const swapped = (sentence) =>
  ({ ...sentence, said: OPPOSITES[sentence.said] });

export function describes({ first, said, second }, scene) {
  const [a, b] = isOfSecond(said) ? [second, first] : [first, second];
  return a === scene.first && b === scene.second
    && axisOf(said) === scene.relation;
}

export function mirrored({ first, second, relation }) {
  return { first: second, second: first, relation };
}

export function sentenceOf({ first, second, relation }) {
  return { first, said: RELATIONS[2 * relation], second };
}

// The numbers of its words. `words` are all that the network knows, those of
// the digits in a row.
export function idsOf({ first, said, second }, words) {
  const zero = words.indexOf("zero");
  const a = words.indexOf("a");
  return [a, zero + first, ...said.split(" ").map((word) =>
    words.indexOf(word)), a, zero + second];
}

export const textOf = (sentence, words) =>
  idsOf(sentence, words).map((id) => words[id]).join(" ");

// Pixels in [0, 1]. `samples` are images of the ten digits; `corners` say
// where each begins, row and column: those of the first, then of the second.
export function painted({ first, second }, samples, corners) {
  const { side, digit: size, most } = SCENE;
  const pixels = new Float32Array(side * side);
  [first, second].forEach((digit, which) => {
    const [down, right] = corners.slice(2 * which);
    samples[digit].forEach((ink, i) => {
      const [row, column] = [Math.floor(i / size), i % size];
      pixels[(down + row) * side + right + column] = ink / most;
    });
  });
  return pixels;
}

function ofLengthOne(vector) {
  const length = Math.hypot(...vector);
  return vector.map((number) => number / length);
}

// `encodeImage` takes pixels, `encodeCaption` the numbers of words; both give
// a vector of length 1. `scale` is what was learned.
export function makeEncoders(bytes, layout, config) {
  const { d_model: width, num_layers: layers, text_layers: textLayers } =
    config;
  const tensors = tensorsOf(bytes, layout);
  const image = makeLayers(tensors, config, "image.blocks");
  const text = makeLayers(tensors, config);

  // A linear map without a bias.
  function mapped(x, name) {
    const matrix = tensors[`${name}.weight`];
    return Float32Array.from({ length: matrix.length / width }, (_, row) =>
      x.reduce((sum, number, i) => sum + number * matrix[row * width + i], 0));
  }
  function through(x, network, count) {
    for (let block = 0; block < count; block += 1) {
      x = network.runBlock(x, block).out;
    }
    return x;
  }
  function encodeImage(pixels) {
    const data = pixels.map((pixel) => 2 * pixel - 0.5);
    const patches = cutPatches({ data, columns: SCENE.side },
      config.patch_size);
    const embedded = image.linear(patches, "image.patch_embed.proj");
    const tokens = zeros(1 + patches.rows, width);
    tokens.data.set(tensors["image.cls_token"]);
    tokens.data.set(embedded.data, width);
    const placed = sumOf(tokens,
      { ...tokens, data: tensors["image.pos_embed.weight"] });
    const last = image.norm(through(placed, image, layers), "image.norm");
    return ofLengthOne(mapped(rowOf(last, 0), "image_map"));
  }
  // Without the padding, to which no word attends.
  function encodeCaption(ids) {
    const tokens = zeros(ids.length, width);
    ids.forEach((id, at) => {
      const word = rowOf({ data: tensors["words.weight"], columns: width }, id);
      rowOf(tokens, at).set(word);
    });
    const placed = sumOf(tokens,
      { ...tokens, data: tensors["pos_embed.weight"] });
    const last = text.norm(through(placed, text, textLayers), "norm");
    const mean = new Float32Array(width);
    for (let row = 0; row < last.rows; row += 1) {
      rowOf(last, row).forEach((number, i) => {
        mean[i] += number / last.rows;
      });
    }
    return ofLengthOne(mapped(mean, "caption_map"));
  }
  return { encodeImage, encodeCaption,
    scale: Math.exp(tensors.log_scale[0]) };
}

export const dot = (a, b) =>
  a.reduce((sum, number, i) => sum + number * b[i], 0);

const transposed = (rows) => rows[0].map((_, column) =>
  rows.map((row) => row[column]));
const meanOf = (numbers) =>
  numbers.reduce((sum, number) => sum + number, 0) / numbers.length;
// The logarithm of a sigmoid, also far from 0.
const logSigmoid = (x) =>
  Math.min(0, x) - Math.log1p(Math.exp(-Math.abs(x)));

// What a batch gives: by rows, each scene's choice of a sentence; by columns,
// each sentence's choice of a scene; of each pair, whether it is one.
export function batchOf(cosines, temperature, bias) {
  const scaled = cosines.map((row) =>
    row.map((cosine) => cosine / temperature));
  const rows = scaled.map((row) => Array.from(softmax(row)));
  const columns = transposed(transposed(scaled).map((row) =>
    Array.from(softmax(row))));
  const yes = scaled.map((row) => row.map((score) =>
    Math.exp(logSigmoid(score + bias))));
  const ofPairs = (all) => meanOf(all.map((row, i) => -Math.log(row[i])));
  const siglip = meanOf(scaled.map((row, i) => -row.reduce((sum, score, j) =>
    sum + logSigmoid((i === j ? 1 : -1) * (score + bias)), 0)));
  return { rows, columns, yes, clip: (ofPairs(rows) + ofPairs(columns)) / 2,
    siglip };
}
