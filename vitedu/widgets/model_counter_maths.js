// The numbers of the explorer ModelCounter. All are integers, exact up to
// 2 ** 53.

const FLOAT_BYTES = 4;
const COLOURS = 3;

// Width, blocks, heads; the feed-forward network is four times as wide. The
// largest comes with patches of its own.
export const HUGE_PATCH = 14;
export const FAMILY = {
  Ti: [192, 12, 3], S: [384, 12, 6], B: [768, 12, 12],
  L: [1024, 24, 16], H: [1280, 32, 16, HUGE_PATCH],
};
// What table 1 of the ViT paper says, in millions.
export const PAPER_MILLIONS = { B: 86, L: 307, H: 632 };
// The side of the images of its pre-training.
export const PAPER_SIDE = 224;

export function nameOf({ dModel, numLayers, numHeads, mlpRatio }) {
  const sizes = String([dModel, numLayers, numHeads]);
  const found = Object.keys(FAMILY).find((name) =>
    String(FAMILY[name].slice(0, 3)) === sizes);
  return mlpRatio === 4 && found ? found : "own";
}

export const sumOf = (parts) => Object.values(parts).reduce((a, b) => a + b, 0);

const times = (parts, factor) => Object.fromEntries(
  Object.entries(parts).map(([name, count]) => [name, factor * count]),
);

function countParameters(sizes, tokens) {
  const { dModel: h, numLayers: layers, patchSize, numClasses } = sizes;
  const hidden = sizes.mlpRatio * h;
  const linear = (inputs, outputs) => (inputs + 1) * outputs;
  return {
    patch_embed: linear(COLOURS * patchSize ** 2, h),
    cls_token: h,
    pos_embed: tokens * h,
    qkv: layers * linear(h, 3 * h),
    proj: layers * linear(h, h),
    feed_forward: layers * (linear(h, hidden) + linear(hidden, h)),
    norms: (2 * layers + 1) * 2 * h,
    head: linear(h, numClasses),
  };
}

// Forward, for one image; two operations a multiply-add.
export function countFlops(sizes, tokens) {
  const { dModel: h, numLayers: layers, patchSize, numClasses } = sizes;
  return times({
    patch_embed: (tokens - 1) * COLOURS * patchSize ** 2 * h,
    attention_projections: layers * tokens * 4 * h ** 2,
    attention_products: layers * tokens ** 2 * 2 * h,
    feed_forward: layers * tokens * 2 * sizes.mlpRatio * h ** 2,
    head: h * numClasses,
  }, 2);
}

// The pixels need no gradient.
function trainingFlops(forward, batchSize) {
  return {
    ...times(forward, 3 * batchSize),
    patch_embed: 2 * batchSize * forward.patch_embed,
  };
}

export function quadraticShare(flops) {
  return flops.attention_products / sumOf(flops);
}

function activationBytes(sizes, tokens) {
  const { dModel: h, numLayers: layers, numHeads, batchSize, fused } = sizes;
  const all = batchSize * tokens;
  // Written out, the scaled queries are kept as well where q, k and v need no
  // copy; fused, a number for each query of each head.
  const written = batchSize === 1 || numHeads === 1 ? h : 0;
  return times({
    images: batchSize * COLOURS * sizes.imageSize ** 2,
    attention: layers * all * (5 * h + (fused ? numHeads : written)),
    attention_maps: fused ? 0 : layers * numHeads * all * tokens,
    feed_forward: layers * all * (h + 2 * sizes.mlpRatio * h),
    norms: (2 * layers + 1) * all * (h + 2),
    head: sizes.numClasses ? all * h : 0,
  }, FLOAT_BYTES);
}

// What two sizes that do not fit each other are called in WORDS, and the next
// larger one that would fit.
export function faultsOf({ dModel, numHeads, imageSize, patchSize }) {
  const next = (size, part) => part * Math.ceil(size / part);
  return [
    ["unevenHeads", dModel, numHeads], ["unevenPatches", imageSize, patchSize],
  ].filter(([, size, part]) => size % part)
    .map(([fault, size, part]) =>
      [fault, { size, part, next: next(size, part) }]);
}

export function countModel(sizes) {
  const tokens = (sizes.imageSize / sizes.patchSize) ** 2 + 1;
  const parameters = countParameters(sizes, tokens);
  const flops = countFlops(sizes, tokens);
  const state = FLOAT_BYTES * sumOf(parameters);
  const activations = activationBytes(sizes, tokens);
  return {
    tokens, parameters, flops,
    training: trainingFlops(flops, sizes.batchSize),
    memory: {
      parameters: state, gradients: state, adam: 2 * state, ...activations,
    },
    kept: sumOf(activations),
    share: quadraticShare(flops),
    crossover: (2 + sizes.mlpRatio) * sizes.dModel,
    mapBytes: FLOAT_BYTES * sizes.batchSize * sizes.numHeads * tokens ** 2,
  };
}
