// Queries and keys, rotated by position, pair by pair.

import { commas, fixed } from "./commas.js";
import {
  explorer, followTraits, followWidths, html, noted, panel, put, range, renew,
  select, sentence, setTraits, svg, tidy, titled,
} from "./common.js";
import WORDS from "./rotary_pairs.words.json" with { type: "json" };
import { readings } from "./rotary_pairs_maths.js";
import {
  CHART, clocks, clocksHeight, scoreCurve, signedText,
} from "./rotary_pairs_picture.js";
import { makeTools } from "./tools.js";

const TRAITS = ["key", "distance", "base", "content"];

function wordsFor(found) {
  return {
    key: found.key, query: found.key + found.distance,
    distance: found.distance, score: fixed(found.score),
    base: baseText(found.base),
    fastest: commas(Math.round(found.fastest)), slowest: tidy(found.slowest, 2),
  };
}

const baseText = (base) => commas(Number(base.toPrecision(2)));

function tourOf(model) {
  const start = Object.fromEntries(TRAITS.map((name) =>
    [name, model.get("_schema")[name].start]));
  const usual = { ...start, base: 10_000, content: "the same" };
  return WORDS.tour.map(([words, changes]) => {
    const settings = { ...usual, ...changes };
    return [sentence(words, wordsFor(readings(settings))), settings];
  });
}

function render({ model, el }) {
  const frame = explorer(el, "rotary-pairs", WORDS.label);
  const tools = makeTools(frame, model, { tour: tourOf(model) });
  const set = (name) => (value) => setTraits(model, { [name]: value });
  const schema = model.get("_schema");
  const slider = (name, more = {}) => range({
    label: WORDS[name], min: schema[name].low, max: schema[name].high,
    value: model.get(name), format: String, onInput: set(name), ...more,
  });
  const controls = {
    key: slider("key"),
    distance: slider("distance"),
    base: slider("base", { log: true, format: baseText }),
    content: select({
      label: WORDS.content, options: Object.entries(WORDS.contents),
      value: model.get("content"), onInput: set("content"),
    }),
  };
  const [ofClocks, ofCurve] = [0, 1].map(() => svg("svg", { role: "img" }));
  const place = html("div", { class: "clocks" }, ofClocks);

  function update({ speak = true } = {}) {
    for (const [name, one] of Object.entries(controls)) {
      one.set(model.get(name));
    }
    const found = readings(Object.fromEntries(TRAITS.map((name) =>
      [name, model.get(name)])));
    const words = wordsFor(found);
    const width = widths.of(place);
    const parts = found.parts.map(signedText).join(", ");
    const { top, height, foot } = CHART;
    for (const [picture, label, high, drafts] of [
      [ofClocks, sentence(WORDS.clocksPicture, { parts }),
        clocksHeight(width), clocks(found, width)],
      [ofCurve, sentence(WORDS.curvePicture, words), top + height + foot,
        scoreCurve(found, width)],
    ]) {
      put(picture, "aria-label", label);
      put(picture, "width", width);
      put(picture, "height", high);
      renew(picture, drafts);
    }
    frame.read(sentence(WORDS.reading, words), { speak });
    frame.publish({
      key: found.key, distance: found.distance, base: found.base,
      content: found.content, queries: found.queries, keys: found.keys,
      parts: found.parts, score: found.score, curve: found.curve,
    });
  }

  frame.root.append(
    html("div", { class: "vitedu-controls" },
      controls.key.root, controls.distance.root),
    html("div", { class: "panels" },
      panel("of-clocks", titled(WORDS.clocks), noted(WORDS.clocksNote), place,
        noted(WORDS.hands)),
      panel("of-curve", titled(WORDS.curve), noted(WORDS.curveNote),
        ofCurve)),
    html("div", { class: "vitedu-controls" },
      controls.base.root, controls.content.root),
    ...frame.reading,
    ...tools.foot,
  );
  const widths = followWidths([place], () => update({ speak: false }));
  update({ speak: false });
  return followTraits(
    model, TRAITS, update, widths.dispose, tools.dispose, frame.dispose,
  );
}

export default { render };
