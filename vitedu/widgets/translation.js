// What the explorers of the translator share: the model with its words, and
// a field for the number to translate.

import { button, textField } from "./core/controls.js";
import { html, put } from "./core/dom.js";
import { LARGEST, numberOf } from "./numeral_words.js";
import { MARKS, logSoftmax, makeTransformer } from "./transformer_model.js";
import TRANSLATION from "./translation.words.json" with { type: "json" };

// The most words of a translation; 77,777,777 takes 15 with its end.
const LONGEST = 24;

export function translatorOf(model) {
  const [weights, layout, config, srcWords, tgtWords] = [
    "weights", "layout", "config", "src_words", "tgt_words",
  ].map((name) => model.get(name));
  const transformer = makeTransformer({ weights, layout, config });
  const ids = new Map(srcWords.map((word, at) => [word, MARKS.first + at]));
  const marks = ["pad", "bos", "eos"].map((name) => TRANSLATION.marks[name]);
  return {
    ...transformer,
    maxLength: Math.min(LONGEST, config.max_len ?? LONGEST),
    read: (signs) => transformer.encode(signs.map((sign) => ids.get(sign))),
    word: (id) => (id < MARKS.first ? marks[id] : tgtWords[id - MARKS.first]),
    // Logarithms of the probabilities, by word, after one more.
    next(memory, past, id) {
      const step = transformer.step(memory, past, id);
      return { ...step, logProbs: logSoftmax(step.logits, MARKS.pad) };
    },
  };
}

function withCommas(number) {
  return number.toLocaleString("en");
}

// Either the number that a text means, or what to say about the text.
export function parseNumber(text) {
  const digits = text.replace(/[,\s]/g, "");
  if (!digits) return { fault: TRANSLATION.empty };
  if (/^[零一二三四五六七八九十百千万]+$/.test(digits)) {
    const number = numberOf(digits);
    return number === undefined
      ? { fault: TRANSLATION.signs } : { value: number };
  }
  if (!/^[0-9]+$/.test(digits)) return { fault: TRANSLATION.digits };
  if (Number(digits) > LARGEST) return { fault: TRANSLATION.large };
  return { value: Number(digits) };
}

// `set` shows a number that did not come from the field itself; `onFault`
// hears of what is no number, and "" when it is one again.
export function numberField(numbers, onNumber, onFault = () => {}) {
  let known;
  const field = textField({
    label: TRANSLATION.label, inputmode: "numeric", maxlength: 24, onFault,
    read: parseNumber,
    onValue: (number) => {
      known = number;
      onNumber(number);
    },
  });
  function set(number) {
    examples.forEach((example, at) => {
      put(example, "aria-pressed", String(numbers[at] === number));
    });
    if (number === known) return;
    known = number;
    field.set(withCommas(number));
  }
  const examples = numbers.map((number) => button(withCommas(number), () => {
    known = undefined;
    set(number);
    onNumber(number);
  }));
  const root = html(
    "div", { class: "number-field" }, field.root,
    html("div", {
      class: "examples", role: "group", "aria-label": TRANSLATION.examples,
    }, ...examples),
    field.fault,
  );
  return { root, set };
}

// A probability, as it stands below a word.
export function percent(probability) {
  if (probability > 0.999) return TRANSLATION.nearlyAll;
  if (probability < 0.001) return TRANSLATION.nearlyNothing;
  const digits = probability > 0.985 || probability < 0.1 ? 1 : 0;
  return `${(100 * probability).toFixed(digits)}%`;
}
