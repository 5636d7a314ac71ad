// A digit, followed through every step of a Vision Transformer.

import { decodeArray, encodeArray, inRows } from "./core/arrays.js";
import {
  button, checkbox, noted, panel, range, titled,
} from "./core/controls.js";
import { html, put, renew, write } from "./core/dom.js";
import {
  explorer, followTraits, onceAFrame, setTraits,
} from "./core/frame.js";
import { sentence, tidy } from "./core/texts.js";
import { makeTools } from "./core/tools.js";
import { viewButtons } from "./core/views.js";
import {
  answeredButtons, chanceBars, networkOf, percent,
} from "./digit_parts.js";
import READS from "./digit_parts.words.json" with { type: "json" };
import { PICTURE } from "./digit_picture.js";
import WORDS from "./follow_digit.words.json" with { type: "json" };
import { drawingField } from "./follow_digit_drawing.js";
import { mindGame } from "./follow_digit_game.js";
import GAME from "./follow_digit_game.words.json" with { type: "json" };
import {
  blockAnswers, headMaps, lensTable, patchLens, pictureWithLook, thumbnail,
} from "./follow_digit_pictures.js";
import {
  AFTER, BEFORE, CODE, IN_BLOCK, openStage,
} from "./follow_digit_stages.js";
import { likeliest, rowOf } from "./matrices.js";
import { stagePanel, stagesOf, stepStrip } from "./opened_stage.js";

const STAGES = stagesOf(WORDS.stages, {
  norm1: "norm", heads: "mix", norm2: "norm", norm: "last", answer: "chances",
});

// The walk speaks of one network, which answers so of its samples.
const WALKED = [[3, 3, "96%"], [10, 8, "45%"]];

const TRAITS = ["digit", "picture", "stage", "block", "head", "row", "column",
  "off"];
const HUES = {
  positions: "position", query: "query", key: "key", value: "value",
  logits: "class-token", answer: "class-token",
};

function placeName(axis, at) {
  const names = WORDS.places[axis];
  return sentence(names[Math.min(at, names.length - 1)],
    { at, next: at + 1 });
}

// The stages in a line, each with a small picture.
function stageStrip(layers, pick) {
  const stages = [
    ...Object.keys(BEFORE).map((stage) => ({ stage })),
    ...Array.from({ length: layers }, (_, block) =>
      ({ stage: "block", block })),
    ...Object.keys(AFTER).map((stage) => ({ stage })),
  ];
  const pictures = stages.map(() => html("span", { class: "thumb" }));
  const strip = stepStrip(WORDS.strip, stages.map(({ stage, block }, i) => ({
    picture: pictures[i],
    title: STAGES[stage]?.title ?? `${WORDS.block} ${block + 1}`,
  })), (i) => pick(stages[i]));
  function update(run, view) {
    const chosen = stages.findIndex(({ stage, block }) =>
      (stage === "block" ? view.stage in IN_BLOCK && block === view.block
        : stage === view.stage));
    strip.choose(chosen);
    stages.forEach(({ stage, block }, i) =>
      renew(pictures[i], thumbnail(run, stage, block)));
  }
  return { root: strip.root, update };
}

function blockSteps(pick) {
  const steps = Object.keys(IN_BLOCK);
  const strip = stepStrip(WORDS.insideAll, steps.map((stage) =>
    ({ title: STAGES[stage].title })), (i) => pick(steps[i]));
  const update = ({ stage }) => strip.choose(steps.indexOf(stage));
  return { root: strip.root, update };
}

// What the panel of an open stage needs to know besides its numbers.
function described(opened, { stage, block, head }) {
  const inHead = ["query", "key", "value", "scores", "softmax", "heads"];
  const where = { block: block + 1, head: head + 1 };
  const [file, line] = CODE[stage];
  return {
    ...opened, file, line, words: STAGES[stage], hue: HUES[stage],
    of: inHead.includes(stage) ? sentence(WORDS.ofHead, where)
      : stage in IN_BLOCK ? sentence(WORDS.ofBlock, where) : "",
    names: opened.axes.map((axis) => (at) => placeName(axis, at)),
  };
}

