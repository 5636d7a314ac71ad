// Writing a sentence token by token, with what is dropped on the way.

import { button, noted, range, select, titled } from "./core/controls.js";
import { draft, html, renew, write } from "./core/dom.js";
import { explorer, followTraits, setTraits } from "./core/frame.js";
import { sentence } from "./core/texts.js";
import { makeTools } from "./core/tools.js";
import WORDS from "./decoding_steps.words.json" with { type: "json" };
import {
  box, candidateTable, foundTable, minus, noteLine, prefixTable, textOf,
  titleLine,
} from "./decoding_steps_panels.js";
import { chineseNumeral, englishWords } from "./numeral_words.js";
import { MARKS } from "./transformer_model.js";
import { numberField, percent, translatorOf } from "./translation.js";
import TRANSLATION from "./translation.words.json" with { type: "json" };
import { search, writerOf } from "./translation_search.js";

const TRAITS = ["number", "method", "beam_size", "length_penalty",
  "temperature", "seed", "step"];
const PLAY_MS = 1400;
const EXAMPLES = [15, 62, 300, 9_061, 12_005];

// Calls `tick` from time to time, between `toggle` and the next one.
function player(tick) {
  let timer;
  function stop() {
    clearInterval(timer);
    timer = undefined;
  }
  function toggle() {
    if (timer) return stop();
    tick();
    timer = setInterval(tick, PLAY_MS);
    return undefined;
  }
  return { toggle, stop, isOn: () => timer !== undefined };
}

function countFates(candidates) {
  const counts = { goes: 0, ends: 0, dropped: 0 };
  for (const { fate } of candidates) counts[fate] += 1;
  return counts;
}

function counted(count, { one, many }) {
  return count === 1 ? one : sentence(many, { count });
}

