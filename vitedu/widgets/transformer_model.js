// A Transformer in the page: what vitedu/transformer.py computes, for one
// sentence, token by token. A token is a Float32Array of d_model numbers.

// The same as in vitedu/data/sequences.py.
const MARKS = { pad: 0, bos: 1, eos: 2, first: 3 };

const ACTIVATIONS = {
  relu: (x) => Math.max(0, x),
  gelu,
};

function add(x, y) {
  return x.map((number, i) => number + y[i]);
}

// Natural logarithms; padding, which is never chosen, gets -Infinity.
function logSoftmax(logits, padding) {
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
function makeTransformer({ weights, layout, config }) {
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

  // What enters a residual branch, and what leaves the sum behind it.
  const enter = (x, norm) => (config.norm_first ? normalise(x, norm) : x);
  const leave = (x, y, norm) =>
    (config.norm_first ? add(x, y) : normalise(add(x, y), norm));

  function embed(side, id, position) {
    const name = `${side}_embed`;
    const table = tensors[`${name}.tokens.weight`].data;
    const grow = config.embedding_scale === "embedding" ? width ** 0.5 : 1;
    const learned = tensors[`${name}.positions.weight`]?.data;
    const x = new Float32Array(width);
    for (let i = 0; i < width; i += 1) {
      x[i] = table[id * width + i] * grow;
      if (learned) x[i] += learned[position * width + i];
      if (config.positions === "sinusoidal") {
        const angle = position / 10000 ** ((i - (i % 2)) / width);
        x[i] += i % 2 ? Math.cos(angle) : Math.sin(angle);
      }
    }
    return normalise(x, `${name}.norm`);
  }

  const query = (x, name) => linear(x, `${name}.qkv`, 0, inner);
  function keyAndValue(x, name) {
    const both = linear(x, `${name}.qkv`, inner);
    return { k: both.subarray(0, inner), v: both.subarray(inner) };
  }

  // One query looks at tokens whose keys and values are known; `weights` has
  // a row for each head.
  function attend(q, seen, name) {
    const mixed = new Float32Array(heads * valueDim);
    const rows = [];
    for (let head = 0; head < heads; head += 1) {
      const at = head * keyDim;
      const row = softmax(seen.map(({ k }) => {
        let score = 0;
        for (let i = at; i < at + keyDim; i += 1) score += q[i] * k[i];
        return score * scale;
      }));
      seen.forEach(({ v }, key) => {
        for (let i = head * valueDim; i < (head + 1) * valueDim; i += 1) {
          mixed[i] += row[key] * v[i];
        }
      });
      rows.push(row);
    }
    return { out: linear(mixed, `${name}.proj`), weights: rows };
  }

  function feedForward(x, block, norm) {
    const hidden = linear(enter(x, norm), `${block}.mlp.fc1`).map(activate);
    return leave(x, linear(hidden, `${block}.mlp.fc2`), norm);
  }

  // Reads a sentence of ids. `maps[layer][head][query]` is a row of weights;
  // `memory[layer]` has what each block of the decoder reads.
  function encode(ids) {
    let xs = ids.map((id, position) => embed("src", id, position));
    const maps = layers.map((layer) => {
      const block = `encoder.blocks.${layer}`;
      const inside = xs.map((x) => enter(x, `${block}.norm1`));
      const seen = inside.map((x) => keyAndValue(x, `${block}.attn`));
      const looks = inside.map((x) =>
        attend(query(x, `${block}.attn`), seen, `${block}.attn`));
      xs = xs.map((x, i) => feedForward(
        leave(x, looks[i].out, `${block}.norm1`), block, `${block}.norm2`,
      ));
      return Array.from({ length: heads }, (_, head) =>
        looks.map(({ weights: rows }) => rows[head]));
    });
    const outputs = xs.map((x) => normalise(x, "encoder.norm"));
    const memory = layers.map((layer) => outputs.map((x) =>
      keyAndValue(x, `decoder.blocks.${layer}.cross_attn`)));
    return { maps, memory };
  }

  // Before the first token.
  const nothing = layers.map(() => []);

  // Reads one more token of the target sentence. `past` is `nothing`, or what
  // the step before gave; it stays as it is, so that several sentences can go
  // on from it. `own` and `cross` are rows of weights by [layer][head].
  function step(memory, past, id) {
    let x = embed("tgt", id, past[0].length);
    const own = [];
    const cross = [];
    const now = layers.map((layer) => {
      const block = `decoder.blocks.${layer}`;
      const [self, other] = [`${block}.attn`, `${block}.cross_attn`];
      const inside = enter(x, `${block}.norm1`);
      const seen = [...past[layer], keyAndValue(inside, self)];
      const before = attend(query(inside, self), seen, self);
      x = leave(x, before.out, `${block}.norm1`);
      const across = attend(
        query(enter(x, `${block}.norm2`), other), memory[layer], other,
      );
      x = leave(x, across.out, `${block}.norm2`);
      x = feedForward(x, block, `${block}.norm3`);
      own.push(before.weights);
      cross.push(across.weights);
      return seen;
    });
    const logits = linear(normalise(x, "decoder.norm"), "generator");
    const shrink = config.embedding_scale === "logits" ? width ** -0.5 : 1;
    return { logits: logits.map((logit) => logit * shrink),
      past: now, own, cross };
  }
  return { config, encode, step, nothing };
}
