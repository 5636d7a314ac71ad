// One file of weights, loaded with one number of heads or another.

import WORDS from "./assumed_heads.words.json" with { type: "json" };
import { divisors, makeLoaded, misfits } from "./assumed_heads_maths.js";
import { decodeArray, inRows } from "./core/arrays.js";
import {
  noted, panel, range, settingButtons, titled,
} from "./core/controls.js";
import { draft, html, put, renew, write } from "./core/dom.js";
import {
  explorer, followTraits, onceAFrame, setTraits,
} from "./core/frame.js";
import { later } from "./core/later.js";
import { sentence, tidy } from "./core/texts.js";
import { makeTools } from "./core/tools.js";
import { chanceBars, percent } from "./digit_parts.js";
import READS from "./digit_parts.words.json" with { type: "json" };
import { PICTURE } from "./digit_picture.js";
import { digitTiles } from "./digit_tiles.js";
import { largestChange, likeliest } from "./matrices.js";

const FRAME_MS = 24;

function headsName(heads) {
  return heads === 1 ? WORDS.one : sentence(WORDS.many, { heads });
}

// A row for each number of heads: how many digits are read right.
function rightBars(options, count, truth) {
  const rows = options.map((heads) => {
    const level = html("span", { class: "level" });
    const number = html("td", { class: "number" });
    return { heads, level, number, root: html("tr", {},
      html("th", { scope: "row", text: headsName(heads) }),
      html("td", {}, html("span", { class: "track" }, level)), number) };
  });
  const root = html("table", { class: "by-heads" },
    html("caption", { class: "vitedu-hidden", text: WORDS.right }),
    html("tbody", {}, ...rows.map((row) => row.root)));
  function update(tallyOf, chosen) {
    for (const { heads, level, number, root: row } of rows) {
      const tally = tallyOf(heads);
      const share = tally.isDone() ? tally.right() / count : null;
      put(row, "class", [heads === chosen ? "chosen" : "other",
        heads === truth ? "truth" : "told"].join(" "));
      level.style.transform = `scaleX(${share ?? 0})`;
      write(number, share === null ? WORDS.untried : percent(share));
    }
  }
  return { root, update };
}

// The rows of the queries, cut into heads.
function headCut(width, heads) {
  const each = width / heads;
  return draft("svg", { viewBox: `0 0 ${width} 3`, "aria-hidden": "true",
    preserveAspectRatio: "none" },
  ...Array.from({ length: width }, (_, row) => draft("rect", {
    class: Math.floor(row / each) % 2 ? "row odd" : "row even",
    x: row + 0.06, width: 0.88, height: 3,
  })));
}

function tourOf({ num_heads: truth, d_model: width }, options, arrays) {
  const fewer = options.findLast((heads) => heads < truth);
  const heads = { truth, fewer, one: 1, most: width };
  return Object.entries(WORDS.tour).map(([name, words]) => [
    sentence(words, { heads: heads[name], arrays, each: width / heads[name] }),
    { heads: heads[name] },
  ]);
}