function render({ model, el }) {
  const translator = translatorOf(model);
  const frame = explorer(el, "decoding-steps", WORDS.label);
  let told;
  const tools = makeTools(frame, model, {
    tour: WORDS.tour.map(([words, settings]) => [
      () => sentence(words, told),
      { number: model.get("number"), step: model.get("_schema").step.high,
        length_penalty: 0, ...settings },
    ]),
  });
  const restart = (values) => setTraits(model, { ...values, step: 0 });
  const field = numberField(EXAMPLES, (number) => restart({ number }));
  const choices = {
    method: select({
      label: WORDS.method, value: model.get("method"),
      options: Object.entries(WORDS.methods),
      onInput: (method) => restart({ method }),
    }),
    beam_size: range({
      label: WORDS.size, min: 1, max: 5, value: model.get("beam_size"),
      format: String, onInput: (value) => restart({ beam_size: value }),
    }),
    length_penalty: range({
      label: WORDS.alpha, min: 0, max: 2, step: 0.1,
      value: model.get("length_penalty"), format: (value) => value.toFixed(1),
      onInput: (value) => restart({ length_penalty: value }),
    }),
    temperature: range({
      label: WORDS.temperature, min: 0.1, max: 3, step: 0.1,
      value: model.get("temperature"), format: (value) => value.toFixed(1),
      onInput: (value) => restart({ temperature: value }),
    }),
  };
  const again = html("div", { class: "again" }, button(WORDS.again, () =>
    restart({ seed: (model.get("seed") + 1) % 2 ** 31 })));
  // Which method each control belongs to.
  const owners = [
    ["beam", choices.beam_size.root], ["beam", choices.length_penalty.root],
    ["sample", choices.temperature.root], ["sample", again],
  ];
  const playing = player(() => go(1));
  const buttons = {
    reset: button(WORDS.buttons.reset, () => go(-Infinity)),
    back: button(WORDS.buttons.back, () => go(-1)),
    next: button(WORDS.buttons.next, () => go(1)),
    play: button(WORDS.buttons.play, () => {
      if (shownStep() === found.steps.length) go(-Infinity);
      playing.toggle();
      update();
    }),
  };
  const title = titled("");
  const cost = noted("");
  const stage = html("div", { class: "stage" });
  let [writer, found, searched] = [];

  const shownStep = () => Math.min(model.get("step"), found.steps.length);

  function go(by) {
    const last = found.steps.length;
    const step = Math.max(0, Math.min(last, shownStep() + by));
    if (by < 0 || step === last) playing.stop();
    setTraits(model, { step });
  }

  function searchAgain() {
    const [number, method, size, alpha, temperature, seed] = TRAITS.map(
      (name) => model.get(name),
    );
    const asked = [number, method, size, alpha, temperature, seed].join();
    if (asked === searched) return;
    searched = asked;
    if (writer?.number !== number) writer = writerOf(translator, number);
    found = search(writer, { method, size, alpha, temperature, seed });
  }

  function showStep({ alive, candidates, found: finished }) {
    const note = sentence(WORDS.candidateNotes[model.get("method")], {
      count: candidates.length,
    });
    renew(stage, [
      box("of-prefixes",
        titleLine(alive.length === 1 ? WORDS.onePrefix : WORDS.prefixes),
        prefixTable(translator, alive)),
      box("of-candidates", titleLine(WORDS.candidates), noteLine(note),
        candidateTable(translator, candidates, model.get("method"))),
      box("of-found", titleLine(WORDS.found), ...onlyTheBest(),
        finished.length
          ? foundTable(translator, finished) : noteLine(WORDS.none)),
    ]);
    const [best] = candidates;
    return {
      ...countFates(candidates), alive: alive.length,
      word: translator.word(best.id), sure: percent(best.chance),
      prefix: textOf(translator, alive[best.row].ids)
        || TRANSLATION.marks.bos,
    };
  }

  function onlyTheBest() {
    const size = model.get("beam_size");
    return model.get("method") === "beam" && size > 1
      ? [noteLine(sentence(WORDS.kept, { size }))] : [];
  }

  function showEnd() {
    const [best] = found.found;
    const words = best.ids.filter((id) => id !== MARKS.eos);
    const method = model.get("method");
    const right = englishWords(model.get("number")).join(" ");
    const isRight = words.length < best.ids.length
      && textOf(translator, words) === right;
    const verdict = sentence(WORDS[isRight ? "right" : "wrong"],
      { right, subject: WORDS.subjects[method] });
    renew(stage, [
      box("of-found", titleLine(WORDS.found), ...onlyTheBest(),
        foundTable(translator, found.found),
        draft("p", { class: "verdict", text: verdict })),
    ]);
    return {
      verdict,
      what: WORDS.whats[method], best: textOf(translator, words),
      total: minus(best.logProb),
    };
  }

  function update({ speak = true } = {}) {
    searchAgain();
    const [at, last] = [shownStep(), found.steps.length];
    const [number, method] = [model.get("number"), model.get("method")];
    const isEnd = at === last;
    field.set(number);
    for (const [name, choice] of Object.entries(choices)) {
      choice.set(model.get(name));
    }
    for (const [owner, root] of owners) root.hidden = owner !== method;
    for (const name of ["reset", "back"]) {
      buttons[name].setAttribute("aria-disabled", at === 0);
    }
    buttons.next.setAttribute("aria-disabled", isEnd);
    write(buttons.play, WORDS.buttons[playing.isOn() ? "pause" : "play"]);
    const step = found.steps[Math.min(at, last - 1)];
    const said = {
      step: at + 1, steps: last, count: counted(last, WORDS.steps), src: chineseNumeral(number),
      cached: counted(step.cost.cached, WORDS.tokens), whole: step.cost.whole,
      ...(isEnd ? showEnd() : showStep(step)),
    };
    told = said;
    write(title, sentence(isEnd ? WORDS.endTitle : WORDS.stepTitle, said));
    write(cost, [WORDS.source, WORDS.cost].map((words) =>
      sentence(words, said)).join(" "));
    frame.read(
      sentence(isEnd ? WORDS.readEnd : WORDS.reading, said), { speak },
    );
    frame.publish({
      number, method, seed: model.get("seed"), step: at, steps: last,
      prefixes: step.alive.map(({ ids, logProb }) => [logProb, ...ids]),
      candidates: step.candidates.map(({ row, id, chance, logProb }) =>
        [row, id, chance, logProb]),
      fates: step.candidates.map(({ fate }) => fate),
      found: found.found.map(({ ids, logProb, score }) =>
        [logProb, score, ...ids]),
      cached: step.cost.cached, whole: step.cost.whole,
    });
  }

  frame.root.append(
    field.root,
    html("div", { class: "vitedu-controls" },
      choices.method.root, ...owners.map(([, root]) => root)),
    html("div", { class: "steps" },
      html("div", { class: "buttons" }, ...Object.values(buttons)), title),
    cost, stage, noted(WORDS.totals), ...frame.reading,
    ...tools.foot,
  );
  update({ speak: false });
  return followTraits(
    model, TRAITS, update, playing.stop, tools.dispose, frame.dispose,
  );
}

export default { render };
