// Which numbers of a batch a norm averages together.

import { decodeArray } from "./core/arrays.js";
import { noted, panel, titled } from "./core/controls.js";
import { draft, html, renew, write } from "./core/dom.js";
import { choice, defineExplorer, slider } from "./core/explorer.js";
import { sentence, tidy } from "./core/texts.js";
import WORDS from "./norm_axes.words.json" with { type: "json" };
import { normGrids } from "./norm_axes_grids.js";
import { readBatch, readings } from "./norm_axes_maths.js";

// The tour speaks of one batch: the ink of four digits.
const TOURED = { samples: 4, tokens: 6, features: 8, ink: 896 };

function isToured(batch) {
  const ink = batch.values.reduce((sum, value) => sum + value, 0);
  return Object.entries(TOURED).every(([name, wanted]) =>
    (name === "ink" ? ink : batch[name]) === wanted);
}

const signed = (number) => (number > 0 ? "+" : "") + tidy(number);

export function compute(settings, batch) {
  const { norm, sample, token, feature, change, under } = settings;
  const found = readings(batch, settings);
  return {
    ...found, isQuiet: found.looked !== found.chosen, published: {
      norm, sample, token, feature, change, under: under ?? "",
      changed: found.changed, ...found.most, ...found.group,
    },
  };
}

// Tiles have [number, something small below it].
export function say({
  batch, norm, change, chosen, looked, changed, most, group, edited, outputs,
}) {
  const before = (value, other) => [tidy(value), value === other
    ? "" : sentence(WORDS.before, { value: tidy(other) })];
  const { sample, token, feature } = batch.place(looked);
  const all = edited.length;
  const [ownToken, otherTokens, otherSamples] =
    [most.ownToken, most.otherTokens, most.otherSamples].map((it) => tidy(it));
  const mean = before(group.mean, group.meanBefore);
  const variance = before(group.variance, group.varianceBefore);
  return {
    group: { shared: [group.shared], mean, variance },
    changes: {
      changed: [changed, sentence(WORDS.ofAll, { all })],
      ownToken: [ownToken], otherTokens: [otherTokens],
      otherSamples: [otherSamples],
    },
    reading: sentence(looked === chosen ? WORDS.changes : WORDS.look, {
      sample: sample + 1, token: token + 1, feature: feature + 1,
      change: signed(change), norm: WORDS.options.norm[norm], changed, all,
      ownToken, otherTokens, otherSamples, value: tidy(edited[looked]),
      output: tidy(outputs[looked]), mean: mean[0], variance: variance[0],
      others: group.shared - 1,
    }),
  };
}

// Numbers under their names; something small may stand below a number.
function tiles(kind) {
  const { title, notes, names } = WORDS.tiles[kind];
  const [note, list] = [noted(""), html("dl")];
  function show({ norm }, said) {
    write(note, notes[norm] ?? notes.any);
    renew(list, Object.entries(said[kind]).map(([name, [number, aside]]) =>
      draft("div", {},
        draft("dt", { text: names[name] }),
        draft("dd", {}, draft("span", { text: number }),
          draft("span", { class: "aside", text: aside ?? "" })))));
  }
  return { root: panel(kind, titled(title), note, list), show };
}

export default defineExplorer("norm-axes", {
  words: WORDS,
  controls: {
    norm: choice(),
    // In sixteenths of the largest change, whatever the unit of the batch.
    change: slider({
      unit: (settings, { high }) => high / 16, min: -16, max: 16,
      format: signed,
    }),
  },
  read: (model) => readBatch(decodeArray(model.get("batch"))),
  compute, say,
  parts: {
    grids: normGrids, group: () => tiles("group"),
    changes: () => tiles("changes"),
  },
  layout: [["norm", "change"], "grids", { beside: ["group", "changes"] },
    "reading"],
  tour: (steps, batch) => (isToured(batch) ? steps : []),
});
