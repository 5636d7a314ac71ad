// Which numbers of a batch a norm averages together.

const WORDS = {
  label: "Norms: which numbers are averaged together",
  norm: "Norm",
  norms: {
    LayerNorm: "LayerNorm",
    BatchNorm: "BatchNorm",
    "whole sample": "whole sample (GroupNorm)",
  },
  change: "Change of the chosen number",
  gridsTitle: "The batch, and what the norm makes of it",
  gridsNote: "A row is a token, a column a feature; the stronger the colour, "
    + "the larger the number. Blue cells share one mean and one variance. "
    + "Triangles mark what the change moves, up or down; the larger, the "
    + "further.",
  sample: "sample {sample}",
  output: "its output",
  inputPicture: "Numbers of sample {sample}",
  outputPicture: "Outputs of sample {sample}; triangles mark those that change.",
  cell: "sample {sample}, token {token}, feature {feature}: {value}",
  groupTitle: "The blue cells",
  groups: {
    LayerNorm: "the features of one token",
    BatchNorm: "one feature of all tokens, in all samples",
    "whole sample": "all features of all tokens of one sample",
  },
  shared: "numbers",
  mean: "mean",
  variance: "variance",
  before: "was {value}",
  changesTitle: "Outputs that change",
  changesNote: "how many, and the largest change in each place",
  changed: "changed",
  ofAll: "of {all}",
  ownToken: "this token",
  otherTokens: "other tokens",
  otherSamples: "other samples",
  reading: "Sample {sample}, token {token}, feature {feature} changes by "
    + "{change}. With {norm}, {changed} of {all} outputs change, by at most "
    + "{ownToken} in this token, {otherTokens} in other tokens of this "
    + "sample, {otherSamples} in other samples.",
  look: "Sample {sample}, token {token}, feature {feature}: {value} becomes "
    + "{output}. It shares its mean, {mean}, and variance, {variance}, with "
    + "{others} other numbers.",
};

// It speaks of one batch: the ink of four digits.
const TOURED = { samples: 4, tokens: 6, features: 8, ink: 896 };
const HERE = { sample: 0, token: 2, feature: 3, change: 16 };
const TOUR = [
  ["One number grows by 16. BatchNorm averages a feature over all tokens of "
    + "all samples, so 24 of 192 outputs change, even in other samples, "
    + "where nothing has happened.",
  { ...HERE, norm: "BatchNorm" }],
  ["LayerNorm averages the features of one token. Its 8 outputs change, by "
    + "up to 1.88, and no other token hears of it.",
  { ...HERE, norm: "LayerNorm" }],
  ["Averaged over a whole sample, 48 outputs change: other tokens do, by up "
    + "to 0.177, other samples do not.",
  { ...HERE, norm: "whole sample" }],
  ["BatchNorm again, in a feature that was 0 everywhere. The variance was 0 "
    + "and is 10.2 now. What one number does depends on who else is in the "
    + "batch.",
  { ...HERE, norm: "BatchNorm", feature: 0 }],
];

const TRAITS = ["norm", "sample", "token", "feature", "change"];

function signed(number) {
  return (number > 0 ? "+" : "") + tidy(number);
}

// Numbers under their names; something small may stand below a number.
function tiles(kind, title, names) {
  const note = noted("");
  const numbers = names.map(() => html("span"));
  const asides = names.map(() => html("span", { class: "aside" }));
  const root = panel(
    kind, titled(title), note,
    html("dl", {}, ...names.map((name, i) => html("div", {},
      html("dt", { text: WORDS[name] }),
      html("dd", {}, numbers[i], asides[i])))),
  );
  function set(text, values) {
    write(note, text);
    names.forEach((name, i) => {
      const [number, aside = ""] = values[name];
      write(numbers[i], number);
      write(asides[i], aside);
    });
  }
  return { root, set };
}

