// Writing a sentence token by token, with what is dropped on the way.

import { button, noted, titled } from "./core/controls.js";
import { html, renew, write } from "./core/dom.js";
import { choice, defineExplorer, slider } from "./core/explorer.js";
import { sentence } from "./core/texts.js";
import WORDS from "./decoding_steps.words.json" with { type: "json" };
import { minus, stageOf, textOf } from "./decoding_steps_panels.js";
import { chineseNumeral, englishWords } from "./numeral_words.js";
import { MARKS } from "./transformer_model.js";
import { numberField, percent, translatorOf } from "./translation.js";
import TRANSLATION from "./translation.words.json" with { type: "json" };
import { search, writerOf } from "./translation_search.js";

const PLAY_MS = 1400;
const EXAMPLES = [15, 62, 300, 9_061, 12_005];
// As Python has it: all searches have ended there.
const END = 64;

export function read(model) {
  const translator = translatorOf(model);
  let [writer, searched, found] = [];
  // What was asked last stays known, as most changes are those of the step.
  function searchOnce({ number, ...how }) {
    const asked = [number, ...Object.values(how)].join();
    if (writer?.number !== number) writer = writerOf(translator, number);
    if (asked !== searched) found = search(writer, how);
    searched = asked;
    return found;
  }
  return { translator, searchOnce };
}

// `step` is where a search is, or its last step at the end.
export function compute({
  number, method, seed, temperature, beam_size: size, length_penalty: alpha,
  step: wanted,
}, given) {
  const { steps, found } = given.searchOnce(
    { number, method, seed, temperature, size, alpha });
  const last = steps.length;
  const at = Math.min(wanted, last);
  const step = steps[Math.min(at, last - 1)];
  return {
    translator: given.translator, number, method, at, last, step, found,
    isEnd: at === last, kept: method === "beam" && size > 1 ? size : 0,
    published: {
      number, method, seed, step: at, steps: last,
      prefixes: step.alive.map(({ ids, logProb }) => [logProb, ...ids]),
      candidates: step.candidates.map(({ row, id, chance, logProb }) =>
        [row, id, chance, logProb]),
      fates: step.candidates.map(({ fate }) => fate),
      found: found.map(({ ids, logProb, score }) => [logProb, score, ...ids]),
      cached: step.cost.cached, whole: step.cost.whole,
    },
  };
}

const counted = (count, { one, many }) =>
  (count === 1 ? one : sentence(many, { count }));

function saidOfStep({ translator, step: { alive, candidates } }) {
  const [best] = candidates;
  const count = (asked) =>
    candidates.filter(({ fate }) => fate === asked).length;
  return {
    goes: count("goes"), ends: count("ends"), dropped: count("dropped"),
    alive: alive.length, word: translator.word(best.id),
    sure: percent(best.chance),
    prefix: textOf(translator, alive[best.row].ids) || TRANSLATION.marks.bos,
  };
}

function saidOfEnd({ translator, number, method, found: [best] }) {
  const words = best.ids.filter((id) => id !== MARKS.eos);
  const right = englishWords(number).join(" ");
  const isRight = words.length < best.ids.length
    && textOf(translator, words) === right;
  return {
    verdict: sentence(WORDS[isRight ? "right" : "wrong"],
      { right, subject: WORDS.subjects[method] }),
    what: WORDS.whats[method], best: textOf(translator, words),
    total: minus(best.logProb),
  };
}

export function say(found) {
  const { number, at, last, isEnd, step: { cost } } = found;
  const said = {
    step: at + 1, steps: last, count: counted(last, WORDS.steps),
    src: chineseNumeral(number), cached: counted(cost.cached, WORDS.tokens),
    whole: cost.whole, ...(isEnd ? saidOfEnd(found) : saidOfStep(found)),
  };
  const [title, reading] = isEnd ? [WORDS.endTitle, WORDS.readEnd]
    : [WORDS.stepTitle, WORDS.readStep];
  return {
    ...said, title: sentence(title, said), reading: sentence(reading, said),
    cost: [WORDS.source, WORDS.cost].map((words) =>
      sentence(words, said)).join(" "),
  };
}

// Another search begins at its first step.
const restarts = (name) => (value) => ({ [name]: value, step: 0 });
const tenths = (name) => slider({
  step: 0.1, format: (value) => value.toFixed(1), sets: restarts(name),
});

// A control of one method.
const only = (method, make) => (knows) => {
  const made = make(knows);
  function show(value, settings) {
    made.show(value, settings);
    made.root.hidden = settings.method !== method;
  }
  return { ...made, show };
};

function field({ set }) {
  const { root, set: place } = numberField(EXAMPLES, (number) =>
    set({ number, step: 0 }));
  return { root, show: ({ number }) => place(number) };
}

function again({ model, set }) {
  const root = html("div", { class: "again" }, button(WORDS.again, () =>
    set({ seed: (model.get("seed") + 1) % 2 ** 31, step: 0 })));
  return { root, show: ({ method }) => {
    root.hidden = method !== "sample";
  } };
}

function steps({ model, set }) {
  let [last, timer] = [];
  const shown = () => Math.min(model.get("step"), last);
  function stop() {
    clearInterval(timer);
    timer = undefined;
  }
  function go(by) {
    const step = Math.max(0, Math.min(last, shown() + by));
    if (by < 0 || step === last) stop();
    set({ step });
  }
  function play() {
    if (timer) {
      stop();
    } else {
      if (shown() === last) go(-Infinity);
      timer = setInterval(() => go(1), PLAY_MS);
      go(1);
    }
    label();
  }
  const label = () =>
    write(buttons.play, WORDS.buttons[timer ? "pause" : "play"]);
  const buttons = {
    reset: button(WORDS.buttons.reset, () => go(-Infinity)),
    back: button(WORDS.buttons.back, () => go(-1)),
    next: button(WORDS.buttons.next, () => go(1)),
    play: button(WORDS.buttons.play, play),
  };
  const title = titled("");
  function show(found, said) {
    ({ last } = found);
    for (const name of ["reset", "back"]) {
      buttons[name].setAttribute("aria-disabled", found.at === 0);
    }
    buttons.next.setAttribute("aria-disabled", found.isEnd);
    label();
    write(title, said.title);
  }
  return { show, dispose: stop, root: html("div", { class: "steps" },
    html("div", { class: "buttons" }, ...Object.values(buttons)), title) };
}

function cost() {
  const root = noted("");
  return { root, show: (_, said) => write(root, said.cost) };
}

function stage() {
  const root = html("div", { class: "stage" });
  return { root, show: (found, said) => renew(root, stageOf(found, said)) };
}

export default defineExplorer("decoding-steps", {
  words: WORDS,
  controls: {
    method: choice({ sets: restarts("method") }),
    beam_size: only("beam", slider({ sets: restarts("beam_size") })),
    length_penalty: only("beam", tenths("length_penalty")),
    temperature: only("sample", tenths("temperature")),
  },
  read, compute, say,
  parts: {
    field, again, steps, cost, stage,
    totals: () => ({ root: noted(WORDS.totals) }),
  },
  layout: ["field", ["method", "beam_size", "length_penalty", "temperature",
    "again"], "steps", "cost", "stage", "totals", "reading"],
  from: { step: END, length_penalty: 0 },
});
