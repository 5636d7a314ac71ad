// Where a Vision Transformer's parameters, operations and memory are.

import { button, select } from "./core/controls.js";
import { html, write } from "./core/dom.js";
import { choice, defineExplorer, slider } from "./core/explorer.js";
import { commas, sentence, tidy } from "./core/texts.js";
import WORDS from "./model_counter.words.json" with { type: "json" };
import {
  CURVE_HEIGHT, byteText, flopText, shareCurve, stackedBar, tokensAt,
} from "./model_counter_charts.js";
import {
  FAMILY, HUGE_PATCH, PAPER_MILLIONS, PAPER_SIDE, countModel, faultsOf,
  nameOf, sumOf,
} from "./model_counter_maths.js";

// What the buttons set; the last one is the first at a larger size.
const BASE = {
  d_model: 768, num_layers: 12, num_heads: 12, mlp_ratio: 4, patch_size: 16,
  image_size: 224,
};
const STARTS = {
  "B/16": BASE,
  "L/32": {
    ...BASE, d_model: 1024, num_layers: 24, num_heads: 16, patch_size: 32,
  },
  "B/8": { ...BASE, patch_size: 8 },
  "B/16 at 1,024 px": { ...BASE, image_size: 1024 },
};

// How many patches a side may have, and how many numbers a head.
const COUNTS = {
  image_size: { min: 1, step: 1, max: 96 },
  d_model: { min: 8, step: 8, max: 256 },
};
// The multiple of a part that is nearest to a size, in steps of its slider.
function nearest(setting, size, part) {
  const { min, step, max } = COUNTS[setting];
  const count = Math.round(size / (part * step)) * step;
  return part * Math.min(max, Math.max(min, count));
}

const PARTS = {
  parameters: [
    "patch_embed", "cls_token", "pos_embed", "qkv", "proj", "feed_forward",
    "norms", "head",
  ],
  flops: [
    "patch_embed", "attention_projections", "attention_products",
    "feed_forward", "head",
  ],
  memory: [
    "parameters", "gradients", "adam", "images", "attention",
    "attention_maps", "feed_forward", "norms", "head",
  ],
};

const pixels = (size) => sentence(WORDS.pixels, { size: commas(size) });

// `pinned` are the sizes of the model that the reader compares with.
export function compute({ d_model: dModel, num_layers: numLayers,
  num_heads: numHeads, mlp_ratio: mlpRatio, patch_size: patchSize,
  image_size: imageSize, num_classes: numClasses, batch_size: batchSize,
  fused, pinned }) {
  const sizes = { dModel, numLayers, numHeads, mlpRatio, patchSize, imageSize,
    numClasses, batchSize, fused };
  const [counted, faults] = [countModel(sizes), faultsOf(sizes)];
  // Sizes that do not fit are told, not counted.
  const lists = Object.entries(faults.length ? {} : counted)
    .map(([key, value]) =>
      [key, typeof value === "object" ? Object.values(value) : value]);
  return {
    sizes, counted, faults, pinned: pinned && { ...countModel(pinned),
      model: shortName(pinned) }, published: {
      model: nameOf(sizes), ...sizes,
      fault: faults.length ? faults.map(([fault]) => fault) : "",
      ...Object.fromEntries(lists),
    },
  };
}

function modelText(sizes) {
  const name = nameOf(sizes);
  return name === "own" ? WORDS.own : WORDS.models[name];
}
const shortName = (sizes) => `${modelText(sizes)}/${sizes.patchSize}`;

export function say({ sizes, counted, faults, pinned }) {
  const { training, kept, mapBytes } = counted;
  const millions = sizes.imageSize === PAPER_SIDE
    && PAPER_MILLIONS[nameOf(sizes)];
  const [sums, before] = [counted, pinned].map((one) => one && Object
    .fromEntries(Object.keys(PARTS).map((kind) => [kind, sumOf(one[kind])])));
  // Of a bar: its sum, how many times the other's it is, and what is below.
  const bar = (kind, format, note) => ({
    total: format(sums[kind]), note, compared: pinned
      ? sentence(WORDS.pinned, {
        ratio: tidy(sums[kind] / before[kind]), model: pinned.model,
      }) : "",
  });
  const common = {
    model: modelText(sizes), tokens: commas(counted.tokens),
    share: tidy(100 * counted.share), crossover: commas(counted.crossover),
  };
  const reading = faults.length
    ? faults.map(([fault, values]) => sentence(WORDS[fault], values)).join(" ")
    : sentence(WORDS.counted, {
      ...common, patch: sizes.patchSize,
      side: sizes.imageSize / sizes.patchSize,
      parameters: commas(sums.parameters), flops: flopText(sums.flops),
      memory: byteText(sums.memory), batch: commas(sizes.batchSize),
    });
  return {
    ...common, reading, factor: 2 + sizes.mlpRatio,
    bars: {
      parameters: bar("parameters", commas, sentence(
        millions ? WORDS.paper : WORDS.noPaper,
        { millions, model: common.model, side: pixels(PAPER_SIDE) },
      )),
      flops: bar("flops", flopText, sentence(WORDS.flopsNote, {
        training: flopText(sumOf(training)),
      })),
      memory: bar("memory", byteText, sentence(
        sizes.fused ? WORDS.mapsDropped : WORDS.mapsKept,
        { kept: byteText(kept), maps: byteText(mapBytes) },
      )),
    },
  };
}