function render({ model, el }) {
  const batch = readBatch(decodeArray(model.get("batch")));
  const { largestChange, values } = batch;
  const frame = explorer(el, "norm-axes", WORDS.label);
  const ink = values.reduce((sum, value) => sum + value, 0);
  const isToured = Object.entries(TOURED).every(([name, wanted]) =>
    (name === "ink" ? ink : batch[name]) === wanted);
  const tools = makeTools(frame, model, { tour: isToured ? TOUR : [] });
  // The cell under the mouse; Python does not hear of it.
  let under = null;
  const group = tiles(
    "group", WORDS.groupTitle, ["shared", "mean", "variance"],
  );
  const changes = tiles("changes", WORDS.changesTitle, [
    "changed", "ownToken", "otherTokens", "otherSamples",
  ]);
  const controls = {
    norm: select({
      label: WORDS.norm, options: Object.entries(WORDS.norms),
      value: model.get("norm"), onInput: (norm) => setTraits(model, { norm }),
    }),
    // In sixteenths of the largest change, whatever the unit of the batch.
    change: range({
      label: WORDS.change, min: -16, max: 16, value: 0,
      format: (part) => signed(largestChange * (part / 16)),
      onInput: (part) =>
        setTraits(model, { change: largestChange * (part / 16) }),
    }),
  };
  const grids = normGrids(batch, {
    pick: (at) => setTraits(model, batch.place(at)),
    look: (at) => {
      under = at;
      redraw();
    },
  });

  function show(result, at, chosen) {
    const { statistics, changed, most, edited, outputs } = result;
    const [norm, sample, token, feature, change] =
      TRAITS.map((name) => model.get(name));
    const found = statistics(at);
    const before = (value, other) => [tidy(value), value === other
      ? "" : sentence(WORDS.before, { value: tidy(other) })];
    group.set(WORDS.groups[norm], {
      shared: [found.shared],
      mean: before(found.mean, found.meanBefore),
      variance: before(found.variance, found.varianceBefore),
    });
    const all = values.length;
    changes.set(WORDS.changesNote, {
      changed: [changed, sentence(WORDS.ofAll, { all })],
      ownToken: [tidy(most.ownToken)], otherTokens: [tidy(most.otherTokens)],
      otherSamples: [tidy(most.otherSamples)],
    });
    const place = batch.place(at);
    frame.read(sentence(at === chosen ? WORDS.reading : WORDS.look, {
      sample: place.sample + 1, token: place.token + 1,
      feature: place.feature + 1, change: signed(change),
      norm: WORDS.norms[norm], changed, all,
      ownToken: tidy(most.ownToken), otherTokens: tidy(most.otherTokens),
      otherSamples: tidy(most.otherSamples), value: tidy(edited[at]),
      output: tidy(outputs[at]), mean: tidy(found.mean),
      variance: tidy(found.variance), others: found.shared - 1,
    }), { speak: under === null });
    frame.publish({
      norm, sample, token, feature, change, under: under ?? "", changed,
      ...most, ...found,
    });
  }
  function update() {
    const [norm, sample, token, feature, change] =
      TRAITS.map((name) => model.get(name));
    const chosen = batch.index(sample, token, feature);
    const looked = under ?? chosen;
    const result = compare(batch, norm, chosen, change);
    controls.norm.set(norm);
    controls.change.set((16 * change) / largestChange);
    grids.update(result, { chosen, looked, change });
    show(result, looked, chosen);
  }

  frame.root.append(
    html("div", { class: "vitedu-controls" },
      controls.norm.root, controls.change.root),
    panel("grids", titled(WORDS.gridsTitle), noted(WORDS.gridsNote),
      grids.root),
    html("div", { class: "tiles" }, group.root, changes.root),
    ...frame.reading,
    ...tools.foot,
  );
  const redraw = onceAFrame(update);
  update();
  const ignore = onTraits(model, TRAITS, () => {
    // What was just done counts, not where the mouse was left.
    under = null;
    redraw();
  });
  return () => {
    ignore();
    redraw.cancel();
    tools.dispose();
    frame.dispose();
  };
}

export default { render };
