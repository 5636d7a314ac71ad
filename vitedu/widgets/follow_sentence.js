// A sentence, followed through the whole translator, word by word.

import {
  button, noted, panel, range, select, titled,
} from "./core/controls.js";
import { draft, html, renew, write } from "./core/dom.js";
import {
  explorer, followTraits, followWidths, setTraits,
} from "./core/frame.js";
import { softmax } from "./core/numbers.js";
import { sentence } from "./core/texts.js";
import { makeTools } from "./core/tools.js";
import { viewButtons } from "./core/views.js";
import WORDS from "./follow_sentence.words.json" with { type: "json" };
import { chanceList, sentenceLines } from "./follow_sentence_lines.js";
import { attentionMap } from "./follow_sentence_map.js";
import {
  ATTENTIONS, INSIDE, IN_ATTENTION, IN_FORWARD, openStage, stacked,
  stepsInside,
} from "./follow_sentence_stages.js";
import { beamPicture, beamTree } from "./follow_sentence_tree.js";
import { likeliest } from "./matrices.js";
import { MEANINGS, chineseNumeral, englishWords } from "./numeral_words.js";
import {
  signedSquares, stagePanel, stagesOf, stepStrip,
} from "./opened_stage.js";
import { MARKS } from "./transformer_model.js";
import { numberField, percent, translatorOf } from "./translation.js";
import TRANSLATION from "./translation.words.json" with { type: "json" };
import { search, writerOf } from "./translation_search.js";

const STAGES = stagesOf(WORDS.stages, { "forward norm": "norm" });

const TRAITS = ["number", "method", "beam_size", "temperature", "seed",
  "begins", "step", "attention", "layer", "head", "stage", "row", "column"];
// In the book the last three come out wrong.
const EXAMPLES = [12_005, 34_000_000, 18_000_000, 40_000_000, 1_000_011];
// A tour of the book's translator, which one knows by its slip at the number
// with which the tour begins.
const SLIP = "eighteen million eight thousand";
const AT_SLIP = { number: 18_000_000, step: 2 };
// Words that may come next, besides the one that does.
const LIKELY = 6;
const HUES = {
  query: "query", key: "key", value: "value", "sign positions": "position",
  "word positions": "position",
};
const PER_HEAD = ["query", "key", "value", "scores", "mask", "softmax", "mix"];

// What the writer does with a number: its steps, the sentence, and the state
// of the decoder before each word of it.
function translated(writer, how) {
  const found = search(writer, { alpha: 0, ...how });
  const { ids, logProb } = found.found[0];
  let prefix = writer.nothing;
  const states = ids.map((id) => {
    const state = writer.after(prefix);
    prefix = { ids: [...prefix.ids, id], past: state.past };
    return state;
  });
  return { ...found, ids, logProb, states, encoded: writer.encoded };
}

// A row of weights for each query of a head.
function lookOf({ encoded, states }, kind, layer, head) {
  const branches = kind === "encoder" ? encoded.blocks[layer].attention
    : states.map(({ blocks }) => blocks[layer][kind]);
  return branches.map(({ weights }) => weights[head]);
}

// A small picture of each stage of the strip.
function stageThumb(read, { stage, stack, layer }, texts) {
  const square = (width, height, ...children) => [draft("svg", {
    viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none",
    "aria-hidden": "true",
  }, ...children)];
  const word = (text) => [draft("svg", {
    viewBox: "0 0 64 44", "aria-hidden": "true",
  }, draft("text", { class: "said", x: 32, y: 27, text }))];
  const few = (vectors) => {
    const some = stacked(vectors.slice(-12), 0,
      Math.min(12, vectors[0].length));
    return square(some.columns, some.rows, signedSquares(some));
  };
  if (stage === "signs") return word(texts.src);
  if (stage === "words") return word(texts.read);
  if (stage === "chances") return word(texts.next);
  if (stage === "memory") return few(read.encoded.outputs);
  if (stage === "logits" || stage === "last") {
    return few([read.states.at(-1)[stage]]);
  }
  if (stage === "sign positions") {
    return few(read.encoded.embedded.map(({ placed }) => placed));
  }
  if (stage === "word positions") {
    return few(read.states.map(({ embedded }) => embedded.placed));
  }
  // A block: where its heads look on average.
  const maps = (stack === "encoder" ? read.encoded.blocks[layer].attention
    : read.states.map(({ blocks }) => blocks[layer].cross))
    .map(({ weights }) => weights[0].map((_, key) =>
      weights.reduce((sum, row) => sum + row[key], 0) / weights.length));
  const mean = stacked(maps);
  return square(mean.columns, mean.rows, signedSquares(mean));
}