function render({ model, el }) {
  const frame = explorer(el, "assumed-heads", WORDS.label);
  frame.root.classList.add("vitedu-reads-digit");
  const samples = inRows(decodeArray(model.get("samples")).data,
    PICTURE.side ** 2);
  const answers = inRows(decodeArray(model.get("answers")).data, 10);
  const labels = model.get("labels");
  const layout = model.get("layout");
  const config = model.get("config");
  const { num_heads: truth, d_model: width } = config;
  const count = samples.length;
  const arrays = Object.keys(layout).length;
  const options = divisors(width);
  const tools = makeTools(frame, model, {
    tour: tourOf(config, options, arrays),
  });
  const set = (traits) => setTraits(model, traits);
  let loaded = null;

  const told = settingButtons(model, WORDS.heads, Object.fromEntries(
    options.map((heads) => [heads === truth
      ? sentence(WORDS.true, { name: headsName(heads) }) : headsName(heads),
    { heads }]),
  ));
  const tiles = digitTiles(samples, (digit) => set({ digit }));
  const image = range({
    label: WORDS.image, min: 1, max: count, value: model.get("digit") + 1,
    format: (at) => sentence(WORDS.place, { at, count }),
    onInput: (at) => set({ digit: at - 1 }),
  });
  const byHeads = rightBars(options, count, truth);
  const bars = chanceBars();
  const cut = html("div", { class: "cut" });
  const [fitNote, cutNote] = [noted(""), noted("")];
  const answerTitle = titled("");

  later(model, "weights").then((bytes) => {
    loaded = makeLoaded(bytes, layout, config, samples, labels);
    // Python has asked the network as it was trained.
    loaded(truth).tally.know(answers.map(likeliest));
    redraw();
  }).catch((error) => {
    put(frame.root, "aria-busy", "false");
    frame.read(sentence(READS.failed, { error: error.message }));
  });

  // Some digits in each frame.
  const askOn = onceAFrame(() => {
    const end = performance.now() + FRAME_MS;
    const { tally } = loaded(model.get("heads"));
    while (tally.askNext() && performance.now() < end);
    update();
  });

  function update({ speak = true } = {}) {
    const [heads, digit] = [model.get("heads"), model.get("digit")];
    const label = labels[digit];
    told.update();
    image.set(digit + 1);
    write(answerTitle, sentence(WORDS.answer, { label }));
    const fit = arrays - misfits(layout, { ...config, num_heads: heads });
    write(fitNote, sentence(WORDS.fits, { fit, arrays }));
    renew(cut, [headCut(width, heads)]);
    write(cutNote, sentence(WORDS.cut, {
      width, named: headsName(heads), each: width / heads,
    }));
    if (!loaded) {
      tiles.update(labels.map(() => "waiting"), digit,
        sentence(WORDS.tiles, { count }));
      frame.read(READS.loading, { speak });
      return;
    }
    const { reader, tally } = loaded(heads);
    const [run, whole] = [reader, loaded(truth).reader].map((one) =>
      one.run(samples[digit]));
    const chances = run.answer.data;
    const now = likeliest(chances);
    const off = largestChange(run.logits.data, whole.logits.data);
    const isDone = tally.isDone();
    if (!isDone) askOn();
    tiles.update(labels.map((right, at) => (at >= tally.said.length ? "waiting"
      : tally.said[at] === right ? "right" : "wrong")), digit,
    sentence(WORDS.tiles, { count }));
    byHeads.update((one) => loaded(one).tally, heads);
    bars.update(chances, whole.answer.data);
    put(frame.root, "aria-busy", String(!isDone));
    frame.read([
      sentence(WORDS.loaded, { told: headsName(heads), fit, arrays }),
      ...(heads === truth ? [WORDS.truth] : []),
      isDone ? sentence(WORDS.found, { right: tally.right(), count })
        : WORDS.asking,
      sentence(WORDS.one_digit, { label, now, chance: percent(chances[now]) }),
      ...(heads === truth ? []
        : [sentence(WORDS.off, { off: tidy(off, 2) })]),
    ].join(" "), { speak: speak && isDone });
    frame.publish({
      heads, digit, fit, off, chances,
      ...(isDone ? { said: tally.said, right: tally.right() } : {}),
    });
  }

  frame.root.append(
    titled(WORDS.heads), told.root,
    html("div", { class: "panels" },
      html("div", {},
        panel("of-tiles", titled(sentence(WORDS.tiles, { count })), tiles.root,
          noted(WORDS.tilesNote)),
        image.root),
      html("div", {},
        panel("of-heads", titled(WORDS.right), byHeads.root),
        panel("of-shapes", titled(WORDS.shapes), fitNote, cut, cutNote),
        panel("of-answer", answerTitle, bars.root,
          noted(sentence(WORDS.answerNote, { heads: truth }))))),
    ...frame.reading, ...tools.foot,
  );
  put(frame.root, "aria-busy", "true");
  const redraw = onceAFrame(update);
  update({ speak: false });
  return followTraits(
    model, ["heads", "digit"], update, redraw.cancel, askOn.cancel,
    tools.dispose, frame.dispose,
  );
}

export default { render };
