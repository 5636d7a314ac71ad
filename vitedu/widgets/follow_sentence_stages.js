// The stages of a translator: where each is kept, and how one of its numbers
// is computed from the stage before.

import { erf } from "./core/numbers.js";
import { pairs, rowOf, shared, softmaxRows, zeros } from "./matrices.js";

// An attention is that of the encoder, the masked one of the decoder, or the
// one across from decoder to encoder; each has the feed-forward network after
// it. `code` is the line of vitedu, in the order in which norms and sums come:
// with the norm after the sum, and before.
export const ATTENTIONS = {
  encoder: {
    line: "src", block: "encoder.blocks", name: "attn", forward: "norm2",
    sum: ["x = self.norm1(x + self.drop_path(self.ls1(y)))",
      "x = x + self.drop_path(self.ls1(y))"],
    norm: "y = self.norm1(x)",
    forwardSum: [
      "return self.norm2(x + self.drop_path(self.ls2(self.mlp(x))))",
      "return x + self.drop_path(self.ls2(self.mlp(self.norm2(x))))",
    ],
  },
  decoder: {
    line: "tgt", block: "decoder.blocks", name: "attn", forward: "norm3",
    sum: ["x = self.norm1(x + self.drop_path(y))",
      "x = x + self.drop_path(y)"],
    norm: "y = self.attn(self.norm1(x), mask=mask, cache=own)",
    forwardSum: ["return self.norm3(x + self.drop_path(self.mlp(x)))",
      "return x + self.drop_path(self.mlp(self.norm3(x)))"],
  },
  cross: {
    line: "tgt", block: "decoder.blocks", name: "cross_attn",
    forward: "norm3",
    sum: ["x = self.norm2(x + self.drop_path(y))",
      "x = x + self.drop_path(y)"],
    norm: "y = self.cross_attn(self.norm2(x), memory, memory_mask, other)",
    forwardSum: ["return self.norm3(x + self.drop_path(self.mlp(x)))",
      "return x + self.drop_path(self.mlp(self.norm3(x)))"],
  },
};
const SPLIT = "q, k, v = self.qkv(x).split(self._widths(), dim=-1)";
const WIDEN = "hidden = self.drop1(self.act(self.fc1(x)))";
const HIDDEN = -Infinity;

// The numbers of some tokens, one below the other; of each only `count` from
// `first` on. Rows that are shorter end with `filler`.
export function stacked(vectors, first = 0, count = undefined, filler = 0) {
  const matrix = zeros(vectors.length, count ?? vectors.at(-1).length);
  matrix.data.fill(filler);
  vectors.forEach((vector, row) =>
    rowOf(matrix, row).set(vector.slice(first, first + matrix.columns)));
  return matrix;
}

// What the rows of an axis are: {line, as}, tokens of a line, as queries or as
// keys; otherwise the numbers of a token, or the words of the vocabulary.
const NUMBERS = { line: "number" };
const tokensOf = (line, as) => ({ line, as });

// How one number of a linear map came about, which took `x` in.
function linearOf({ tensors }, name, x, output, factor) {
  const { data, shape: [, columns] } = tensors[`${name}.weight`];
  return {
    terms: pairs(x, data.subarray(output * columns, (output + 1) * columns)),
    bias: tensors[`${name}.bias`]?.data[output], factor,
  };
}

function normOf({ tensors, config }, name, x, column) {
  let [mean, variance] = [0, 0];
  for (const number of x) mean += number / x.length;
  for (const number of x) variance += (number - mean) ** 2 / x.length;
  return { numbers: {
    x: x[column], mean, variance, eps: config.layer_norm_eps,
    gain: tensors[`${name}.weight`].data[column],
    shift: tensors[`${name}.bias`].data[column],
  } };
}

// The sum at the end of a branch, and the norm before or after it.
function branchStages(norm, sum, { find, code }) {
  return {
    [norm]: {
      axes: ({ line }) => [tokensOf(line), NUMBERS],
      of: (given) => stacked(find(given).map((one) =>
        (given.first ? one.inside : one.out))),
      made: (given, row, column) => {
        const one = find(given)[row];
        return normOf(given.model, one.norm, given.first ? one.x : one.sum,
          column);
      },
      code: (given) => ["layers.py", code(given)[given.first ? 2 : 0]],
    },
    [sum]: {
      axes: ({ line }) => [tokensOf(line), NUMBERS],
      of: (given) => stacked(find(given).map((one) => one.sum)),
      made: (given, row, column) => {
        const one = find(given)[row];
        return { numbers: { a: one.x[column], b: one.added[column] } };
      },
      code: (given) => ["layers.py", code(given)[given.first ? 1 : 0]],
    },
  };
}

