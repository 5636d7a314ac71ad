// A trained Vision Transformer that reads one digit: what vitedu/vit.py
// computes, every stage kept. Its layers serve other networks, too.

import { fromHalf } from "./core/arrays.js";
import { gelu } from "./core/numbers.js";
import { PICTURE } from "./digit_picture.js";
import { columnsOf, rowOf, softmaxRows, sumOf, zeros } from "./matrices.js";

// Squares of `side` pixels, row by row, flattened.
export function cutPatches({ data, columns }, side) {
  const across = columns / side;
  const patches = zeros(across * across, side * side);
  for (let i = 0; i < patches.data.length; i += 1) {
    const [row, column] = pixelOf(Math.floor(i / side ** 2), i % side ** 2,
      side, across);
    patches.data[i] = data[row * columns + column];
  }
  return patches;
}

// Where a number of a patch is in the picture.
export function pixelOf(patch, number, side, across) {
  return [
    Math.floor(patch / across) * side + Math.floor(number / side),
    (patch % across) * side + number % side,
  ];
}

// The numbers of each name in `layout`; `bytes` are weights in half precision.
export function tensorsOf(bytes, layout) {
  const numbers = fromHalf(new Uint16Array(bytes.buffer.slice(
    bytes.byteOffset, bytes.byteOffset + bytes.byteLength)));
  return Object.fromEntries(
    Object.entries(layout).map(([name, [start, ...shape]]) => {
      const size = shape.reduce((a, b) => a * b, 1);
      return [name, numbers.subarray(start, start + size)];
    }),
  );
}

// Maps, norms and blocks of one width; `stem` is what the names of the blocks
// begin with.
export function makeLayers(tensors, config, stem = "blocks") {
  const { d_model: width, num_heads: heads, layer_norm_eps: eps } = config;
  const headDim = width / heads;

  function linear(x, name) {
    const weight = tensors[`${name}.weight`];
    const bias = tensors[`${name}.bias`];
    const y = zeros(x.rows, bias.length);
    for (let row = 0; row < x.rows; row += 1) {
      const of = rowOf(x, row);
      const to = rowOf(y, row);
      to.set(bias);
      // Four outputs at a time: one sum would wait for itself.
      let j = 0;
      for (; j + 4 <= to.length; j += 4) {
        let [a, b, c, d] = [0, 0, 0, 0];
        for (let i = 0, at = j * of.length; i < of.length; i += 1, at += 1) {
          const number = of[i];
          a += weight[at] * number;
          b += weight[at + of.length] * number;
          c += weight[at + 2 * of.length] * number;
          d += weight[at + 3 * of.length] * number;
        }
        to[j] += a;
        to[j + 1] += b;
        to[j + 2] += c;
        to[j + 3] += d;
      }
      for (; j < to.length; j += 1) {
        for (let i = 0; i < of.length; i += 1) {
          to[j] += weight[j * of.length + i] * of[i];
        }
      }
    }
    return y;
  }

  function spread(numbersOfRow) {
    const { length } = numbersOfRow;
    let [middle, variance] = [0, 0];
    for (const x of numbersOfRow) middle += x / length;
    for (const x of numbersOfRow) variance += (x - middle) ** 2 / length;
    return { middle, variance, root: Math.sqrt(variance + eps) };
  }

  function norm(x, name) {
    const [gain, shift] = [tensors[`${name}.weight`], tensors[`${name}.bias`]];
    const y = zeros(x.rows, x.columns);
    for (let row = 0; row < x.rows; row += 1) {
      const { middle, root } = spread(rowOf(x, row));
      for (let j = 0; j < width; j += 1) {
        const at = row * width + j;
        y.data[at] = (x.data[at] - middle) / root * gain[j] + shift[j];
      }
    }
    return y;
  }

  function scoresOf(q, k, scale) {
    const scores = zeros(q.rows, k.rows);
    for (let i = 0; i < q.rows; i += 1) {
      for (let j = 0; j < k.rows; j += 1) {
        let sum = 0;
        for (let n = 0; n < headDim; n += 1) {
          sum += q.data[i * headDim + n] * k.data[j * headDim + n];
        }
        scores.data[i * k.rows + j] = sum * scale;
      }
    }
    return scores;
  }

  // Writes the answer of a head into its columns of `mixed`.
  function mix(weights, v, mixed, head) {
    for (let i = 0; i < weights.rows; i += 1) {
      const to = i * width + head * headDim;
      for (let j = 0; j < v.rows; j += 1) {
        const weight = weights.data[i * v.rows + j];
        for (let n = 0; n < headDim; n += 1) {
          mixed.data[to + n] += weight * v.data[j * headDim + n];
        }
      }
    }
  }

  function runBlock(x, block, off = []) {
    const name = `${stem}.${block}`;
    const norm1 = norm(x, `${name}.norm1`);
    const qkv = linear(norm1, `${name}.attn.qkv`);
    const mixed = zeros(x.rows, width);
    const scale = off.includes("scale") ? 1 : headDim ** -0.5;
    const perHead = Array.from({ length: heads }, (_, head) => {
      const [q, k, v] = [0, 1, 2].map((i) =>
        columnsOf(qkv, i * width + head * headDim, headDim));
      const scores = scoresOf(q, k, scale);
      const weights = softmaxRows(scores);
      if (!off.includes(`head ${block} ${head}`)) {
        mix(weights, v, mixed, head);
      }
      return { q, k, v, scores, weights };
    });
    const projection = linear(mixed, `${name}.attn.proj`);
    const residuals = !off.includes("residuals");
    const attended = residuals ? sumOf(x, projection) : projection;
    const norm2 = norm(attended, `${name}.norm2`);
    const hidden = linear(norm2, `${name}.mlp.fc1`);
    const active = { ...hidden, data: hidden.data.map(gelu) };
    const narrowed = linear(active, `${name}.mlp.fc2`);
    let out = residuals ? sumOf(attended, narrowed) : narrowed;
    if (off.includes(`block ${block}`)) out = x;
    return { x, norm1, heads: perHead, mixed, projection, attended, norm2,
      hidden, active, narrowed, out, scale };
  }
  return { linear, norm, spread, runBlock, headDim };
}

