// Why scores are divided by the square root of head_dim.

const WORDS = {
  label: "Softmax scaling explorer",
  starts: "Settings to start from",
  headDim: "head_dim",
  numKeys: "number of keys",
  scale: "scores are multiplied by",
  scales: {
    "1/sqrt(head_dim)": "1/√head_dim",
    "none": "1 (no scaling)",
    "1/sqrt(d_model)": "1/√d_model (12 heads)",
    "temperature": "1/temperature",
  },
  temperature: "temperature",
  newDraw: "New draw",
  hint: "Arrow keys move a slider by one step; Page Up and Page Down double "
    + "and halve.",
  compared: "Grey: the same queries and keys with 1/√head_dim.",
  scores: "Scores of one query, one dot a key",
  scoresNote: "Standard deviation {one}, all queries {all}; dashed: "
    + "√head_dim × scale = {theory}.",
  weights: "Its softmax weights, one bar a key",
  weightsNote: "Largest {largest}; dashed: all keys alike, 1/{n}. "
    + "Square-root axis.",
  entropy: "Entropy, mean of 64 queries",
  entropyNote: "{entropy} nats, at most ln {n} = {most}.",
  oneKey: "one key takes all",
  allKeys: "all keys alike",
  gradient: "Gradient of each of 64 queries",
  gradientNote: "Dead (below 10⁻³): {dead} %. Median {median}; "
    + "10 % below {p10}.",
  deadZone: "dead",
  median: "median",
  tenth: "10 %",
  reading: "Largest weight {largest}. Entropy {entropy} of at most {most}. "
    + "Dead queries: {dead} %. Median gradient {median}.",
};

// What the buttons set: a head of ViT-B/16, and three that go wrong.
const STARTS = {
  "ViT head": {
    head_dim: 64, num_keys: 197, scale: "1/sqrt(head_dim)",
  },
  "no root": { head_dim: 64, num_keys: 197, scale: "none" },
  "wide, no root": { head_dim: 512, num_keys: 197, scale: "none" },
  "wrong root": { head_dim: 64, num_keys: 197, scale: "1/sqrt(d_model)" },
};

const DRAW = { num_keys: 197, seed: 0 };
const TOUR = [
  ["Queries and keys of 4 numbers, and no root: the scores of all queries "
    + "have a standard deviation of 1.9. The choice is soft, with an entropy "
    + "of 3.74 of at most 5.28.",
  { ...DRAW, head_dim: 4, scale: "none" }],
  ["A head of 64 numbers. The scores spread to 8.2, the largest weight is "
    + "0.99, and the entropy falls to 0.683.",
  { ...DRAW, head_dim: 64, scale: "none" }],
  ["With 512 numbers one key takes all: its weight rounds to 1.00. Of the "
    + "queries, 13 % are dead; hardly any gradient reaches them.",
  { ...DRAW, head_dim: 512, scale: "none" }],
  ["Now divide by √head_dim. The same queries and keys, and the scores have "
    + "a standard deviation of 1.00 again. The entropy is 4.79, and 0 % are "
    + "dead.",
  { ...DRAW, head_dim: 512, scale: "1/sqrt(head_dim)" }],
  ["The root of d_model, the width of all heads together, is too large: the "
    + "scores shrink to 0.30. With an entropy of 5.24 of at most 5.28, the "
    + "query hardly chooses.",
  { ...DRAW, head_dim: 64, scale: "1/sqrt(d_model)" }],
  ["With a head_dim of 1 the root changes nothing, and 5 % of the queries "
    + "still count as dead: a gradient of one number is now and then close "
    + "to zero.",
  { ...DRAW, head_dim: 1, scale: "1/sqrt(head_dim)" }],
];

const TRAITS = ["head_dim", "num_keys", "scale", "temperature", "seed"];

function render({ model, el }) {
  const frame = explorer(el, "softmax-scaling", WORDS.label);
  const tools = makeTools(frame, model, { tour: TOUR });
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