// All stages in a line, and below it the steps inside of a block.
function stageChooser(translator, set) {
  const { config, tensors } = translator;
  const blocks = (stack) => Array.from({ length: config.num_layers },
    (_, layer) => ({ stack, layer }));
  const stages = [
    { stage: "signs" }, { stage: "sign positions" }, ...blocks("encoder"),
    { stage: "memory" }, { stage: "words" }, { stage: "word positions" },
    ...blocks("decoder"),
    ...(tensors["decoder.norm.weight"] ? [{ stage: "last" }] : []),
    { stage: "logits" }, { stage: "chances" },
  ];
  const pictures = stages.map(() => html("span", { class: "thumb" }));
  let view;
  const strip = stepStrip(WORDS.strip, stages.map((one, i) => ({
    picture: pictures[i],
    title: STAGES[one.stage]?.title
      ?? sentence(WORDS.blocks[one.stack], { block: one.layer + 1 }),
  })), (i) => {
    const { stage, stack, layer } = stages[i];
    if (stage) return set({ stage, row: -1 });
    const stays = (stack === "encoder") === (view.attention === "encoder");
    return set({
      layer, row: -1,
      attention: stays ? view.attention
        : stack === "encoder" ? "encoder" : "cross",
      stage: stays && view.stage in INSIDE ? view.stage : "softmax",
    });
  });

  const title = titled("");
  const inner = ["encoder", "decoder", "cross"].map((kind) => {
    const steps = stepsInside(translator, kind).attention;
    return { kind, steps, ...stepStrip(WORDS.steps[kind],
      steps.map((stage) => ({ title: STAGES[stage].title })),
      (i) => set({ attention: kind, stage: steps[i], row: -1 })) };
  });
  const forward = stepsInside(translator, "cross").forward;
  const titleOf = (stage) => STAGES[stage === "active"
    && config.activation === "gelu" ? "gelu" : stage].title;
  inner.push({ kind: "forward", steps: forward, ...stepStrip(
    WORDS.steps.forward, forward.map((stage) => ({ title: titleOf(stage) })),
    (i) => set({ stage: forward[i], row: -1 }),
  ) });
  for (const one of inner) {
    one.box = html("div", { class: "inner-steps" },
      noted(WORDS.steps[one.kind]), one.root);
  }
  const root = panel("of-strip", titled(WORDS.strip), strip.root,
    html("div", { class: "block-steps" }, title,
      ...inner.map(({ box }) => box)));

  function update(read, now, texts) {
    view = now;
    const { stage, attention, layer } = now;
    const isInside = stage in INSIDE;
    const stack = attention === "encoder" ? "encoder" : "decoder";
    strip.choose(stages.findIndex((one) => (isInside
      ? one.stack === stack && one.layer === layer : one.stage === stage)));
    stages.forEach((one, i) =>
      renew(pictures[i], stageThumb(read, one, texts)));
    write(title, sentence(WORDS.inside,
      { layer: layer + 1, stack: WORDS.stacks[stack] }));
    for (const { kind, steps, choose, box } of inner) {
      box.hidden = kind !== "forward"
        && (kind === "encoder") !== (stack === "encoder");
      const mine = kind === "forward" ? stage in IN_FORWARD
        : stage in IN_ATTENTION && kind === attention;
      choose(mine ? steps.indexOf(stage) : -1);
    }
  }
  return { root, update };
}

