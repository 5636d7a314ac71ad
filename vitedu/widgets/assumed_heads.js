// One file of weights, loaded with one number of heads or another.

import WORDS from "./assumed_heads.words.json" with { type: "json" };
import { divisors, makeLoaded, misfits } from "./assumed_heads_maths.js";
import { rowsOf } from "./core/arrays.js";
import { noted, panel, settingButtons, titled } from "./core/controls.js";
import { draft, html, renew, write } from "./core/dom.js";
import { defineExplorer, slider } from "./core/explorer.js";
import { sentence, tidy } from "./core/texts.js";
import { chanceBars, networkNow, percent, waiting } from "./digit_parts.js";
import { digitTiles } from "./digit_tiles.js";
import { largestChange, likeliest } from "./matrices.js";

// `network.reader`, once it is here, gives the network with so many heads.
function read(model, redraw) {
  const [labels, layout, config] = ["labels", "layout", "config"]
    .map((name) => model.get(name));
  const [samples, answers] = ["samples", "answers"]
    .map((name) => rowsOf(model.get(name)));
  const network = networkNow(model, redraw, (bytes) => {
    const loaded = makeLoaded(bytes, layout, config, samples, labels);
    // Python has asked the network as it was trained.
    loaded(config.num_heads).tally.know(answers.map(likeliest));
    return loaded;
  });
  return { labels, layout, config, samples, network,
    options: divisors(config.d_model) };
}

function compute({ heads, digit }, given) {
  const { labels, layout, config, samples, options } = given;
  const { num_heads: truth, d_model: width } = config;
  const arrays = Object.keys(layout).length;
  const fit = arrays - misfits(layout, { ...config, num_heads: heads });
  const shown = { heads, digit, truth, width, arrays, fit, options,
    count: labels.length, label: labels[digit] };
  const loaded = given.network.reader;
  if (!loaded) {
    return { ...shown, shares: [], states: labels.map(() => "waiting"),
      ...waiting(given.network) };
  }
  const { tally } = loaded(heads);
  const [run, whole] = [heads, truth].map((one) =>
    loaded(one).reader.run(samples[digit]));
  const chances = run.answer.data;
  const off = largestChange(run.logits.data, whole.logits.data);
  const isBusy = !tally.isDone();
  return {
    ...shown, tally, chances, off, whole: whole.answer.data,
    states: labels.map((right, at) => (at >= tally.said.length ? "waiting"
      : tally.said[at] === right ? "right" : "wrong")),
    shares: options.map((one) => loaded(one).tally).map((one) =>
      (one.isDone() ? one.right() / labels.length : undefined)),
    isBusy, isQuiet: isBusy, goOn: isBusy ? tally.askNext : undefined,
    published: {
      heads, digit, fit, off, chances,
      ...(isBusy ? {} : { said: tally.said, right: tally.right() }),
    },
  };
}

function headsName(heads) {
  return heads === 1 ? WORDS.one : sentence(WORDS.many, { heads });
}

function say(found) {
  const { heads, truth, width, tally, chances, off, isBusy } = found;
  const told = headsName(heads);
  const said = { ...found, told, named: told, each: width / heads };
  if (!tally) return said;
  return { ...said, reading: [
    sentence(WORDS.loaded, said),
    ...(heads === truth ? [WORDS.truth] : []),
    isBusy ? WORDS.asking
      : sentence(WORDS.found, { ...said, right: tally.right() }),
    sentence(WORDS.one_digit, { ...said, now: likeliest(chances),
      chance: percent(Math.max(...chances)) }),
    ...(heads === truth ? []
      : [sentence(WORDS.off, { off: tidy(off, 2) })]),
  ].join(" ") };
}

function tour(words, { config, options }) {
  const { num_heads: truth, d_model: most } = config;
  const fewer = options.findLast((heads) => heads < truth);
  const stops = { truth, fewer, one: 1, most };
  return Object.entries(words).map(([name, text]) =>
    [text, { heads: stops[name] }, "of-tiles"]);
}

function told({ model, given: { config, options } }) {
  const buttons = settingButtons(model, WORDS.heads, Object.fromEntries(
    options.map((heads) => [heads === config.num_heads
      ? sentence(WORDS.true, { name: headsName(heads) }) : headsName(heads),
    { heads }]),
  ));
  return { root: html("div", {}, titled(WORDS.heads), buttons.root),
    show: buttons.update };
}

function allDigits({ given: { samples }, set }) {
  const title = sentence(WORDS.tiles, { count: samples.length });
  const tiles = digitTiles(samples, (digit) => set({ digit }));
  return {
    root: panel("of-tiles", titled(title), tiles.root, noted(WORDS.tilesNote)),
    show: ({ states, digit }) => tiles.update(states, digit, title),
  };
}

// A row for each number of heads: how many digits are read right.
function rightRows({ options, shares, heads, truth }) {
  return options.map((one, at) => draft("tr", {
    class: [one === heads ? "chosen" : "other",
      one === truth ? "truth" : "told"].join(" "),
  },
  draft("th", { scope: "row", text: headsName(one) }),
  draft("td", {}, draft("span", { class: "track" }, draft("span", {
    class: "level", style: `transform: scaleX(${shares[at] ?? 0})`,
  }))),
  draft("td", { class: "number", text: shares[at] === undefined
    ? WORDS.untried : percent(shares[at]) })));
}

function right() {
  const body = html("tbody");
  const table = html("table", { class: "by-heads" },
    html("caption", { class: "vitedu-hidden", text: WORDS.right }), body);
  return { root: panel("of-heads", titled(WORDS.right), table),
    show: (found) => renew(body, rightRows(found)) };
}

// The rows of the queries, cut into heads.
function headCut({ width, heads }) {
  const each = width / heads;
  return draft("svg", { viewBox: `0 0 ${width} 3`, "aria-hidden": "true",
    preserveAspectRatio: "none" },
  ...Array.from({ length: width }, (_, row) => draft("rect", {
    class: Math.floor(row / each) % 2 ? "row odd" : "row even",
    x: row + 0.06, width: 0.88, height: 3,
  })));
}

function shapes() {
  const cut = html("div", { class: "cut" });
  const notes = [noted(""), noted("")];
  function show(found, said) {
    write(notes[0], sentence(WORDS.fits, said));
    renew(cut, [headCut(found)]);
    write(notes[1], sentence(WORDS.cut, said));
  }
  return { show, root: panel("of-shapes", titled(WORDS.shapes), notes[0], cut,
    notes[1]) };
}

function answer({ given: { config } }) {
  const bars = chanceBars();
  const title = titled("");
  function show({ chances, whole }, said) {
    write(title, sentence(WORDS.answer, said));
    bars.update(chances, whole);
  }
  return { show, root: panel("of-answer", title, bars.root,
    noted(sentence(WORDS.answerNote, { heads: config.num_heads }))) };
}

export default defineExplorer("assumed-heads", {
  words: WORDS,
  styles: ["vitedu-reads-digit"],
  read, compute, say, tour,
  controls: ({ labels: { length: count } }) => ({
    digit: slider({
      format: (at) => sentence(WORDS.place, { at: at + 1, count }),
    }),
  }),
  parts: { told, allDigits, right, shapes, answer },
  layout: ["told", { beside: [
    { box: "column", rows: ["allDigits", "digit"] },
    { box: "column", rows: ["right", "shapes", "answer"] },
  ] }, "reading"],
});