// `layout` and `config` as Python sends them.
export function makeReader(bytes, layout, config) {
  const { d_model: width, num_layers: layers, patch_size: side } = config;
  const { mean, std } = config;
  const tensors = tensorsOf(bytes, layout);
  const { linear, norm, spread, runBlock, headDim } =
    makeLayers(tensors, config);

  // What the head of the network would read off each token: chances of the
  // ten digits.
  function readTokens(x) {
    return softmaxRows(linear(norm(x, "norm"), "head"));
  }

  // `ink` has 64 numbers from 0 to 16; `off` names what is switched off.
  function run(ink, off = []) {
    const image = zeros(PICTURE.side, PICTURE.side);
    ink.forEach((pixel, i) => {
      image.data[i] = (pixel / PICTURE.most - mean) / std;
    });
    const patches = cutPatches(image, side);
    const embedded = linear(patches, "patch_embed.proj");
    const tokens = zeros(1 + patches.rows, width);
    tokens.data.set(tensors.cls_token);
    tokens.data.set(embedded.data, width);
    const positions = { ...tokens, data: tensors["pos_embed.weight"] };
    const placed = off.includes("positions")
      ? tokens : sumOf(tokens, positions);
    const blocks = [];
    for (let block = 0; block < layers; block += 1) {
      blocks.push(runBlock(blocks.at(-1)?.out ?? placed, block, off));
    }
    const last = norm(blocks.at(-1).out, "norm");
    const first = { ...last, data: rowOf(last, 0), rows: 1 };
    const logits = linear(first, "head");
    return {
      ink, off, image, patches, tokens, placed, blocks, norm: last, logits,
      answer: softmaxRows(logits),
      lens: [placed, ...blocks.map(({ out }) => out)].map(readTokens),
    };
  }
  return { run, tensors, spread, config, headDim };
}
