// Why scores are divided by the square root of head_dim.

import { button, noted } from "./core/controls.js";
import { write } from "./core/dom.js";
import { choice, defineExplorer, slider } from "./core/explorer.js";
import { whenIdle } from "./core/frame.js";
import { tidy } from "./core/texts.js";
import WORDS from "./softmax_scaling.words.json" with { type: "json" };
import {
  entropyChart, gradientChart, scoresChart, weightsChart,
} from "./softmax_scaling_charts.js";
import { makeDraw, readings, scaleFactor } from "./softmax_scaling_maths.js";

// A head of ViT-B/16, and three that go wrong.
const STARTS = {
  "ViT head": {
    head_dim: 64, num_keys: 197, scale: "1/sqrt(head_dim)",
  },
  "no root": { head_dim: 64, num_keys: 197, scale: "none" },
  "wide, no root": { head_dim: 512, num_keys: 197, scale: "none" },
  "wrong root": { head_dim: 64, num_keys: 197, scale: "1/sqrt(d_model)" },
};

let latest;
function drawOf(seed) {
  if (latest?.seed !== seed) latest = { seed, draw: makeDraw(seed) };
  return latest.draw;
}

// `rooted`: what the right scale would give, or null where it is that one.
function compute({ head_dim: headDim, num_keys: keys, scale, temperature,
  seed }) {
  const [factor, root] = [
    scaleFactor(scale, headDim, temperature),
    scaleFactor("1/sqrt(head_dim)", headDim),
  ];
  const draw = drawOf(seed);
  const values = readings(draw, headDim, keys, factor);
  return {
    values, published: { ...values, seed },
    rooted: factor === root ? null : readings(draw, headDim, keys, root),
  };
}

function say({ values }) {
  return {
    n: values.numKeys, one: tidy(values.scoreStd, 2),
    all: tidy(values.scoreStdAll, 2), theory: tidy(values.theoryStd, 2),
    largest: tidy(Math.max(...values.weights), 2),
    entropy: tidy(values.entropy), most: tidy(values.maxEntropy),
    dead: Math.round(100 * values.deadShare),
    median: tidy(values.gradMedian, 2), p10: tidy(values.gradP10, 2),
  };
}

function newDraw({ model, set }) {
  // The first walk through head_dim is then as smooth as the next.
  const preparing = whenIdle(() => drawOf(model.get("seed")).prepare());
  let seed;
  function show() {
    if (seed !== model.get("seed")) preparing.start();
    seed = model.get("seed");
  }
  const root = button(WORDS.newDraw, () => set({ seed: (seed + 1) % 2 ** 32 }));
  return { root, show, dispose: preparing.stop };
}

function compared() {
  const root = noted("");
  return { root, show: ({ rooted }) =>
    write(root, rooted ? WORDS.compared : WORDS.hint) };
}

const size = () => slider({ log: true });

export default defineExplorer("softmax-scaling", {
  words: WORDS,
  controls: {
    head_dim: size(), num_keys: size(), scale: choice(),
    temperature: slider({
      log: true, step: 0.05, format: (t) => t.toFixed(2),
      shown: ({ scale }) => scale === "temperature",
    }),
  },
  starts: STARTS,
  compute, say,
  pictures: {
    scores: { height: 120, draw: scoresChart },
    weights: { height: 120, draw: weightsChart },
    entropy: { height: 62, draw: entropyChart },
    gradient: { height: 120, draw: gradientChart },
  },
  parts: { newDraw, compared },
  layout: ["starts", ["head_dim", "num_keys", "scale", "temperature",
    "newDraw"], "compared", { beside: ["scores", "weights"] }, "reading",
    { title: WORDS.more, more: [{ beside: ["entropy", "gradient"] }] }],
});
