// The charts of the explorer TeachIt, and the map over a photograph.

import { html, draft, put, renew } from "./core/dom.js";
import { hundredths } from "./core/drawing.js";
import { sentence } from "./core/texts.js";
import WORDS from "./teach_it.words.json" with { type: "json" };
import { GRID } from "./teach_it_studio.js";

const BARS = { row: 46, label: 18, bar: 16, right: 44 };
export const BARS_HEIGHT = 3 * BARS.row;
const CHART = { left: 30, right: 8, top: 18, height: 110, foot: 24 };
export const CHART_HEIGHT = CHART.top + CHART.height + CHART.foot;

// How often the head is right, and what it is to be compared with.
export function evidenceBars({ evidence, block, names }, width) {
  if (!evidence) return [];
  const { byBlock, pixels, mostFrequent, samples, counts } = evidence;
  const largest = names[counts.indexOf(mostFrequent)];
  const rows = [
    ["of-head", sentence(WORDS.bars.head, { block }), byBlock[block - 1]],
    ["of-pixels", WORDS.bars.pixels, pixels],
    ["of-largest", sentence(WORDS.bars.largest, { name: largest }),
      mostFrequent],
  ];
  const whole = width - BARS.right;
  return rows.flatMap(([kind, label, right], at) => {
    const y = at * BARS.row + BARS.label;
    return [
      draft("text", { x: 0, y: y - 5, class: "label", text: label }),
      draft("rect", { class: "whole", x: 0, y, width: whole,
        height: BARS.bar }),
      draft("rect", { class: `bar ${kind}`, x: 0, y, height: BARS.bar,
        width: hundredths(whole * right / samples) }),
      draft("text", { x: width, y: y + 13, "text-anchor": "end",
        class: "number", text: `${right}` }),
    ];
  });
}

const columnWidth = (blocks, width) =>
  (width - CHART.left - CHART.right) / blocks;

// How often it is right with the features of each block.
export function blockBars({ evidence, block }, width) {
  if (!evidence) return [];
  const { byBlock, pixels, samples } = evidence;
  const { left, right, top, height } = CHART;
  const each = columnWidth(byBlock.length, width);
  const y = (count) => hundredths(top + height * (1 - count / samples));
  const text = (x, at, anchor, words, kind = "") => draft("text", {
    x: hundredths(x), y: at, class: kind, "text-anchor": anchor,
    text: String(words),
  });
  return [
    text(left - 6, y(samples) + 4, "end", samples),
    text(left - 6, y(0) + 4, "end", 0),
    draft("path", { class: "grid",
      d: `M${left} ${y(samples)}H${width - right}M${left} ${y(0)}H${
        width - right}` }),
    ...byBlock.flatMap((count, at) => [
      draft("rect", {
        class: at + 1 === block ? "bar of-head" : "bar",
        x: hundredths(left + each * (at + 0.14)), y: y(count),
        width: hundredths(0.72 * each),
        height: hundredths(y(0) - y(count)),
      }),
      text(left + each * (at + 0.5), top + height + 16, "middle", at + 1),
    ]),
    draft("path", { class: "line",
      d: `M${left} ${y(pixels)}H${width - right}` }),
    ...byBlock.map((count, at) => text(left + each * (at + 0.5),
      y(count) - 4, "middle", count, "number")),
  ];
}

// The block at a place of that chart.
export function blockAt(x, blocks, width) {
  const at = Math.floor((x - CHART.left) / columnWidth(blocks, width));
  return 1 + Math.min(blocks - 1, Math.max(0, at));
}

// A photograph in grey with what each patch adds to a score.
export function patchMap() {
  const canvas = html("canvas", { width: 1, height: 1 });
  const over = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  put(over, "viewBox", `0 0 ${GRID} ${GRID}`);
  put(over, "aria-hidden", "true");
  put(canvas, "role", "img");
  const root = html("div", { class: "map" }, canvas, over);
  let painted = null;

  function paint(square) {
    const side = Math.sqrt(square.length / 3);
    [canvas.width, canvas.height] = [side, side];
    const pixels = new ImageData(side, side);
    for (let i = 0; i < side * side; i += 1) {
      const [red, green, blue] = [0, 1, 2].map((c) =>
        255 * square[c * side * side + i]);
      const grey = 0.3 * red + 0.59 * green + 0.11 * blue;
      pixels.data.set([grey, grey, grey, 255], 4 * i);
    }
    canvas.getContext("2d").putImageData(pixels, 0, 0);
  }
  function show(square, parts, label) {
    if (painted !== square) paint(painted = square);
    const most = Math.max(...parts.map(Math.abs));
    put(canvas, "aria-label", label);
    renew(over, parts.map((part, patch) => draft("rect", {
      class: part < 0 ? "takes" : "adds", width: 1, height: 1,
      x: patch % GRID, y: Math.floor(patch / GRID),
      "fill-opacity": (0.75 * Math.abs(part) / most).toFixed(3),
    })));
  }
  return { root, show };
}