function render({ model, el }) {
  const translator = translatorOf(model);
  const { num_layers: layers, num_heads: heads } = translator.config;
  const frame = explorer(el, "follow-sentence", WORDS);
  let writer = writerOf(translator, AT_SLIP.number);
  const slip = translated(writer, { method: "greedy" })
    .ids.map(translator.word);
  const tools = makeTools(frame, model, {
    tour: slip.slice(0, -1).join(" ") === SLIP ? WORDS.tour : [],
    reveal: (part) => views.showAsked(part),
  });
  const set = (values) => setTraits(model, values);
  const restart = (values) => set({ ...values, begins: [], step: 0, row: -1 });
  const goToStep = (step) => set({ step, row: -1 });
  const idOf = (word) => (word === TRANSLATION.marks.eos ? MARKS.eos
    : MARKS.first + model.get("tgt_words").indexOf(word));
  let [found, searched] = [];

  const field = numberField(
    EXAMPLES, (number) => restart({ number }),
    // What is there belongs to another number.
    (fault) => frame.root.classList.toggle("stale", fault !== ""),
  );
  const lines = sentenceLines((line, at) => (line === "src"
    ? set({ row: at }) : goToStep(at)));
  const verdict = html("p", { class: "verdict" });
  const steps = range({
    label: WORDS.step, min: 1, max: 2, value: 1, format: stepText,
    onInput: (step) => goToStep(step - 1),
  });
  const [earlier, later] = [["earlier", -1], ["later", 1]].map(([name, by]) =>
    button(WORDS[name], () => goToStep(shownStep() + by)));
  const numbers = (count) =>
    Array.from({ length: count }, (_, at) => [at, at + 1]);
  const choices = {
    method: select({
      label: WORDS.method, value: model.get("method"),
      options: Object.entries(WORDS.methods),
      onInput: (method) => set({ method }),
    }),
    beam_size: range({
      label: WORDS.size, min: 1, max: 4, value: model.get("beam_size"),
      format: String, onInput: (value) => set({ beam_size: value }),
    }),
    temperature: range({
      label: WORDS.temperature, min: 0.1, max: 3, step: 0.1,
      value: model.get("temperature"), format: (value) => value.toFixed(1),
      onInput: (temperature) => set({ temperature }),
    }),
    attention: select({
      label: WORDS.attention, value: model.get("attention"),
      options: Object.entries(WORDS.kinds),
      onInput: (attention) => {
        const stage = model.get("stage");
        const stays = stepsInside(translator, attention).attention
          .includes(stage);
        set({ attention, row: -1, stage: stays ? stage : "softmax" });
      },
    }),
    layer: select({
      label: WORDS.layer, value: model.get("layer"), options: numbers(layers),
      onInput: (layer) => set({ layer: Number(layer) }),
    }),
    head: select({
      label: WORDS.head, value: model.get("head"), options: numbers(heads),
      onInput: (head) => set({ head: Number(head) }),
    }),
  };
  const seed = html("span", { class: "seed" });
  const again = html("div", { class: "again" }, button(WORDS.again, () =>
    set({ seed: (model.get("seed") + 1) % 2 ** 31 })), seed);
  // Which method each control belongs to.
  const owners = [["beam", choices.beam_size.root],
    ["sample", choices.temperature.root], ["sample", again]];
  const after = noted("");
  const list = chanceList((id) => {
    const step = shownStep();
    set({ step, row: -1,
      begins: [...found.ids.slice(0, Math.min(step, found.ids.length - 1)), id]
        .map(translator.word) });
  });
  const release = button(WORDS.release, () => set({ begins: [] }));
  const map = attentionMap((at) => (model.get("attention") === "encoder"
    ? set({ row: at }) : goToStep(at)));
  const [mapTitle, mapNote] = [titled(""), noted("")];
  const tree = beamPicture();
  const treePanel = panel("of-tree", titled(WORDS.tree), noted(WORDS.treeNote),
    tree.root);
  const chooser = stageChooser(translator, set);
  const opened = stagePanel(set);

  // A beam may go on after its best sentence has ended.
  const lastStep = () => Math.max(found.ids.length, found.steps.length) - 1;
  const shownStep = () => Math.min(model.get("step"), lastStep());

  function stepText(step) {
    if (!found) return String(step);
    const at = Math.min(step, found.ids.length) - 1;
    return sentence(WORDS.ofSteps, { step, steps: lastStep() + 1,
      word: translator.word(found.ids[at]) });
  }

  function searchAgain(view) {
    const { number, method, beam_size: size, temperature } = view;
    const begins = view.begins.map(idOf);
    const asked = [number, method, size, temperature, view.seed, begins].join();
    if (asked === searched) return;
    searched = asked;
    if (writer.number !== number) writer = writerOf(translator, number);
    found = translated(writer,
      { method, size, temperature, seed: view.seed, begins });
  }

  // What stands in the two lines.
  function textsOf({ number, begins }, step) {
    const right = [...englishWords(number), TRANSLATION.marks.eos];
    const words = found.ids.map(translator.word);
    const firstWrong = words.findIndex((word, at) => word !== right[at]);
    const begin = { text: TRANSLATION.marks.bos, note: "", kinds: ["token-mark"] };
    return {
      right: right.slice(0, -1).join(" "),
      ended: found.ids.at(-1) === MARKS.eos,
      src: [...chineseNumeral(number)].map((text, at) => ({
        text, note: MEANINGS[text], kinds: [],
        label: sentence(WORDS.sign, { place: at + 1, word: text }),
      })),
      tgt: [begin, ...words.map((text, at) => {
        const { logProbs } = found.states[at];
        const isForced = at < begins.length
          && found.ids[at] !== likeliest(logProbs);
        return {
          text, note: percent(Math.exp(logProbs[found.ids[at]])),
          label: sentence(WORDS.word, { place: at + 1, word: text }),
          kinds: Object.entries({
            "token-mark": found.ids[at] === MARKS.eos,
            "token-wrong": at === firstWrong, "token-forced": isForced,
            "token-later": at > step,
          }).filter(([, holds]) => holds).map(([kind]) => kind),
        };
      })],
    };
  }

  // The likeliest words at a step, and the one that is written.
  function chancesAt(step, { method, temperature }) {
    const { logProbs } = found.states[step];
    const scores = method === "sample"
      ? logProbs.map((one) => one / temperature) : logProbs;
    const chances = method === "sample" ? softmax(scores)
      : scores.map(Math.exp);
    const order = [...chances.keys()].filter((id) => id !== MARKS.pad)
      .sort((a, b) => chances[b] - chances[a]);
    const shown = order.slice(0, LIKELY);
    if (!shown.includes(found.ids[step])) shown.push(found.ids[step]);
    return shown.map((id) =>
      ({ id, word: translator.word(id), chance: chances[id] }));
  }

  function placeName(texts, axis) {
    return (at) => {
      const { line, as } = axis;
      const writes = line === "tgt" && as === "query";
      const text = line === "next" ? translator.word(at)
        : texts[line]?.[writes ? at + 1 : at].text;
      const of = sentence(WORDS.places[writes ? "writes" : line],
        { next: at + 1, text });
      return as ? sentence(WORDS.places[as], { of }) : of;
    };
  }

  // The open stage, for its panel.
  function described(texts, view, word) {
    const read = { encoded: found.encoded,
      states: found.states.slice(0, word + 1) };
    const now = openStage(translator, read, view);
    const { stage, attention, layer, head } = view;
    const { line } = ATTENTIONS[attention];
    const said = { head: head + 1, layer: layer + 1, step: word + 1,
      kind: stage in IN_FORWARD ? WORDS.of.forward[line]
        : WORDS.of.kinds[attention] };
    const words = STAGES[stage === "active"
      && translator.config.activation === "gelu" ? "gelu" : stage];
    const biased = now.made.bias !== undefined
      && !words.formula.includes("+ b");
    const atStep = now.axes.some((axis) => axis.line === "tgt");
    return { read, now: {
      ...now, hue: HUES[stage],
      words: biased ? { ...words, formula: `${words.formula} + b` } : words,
      of: (PER_HEAD.includes(stage) ? sentence(WORDS.of.head, said)
        : stage in INSIDE ? sentence(WORDS.of.block, said) : "")
        + (atStep ? sentence(WORDS.of.step, said) : ""),
      names: now.axes.map((axis) => placeName(texts, axis)),
    } };
  }

  function showTree(step) {
    const at = Math.min(step, found.steps.length - 1);
    const names = (fate) => found.steps[at].candidates
      .filter((one) => one.fate === fate)
      .map(({ ids }) => `“${ids.slice(1).map(translator.word).join(" ")}”`)
      .join(", ") || WORDS.none;
    tree.show(beamTree(found.steps, at, found.ids), widths.of(tree.root), {
      wordOf: translator.word, begin: TRANSLATION.marks.bos,
      label: sentence(WORDS.treePicture, { step: at + 1, kept: names("goes"),
        ended: names("ends"), dropped: names("dropped") }),
    });
  }

  function showChoices(view, step) {
    field.set(view.number);
    for (const [name, choice] of Object.entries(choices)) {
      choice.set(view[name]);
    }
    for (const [owner, root] of owners) root.hidden = owner !== view.method;
    write(seed, sentence(WORDS.seed, view));
    steps.setMax(Math.max(2, lastStep() + 1));
    steps.set(step + 1);
    earlier.disabled = step === 0;
    later.disabled = step === lastStep();
    release.disabled = !view.begins.length;
    treePanel.hidden = view.method !== "beam";
  }

  function update({ speak = true } = {}) {
    const view = Object.fromEntries(TRAITS.map((name) =>
      [name, model.get(name)]));
    searchAgain(view);
    const step = shownStep();
    const word = Math.min(step, found.ids.length - 1);
    const texts = textsOf(view, word);
    const { attention: kind, layer, head } = view;
    showChoices(view, step);

    const rows = lookOf(found, kind, layer, head);
    const query = kind !== "encoder" ? word
      : view.row < 0 ? rows.length - 1 : Math.min(view.row, rows.length - 1);
    const row = rows[query];
    const keys = (kind === "decoder" ? texts.tgt.slice(0, -1) : texts.src)
      .map(({ text }) => text);
    const queries = (kind === "encoder" ? texts.src : texts.tgt.slice(1))
      .map(({ text }) => text);
    const colour = `var(--c-head-${head % 4})`;
    const most = row.indexOf(Math.max(...row));
    const tgt = texts.tgt.slice(1, texts.ended ? -1 : undefined)
      .map(({ text }) => text).join(" ");
    const said = {
      layer: layer + 1, head: head + 1, step: word + 1,
      word: translator.word(found.ids[word]), sure: texts.tgt[word + 1].note,
      place: query + 1, at: queries[query], key: most + 1,
      keyText: keys[most], weight: row[most].toFixed(2),
      src: chineseNumeral(view.number), tgt, right: texts.right,
      count: found.ids.length, size: view.beam_size, seed: view.seed,
      temperature: view.temperature.toFixed(1),
      prefix: texts.tgt.slice(0, word + 1).map(({ text }) => text).join(" "),
      weights: Array.from(row, (weight, at) =>
        `${keys[at]} ${weight.toFixed(2)}`).join(", "),
    };
    const isRight = texts.ended && tgt === texts.right;

    lines.show(texts, {
      chosen: { tgt: word, ...(kind === "encoder" ? { src: query } : {}) },
      skipped: { src: 0, tgt: 1 },
      bars: { [kind === "decoder" ? "tgt" : "src"]: row }, colour,
    });
    verdict.classList.toggle("wrong", !isRight);
    write(verdict, [
      isRight ? WORDS.right : sentence(WORDS.wrong, said),
      ...(texts.ended ? [] : [sentence(WORDS.endless, said)]),
      sentence(WORDS.whole, { sure: percent(Math.exp(found.logProb)) }),
    ].join(" "));
    write(after, sentence(
      view.method === "sample" ? WORDS.drawn : WORDS.after, said));
    list.show(chancesAt(word, view), found.ids[word]);
    map.show(rows, { queries, keys }, widths.of(map.root), {
      query, label: sentence(WORDS.mapPicture, said), colour,
    });
    write(mapTitle, sentence(WORDS.mapTitle, said));
    write(mapNote, WORDS.mapNotes[kind]);
    if (view.method === "beam") showTree(step);
    else tree.clear();
    const { read, now } = described(texts, view, word);
    chooser.update(read, view, { src: said.src.slice(0, 4),
      read: texts.tgt[word].text, next: said.word });
    const told = opened.update(now);
    frame.read([
      sentence(WORDS.by[view.method], said),
      sentence(WORDS.verdict[isRight ? "right" : "wrong"], said),
      sentence(WORDS.looks[kind], said), told,
    ].join(" "), { speak });
    frame.publish({
      number: view.number, method: view.method, beamSize: view.beam_size,
      temperature: view.temperature, seed: view.seed,
      begins: view.begins.join(" "), step, attention: kind, layer, head,
      stage: view.stage, row: now.row, column: now.column, value: now.value,
      looks: row, tokens: found.ids, right: isRight, text: tgt,
      logProbs: found.ids.map((id, at) => found.states[at].logProbs[id]),
    });
  }

  const translation = [
    field.root,
    html("div", {}, html("div", { class: "now" },
      html("div", { class: "of-choosing" }, verdict,
        html("div", { class: "steering" },
          html("div", { class: "time" }, steps.root, earlier, later),
          choices.method.root, ...owners.map(([, root]) => root))),
      panel("of-chances", titled(WORDS.chances), after, list.root, release),
      panel("of-map", mapTitle, html("div", { class: "choices" },
        ...["attention", "layer", "head"].map((name) => choices[name].root)),
      map.root, mapNote)),
    treePanel),
  ];
  const network = html("div", {}, chooser.root, opened.root);
  const views = viewButtons(WORDS.views.label, model, [
    { title: WORDS.views.translation, nodes: translation },
    { title: WORDS.views.network, nodes: [network] },
  ], ["stage", "column"]);
  frame.root.append(
    views.root, translation[0], lines.root, noted(WORDS.sure), translation[1],
    network, ...frame.reading, ...tools.foot,
  );
  const widths = followWidths([map.root, tree.root],
    () => update({ speak: false }));
  update({ speak: false });
  return followTraits(
    model, TRAITS, update, widths.dispose, tools.dispose, frame.dispose,
  );
}

export default { render };
