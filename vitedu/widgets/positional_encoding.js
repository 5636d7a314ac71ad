// Positions as sines and cosines, and what they say about offsets.

import { noted, panel, titled } from "./core/controls.js";
import { html, write } from "./core/dom.js";
import { check, choice, defineExplorer, slider } from "./core/explorer.js";
import { fixed, sentence } from "./core/texts.js";
import WORDS from "./positional_encoding.words.json" with { type: "json" };
import {
  OFFSETS_HEIGHT, clocks, colourKey, offsetsPicture, stage,
} from "./positional_encoding_charts.js";
import {
  makeTable, movesTo, readings, withLength,
} from "./positional_encoding_maths.js";

// What the buttons set: the paper's table, and three that fail.
const STARTS = {
  paper: { formula: "paper", d_model: 64, base: 10_000 },
  "two clocks": { formula: "paper", d_model: 4, base: 10 },
  "stopped clock": { formula: "paper", d_model: 4, base: 100_000 },
  misprint: { formula: "wrong exponent", d_model: 64, base: 10_000 },
};

let latest;
function tableOf(sizes) {
  const key = JSON.stringify(sizes);
  if (latest?.key !== key) latest = { key, table: makeTable(sizes) };
  return latest.table;
}

export function compute({ d_model: dModel, base, length, formula,
  position: p, other: q }) {
  const sizes = { dModel, base, length, formula };
  const table = tableOf(sizes);
  const values = readings(table, p, q);
  return {
    table, values, p, q,
    published: { ...sizes, position: p, other: q, ...values },
  };
}

// Two numbers that read the same are said once.
function saidOf({ same, apart }, first, second) {
  const [low, high] = [fixed(first), fixed(second)];
  return sentence(low === high ? same : apart, { low, high });
}

export function say({ table: { norms, smallest, largest }, values, p, q }) {
  const squares = norms.map((norm) => norm ** 2);
  const apart = Math.abs(q - p);
  const moved = fixed(values.moved);
  return {
    sentence: sentence(WORDS.sentence, {
      offset: String(values.offset).replace("-", "−"),
      dot: fixed(values.dotProduct),
      others: saidOf(WORDS.allPairs, smallest[apart], largest[apart]),
      norms: saidOf(WORDS.bothNorms, values.norm, values.otherNorm),
    }),
    moved: moved === fixed(0) ? "" : sentence(WORDS.moved, { moved }),
    squaredNorms: saidOf(WORDS.squaredNorms, Math.min(...squares),
      Math.max(...squares)),
  };
}

function encodings({ set, settings }) {
  const { root: place, show: draw } = stage((name, position) =>
    set(movesTo(name)(position, settings())));
  const note = noted("");
  const root = panel("of-encodings", html("div", { class: "head" },
    titled(WORDS.tableTitle), colourKey()), place, note);
  function show(found, { squaredNorms: norms }, width) {
    draw(found, width);
    write(note, sentence(WORDS.curvesNote, { norms }));
  }
  return { root, place, show };
}

const ofPosition = (name) => slider({
  most: ({ length }) => length - 1, sets: movesTo(name),
});

export default defineExplorer("positional-encoding", {
  words: WORDS,
  fit: (settings) =>
    ({ ...settings, ...withLength(settings.length, settings) }),
  controls: {
    position: ofPosition("position"), other: ofPosition("other"),
    together: check(), formula: choice(), d_model: slider(),
    base: slider({ log: true, step: 10 }),
    length: slider({ sets: withLength }),
  },
  starts: STARTS,
  compute, say,
  pictures: {
    clocks: { node: () => html("div", { class: "clocks" }), draw: clocks },
    offsets: { height: OFFSETS_HEIGHT, draw: offsetsPicture },
  },
  parts: { encodings, hint: () => ({ root: noted(WORDS.hint) }) },
  layout: ["starts", ["position", "other", "together"], "clocks", "reading",
    "encodings", { title: WORDS.more, more: [
      ["formula", "d_model", "base", "length"], "hint", "offsets"] }],
});
