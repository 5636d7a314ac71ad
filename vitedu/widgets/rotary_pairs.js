// Queries and keys, rotated by position, pair by pair.

import { choice, defineExplorer, slider } from "./core/explorer.js";
import { commas, fixed, tidy } from "./core/texts.js";
import WORDS from "./rotary_pairs.words.json" with { type: "json" };
import { readings } from "./rotary_pairs_maths.js";
import {
  CURVE_HEIGHT, clocks, clocksHeight, scoreCurve, signedText,
} from "./rotary_pairs_picture.js";

const baseText = (base) => commas(Number(base.toPrecision(2)));

export default defineExplorer("rotary-pairs", {
  words: WORDS,
  controls: {
    key: slider(), distance: slider(), content: choice(),
    base: slider({ log: true, format: baseText }),
  },
  compute: readings,
  say: (found) => ({
    key: found.key, query: found.key + found.distance,
    distance: found.distance, score: fixed(found.score),
    base: baseText(found.base), parts: found.parts.map(signedText).join(", "),
    fastest: commas(Math.round(found.fastest)), slowest: tidy(found.slowest, 2),
  }),
  pictures: {
    clocks: { height: clocksHeight, draw: clocks },
    curve: { height: CURVE_HEIGHT, draw: scoreCurve },
  },
  layout: [["key", "distance"], { beside: ["clocks", "curve"] },
    ["base", "content"], "reading"],
  from: { base: 10_000, content: "the same" },
});