// Queries, keys, values: the first, second and third part of one map.
function projected(part) {
  const keys = part !== "q";
  const widthIn = ({ model: { config } }) =>
    (part === "v" ? config.value_dim : config.head_dim);
  return {
    axes: (given) => [tokensOf(keys ? given.keyLine : given.line), NUMBERS],
    of: (given) => stacked(
      (keys ? given.seen : given.branches).map((one) => one[part]),
      given.head * widthIn(given), widthIn(given),
    ),
    made: (given, row, column) => {
      const { model, head, name, branches, keyInputs } = given;
      const { num_heads: heads, head_dim: keyDim } = model.config;
      const before = { q: 0, k: 1, v: 2 }[part] * heads * keyDim;
      return linearOf(model, `${name}.qkv`,
        keys ? keyInputs[row] : branches[row].inside,
        before + head * widthIn(given) + column);
    },
    code: ({ kind }) => ["attention.py", kind !== "cross" ? SPLIT
      : keys ? "k, v = self._read(memory, cache)" : "q = self._project_q(x)"],
  };
}

function scoreOf({ model, branches, seen, head }, row, column) {
  const [from, to] = [head, head + 1].map((one) => one * model.config.head_dim);
  return { terms: pairs(branches[row].q.subarray(from, to),
    seen[column].k.subarray(from, to)), factor: model.scale };
}

// In the masked attention a query sees the keys up to its own.
const hides = ({ kind }, row, column) => kind === "decoder" && column > row;
const mapAxes = ({ line, keyLine }) =>
  [tokensOf(line, "query"), tokensOf(keyLine, "key")];

export const IN_ATTENTION = {
  ...branchStages("norm", "sum", {
    find: ({ branches }) => branches,
    code: ({ kind }) => [...ATTENTIONS[kind].sum, ATTENTIONS[kind].norm],
  }),
  query: projected("q"),
  key: projected("k"),
  value: projected("v"),
  scores: {
    axes: mapAxes,
    // Also those that the mask will hide, which the page never needs.
    of: (given) => stacked(given.branches.map((_, row) =>
      given.seen.map((_key, column) => {
        const { terms, factor } = scoreOf(given, row, column);
        return factor * terms.reduce((sum, [a, b]) => sum + a * b, 0);
      }))),
    made: scoreOf,
    code: () => ["attention.py", "scores = (q * scale) @ k.transpose(-2, -1)"],
  },
  mask: {
    axes: mapAxes,
    of: ({ branches, seen, head }) => stacked(
      branches.map(({ scores }) => scores[head]), 0, seen.length, HIDDEN),
    made: (given, row, column) => (hides(given, row, column)
      ? { words: "hidden", numbers: {} }
      : { numbers: { x: given.branches[row].scores[given.head][column] } }),
    code: () => ["attention.py",
      "return scores.masked_fill(~mask, hidden).softmax(dim=-1) * mask"],
  },
  softmax: {
    axes: mapAxes,
    of: ({ branches, seen, head }) => stacked(
      branches.map(({ weights }) => weights[head]), 0, seen.length),
    made: (given, row, column) => (hides(given, row, column)
      ? { words: "hidden", numbers: {} }
      : shared(given.branches[row].scores[given.head], column)),
    code: () => ["attention.py",
      "return scores.masked_fill(~mask, hidden).softmax(dim=-1) * mask"],
  },
  mix: {
    axes: ({ line }) => [tokensOf(line), NUMBERS],
    of: ({ branches, head, model }) => stacked(
      branches.map(({ mixed }) => mixed),
      head * model.config.value_dim, model.config.value_dim,
    ),
    made: ({ branches, seen, head, model }, row, column) => ({
      terms: Array.from(branches[row].weights[head], (weight, at) =>
        [weight, seen[at].v[head * model.config.value_dim + column]]),
    }),
    code: () => ["attention.py", "return F.dropout(weights, dropout) @ v"],
  },
  projection: {
    axes: ({ line }) => [tokensOf(line), NUMBERS],
    of: ({ branches }) => stacked(branches.map(({ added }) => added)),
    made: ({ branches, name, model }, row, column) =>
      linearOf(model, `${name}.proj`, branches[row].mixed, column),
    code: () => ["attention.py", "return self.proj_drop(self.proj(merged))"],
  },
};

const forwardStage = (found, made, line) => ({
  axes: ({ line: of }) => [tokensOf(of), NUMBERS],
  of: ({ forwards }) => stacked(forwards.map(found)),
  made: (given, row, column) => made(given, given.forwards[row], column),
  code: () => ["layers.py", line],
});

export const IN_FORWARD = {
  ...branchStages("forward norm", "forward sum", {
    find: ({ forwards }) => forwards,
    code: ({ kind }) =>
      [...ATTENTIONS[kind].forwardSum, ATTENTIONS[kind].forwardSum[1]],
  }),
  hidden: forwardStage(({ hidden }) => hidden, ({ model, block }, one, column) =>
    linearOf(model, `${block}.mlp.fc1`, one.inside, column), WIDEN),
  active: forwardStage(({ active }) => active, ({ model }, one, column) => {
    const x = one.hidden[column];
    return { numbers: model.config.activation === "relu" ? { x }
      : { x, share: (1 + erf(x * Math.SQRT1_2)) / 2 } };
  }, WIDEN),
  narrowed: forwardStage(({ added }) => added, ({ model, block }, one, column) =>
    linearOf(model, `${block}.mlp.fc2`, one.active, column),
  "return self.drop2(self.fc2(hidden))"),
};

