// Why scores are divided by the square root of head_dim.

import {
  button, explorer, followTraits, followWidths, html, noted, range, select,
  sentence, setTraits, settingButtons, tidy, whenIdle, write,
} from "./common.js";
import WORDS from "./softmax_scaling.words.json" with { type: "json" };
import {
  chartPanel, entropyChart, gradientChart, scoresChart, weightsChart,
} from "./softmax_scaling_charts.js";
import {
  MAX_HEAD_DIM, MAX_KEYS, makeDraw, readings, scaleFactor,
} from "./softmax_scaling_maths.js";
import { makeTools } from "./tools.js";

// What the buttons set: a head of ViT-B/16, and three that go wrong.
const STARTS = {
  "ViT head": {
    head_dim: 64, num_keys: 197, scale: "1/sqrt(head_dim)",
  },
  "no root": { head_dim: 64, num_keys: 197, scale: "none" },
  "wide, no root": { head_dim: 512, num_keys: 197, scale: "none" },
  "wrong root": { head_dim: 64, num_keys: 197, scale: "1/sqrt(d_model)" },
};

const TRAITS = ["head_dim", "num_keys", "scale", "temperature", "seed"];

function render({ model, el }) {
  const frame = explorer(el, "softmax-scaling", WORDS.label);
  const tools = makeTools(frame, model, { tour: WORDS.tour });
  const panels = {
    scores: chartPanel(WORDS.scores, 100, scoresChart),
    weights: chartPanel(WORDS.weights, 100, weightsChart),
    entropy: chartPanel(WORDS.entropy, 62, entropyChart),
    gradient: chartPanel(WORDS.gradient, 102, gradientChart),
  };
  const choose = (name) => (value) => setTraits(model, { [name]: value });
  const slider = (name, label, min, max, step, format) => range({
    label, min, max, step, format, log: true, value: model.get(name),
    onInput: choose(name),
  });
  const controls = {
    head_dim: slider("head_dim", WORDS.headDim, 1, MAX_HEAD_DIM, 1, String),
    num_keys: slider("num_keys", WORDS.numKeys, 2, MAX_KEYS, 1, String),
    scale: select({
      label: WORDS.scale, options: Object.entries(WORDS.scales),
      value: model.get("scale"), onInput: choose("scale"),
    }),
    temperature: slider(
      "temperature", WORDS.temperature, 0.25, 64, 0.05, (t) => t.toFixed(2),
    ),
  };
  const starts = settingButtons(model, WORDS.starts, STARTS);
  const compared = noted("");
  const newDraw = button(WORDS.newDraw, () =>
    setTraits(model, { seed: (model.get("seed") + 1) % 2 ** 32 }));
  // The first walk through head_dim is then as smooth as the next.
  const preparing = whenIdle(() => draw.prepare());
  let draw;
  let seed;

  function update({ speak = true } = {}) {
    if (seed !== model.get("seed")) {
      seed = model.get("seed");
      draw = makeDraw(seed);
      preparing.start();
    }
    for (const [name, { set }] of Object.entries(controls)) {
      set(model.get(name));
    }
    starts.update();
    // Its place stays empty: nothing moves with the choice.
    controls.temperature.root.style.visibility =
      model.get("scale") === "temperature" ? "" : "hidden";
    const headDim = model.get("head_dim");
    const scale = scaleFactor(
      model.get("scale"), headDim, model.get("temperature"),
    );
    const root = scaleFactor("1/sqrt(head_dim)", headDim);
    const numKeys = model.get("num_keys");
    const rooted = scale === root
      ? null : readings(draw, headDim, numKeys, root);
    show(readings(draw, headDim, numKeys, scale), rooted, speak);
  }

  // `rooted`: what the right scale would give, or null.
  function show(values, rooted, speak) {
    write(compared, rooted ? WORDS.compared : WORDS.hint);
    const words = {
      n: values.numKeys, one: tidy(values.scoreStd, 2),
      all: tidy(values.scoreStdAll, 2), theory: tidy(values.theoryStd, 2),
      largest: tidy(Math.max(...values.weights), 2),
      entropy: tidy(values.entropy), most: tidy(values.maxEntropy),
      dead: Math.round(100 * values.deadShare),
      median: tidy(values.gradMedian, 2), p10: tidy(values.gradP10, 2),
    };
    for (const [name, panel] of Object.entries(panels)) {
      panel.show(
        sentence(WORDS[`${name}Note`], words), values, rooted,
        widths.of(panels.scores.root),
      );
    }
    frame.read(sentence(WORDS.reading, words), { speak });
    frame.publish({ ...values, seed });
  }

  frame.root.append(
    starts.root,
    html("div", { class: "vitedu-controls" },
      ...Object.values(controls).map(({ root }) => root),
      html("div", {}, newDraw)),
    compared,
    html("div", { class: "vitedu-panels" },
      ...Object.values(panels).map(({ root }) => root)),
    ...frame.reading,
    ...tools.foot,
  );
  const widths = followWidths(
    [panels.scores.root], () => update({ speak: false }),
  );
  update({ speak: false });
  return followTraits(
    model, TRAITS, update, widths.dispose, preparing.stop, tools.dispose,
    frame.dispose,
  );
}

export default { render };
