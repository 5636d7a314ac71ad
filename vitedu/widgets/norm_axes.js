// Which numbers of a batch a norm averages together.

import { decodeArray } from "./core/arrays.js";
import { noted, panel, range, select, titled } from "./core/controls.js";
import { html, write } from "./core/dom.js";
import { explorer, onTraits, onceAFrame, setTraits } from "./core/frame.js";
import { sentence, tidy } from "./core/texts.js";
import { makeTools } from "./core/tools.js";
import WORDS from "./norm_axes.words.json" with { type: "json" };
import { normGrids } from "./norm_axes_grids.js";
import { compare, readBatch } from "./norm_axes_maths.js";

// It speaks of one batch: the ink of four digits.
const TOURED = { samples: 4, tokens: 6, features: 8, ink: 896 };

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
  const tools = makeTools(frame, model, { tour: isToured ? WORDS.tour : [] });
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
