// The cells of the explorer NormAxes: a grid for each sample, and one for its
// output.

import { choosable, markChosen } from "./core/choosing.js";
import { fill, html, put, svg } from "./core/dom.js";
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

function gridOf(batch, name, cell) {
  const { tokens, features } = batch;
  const places = Array.from(
    { length: tokens * features },
    (_, i) => [i % features, Math.floor(i / features)],
  );
  const cells = places.map(([x, y]) => svg("rect", {
    class: "number", x: x + GAP, y: y + GAP, width: 1 - 2 * GAP,
    height: 1 - 2 * GAP, rx: 0.08, ...cell,
  }));
  const triangles = places.map(() => svg("path", { class: "changed" }));
  const group = svg("g", {}, ...cells);
  const root = svg(
    "svg", {
      class: `grid ${name}`,
      viewBox: `-0.1 -0.1 ${features + 0.2} ${tokens + 0.2}`,
    },
    group, svg("g", { "aria-hidden": "true" }, ...triangles),
  );
  // `shareOf` gives the change of a cell as a share of the largest.
  function mark(shareOf) {
    triangles.forEach((path, i) =>
      put(path, "d", triangle(places[i], shareOf(i))));
  }
  return { root, group, cells, mark };
}

// A triangle upwards for a number that rose, downwards for one that fell; its
// area is the change.
function triangle([x, y], share) {
  if (!share) return "";
  const side = Math.max(SMALLEST_MARK, 0.82 * Math.sqrt(Math.abs(share)));
  const [half, up] = [side / 2, (Math.sign(share) * side) / 2.3];
  const [cx, cy] = [x + 0.5, y + 0.5];
  return `M${cx - half} ${cy + up}h${side}L${cx} ${cy - up}z`;
}

function strength(value, low, high) {
  const share = Math.min(1, Math.max(0, (value - low) / (high - low)));
  return FAINTEST + (STRONGEST - FAINTEST) * share;
}

export function normGrids(batch, { pick, look }) {
  const { samples, tokens, features, values } = batch;
  const low = Math.min(...values);
  const size = tokens * features;
  const all = [...Array(samples).keys()];
  const inputs = all.map(() => gridOf(batch, "inputs", { role: "radio" }));
  const outputs = all.map(() => gridOf(batch, "outputs", {}));
  const [inputCells, outputCells] = [inputs, outputs].map((grids) =>
    grids.flatMap(({ cells }) => cells));
  [...inputCells, ...outputCells].forEach((cell, at) => {
    cell.dataset.at = at % values.length;
  });
  all.forEach((at) => {
    const name = { sample: at + 1 };
    fill(inputs[at].group, {
      role: "radiogroup", "aria-label": sentence(WORDS.inputPicture, name),
    }, []);
    fill(outputs[at].root, {
      role: "img", "aria-label": sentence(WORDS.outputPicture, name),
    }, []);
  });
  const ring = svg("rect", { class: "ring", width: 1, height: 1, rx: 0.1 });

  function neighbour(index, key) {
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
    const stop = samples * features - 1;
    const column = Math.min(stop, Math.max(0, across));
    return batch.index(Math.floor(column / features), token, column % features);
  }

  const root = html(
    "div", { class: "samples" },
    ...all.map((at) => html("div", { class: "sample" },
      html("p", {
        class: "grid-name", text: sentence(WORDS.sample, { sample: at + 1 }),
      }),
      inputs[at].root,
      html("p", { class: "grid-name below", text: WORDS.output }),
      outputs[at].root)),
  );
  root.style.setProperty("--samples", samples);
  root.style.setProperty("--features", features);
  choosable(root, inputCells, neighbour, pick);
  root.addEventListener("pointerover", (event) => {
    if (event.pointerType !== "mouse") return;
    const cell = event.target.closest(".number");
    if (cell) look(Number(cell.dataset.at));
  });
  root.addEventListener("pointerleave", () => look(null));

  function paint(cells, shown, lit, ends) {
    cells.forEach((cell, at) => {
      put(cell, "data-value", String(shown[at]));
      put(cell, "fill-opacity", String(strength(shown[at], ...ends)));
      cell.classList.toggle("lit", lit(at));
    });
  }
  function update(result, { chosen, looked, change }) {
    const { groups, edited, outputs: after, moved, most } = result;
    const lit = (at) => groups[at] === groups[looked];
    paint(inputCells, edited, lit, [low, low + batch.largestChange]);
    paint(outputCells, after, lit, [-FULL_OUTPUT, FULL_OUTPUT]);
    markChosen(inputCells, chosen, chosen);
    inputCells.forEach((cell, at) => {
      const { sample, token, feature } = batch.place(at);
      put(cell, "aria-label", sentence(WORDS.cell, {
        sample: sample + 1, token: token + 1, feature: feature + 1,
        value: tidy(edited[at]),
      }));
    });
    const largest = Math.max(...Object.values(most));
    all.forEach((sample) => {
      const cell = (i) => sample * size + i;
      inputs[sample].mark((i) =>
        (cell(i) === chosen ? CAUSE_MARK * Math.sign(change) : 0));
      outputs[sample].mark((i) => {
        const moves = moved[cell(i)];
        return Math.abs(moves) > CHANGED_ABOVE ? moves / largest : 0;
      });
    });
    const { sample, token, feature } = batch.place(chosen);
    fill(ring, { x: feature, y: token }, []);
    const around = inputs[sample].group;
    if (ring.parentNode !== around) around.append(ring);
  }
  return { root, update };
}
