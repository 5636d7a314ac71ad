// Who may attend to whom, and what becomes of it when a detail is wrong.

import { decodeArray, encodeArray } from "./core/arrays.js";
import {
  button, checkbox, noted, panel, range, select, titled,
} from "./core/controls.js";
import { html, write } from "./core/dom.js";
import { explorer, followTraits, setTraits } from "./core/frame.js";
import { fixed, sentence } from "./core/texts.js";
import { makeTools } from "./core/tools.js";
import WORDS from "./mask_editor.words.json" with { type: "json" };
import {
  maskGrid, numberGrid, percent, twoDigits, weightGrid,
} from "./mask_editor_grids.js";
import { SMALLEST, presetMask, readings } from "./mask_editor_maths.js";

// What a button sets besides the mask, where it differs from a healthy one.
const SETTINGS = {
  "decoder": {},
  "leak": { method: "multiply before softmax", query: 0, key: 0 },
  "dead row": { fill_value: "-1e9", query: 1, key: 1 },
  "inside out": { handed_over: true },
};
const HEALTHY = {
  method: "fill before softmax", fill_value: "finfo.min and clear",
  convention: "vitedu", handed_over: false,
};

// The mask of a decoder; in "dead row" a row of it sees nothing.
function settingMask(name, tokens) {
  const mask = presetMask("causal and padding", tokens);
  const { query } = SETTINGS[name];
  const size = tokens.length;
  if (name === "dead row") mask.fill(0, query * size, (query + 1) * size);
  return mask;
}

// A tour of the sentence that the editor has where Python gives no other.
const TOUR_TOKENS = "<bos> I have a cat <pad>";

const TRAITS = [
  "scores", "mask", "method", "fill_value", "convention", "handed_over",
  "query", "key",
];

// One digit after the point, unless that would round what Python gave.
function scoreText(scores) {
  const coarse = scores.every((score) =>
    Math.abs(10 * score - Math.round(10 * score)) < 1e-4);
  return (score) => fixed(score, coarse ? 1 : 2);
}

function writtenText(value, convention) {
  if (value === -Infinity) return "−∞";
  const numbers = ["additive", "integers"].includes(convention);
  return numbers ? String(value) : value ? "True" : "False";
}

function maskedText(value, toText) {
  const names = new Map([
    [-Infinity, "−∞"], [SMALLEST, WORDS.min], [-1e9, WORDS.billion], [0, "0"],
  ]);
  return names.get(value) ?? toText(value);
}

const beside = (...controls) => html("div", { class: "beside" }, ...controls);
const group = (label, buttons) =>
  html("div", { class: "vitedu-settings", role: "group", "aria-label": label },
    ...buttons.map(({ root }) => root));

