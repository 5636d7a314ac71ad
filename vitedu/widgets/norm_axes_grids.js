// The cells of the explorer NormAxes: a grid for each sample, and one for its
// output.

import { noted, panel, titled } from "./core/controls.js";
import { choosable } from "./core/choosing.js";
import { draft, html, put, renew } from "./core/dom.js";
import { sentence, tidy } from "./core/texts.js";
import WORDS from "./norm_axes.words.json" with { type: "json" };
import { CHANGED_ABOVE } from "./norm_axes_maths.js";

// Where an output has its fullest colour.
const FULL_OUTPUT = 2.5;
const FAINTEST = 0.06;
const STRONGEST = 0.8;

const GAP = 0.05;
const SMALLEST_MARK = 0.2;
// The mark on the number that is changed says up or down, not how far.
const CAUSE_MARK = 0.6;

// A triangle upwards for a number that rose, downwards for one that fell; its
// area is the change, `share` of the largest.
function triangle(x, y, share) {
  if (!share) return "";
  const side = Math.max(SMALLEST_MARK, 0.82 * Math.sqrt(Math.abs(share)));
  const [half, up] = [side / 2, (Math.sign(share) * side) / 2.3];
  const [cx, cy] = [x + 0.5, y + 0.5];
  return `M${cx - half} ${cy + up}h${side}L${cx} ${cy - up}z`;
}

function strength(value, [low, high]) {
  const share = Math.min(1, Math.max(0, (value - low) / (high - low)));
  return FAINTEST + (STRONGEST - FAINTEST) * share;
}

// The drafts of a grid: in each cell of a sample the value that `shown` has.
function gridOf(found, sample, kind, { shown, ends, shareOf, cell, ring }) {
  const { batch: { tokens, features, place }, groups, looked } = found;
  const first = sample * tokens * features;
  const all = Array.from({ length: tokens * features }, (_, i) => first + i);
  const cells = all.map((at) => draft("rect", {
    class: groups[at] === groups[looked] ? "number lit" : "number",
    "data-at": at, "data-value": shown[at],
    x: place(at).feature + GAP, y: place(at).token + GAP,
    width: 1 - 2 * GAP, height: 1 - 2 * GAP, rx: 0.08,
    "fill-opacity": strength(shown[at], ends), ...cell(at),
  }));
  const name = sentence(WORDS[`${kind}Picture`], { sample: sample + 1 });
  const isInput = kind === "input";
  return draft("svg", {
    class: `grid ${kind}s`,
    viewBox: `-0.1 -0.1 ${features + 0.2} ${tokens + 0.2}`,
    ...(isInput ? {} : { role: "img", "aria-label": name }),
  },
  draft("g", isInput ? { role: "radiogroup", "aria-label": name } : {},
    ...cells, ...ring),
  draft("g", { "aria-hidden": "true" }, ...all.map((at) => draft("path", {
    class: "changed",
    d: triangle(place(at).feature, place(at).token, shareOf(at)),
  }))));
}

// The drafts of what stands below the name of a sample.
export function samplesDrawn(found) {
  const { batch, chosen, change, edited, outputs, moved, most } = found;
  const low = Math.min(...batch.values);
  const largest = Math.max(...Object.values(most));
  const own = batch.place(chosen);
  const name = (at) => {
    const { sample, token, feature } = batch.place(at);
    return sentence(WORDS.cell, {
      sample: sample + 1, token: token + 1, feature: feature + 1,
      value: tidy(edited[at]),
    });
  };
  const inputs = {
    shown: edited, ends: [low, low + batch.largestChange],
    shareOf: (at) => (at === chosen ? CAUSE_MARK * Math.sign(change) : 0),
    cell: (at) => ({
      role: "radio", "aria-label": name(at),
      "aria-checked": String(at === chosen),
      tabindex: at === chosen ? "0" : "-1",
    }),
  };
  const after = {
    shown: outputs, ends: [-FULL_OUTPUT, FULL_OUTPUT], cell: () => ({}),
    shareOf: (at) =>
      (Math.abs(moved[at]) > CHANGED_ABOVE ? moved[at] / largest : 0),
    ring: [],
  };
  const ring = draft("rect", {
    class: "ring", width: 1, height: 1, rx: 0.1, x: own.feature, y: own.token,
  });
  return [...Array(batch.samples).keys()].map((sample) =>
    draft("div", { class: "sample" },
      draft("p", {
        class: "grid-name",
        text: sentence(WORDS.sample, { sample: sample + 1 }),
      }),
      gridOf(found, sample, "input",
        { ...inputs, ring: sample === own.sample ? [ring] : [] }),
      draft("p", { class: "grid-name below", text: WORDS.output }),
      gridOf(found, sample, "output", after)));
}

// Where an arrow key leads.
function neighbour(batch, index, key) {
  const { samples, tokens, features } = batch;
  const { sample, token, feature } = batch.place(index);
  const down = { ArrowUp: -1, ArrowDown: 1 }[key];
  if (down) {
    const row = Math.min(tokens - 1, Math.max(0, token + down));
    return batch.index(sample, row, feature);
  }
  const right = { ArrowLeft: -1, ArrowRight: 1 }[key];
  if (!right) return undefined;
  // Over the edge of a sample lies the next one.
  const across = sample * features + feature + right;
  const column = Math.min(samples * features - 1, Math.max(0, across));
  return batch.index(Math.floor(column / features), token, column % features);
}

export function normGrids({ set, move }) {
  const samples = html("div", { class: "samples" });
  const marks = [];
  let batch;
  choosable(samples, marks, (index, key) => neighbour(batch, index, key),
    (at) => set(batch.place(at)));
  samples.addEventListener("pointerover", ({ pointerType, target }) => {
    const cell = pointerType === "mouse" && target.closest(".number");
    if (cell) move({ under: Number(cell.dataset.at) });
  });
  samples.addEventListener("pointerleave", () => move({ under: null }));
  function show(found) {
    batch = found.batch;
    put(samples, "style",
      `--samples: ${batch.samples}; --features: ${batch.features}`);
    renew(samples, samplesDrawn(found));
    if (!marks.length) marks.push(...samples.querySelectorAll("[role=radio]"));
  }
  const { title, note } = WORDS.grids;
  return { show, root: panel("grids", titled(title), noted(note), samples) };
}