function embeddedStages(line, tokens, positions) {
  return {
    [tokens]: {
      axes: () => [tokensOf(line), NUMBERS],
      of: (given) => stacked(given[line].map(({ token }) => token)),
      made: (given, row, column) => {
        const { row: table, grow } = given[line][row];
        return { numbers: { x: table[column], grow } };
      },
      code: () => ["transformer.py", "x = self.tokens(ids) * self.scale"],
    },
    [positions]: {
      axes: () => [tokensOf(line), NUMBERS],
      of: (given) => stacked(given[line].map(({ placed }) => placed)),
      made: (given, row, column) => {
        const { token, place } = given[line][row];
        return { numbers: { a: token[column], b: place[column] } };
      },
      code: () => ["transformer.py", "x = self.positions(x, start)"],
    },
  };
}

// The last norm of a stack, where it has one.
function lastOf({ model }, name, blocks, row, column) {
  const { out } = blocks.at(-1).forward[row];
  return model.tensors[`${name}.weight`] ? normOf(model, name, out, column)
    : { words: "same", numbers: {} };
}

const OUTSIDE = {
  ...embeddedStages("src", "signs", "sign positions"),
  memory: {
    axes: () => [tokensOf("src"), NUMBERS],
    of: ({ outputs }) => stacked(outputs),
    made: (given, row, column) =>
      lastOf(given, "encoder.norm", given.read, row, column),
    code: () => ["transformer.py",
      "return self.encoder(x, padding_mask(src, self.config.src_pad_id))"],
  },
  ...embeddedStages("tgt", "words", "word positions"),
  last: {
    axes: () => [tokensOf("tgt"), NUMBERS],
    of: ({ states }) => stacked(states.map(({ last }) => last)),
    made: ({ model, states }, row, column) => {
      const { out } = states[row].blocks.at(-1).forward;
      return normOf(model, "decoder.norm", out, column);
    },
    code: () => ["transformer.py", "return self.norm(x)"],
  },
  logits: {
    axes: () => [tokensOf("tgt"), { line: "next" }],
    of: ({ states }) => stacked(states.map(({ logits }) => logits)),
    made: ({ model, states }, row, column) => {
      const { last, shrink } = states[row];
      return linearOf(model, "generator", last, column,
        shrink === 1 ? undefined : shrink);
    },
    code: () => ["transformer.py", "logits = self.generator(x)"],
  },
  chances: {
    axes: () => [tokensOf("tgt"), { line: "next" }],
    of: ({ states }) => softmaxRows(
      stacked(states.map(({ logits }) => logits))),
    made: ({ states }, row, column) => shared(states[row].logits, column),
    code: () => ["decoding/prefixes.py",
      "following = logits.log_softmax(dim=-1, dtype=dtype)"],
  },
};

export const INSIDE = { ...IN_ATTENTION, ...IN_FORWARD };

// The steps of an attention and of the feed-forward network after it, in the
// order in which this model takes them.
export function stepsInside({ config }, kind) {
  const attention = ["query", "key", "value", "scores",
    ...(kind === "decoder" ? ["mask"] : []), "softmax", "mix", "projection",
    "sum"];
  const forward = ["hidden", "active", "narrowed", "forward sum"];
  return config.norm_first
    ? { attention: ["norm", ...attention], forward: ["forward norm", ...forward] }
    : { attention: [...attention, "norm"], forward: [...forward, "forward norm"] };
}

// What has been read: the source as `encode` gives it, and what `step` gave
// for each target token so far. All that can be said of a stage: its matrix,
// its axes, and how the number in a row and a column came about. A row of -1,
// like one beyond the end, is the last.
export function openStage(model, { encoded, states }, view) {
  const { stage, attention: kind, layer, head, row, column } = view;
  const { line, block, name } = ATTENTIONS[kind];
  const of = (branch) => states.map(({ blocks }) => blocks[layer][branch]);
  const own = encoded.blocks[layer];
  const branches = kind === "encoder" ? own.attention : of(kind);
  const given = {
    model, kind, layer, head, line, branches, states,
    first: model.config.norm_first,
    block: `${block}.${layer}`, name: `${block}.${layer}.${name}`,
    forwards: kind === "encoder" ? own.forward : of("forward"),
    keyLine: kind === "decoder" ? "tgt" : "src",
    seen: { encoder: own.seen, decoder: states.at(-1).blocks[layer].seen,
      cross: encoded.memory[layer] }[kind],
    keyInputs: kind === "cross" ? encoded.outputs
      : branches.map(({ inside }) => inside),
    src: encoded.embedded, tgt: states.map(({ embedded }) => embedded),
    outputs: encoded.outputs, read: encoded.blocks,
  };
  const { of: find, axes, made, code } = INSIDE[stage] ?? OUTSIDE[stage];
  const matrix = find(given);
  const last = matrix.rows - 1;
  const at = [row < 0 ? last : Math.min(row, last),
    Math.min(column, matrix.columns - 1)];
  const [file, text] = code(given);
  return {
    matrix, axes: axes(given), row: at[0], column: at[1],
    value: rowOf(matrix, at[0])[at[1]], made: made(given, ...at),
    file, line: text,
  };
}