function render({ model, el }) {
  const frame = explorer(el, "mask-editor", WORDS);
  const tools = makeTools(frame, model, {
    tour: model.get("tokens").join(" ") === TOUR_TOKENS ? WORDS.tour : [],
  });
  const tokens = model.get("tokens");
  const size = tokens.length;
  const choose = (query, key) => setTraits(model, { query, key });
  const take = (name) => (value) => setTraits(model, { [name]: value });
  const arrayOf = (name) => decodeArray(model.get(name)).data;
  const send = (data, dtype) =>
    encodeArray({ data, shape: [size, size] }, dtype);
  const setMask = (mask, changes) =>
    setTraits(model, { mask: send(mask, "bool"), ...changes });

  function paint(query, key, seen) {
    const mask = arrayOf("mask");
    mask[query * size + key] = seen;
    setMask(mask, { query, key });
  }
  function turnRow() {
    const mask = arrayOf("mask");
    const start = model.get("query") * size;
    const row = mask.subarray(start, start + size);
    row.fill(row.some(Boolean) ? 0 : 1);
    setMask(mask);
  }
  function setScore(score) {
    const scores = arrayOf("scores");
    scores[model.get("query") * size + model.get("key")] = score;
    setTraits(model, { scores: send(scores, "float32") });
  }

  function applySetting(name) {
    setMask(settingMask(name, tokens), { ...HEALTHY, ...SETTINGS[name] });
  }
  function isSet(name, mask) {
    const wanted = { ...HEALTHY, ...SETTINGS[name] };
    return Object.keys(HEALTHY)
      .every((trait) => model.get(trait) === wanted[trait])
      && settingMask(name, tokens).every((seen, at) => seen === mask[at]);
  }

  const settings = Object.entries(WORDS.settingNames).map(([name, text]) => ({
    name, root: button(text, () => applySetting(name)),
  }));
  const presets = Object.entries(WORDS.presetNames).map(([name, text]) => ({
    name, root: button(text, () => setMask(presetMask(name, tokens))),
  }));
  const rowButton = button("", turnRow);
  const convention = select({
    label: WORDS.convention, options: Object.entries(WORDS.conventions),
    value: model.get("convention"), onInput: take("convention"),
  });
  const handOverText = html("span");
  const handOver = checkbox(handOverText, take("handed_over"));
  const method = select({
    label: WORDS.method, options: Object.entries(WORDS.methods),
    value: model.get("method"), onInput: take("method"),
  });
  const fillValue = select({
    label: WORDS.fill, options: Object.entries(WORDS.fills),
    value: model.get("fill_value"), onInput: take("fill_value"),
  });
  const slider = range({
    label: WORDS.scoresTitle, min: -5, max: 5, step: 0.1, value: 0,
    format: (score) => scoreText([score])(score), onInput: setScore,
  });
  const sliderLabel = slider.root.querySelector("label");
  const matrices = {
    mask: maskGrid(tokens, choose, paint),
    scores: numberGrid(WORDS.scoresTitle, tokens, choose),
    masked: numberGrid(WORDS.maskedTitle, tokens, choose),
    weights: weightGrid(tokens, choose),
  };
  const maskTitle = titled("");
  const maskedNote = noted("");

  function stateNow() {
    return {
      scores: Float64Array.from(arrayOf("scores")), mask: arrayOf("mask"),
      method: model.get("method"), fillValue: model.get("fill_value"),
      convention: model.get("convention"),
      handedOver: model.get("handed_over"),
      query: model.get("query"), key: model.get("key"),
    };
  }

  function update({ speak = true } = {}) {
    const state = stateNow();
    const values = readings(state);
    showControls(state);
    showMatrices(state, values);
    say(state, values, speak);
    const figures = Object.entries({ ...values, scores: state.scores })
      .map(([name, array]) => [name, Array.from(array, String)]);
    frame.publish({ ...state, ...Object.fromEntries(figures) });
  }

  function showControls(state) {
    const { mask, query, key } = state;
    const named = { query: tokens[query], key: tokens[key] };
    for (const { name, root } of settings) {
      root.setAttribute("aria-pressed", isSet(name, mask));
    }
    for (const { name, root } of presets) {
      const same = presetMask(name, tokens).every((seen, at) =>
        seen === mask[at]);
      root.setAttribute("aria-pressed", same);
    }
    const row = mask.subarray(query * size, (query + 1) * size);
    write(rowButton, sentence(
      row.some(Boolean) ? WORDS.hideRow : WORDS.showRow, named,
    ));
    convention.set(state.convention);
    handOver.set(state.handedOver);
    write(handOverText, WORDS.handOver[state.convention]);
    method.set(state.method);
    fillValue.set(state.fillValue);
    // Another library masks in its own way.
    method.input.disabled = state.handedOver;
    fillValue.input.disabled =
      state.handedOver || state.method !== "fill before softmax";
    write(sliderLabel, sentence(WORDS.score, named));
    slider.set(Number(state.scores[query * size + key].toFixed(6)));
  }

  function showMatrices(state, values) {
    const toText = scoreText(state.scores);
    const texts = (numbers, textOf) => Array.from(numbers, textOf);
    matrices.mask.show(texts(values.written, (value) =>
      writtenText(value, state.convention)), state);
    matrices.scores.show(texts(state.scores, toText), state);
    matrices.masked.show(texts(values.masked, (value) =>
      maskedText(value, toText)), state);
    matrices.weights.show(values, state);
    write(maskTitle, sentence(WORDS.maskTitle, {
      meaning: WORDS.meaning[state.convention],
    }));
    write(maskedNote, state.handedOver
      ? WORDS.misreadNotes[state.convention]
      : WORDS.maskedNotes[state.method] ?? WORDS.maskedNotes[state.fillValue]);
  }

  function say(state, { weights, sums, leaks }, speak) {
    const { query, key, scores, mask } = state;
    const at = query * size + key;
    const known = leaks.map((leak) => leak || 0);
    const worst = known.indexOf(Math.max(...known));
    const broken = leaks.filter(Number.isNaN).length;
    const all = known[worst] > 0
      ? sentence(WORDS.worst, {
        leak: percent(known[worst]), query: tokens[worst],
      })
      : broken ? "" : loudness(state, sums) ?? WORDS.noLeak;
    const nan = broken ? sentence(WORDS.broken, { count: broken }) : "";
    const said = sentence(WORDS.reading, {
      query: tokens[query], key: tokens[key],
      score: scoreText(scores)(scores[at]), state: mask[at] ? WORDS.seen : WORDS.hidden,
      weight: twoDigits(weights[at]), sum: twoDigits(sums[query]),
      leak: percent(leaks[query]), all: nan + all,
    });
    frame.read(said.trim(), { speak });
  }

  // Multiplied after the softmax, a row sums to less than 1, and what is
  // missing tells of the hidden scores.
  function loudness({ method, handedOver, mask }, sums) {
    if (method !== "multiply after softmax" || handedOver) return undefined;
    if (mask.every(Boolean)) return undefined;
    return sentence(WORDS.loudness, { least: twoDigits(Math.min(...sums)) });
  }

  frame.root.append(
    group(WORDS.settings, settings),
    html("div", { class: "panels" },
      panel("mask", maskTitle,
        beside(group(WORDS.presets, presets), slider.root),
        matrices.mask.root, noted(WORDS.maskHint), rowButton),
      panel("weights", titled(WORDS.weightsTitle),
        beside(method.root, fillValue.root), matrices.weights.root,
        noted(WORDS.weightsNote), maskedNote)),
    ...frame.reading,
    html("details", { class: "more" },
      html("summary", { text: WORDS.more }),
      html("div", { class: "beside" }, convention.root, handOver.root),
      html("div", { class: "panels" },
        panel("scores", titled(WORDS.scoresTitle), noted(WORDS.scoresNote),
          matrices.scores.root),
        panel("masked", titled(WORDS.maskedTitle), noted(WORDS.maskedHint),
          matrices.masked.root))),
    ...tools.foot,
  );
  update({ speak: false });
  return followTraits(model, TRAITS, update, tools.dispose, frame.dispose);
}

export default { render };
