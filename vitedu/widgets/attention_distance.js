// How far each head looks, and where.

import WORDS from "./attention_distance.words.json" with { type: "json" };
import { patchMap } from "./attention_distance_map.js";
import { CLASS, compute, pixelText, readData } from
  "./attention_distance_maths.js";
import { headPlot } from "./attention_distance_plot.js";
import { choice, defineExplorer, slider } from "./core/explorer.js";
import { sentence, tidy } from "./core/texts.js";

// The head that looks nearest on the first image, and the one that looks
// farthest, after the last step.
function tour(words, { steps, heads, prefix, hasAverage, ofImage }) {
  const step = steps.length - 1;
  const distances = ofImage(step, 0);
  const [near, far] = [Math.min, Math.max].map((most) => {
    const at = distances.indexOf(most(...distances));
    return { step, layer: Math.floor(at / heads), head: at % heads };
  });
  const stops = {
    before: { ...near, step: 0 }, nearest: near, farthest: far,
    ...(prefix ? { byClass: { ...far, query: CLASS } } : {}),
    ...(hasAverage ? { average: { ...near, dots: "average" } } : {}),
  };
  return Object.entries(stops).map(([name, stop]) =>
    [words[name], stop, name === "byClass" ? "of-patches" : "of-heads"]);
}

// The row and the column are those of the query, or of what the class token
// looks most at.
export function say(found, { columns, steps, uniform }) {
  const { byClass, shown, dots } = found;
  const said = {
    step: steps[found.step], layer: found.layer + 1, head: found.head + 1,
    row: Math.floor(shown / columns) + 1, column: shown % columns + 1,
    largest: tidy(found.largest, 2), toClass: tidy(found.toClass, 2),
    distance: pixelText(found.distance), uniform: pixelText(uniform),
    average: pixelText(found.average),
  };
  const ofQuery = byClass
    ? sentence(WORDS.readClass, { ...said, weight: said.largest })
    : sentence(WORDS.readPatch, {
      ...said, distance: pixelText(found.reach),
      uniform: pixelText(found.uniformReach),
    });
  return {
    ...said, reading: [
      ofQuery, sentence(WORDS.readHead, said),
      ...(dots === "average"
        ? [sentence(WORDS.readAverage, { distance: said.average })] : []),
    ].join(" "),
  };
}

export default defineExplorer("attention-distance", {
  words: WORDS,
  controls: ({ steps, names, prefix, hasAverage }) => ({
    step: slider({ format: (at) => String(steps[at]) }),
    image: choice({ values: [...names.entries()] }),
    ...(prefix ? { query: choice() } : {}),
    ...(hasAverage ? { dots: choice() } : {}),
  }),
  read: readData,
  compute, say,
  parts: { heads: headPlot, patches: patchMap },
  layout: [["step", "image", "query", "dots"], { beside: ["heads",
    "patches"] }, "reading"],
  from: { query: "patch", dots: "image", image: 0 },
  tour,
});
