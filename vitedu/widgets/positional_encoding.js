// Positions as sines and cosines, and what they say about offsets.

import {
  checkbox, noted, panel, range, select, settingButtons, titled,
} from "./core/controls.js";
import { html, write } from "./core/dom.js";
import {
  explorer, followTraits, followWidths, setTraits,
} from "./core/frame.js";
import { fixed, sentence } from "./core/texts.js";
import { makeTools } from "./core/tools.js";
import WORDS from "./positional_encoding.words.json" with { type: "json" };
import {
  clocks, colourKey, offsetChart, stage,
} from "./positional_encoding_charts.js";
import { makeTable, readings } from "./positional_encoding_maths.js";

// What the buttons set: the paper's table, and three that fail.
const STARTS = {
  paper: { formula: "paper", d_model: 64, base: 10_000 },
  "two clocks": { formula: "paper", d_model: 4, base: 10 },
  "stopped clock": { formula: "paper", d_model: 4, base: 100_000 },
  misprint: { formula: "wrong exponent", d_model: 64, base: 10_000 },
};

const TRAITS = [
  "d_model", "base", "length", "position", "other", "formula", "together",
];

// Two numbers that read the same are said once.
function saidOf({ same, apart }, first, second) {
  const [low, high] = [fixed(first), fixed(second)];
  return sentence(low === high ? same : apart, { low, high });
}

function render({ model, el }) {
  const frame = explorer(el, "positional-encoding", WORDS.label);
  const tools = makeTools(frame, model, { tour: WORDS.tour });
  const choose = (name) => (value) => setTraits(model, { [name]: value });

  // Moves p or q; if they move together, only as far as both stay inside.
  function movePosition(name, value) {
    if (!model.get("together")) {
      setTraits(model, { [name]: value });
      return;
    }
    const [p, q] = [model.get("position"), model.get("other")];
    const last = model.get("length") - 1;
    const step = Math.max(-Math.min(p, q), Math.min(
      last - Math.max(p, q), value - model.get(name),
    ));
    setTraits(model, { position: p + step, other: q + step });
    // The slider may have gone further than the position.
    controls.position.set(p + step);
    controls.other.set(q + step);
  }
  function changeLength(length) {
    setTraits(model, {
      length,
      position: Math.min(model.get("position"), length - 1),
      other: Math.min(model.get("other"), length - 1),
    });
  }

  const top = stage(movePosition);
  const offsets = offsetChart();
  const dials = clocks();
  const curvesNote = noted("");
  const ofPosition = (name) => range({
    label: WORDS[name], min: 0, max: model.get("length") - 1,
    value: model.get(name), format: String,
    onInput: (value) => movePosition(name, value),
  });
  const controls = {
    formula: select({
      label: WORDS.formula, options: Object.entries(WORDS.formulas),
      value: model.get("formula"), onInput: choose("formula"),
    }),
    d_model: range({
      label: WORDS.dModel, min: 4, max: 128, step: 2,
      value: model.get("d_model"), format: String, onInput: choose("d_model"),
    }),
    base: range({
      label: WORDS.base, min: 10, max: 100_000, step: 10, log: true,
      value: model.get("base"), format: String, onInput: choose("base"),
    }),
    length: range({
      label: WORDS.length, min: 10, max: 200, value: model.get("length"),
      format: String, onInput: changeLength,
    }),
    position: ofPosition("position"),
    other: ofPosition("other"),
    together: checkbox(WORDS.together, choose("together")),
  };
  const starts = settingButtons(model, WORDS.starts, STARTS);
  let table;
  let made;

  function tableOf(settings) {
    const key = JSON.stringify(settings);
    if (made !== key) table = makeTable(settings);
    made = key;
    return table;
  }

  function update({ speak = true } = {}) {
    const length = model.get("length");
    controls.position.setMax(length - 1);
    controls.other.setMax(length - 1);
    for (const [name, { set }] of Object.entries(controls)) {
      set(model.get(name));
    }
    starts.update();
    const last = length - 1;
    const p = Math.min(model.get("position"), last);
    const q = Math.min(model.get("other"), last);
    const settings = {
      dModel: model.get("d_model"), base: model.get("base"), length,
      formula: model.get("formula"),
    };
    const now = tableOf(settings);
    const values = readings(now, p, q);
    top.show(widths.of(top.root), now, values, p, q);
    offsets.show(widths.of(offsets.root.parentNode), now, values, p, q);
    dials.show(now, p, q);
    say(now, values, Math.abs(q - p), speak);
    frame.publish({ ...settings, position: p, other: q, ...values });
  }

  function say({ norms, smallest, largest }, values, distance, speak) {
    const squares = norms.map((norm) => norm ** 2);
    write(curvesNote, sentence(WORDS.curvesNote, {
      norms: saidOf(WORDS.squaredNorms, Math.min(...squares),
        Math.max(...squares)),
    }));
    const reading = sentence(WORDS.reading, {
      offset: String(values.offset).replace("-", "−"),
      dot: fixed(values.dotProduct),
      others: saidOf(WORDS.allPairs, smallest[distance], largest[distance]),
      norms: saidOf(WORDS.bothNorms, values.norm, values.otherNorm),
    });
    const moved = fixed(values.moved);
    frame.read(
      reading + (moved === fixed(0) ? "" : sentence(WORDS.moved, { moved })),
      { speak },
    );
  }

  const { together, position, other, ...others } = controls;
  const rootsOf = (some) => Object.values(some).map(({ root }) => root);
  frame.root.append(
    starts.root,
    html("div", { class: "vitedu-controls" }, position.root, other.root,
      together.root),
    panel("clock-panel", titled(WORDS.clocksTitle), noted(WORDS.clocksNote),
      dials.root),
    ...frame.reading,
    panel("top", html("div", { class: "head" },
      titled(WORDS.tableTitle), colourKey()), top.root, curvesNote),
    html("details", { class: "more" },
      html("summary", { text: WORDS.more }),
      html("div", { class: "vitedu-controls" }, ...rootsOf(others)),
      noted(WORDS.hint),
      panel("offsets", titled(WORDS.offsetTitle), noted(WORDS.offsetNote),
        offsets.root)),
    ...tools.foot,
  );
  const widths = followWidths(
    [top.root, offsets.root.parentNode], () => update({ speak: false }),
  );
  update({ speak: false });
  return followTraits(
    model, TRAITS, update, widths.dispose, tools.dispose, frame.dispose,
  );
}

export default { render };
