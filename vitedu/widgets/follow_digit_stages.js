// The stages of the network: where each is kept, and how one of its numbers is
// computed from the stage before.

import { erf } from "./core/numbers.js";
import { PICTURE } from "./digit_picture.js";
import { pixelOf } from "./follow_digit_maths.js";
import { columnsOf, pairs, plus, rowOf, shared } from "./matrices.js";

// `of` finds the numbers; `made` tells how one of them came about:
//   {terms, factor, bias}   a sum of products
//   {numbers}               what the words of the stage need
export const BEFORE = {
  pixels: {
    of: (run) => run.image, axes: ["row", "column"],
    made: (reader, run, _, row, column) => ({ numbers: {
      x: run.ink[row * PICTURE.side + column] / PICTURE.most,
      mean: reader.config.mean, std: reader.config.std,
    } }),
  },
  patches: {
    of: (run) => run.patches, axes: ["patch", "number"],
    made: (reader, run, _, row, column) => {
      const side = reader.config.patch_size;
      const [down, right] = pixelOf(row, column, side, PICTURE.side / side);
      return { numbers: { down: down + 1, right: right + 1 } };
    },
  },
  tokens: {
    of: (run) => run.tokens, axes: ["token", "number"],
    made: (reader, run, _, row, column) => row
      ? linearTerms(reader, "patch_embed.proj", run.patches, row - 1, column)
      : { words: "learned", numbers: {} },
  },
  positions: {
    of: (run) => run.placed, axes: ["token", "number"],
    made: (reader, run, _, row, column) => plus(
      run.tokens, { ...run.tokens, data: reader.tensors["pos_embed.weight"] },
      row, column, !run.off.includes("positions"),
    ),
  },
};

export const IN_BLOCK = {
  norm1: {
    of: ({ block }) => block.norm1, axes: ["token", "number"],
    made: (reader, { block, name }, row, column) =>
      normed(reader, `${name}.norm1`, block.x, row, column),
  },
  query: headStage("q", 0),
  key: headStage("k", 1),
  value: headStage("v", 2),
  scores: {
    of: ({ head }) => head.scores, axes: ["query", "key"],
    made: (reader, { block, head }, row, column) => ({
      terms: pairs(rowOf(head.q, row), rowOf(head.k, column)),
      factor: block.scale,
    }),
  },
  softmax: {
    of: ({ head }) => head.weights, axes: ["query", "key"],
    made: (reader, { head }, row, column) =>
      shared(rowOf(head.scores, row), column),
  },
  heads: {
    of: ({ block, at, headDim }) =>
      columnsOf(block.mixed, at.head * headDim, headDim),
    axes: ["token", "number"],
    made: (reader, { head, isOff }, row, column) => (isOff
      ? { words: "off", numbers: {} }
      : { terms: pairs(rowOf(head.weights, row),
        Array.from({ length: head.v.rows }, (_, token) =>
          rowOf(head.v, token)[column])) }),
  },
  projection: {
    of: ({ block }) => block.projection, axes: ["token", "number"],
    made: (reader, { block, name }, row, column) =>
      linearTerms(reader, `${name}.attn.proj`, block.mixed, row, column),
  },
  "attention sum": {
    of: ({ block }) => block.attended, axes: ["token", "number"],
    made: (reader, { block, residuals }, row, column) =>
      plus(block.projection, block.x, row, column, residuals),
  },
  norm2: {
    of: ({ block }) => block.norm2, axes: ["token", "number"],
    made: (reader, { block, name }, row, column) =>
      normed(reader, `${name}.norm2`, block.attended, row, column),
  },
  hidden: {
    of: ({ block }) => block.hidden, axes: ["token", "number"],
    made: (reader, { block, name }, row, column) =>
      linearTerms(reader, `${name}.mlp.fc1`, block.norm2, row, column),
  },
  gelu: {
    of: ({ block }) => block.active, axes: ["token", "number"],
    made: (reader, { block }, row, column) => {
      const x = rowOf(block.hidden, row)[column];
      return { numbers: { x, share: (1 + erf(x * Math.SQRT1_2)) / 2 } };
    },
  },
  narrowed: {
    of: ({ block }) => block.narrowed, axes: ["token", "number"],
    made: (reader, { block, name }, row, column) =>
      linearTerms(reader, `${name}.mlp.fc2`, block.active, row, column),
  },
  "block sum": {
    of: ({ block }) => block.out, axes: ["token", "number"],
    made: (reader, { block, residuals, skipped }, row, column) => (skipped
      ? { words: "skipped", numbers: {} }
      : plus(block.narrowed, block.attended, row, column, residuals)),
  },
};

