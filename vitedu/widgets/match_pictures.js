// The pictures of the explorer Match: a scene, two sentences, a batch.

import { draft } from "./core/dom.js";
import { hundredths } from "./core/drawing.js";
import { fixed } from "./core/texts.js";
import { SCENE } from "./match_maths.js";

const BARS = { line: 52, bar: 14, number: 52 };
export const BARS_HEIGHT = 2 * BARS.line + 18;
const HEAD = 54; // three lines of words above the cells
const SIDE = { narrow: 38, wide: 56 };
const MOST_CELL = 56;

const text = (x, y, words, attributes = {}) =>
  draft("text", { x: hundredths(x), y: hundredths(y), ...attributes,
    text: words });
const middle = { "text-anchor": "middle" };

// A path for each strength of ink, on paper.
function inkPaths(pixels) {
  const paths = new Map();
  pixels.forEach((pixel, i) => {
    if (pixel === 0) return;
    const [row, column] = [Math.floor(i / SCENE.side), i % SCENE.side];
    const path = paths.get(pixel) ?? "";
    paths.set(pixel, `${path}M${column} ${row}h1v1h-1z`);
  });
  return [
    draft("rect", { class: "paper", width: SCENE.side, height: SCENE.side }),
    ...Array.from(paths, ([pixel, d]) =>
      draft("path", { class: "ink", d, "fill-opacity": hundredths(pixel) })),
  ];
}

export const sceneDrawing = ({ pixels }) => inkPaths(pixels[0]);

// Two sentences, one under the other, each with its cosine from 0 to 1. The
// one that is in the batch has a frame.
export function pairBars({ settings, before, after }, width) {
  if (!before) return [];
  const long = width - BARS.number;
  return [before, after].flatMap(({ text: words, cosine, isTrue }, at) => {
    const y = at * BARS.line + 16;
    const inBatch = settings.swap === Boolean(at);
    return [
      text(0, y, `${isTrue ? "✓ " : ""}${words}`,
        { class: inBatch ? "said in-batch" : "said" }),
      draft("rect", { class: "track", x: 0, y: y + 8, width: long,
        height: BARS.bar, rx: 3 }),
      draft("rect", { class: isTrue ? "level true" : "level", x: 0, y: y + 8,
        width: hundredths(long * Math.min(1, Math.max(0, cosine))),
        height: BARS.bar, rx: 3 }),
      text(width, y + 20, fixed(cosine, 3),
        { class: "number", "text-anchor": "end" }),
    ];
  });
}

const sideOf = (width) => (width < 420 ? SIDE.narrow : SIDE.wide);
const cellOf = (width) =>
  Math.min(MOST_CELL, (width - sideOf(width)) / SCENE.pairs);
export const matrixHeight = (width) =>
  Math.ceil(HEAD + SCENE.pairs * cellOf(width) + 2);

// A row for each scene, a column for each sentence; pairs are framed.
export function squareOfPairs(found, width) {
  const { settings, scenes, sentences, pixels } = found;
  const [side, cell] = [sideOf(width), cellOf(width)];
  const values = found[settings.show];
  const thumb = Math.min(side - 6, cell - 4);
  const heads = sentences.flatMap(({ first, said, second }, column) =>
    [first, said, second].map((word, line) =>
      text(side + (column + 0.5) * cell, 13 + 16 * line, word,
        { ...middle, class: "word" })));
  const rows = scenes.map((_, row) => draft("g", {
    class: "scene", transform: `translate(0 ${
      hundredths(HEAD + row * cell + (cell - thumb) / 2)}) scale(${
      hundredths(thumb / SCENE.side)})`,
  }, ...inkPaths(pixels[row])));
  const cells = (values ?? []).flatMap((numbers, row) =>
    numbers.flatMap((number, column) => {
      const [x, y] = [side + column * cell, HEAD + row * cell];
      return [
        draft("rect", {
          class: row === column ? "cell pair" : "cell",
          x: hundredths(x + 1.5), y: hundredths(y + 1.5),
          width: hundredths(cell - 3), height: hundredths(cell - 3), rx: 4,
          "fill-opacity": hundredths(0.6 * Math.max(0, number)),
        }),
        text(x + cell / 2, y + cell / 2 + 4, fixed(number),
          { ...middle, class: "value" }),
      ];
    }));
  return [...heads, ...rows, ...cells];
}