// A choice of usual numbers; another one, set from outside, joins them.
function numbers(usual, { format, sets }) {
  const asOption = (number) => [number, format(number)];
  return ({ label, set }) => {
    const { root, input, set: place } = select({
      label, options: usual.map(asOption),
      onInput: (text) => set(Number(text), sets),
    });
    function show(number) {
      const values = [...input.options].map(({ value }) => Number(value));
      if (!values.includes(number)) {
        const [value, text] = asOption(number);
        const later = values.findIndex((other) => other > number);
        input.add(html("option", { value, text }), later);
      }
      place(number);
    }
    return { root, show };
  };
}

// A whole that the reader moves by multiples of a part, so that it comes out
// even; only another part makes it uneven, which then takes the nearest.
const multiple = (whole, part, format) => slider({
  unit: (settings) => settings[part], log: true, format, ...COUNTS[whole],
});
const part = (name, whole) => (value, settings) => ({
  [name]: value, [whole]: nearest(whole, settings[whole], value),
});

function presets({ model, set }) {
  const { root, input, set: place } = select({
    label: WORDS.model, options: Object.entries(WORDS.models),
    onInput: (name) => {
      const [width, layers, heads, patch] = FAMILY[name];
      const now = model.get("patch_size");
      const patchSize = patch ?? (now === HUGE_PATCH ? 16 : now);
      set({
        d_model: width, num_layers: layers, num_heads: heads, mlp_ratio: 4,
        patch_size: patchSize,
        image_size: nearest("image_size", model.get("image_size"), patchSize),
      });
    },
  });
  // A name for sizes that were changed; nothing to choose.
  [...input.options].at(-1).disabled = true;
  return { root, show: ({ sizes }) => place(nameOf(sizes)) };
}

function pin({ keep }) {
  let latest;
  let next;
  const root = button(WORDS.pin, () => keep({ pinned: next }));
  function show({ sizes, faults, pinned }) {
    if (!faults.length) latest = sizes;
    next = pinned ? null : latest;
    write(root, pinned ? WORDS.unpin : WORDS.pin);
  }
  return { root, show };
}

export default defineExplorer("model-counter", {
  words: WORDS,
  controls: {
    patch_size: numbers([4, 8, 14, 16, 32], {
      format: pixels, sets: part("patch_size", "image_size"),
    }),
    image_size: multiple("image_size", "patch_size", pixels),
    num_classes: numbers([0, 10, 100, 1000, 21843], {
      format: (count) => (count ? commas(count) : WORDS.noHead),
    }),
    d_model: multiple("d_model", "num_heads", commas),
    num_heads: numbers([1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32], {
      format: String, sets: part("num_heads", "d_model"),
    }),
    num_layers: slider({ log: true }),
    mlp_ratio: slider({ format: (ratio) =>
      sentence(WORDS.ofWidth, { ratio }) }),
    batch_size: slider({ log: true, format: commas }),
    fused: choice(),
  },
  starts: STARTS,
  compute, say,
  pictures: {
    curve: {
      height: CURVE_HEIGHT, draw: shareCurve, drag: true,
      tap: (x, width, found) => {
        const { patchSize } = found.sizes;
        const side = patchSize
          * Math.sqrt(Math.max(0, tokensAt(x, width, found) - 1));
        return { image_size: nearest("image_size", side, patchSize) };
      },
    },
  },
  parts: {
    model: presets, pin,
    parameters: () => stackedBar("parameters", PARTS.parameters, commas),
    flops: () => stackedBar("flops", PARTS.flops, flopText),
    memory: () => stackedBar("memory", PARTS.memory, byteText),
  },
  layout: [{ beside: ["starts", "pin"] },
    ["model", "patch_size", "image_size", "num_classes", "d_model",
      "num_heads", "num_layers", "mlp_ratio", "batch_size", "fused"],
    "reading", { beside: ["parameters", "flops", "memory", "curve"] }],
  from: { ...BASE, num_classes: 1000, batch_size: 1, fused: false },
});