export const AFTER = {
  norm: {
    of: (run) => run.norm, axes: ["token", "number"],
    made: (reader, run, _, row, column) =>
      normed(reader, "norm", run.blocks.at(-1).out, row, column),
  },
  logits: {
    of: (run) => run.logits, axes: ["class token", "digit"],
    made: (reader, run, _, row, column) =>
      linearTerms(reader, "head", run.norm, 0, column),
  },
  answer: {
    of: (run) => run.answer, axes: ["class token", "digit"],
    made: (reader, run, _, row, column) =>
      shared(run.logits.data, column),
  },
};

// The line of vitedu that computes each stage.
export const CODE = {
  pixels: ["data/digits.py", "standardised = (images - mean) / std"],
  patches: ["patches.py",
    '"b c (rows p1) (cols p2) -> b (rows cols) (c p1 p2)",'],
  tokens: ["vit.py", "tokens = torch.cat([*prefix, patches], dim=1)"],
  positions: ["vit.py",
    "tokens = self._placed(tokens, self.patch_embed.grid_of(images))"],
  norm1: ["layers.py", "y = self.norm1(x)"],
  query: ["attention.py",
    "q, k, v = self.qkv(x).split(self._widths(), dim=-1)"],
  key: ["attention.py",
    "q, k, v = self.qkv(x).split(self._widths(), dim=-1)"],
  value: ["attention.py",
    "q, k, v = self.qkv(x).split(self._widths(), dim=-1)"],
  scores: ["attention.py", "scores = (q * scale) @ k.transpose(-2, -1)"],
  softmax: ["attention.py", "return scores.softmax(dim=-1)"],
  heads: ["attention.py", "return F.dropout(weights, dropout) @ v"],
  projection: ["attention.py", "return self.proj_drop(self.proj(merged))"],
  "attention sum": ["layers.py", "x = x + self.drop_path(self.ls1(y))"],
  norm2: ["layers.py",
    "return x + self.drop_path(self.ls2(self.mlp(self.norm2(x))))"],
  hidden: ["layers.py", "hidden = self.drop1(self.act(self.fc1(x)))"],
  gelu: ["layers.py", "hidden = self.drop1(self.act(self.fc1(x)))"],
  narrowed: ["layers.py", "return self.drop2(self.fc2(hidden))"],
  "block sum": ["layers.py",
    "return x + self.drop_path(self.ls2(self.mlp(self.norm2(x))))"],
  norm: ["vit.py", "return self.norm(x)"],
  logits: ["vit.py",
    "logits = self.head(self.pre_logits(self.pool(tokens, patch_mask)))"],
  answer: ["predict.py", "weights = model(image)[0].softmax(dim=-1)"],
};

function headStage(name, third) {
  return {
    of: ({ head }) => head[name], axes: ["token", "number"],
    made: (reader, { block, name: of, at }, row, column) => linearTerms(
      reader, `${of}.attn.qkv`, block.norm1, row,
      third * reader.config.d_model + at.head * reader.headDim + column,
    ),
  };
}

function linearTerms({ tensors }, name, x, row, output) {
  const weight = tensors[`${name}.weight`]
    .subarray(output * x.columns, (output + 1) * x.columns);
  return { terms: pairs(rowOf(x, row), weight),
    bias: tensors[`${name}.bias`][output] };
}

function normed({ tensors, spread, config }, name, x, row, column) {
  const { middle, variance } = spread(rowOf(x, row));
  return { numbers: {
    x: rowOf(x, row)[column], mean: middle, variance,
    eps: config.layer_norm_eps, gain: tensors[`${name}.weight`][column],
    shift: tensors[`${name}.bias`][column],
  } };
}

// All that can be said of a stage: its matrix, its axes, and how the number in
// a row and a column came about. Places beyond its end are its last.
export function openStage(reader, run, { stage, block: layer, head, row, column }) {
  const inside = IN_BLOCK[stage];
  const { of, axes, made } = inside ?? BEFORE[stage] ?? AFTER[stage];
  const block = run.blocks[layer];
  const given = inside ? {
    block, at: { layer, head }, head: block.heads[head],
    headDim: reader.headDim, name: `blocks.${layer}`,
    residuals: !run.off.includes("residuals"),
    skipped: run.off.includes(`block ${layer}`),
    isOff: run.off.includes(`head ${layer} ${head}`),
  } : run;
  const matrix = of(given);
  const at = [Math.min(row, matrix.rows - 1),
    Math.min(column, matrix.columns - 1)];
  return {
    matrix, axes, row: at[0], column: at[1],
    value: rowOf(matrix, at[0])[at[1]],
    made: inside ? made(reader, given, ...at)
      : made(reader, run, null, ...at),
  };
}
