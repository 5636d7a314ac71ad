// A Transformer in the page: what vitedu/transformer.py computes, for one
// sentence, token by token. A token is a Float32Array of d_model numbers.

import { decodeArray } from "./core/arrays.js";
import { gelu, softmax } from "./core/numbers.js";

// The same as in vitedu/data/sequences.py.
export const MARKS = { pad: 0, bos: 1, eos: 2, first: 3 };

const ACTIVATIONS = {
  relu: (x) => Math.max(0, x),
  gelu,
};

function add(x, y) {
  return x.map((number, i) => number + y[i]);
}

// Natural logarithms; padding, which is never chosen, gets -Infinity.
export function logSoftmax(logits, padding) {
  let largest = -Infinity;
  for (const logit of logits) largest = Math.max(largest, logit);
  let total = 0;
  for (const logit of logits) total += Math.exp(logit - largest);
  const shift = largest + Math.log(total);
  const logs = Float64Array.from(logits, (logit) => logit - shift);
  logs[padding] = -Infinity;
  return logs;
}

// `weights`, `layout` and `config` as vitedu.book.page_weights makes them.
export function makeTransformer({ weights, layout, config }) {
  const { data } = decodeArray(weights);
  const { d_model: width, num_heads: heads, head_dim: keyDim } = config;
  const valueDim = config.value_dim;
  const inner = heads * keyDim;
  const scale = config.scale ?? keyDim ** -0.5;
  const activate = ACTIVATIONS[config.activation];
  const layers = Array.from({ length: config.num_layers }, (_, at) => at);
  const tensors = {};
  for (const [name, [start, ...shape]] of Object.entries(layout)) {
    const size = shape.reduce((a, b) => a * b, 1);
    tensors[name] = { data: data.subarray(start, start + size), shape };
  }

  // Rows `from` to `to` of a linear map, all of them unless said otherwise.
  function linear(x, name, from = 0, to = undefined) {
    const { data: matrix, shape: [rows, columns] } = tensors[`${name}.weight`];
    const bias = tensors[`${name}.bias`]?.data;
    const out = new Float32Array((to ?? rows) - from);
    if (bias) out.set(bias.subarray(from, to));
    // Four rows at a time: one sum would wait for itself.
    let row = 0;
    for (; row + 4 <= out.length; row += 4) {
      const start = (from + row) * columns;
      let [a, b, c, d] = [out[row], out[row + 1], out[row + 2], out[row + 3]];
      for (let i = 0, at = start; i < columns; i += 1, at += 1) {
        const number = x[i];
        a += matrix[at] * number;
        b += matrix[at + columns] * number;
        c += matrix[at + 2 * columns] * number;
        d += matrix[at + 3 * columns] * number;
      }
      out[row] = a;
      out[row + 1] = b;
      out[row + 2] = c;
      out[row + 3] = d;
    }
    for (; row < out.length; row += 1) {
      const start = (from + row) * columns;
      let sum = out[row];
      for (let i = 0; i < columns; i += 1) sum += matrix[start + i] * x[i];
      out[row] = sum;
    }
    return out;
  }

  // Leaves `x` as it is where the model has no such layer.
  function normalise(x, name) {
    const gain = tensors[`${name}.weight`]?.data;
    if (!gain) return x;
    const shift = tensors[`${name}.bias`].data;
    let mean = 0;
    for (const number of x) mean += number / width;
    let variance = 0;
    for (const number of x) variance += (number - mean) ** 2 / width;
    const shrink = 1 / Math.sqrt(variance + config.layer_norm_eps);
    return x.map((number, i) => (number - mean) * shrink * gain[i] + shift[i]);
  }

  const enter = (x, norm) => (config.norm_first ? normalise(x, norm) : x);

  // A residual branch keeps what came in, what enters it, the sum behind it
  // and what leaves it.
  function branch(x, norm, work, inside = enter(x, norm)) {
    const { out: added, ...kept } = work(inside);
    const sum = add(x, added);
    const out = config.norm_first ? sum : normalise(sum, norm);
    return { x, norm, inside, ...kept, added, sum, out };
  }

  // A row of the table, as it is and in its size; its position; both together.
  function embed(side, id, position) {
    const name = `${side}_embed`;
    const row = tensors[`${name}.tokens.weight`].data
      .subarray(id * width, (id + 1) * width);
    const grow = config.embedding_scale === "embedding" ? width ** 0.5 : 1;
    const token = row.map((number) => number * grow);
    const place = new Float32Array(width);
    const learned = tensors[`${name}.positions.weight`]?.data;
    if (learned) {
      place.set(learned.subarray(position * width, (position + 1) * width));
    }
    if (config.positions === "sinusoidal") {
      for (let i = 0; i < width; i += 1) {
        const angle = position / 10000 ** ((i - (i % 2)) / width);
        place[i] = i % 2 ? Math.cos(angle) : Math.sin(angle);
      }
    }
    const placed = add(token, place);
    return { row, grow, token, place, placed,
      out: normalise(placed, `${name}.norm`) };
  }

  const query = (x, name) => linear(x, `${name}.qkv`, 0, inner);
  function keyAndValue(x, name) {
    const both = linear(x, `${name}.qkv`, inner);
    return { k: both.subarray(0, inner), v: both.subarray(inner) };
  }

  // One query looks at tokens whose keys and values are known; `scores` and
  // `weights` have a row for each head.
  function attend(q, seen, name) {
    const mixed = new Float32Array(heads * valueDim);
    const [scores, rows] = [[], []];
    for (let head = 0; head < heads; head += 1) {
      const at = head * keyDim;
      const score = seen.map(({ k }) => {
        let sum = 0;
        for (let i = at; i < at + keyDim; i += 1) sum += q[i] * k[i];
        return sum * scale;
      });
      const row = softmax(score);
      seen.forEach(({ v }, key) => {
        for (let i = head * valueDim; i < (head + 1) * valueDim; i += 1) {
          mixed[i] += row[key] * v[i];
        }
      });
      scores.push(score);
      rows.push(row);
    }
    return { q, scores, weights: rows, mixed,
      out: linear(mixed, `${name}.proj`) };
  }

  function feedForward(x, block, norm) {
    return branch(x, `${block}.${norm}`, (inside) => {
      const hidden = linear(inside, `${block}.mlp.fc1`);
      const active = hidden.map(activate);
      return { hidden, active, out: linear(active, `${block}.mlp.fc2`) };
    });
  }

  // Reads a sentence of ids. `blocks[layer]` has what attention and
  // feed-forward network did at each token; `memory[layer]`, what each block
  // of the decoder reads.
  function encode(ids) {
    const embedded = ids.map((id, position) => embed("src", id, position));
    let xs = embedded.map(({ out }) => out);
    const blocks = layers.map((layer) => {
      const block = `encoder.blocks.${layer}`;
      const name = `${block}.attn`;
      const norm = `${block}.norm1`;
      const insides = xs.map((x) => enter(x, norm));
      const seen = insides.map((inside) => keyAndValue(inside, name));
      const attention = xs.map((x, i) => branch(x, norm, (inside) =>
        attend(query(inside, name), seen, name), insides[i]));
      const forward = attention.map(({ out }) =>
        feedForward(out, block, "norm2"));
      xs = forward.map(({ out }) => out);
      return { attention, seen, forward };
    });
    const outputs = xs.map((x) => normalise(x, "encoder.norm"));
    const memory = layers.map((layer) => outputs.map((x) =>
      keyAndValue(x, `decoder.blocks.${layer}.cross_attn`)));
    return { embedded, blocks, outputs, memory };
  }

  // Before the first token.
  const nothing = layers.map(() => []);

  // Reads one more token of the target sentence. `past` is `nothing`, or what
  // the step before gave; it stays as it is, so that several sentences can go
  // on from it. `blocks[layer]` has what the three branches did.
  function step(memory, past, id) {
    const embedded = embed("tgt", id, past[0].length);
    let x = embedded.out;
    const blocks = layers.map((layer) => {
      const block = `decoder.blocks.${layer}`;
      const [self, other] = [`${block}.attn`, `${block}.cross_attn`];
      let seen;
      const decoder = branch(x, `${block}.norm1`, (inside) => {
        seen = [...past[layer], keyAndValue(inside, self)];
        return attend(query(inside, self), seen, self);
      });
      const cross = branch(decoder.out, `${block}.norm2`, (inside) =>
        attend(query(inside, other), memory[layer], other));
      const forward = feedForward(cross.out, block, "norm3");
      x = forward.out;
      return { decoder, cross, forward, seen };
    });
    const last = normalise(x, "decoder.norm");
    const shrink = config.embedding_scale === "logits" ? width ** -0.5 : 1;
    const logits = linear(last, "generator").map((logit) => logit * shrink);
    return { logits, past: blocks.map(({ seen }) => seen), embedded, blocks,
      last, shrink };
  }
  return { config, tensors, scale, encode, step, nothing };
}