// Boxes for what can be switched off, at the block and the head shown.
function switches(set) {
  const names = ({ block, head }) => ({
    positions: "positions", scale: "scale", residuals: "residuals",
    block: `block ${block}`, head: `head ${block} ${head}`,
  });
  let view = { off: [], block: 0, head: 0 };
  const boxes = Object.keys(WORDS.parts).map((part) => ({
    part, box: checkbox(WORDS.parts[part], (off) => {
      const name = names(view)[part];
      const others = view.off.filter((one) => one !== name);
      set({ off: off ? [...others, name] : others });
    }),
  }));
  const allOn = button(WORDS.on, () => set({ off: [] }));
  const root = html("fieldset", { class: "switches" },
    html("legend", { text: WORDS.off }),
    ...boxes.map(({ box }) => box.root), allOn);
  function update(now) {
    view = now;
    for (const { part, box } of boxes) {
      box.set(now.off.includes(names(now)[part]));
      write(box.root.lastChild, sentence(WORDS.parts[part], {
        block: now.block + 1, head: now.head + 1,
      }));
    }
    allOn.disabled = !now.off.length;
  }
  return { root, update };
}

function render({ model, el }) {
  const small = model.get("small");
  const { num_layers: layers, num_heads: heads } = model.get("config");
  const frame = explorer(el, "follow-digit", WORDS);
  frame.root.classList.add("vitedu-reads-digit");
  const samples = inRows(decodeArray(model.get("samples")).data,
    PICTURE.side ** 2);
  const answers = inRows(decodeArray(model.get("answers")).data, 10);
  const isWalked = WALKED.every(([sample, digit, chance]) =>
    answers[sample] && percent(answers[sample][digit]) === chance);
  const tools = makeTools(frame, model, {
    tour: isWalked ? WORDS.walk : [], onTour: () => game.leave(),
    reveal: (part) => views?.showAsked(part),
  });
  const set = (traits) => setTraits(model, traits);
  const network = networkOf(model, () => redraw(), (error) => {
    put(frame.root, "aria-busy", "false");
    frame.read(sentence(READS.failed, { error: error.message }));
  });
  let done = {}; // the last run, and of what
  let views; // the small form has one alone

  const field = drawingField({ label: WORDS.field, help: WORDS.help }, (ink) =>
    set(game?.startTraits(ink) ?? { digit: -1, picture: encodeArray(
      { data: ink, shape: [PICTURE.side, PICTURE.side] }, "uint8") }));
  const [drawTitle, drawNote] = [titled(WORDS.draw), noted(WORDS.prepared)];
  const game = small ? null : mindGame({
    field, set, publish: frame.publish, turn: (plays) => {
      // Both would set the digit.
      if (plays) tools.endTour();
      write(drawTitle, plays ? GAME.draw : WORDS.draw);
      write(drawNote, plays ? GAME.rule : WORDS.prepared);
    },
  });
  const bars = chanceBars();
  const chips = answeredButtons(samples, model.get("labels"), answers,
    (digit) => set({ digit }));
  const strip = stageStrip(layers, ({ stage, block }) => {
    set(stage !== "block" ? { stage } : { block,
      stage: model.get("stage") in IN_BLOCK ? model.get("stage") : "softmax" });
    views.show(1);
  });
  const steps = blockSteps((stage) => set({ stage }));
  const opened = stagePanel(set);
  const layerNames = [WORDS.layers.first,
    ...Array.from({ length: layers }, (_, block) =>
      sentence(WORDS.layers.block, { block: block + 1 }))];
  const lens = lensTable(layerNames, WORDS.lens);
  const patches = patchLens();
  const maps = headMaps(layers, heads,
    { one: WORDS.map, all: WORDS.maps },
    (block, head) => set({ block, head }));
  const byBlock = blockAnswers(layers, WORDS.small.block);
  const look = html("div", {
    class: "big-look", role: "img", "aria-label": WORDS.maps,
  });
  const lookNote = noted("");
  const [lookTitle, patchTitle, insideTitle] = [1, 2, 3].map(() =>
    titled(""));
  const off = switches(set);
  const sliders = { block: layers, head: heads };
  for (const [name, most] of Object.entries(sliders)) {
    sliders[name] = range({
      label: WORDS[name], min: 1, max: Math.max(2, most),
      value: model.get(name) + 1, format: String,
      onInput: (value) => set({ [name]: value - 1 }),
    });
    sliders[name].input.disabled = most === 1;
  }

  function viewed() {
    const view = Object.fromEntries(TRAITS.map((name) =>
      [name, model.get(name)]));
    view.ink = view.digit < 0 ? decodeArray(view.picture).data
      : samples[view.digit];
    return view;
  }

  // The network on this picture, whole and without what is off.
  function runs({ ink, off: parts }) {
    const key = `${ink} ${parts}`;
    if (done.key !== key) {
      const whole = network.reader.run(ink);
      const run = parts.length ? network.reader.run(ink, parts) : whole;
      done = { key, whole, run };
    }
    return done;
  }

  function update({ speak = true } = {}) {
    const view = viewed();
    field.show(view.ink);
    chips.update(view.digit);
    if (small) pointToChapter(view);
    if (network.reader) {
      show(view, speak);
      return;
    }
    // What Python knows already can be shown before the network is here.
    const known = view.digit >= 0 && !view.off.length;
    bars.update(known ? answers[view.digit] : null);
    renew(look, [pictureWithLook(view.ink, null)]);
    frame.read(known ? verdict(answers[view.digit]) : READS.loading,
      { speak });
    if (!known) ask();
  }

  function ask() {
    if (network.reader) return;
    put(frame.root, "aria-busy", "true");
    network.ask();
  }

  function verdict(chances) {
    const order = [...chances.keys()].sort((a, b) => chances[b] - chances[a]);
    return sentence((small ? WORDS.small : WORDS).reading, {
      digit: order[0], chance: percent(chances[order[0]]),
      next: order[1], nextChance: percent(chances[order[1]]),
    });
  }

  function show(view, speak) {
    const { whole, run } = runs(view);
    const { block, head } = view;
    const where = { block: block + 1, head: head + 1 };
    const blank = view.ink.every((pixel) => pixel === 0);
    bars.update(run.answer.data, run === whole ? null : whole.answer.data);
    const words = [...(blank ? [WORDS.blank] : []), verdict(run.answer.data)];
    if (run !== whole) {
      const digit = likeliest(whole.answer.data);
      words.push(sentence(WORDS.without,
        { digit, chance: percent(whole.answer.data[digit]) }));
    }
    if (small) {
      byBlock.update(run.lens);
    } else {
      words.push(showAll(view, run, where));
    }
    put(frame.root, "aria-busy", "false");
    frame.read(words.join(" "), { speak });
    frame.publish({ chances: run.answer.data, ...(small ? {} : {
      digit: view.digit, stage: view.stage, block, head,
      off: view.off.join(", "),
    }) });
  }

  function showAll(view, run, where) {
    const { block, head } = view;
    for (const name of ["block", "head"]) sliders[name].set(view[name] + 1);
    strip.update(run, view);
    steps.update(view);
    lens.update(run.lens, block + 1);
    maps.update(run.blocks, block, head);
    off.update(view);
    game.update(view, run.answer.data,
      (ink) => network.reader.run(ink, view.off).answer.data);
    write(insideTitle, sentence(WORDS.inside, where));
    const title = sentence(WORDS.patchLens,
      { layer: `${sentence(WORDS.layers.block, where)}` });
    write(patchTitle, title);
    patches.update(view.ink, run.lens[block + 1], title);
    const row = rowOf(run.blocks[block].heads[head].weights, 0);
    const weights = row.subarray(1);
    const patch = weights.indexOf(Math.max(...weights));
    renew(look, [pictureWithLook(view.ink, weights)]);
    write(lookTitle, sentence(WORDS.look, where));
    put(look, "aria-label", sentence(WORDS.look, where));
    write(lookNote, sentence(WORDS.lookNote, {
      most: tidy(weights[patch], 2), own: tidy(row[0], 2),
    }));
    const now = openStage(network.reader, run, view);
    const said = opened.update(described(now, view));
    frame.publish({ row: now.row, column: now.column, value: now.value });
    return [sentence(WORDS.looks, {
      ...where, patch: patch + 1, weight: tidy(weights[patch], 2),
    }), said].join(" ");
  }

  // To the same digit, or to what is drawn in its place.
  const toChapter = html("a", { text: WORDS.small.link });
  function pointToChapter({ digit, ink }) {
    const root = document.documentElement.dataset.content_root ?? "./";
    const settings = new URLSearchParams({ digit,
      ...(digit < 0 ? { picture: Array.from(ink).join("_") } : {}) });
    put(toChapter, "href",
      `${root}${WORDS.small.page}#${frame.root.id}:${settings}`);
  }

  const drawing = html("div", { class: "drawing" }, field.root,
    html("div", { class: "game-row" }, button(WORDS.clear, field.clear),
      ...(small ? [] : [game.play])));
  if (small) {
    frame.root.classList.add("small");
    frame.root.append(
      html("div", { class: "at-once" },
        panel("of-drawing", drawTitle, drawing),
        panel("of-answer", titled(WORDS.answer), bars.root)),
      panel("of-blocks", titled(WORDS.small.blocks), byBlock.root),
      ...frame.reading,
      html("p", { class: "invitation" }, `${WORDS.small.text} `, toChapter),
    );
  } else {
    const drawn = html("div", { class: "at-once" },
      panel("of-drawing", drawTitle, drawing, drawNote),
      game.root,
      panel("of-answer", titled(WORDS.answer), bars.root),
      panel("of-lens", titled(WORDS.lens), lens.root,
        noted(WORDS.lensNote)),
      html("div", { class: "of-samples" }, noted(READS.samplesNote),
        chips.root));
    const stage = html("div", {},
      html("div", { class: "where" }, html("div", {}, insideTitle, steps.root),
        sliders.block.root, sliders.head.root),
      opened.root);
    const looks = html("div", { class: "looks" },
      panel("of-maps", titled(WORDS.maps), noted(WORDS.mapsNote), maps.root),
      panel("of-look", lookTitle, look, lookNote),
      panel("of-patches", patchTitle, patches.root));
    views = viewButtons(WORDS.views.label, model, [
      { title: WORDS.views.drawn, nodes: [drawn] },
      { title: WORDS.views.stage, nodes: [stage] },
      { title: WORDS.views.looks, nodes: [looks] },
    ], ["stage", "row", "column"]);
    frame.root.append(
      views.root, drawn,
      panel("of-strip", titled(WORDS.strip), strip.root),
      stage, looks, off.root, ...frame.reading, ...tools.foot,
    );
  }
  // The small form waits until it is touched.
  if (small) {
    for (const event of ["pointerenter", "pointerdown", "focusin"]) {
      frame.root.addEventListener(event, ask, { once: true });
    }
  } else {
    ask();
  }
  const redraw = onceAFrame(update);
  update({ speak: false });
  return followTraits(
    model, TRAITS, update, redraw.cancel, field.dispose, tools.dispose,
    frame.dispose, ...(small ? [] : [game.dispose]),
  );
}

export default { render };
