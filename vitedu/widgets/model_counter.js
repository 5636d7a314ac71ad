// Where a Vision Transformer's parameters, operations and memory are.

import {
  button, noted, panel, range, select, settingButtons, titled,
} from "./core/controls.js";
import { html, write } from "./core/dom.js";
import {
  explorer, followTraits, followWidths, setTraits,
} from "./core/frame.js";
import { commas, sentence, tidy } from "./core/texts.js";
import { makeTools } from "./core/tools.js";
import WORDS from "./model_counter.words.json" with { type: "json" };
import {
  byteText, flopText, shareCurve, stackedBar,
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

const TRAITS = {
  dModel: "d_model", numLayers: "num_layers", numHeads: "num_heads",
  mlpRatio: "mlp_ratio", patchSize: "patch_size", imageSize: "image_size",
  numClasses: "num_classes", batchSize: "batch_size", fused: "fused",
};
// How many patches a side may have, and how many numbers a head.
const COUNTS = {
  image_size: { least: 1, step: 1, most: 96 },
  d_model: { least: 8, step: 8, most: 256 },
};
// The multiple of a part that is nearest to a size, in steps of its slider.
function nearest(trait, size, part) {
  const { least, step, most } = COUNTS[trait];
  const count = Math.round(size / (part * step)) * step;
  return part * Math.min(most, Math.max(least, count));
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

function settingsOf(model) {
  return Object.fromEntries(Object.entries(TRAITS).map(([name, trait]) =>
    [name, model.get(trait)]));
}

// A choice of usual numbers; another one, set from outside, joins them.
function numbers({ usual, format, ...how }) {
  const asOption = (number) => [number, format(number)];
  const choice = select({ ...how, options: usual.map(asOption) });
  function set(number) {
    const values = [...choice.input.options].map(({ value }) => Number(value));
    if (!values.includes(number)) {
      const [value, text] = asOption(number);
      const later = values.findIndex((other) => other > number);
      choice.input.add(html("option", { value, text }), later);
    }
    choice.set(number);
  }
  return { root: choice.root, set };
}

function makeControls(model) {
  const set = (trait) => (value) => setTraits(model, { [trait]: Number(value) });
  const size = (name, min, max, how = {}) => range({
    label: WORDS[name], min, max, value: min, format: commas,
    onInput: set(TRAITS[name]), ...how,
  });
  // A whole that the reader moves by multiples of a part, so that it comes
  // out even; only another part makes it uneven.
  const multiple = (name, part, how) => range({
    label: WORDS[name], log: true, value: how.min,
    onInput: (count) => set(TRAITS[name])(count * model.get(TRAITS[part])),
    ...how,
    format: (count) =>
      how.format(Math.round(count * model.get(TRAITS[part]))),
  });
  const setPart = (part, whole) => (value) => setTraits(model, {
    [part]: Number(value),
    [whole]: nearest(whole, model.get(whole), Number(value)),
  });
  const pixels = (size) => sentence(WORDS.pixels, { size: commas(size) });
  const preset = select({
    label: WORDS.model, options: Object.entries(WORDS.models),
    onInput: (name) => {
      const [width, layers, heads, patch] = FAMILY[name];
      const patchSize = patch ?? (
        model.get("patch_size") === HUGE_PATCH ? 16 : model.get("patch_size")
      );
      setTraits(model, {
        d_model: width, num_layers: layers, num_heads: heads, mlp_ratio: 4,
        patch_size: patchSize,
        image_size: nearest("image_size", model.get("image_size"), patchSize),
      });
    },
  });
  // A name for sizes that were changed; nothing to choose.
  [...preset.input.options].at(-1).disabled = true;
  const attention = select({
    label: WORDS.attention,
    options: [[false, WORDS.written], [true, WORDS.fused]],
    onInput: (text) => setTraits(model, { fused: text === "true" }),
  });
  const controls = {
    patchSize: numbers({
      label: WORDS.patchSize, usual: [4, 8, 14, 16, 32], format: pixels,
      onInput: setPart("patch_size", "image_size"),
    }),
    imageSize: multiple("imageSize", "patchSize", {
      min: COUNTS.image_size.least, max: COUNTS.image_size.most,
      format: pixels,
    }),
    numClasses: numbers({
      label: WORDS.numClasses, usual: [0, 10, 100, 1000, 21843],
      format: (count) => (count ? commas(count) : WORDS.noHead),
      onInput: set("num_classes"),
    }),
    dModel: multiple("dModel", "numHeads", {
      min: COUNTS.d_model.least, max: COUNTS.d_model.most,
      step: COUNTS.d_model.step, format: commas,
    }),
    numHeads: numbers({
      label: WORDS.numHeads, format: String,
      onInput: setPart("num_heads", "d_model"),
      usual: [1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32],
    }),
    numLayers: size("numLayers", 1, 64, { log: true }),
    mlpRatio: size("mlpRatio", 1, 8, {
      format: (ratio) => sentence(WORDS.ofWidth, { ratio }),
    }),
    batchSize: size("batchSize", 1, 4096, { log: true }),
  };
  function update(sizes) {
    for (const [name, { set: show }] of Object.entries(controls)) {
      show(sizes[name]);
    }
    controls.imageSize.set(sizes.imageSize / sizes.patchSize);
    controls.dModel.set(sizes.dModel / sizes.numHeads);
    preset.set(nameOf(sizes));
    attention.set(sizes.fused);
  }
  const shown = [preset, ...Object.values(controls), attention];
  const root = html("div", { class: "vitedu-controls" },
    ...shown.map((one) => one.root));
  return { root, update };
}

function shortName(sizes) {
  const name = nameOf(sizes);
  const model = name === "own" ? WORDS.own : WORDS.models[name];
  return `${model}/${sizes.patchSize}`;
}

function render({ model, el }) {
  const frame = explorer(el, "model-counter", WORDS.label);
  const tools = makeTools(frame, model, { tour: WORDS.tour });
  const controls = makeControls(model);
  const starts = settingButtons(model, WORDS.starts, STARTS);
  // Sums and name of the model that the reader compares with, or null.
  let pinned = null;
  const pin = button(WORDS.pin, () => {
    pinned = pinned ? null : latest;
    update();
  });
  let latest;
  const bars = {
    parameters: stackedBar("parameters", PARTS.parameters, commas),
    flops: stackedBar("flops", PARTS.flops, flopText),
    memory: stackedBar("memory", PARTS.memory, byteText),
  };
  const curve = shareCurve((tokens) => {
    const patchSize = model.get("patch_size");
    const side = patchSize * Math.sqrt(Math.max(0, tokens - 1));
    setTraits(model, {
      image_size: nearest("image_size", side, patchSize),
    });
  });
  const curveNote = noted("");
  const curvePanel = panel(
    "curve-panel", titled(WORDS.shareTitle), curve.root, curveNote,
  );
  const panels = html("div", { class: "panels" },
    bars.parameters.root, bars.flops.root, bars.memory.root, curvePanel);

  function draw(sizes, counted) {
    const { parameters, flops, training, memory, kept, mapBytes } = counted;
    const name = nameOf(sizes);
    const millions = sizes.imageSize === PAPER_SIDE && PAPER_MILLIONS[name];
    const maps = sizes.fused ? WORDS.mapsDropped : WORDS.mapsKept;
    latest = {
      parameters: sumOf(parameters), flops: sumOf(flops),
      memory: sumOf(memory), tokens: counted.tokens, share: counted.share,
      model: shortName(sizes),
    };
    const ratio = (kind) => (pinned ? sentence(WORDS.pinned, {
      ratio: tidy(latest[kind] / pinned[kind]), model: pinned.model,
    }) : "");
    write(pin, pinned ? WORDS.unpin : WORDS.pin);
    bars.parameters.update(parameters, ratio("parameters"),
      sentence(millions ? WORDS.paper : WORDS.noPaper, {
        millions, model: WORDS.models[name],
        side: sentence(WORDS.pixels, { size: PAPER_SIDE }),
      }));
    bars.flops.update(flops, ratio("flops"), sentence(WORDS.flopsNote, {
      training: flopText(sumOf(training)),
    }));
    bars.memory.update(memory, ratio("memory"), sentence(maps, {
      kept: byteText(kept), maps: byteText(mapBytes),
    }));
    curve.update(widths.of(curvePanel), sizes, counted, pinned);
    write(curveNote, sentence(WORDS.shareNote, {
      factor: 2 + sizes.mlpRatio, crossover: commas(counted.crossover),
    }));
  }
  function say(sizes, counted, speak) {
    const name = nameOf(sizes);
    frame.read(sentence(WORDS.reading, {
      model: name === "own" ? WORDS.own : WORDS.models[name],
      patch: sizes.patchSize, side: sizes.imageSize / sizes.patchSize,
      tokens: commas(counted.tokens),
      parameters: commas(sumOf(counted.parameters)),
      flops: flopText(sumOf(counted.flops)), share: tidy(100 * counted.share),
      memory: byteText(sumOf(counted.memory)), batch: commas(sizes.batchSize),
    }), { speak });
    const lists = Object.entries(counted).map(([key, value]) =>
      [key, typeof value === "object" ? Object.values(value) : value]);
    frame.publish({ fault: "", ...Object.fromEntries(lists) });
  }
  function update({ speak = true } = {}) {
    const sizes = settingsOf(model);
    const faults = faultsOf(sizes);
    controls.update(sizes);
    starts.update();
    frame.publish({ model: nameOf(sizes), ...sizes });
    panels.classList.toggle("empty", faults.length > 0);
    if (faults.length) {
      frame.read(faults.map(([fault, values]) =>
        sentence(WORDS[fault], values)).join(" "), { speak });
      frame.publish({ fault: faults.map(([fault]) => fault) });
      return;
    }
    const counted = countModel(sizes);
    draw(sizes, counted);
    say(sizes, counted, speak);
  }

  frame.root.append(
    html("div", { class: "above" }, starts.root, pin), controls.root,
    ...frame.reading, panels,
    ...tools.foot,
  );
  const widths = followWidths([curvePanel], () => update({ speak: false }));
  update({ speak: false });
  return followTraits(
    model, Object.values(TRAITS), update, widths.dispose, tools.dispose,
    frame.dispose,
  );
}

export default { render };
