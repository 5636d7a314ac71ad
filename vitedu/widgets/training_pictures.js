// The curves of the epochs and a digit in large, as drafts.

import { draft } from "./core/dom.js";
import { hundredths } from "./core/drawing.js";
import { PICTURE, inkSquares } from "./digit_picture.js";
import WORDS from "./training.words.json" with { type: "json" };

const CHART = { left: 34, right: 48, top: 14, bottom: 38 };

export const linesHeight = (width) => Math.round(width / 1.7);

// A line for each network over the epochs.
export function epochLines({ history, names, network: chosen, epoch }, width) {
  const { left, right, top, bottom } = CHART;
  const height = linesHeight(width);
  const [end, floor] = [width - right, height - bottom];
  const { epochs, counts: rows } = history;
  const most = Math.max(1, ...rows.flat());
  const x = (at) => hundredths(
    left + (end - left) * (at - 1) / Math.max(1, epochs - 1));
  const y = (value) => hundredths(floor - (floor - top) * value / most);
  const now = rows[chosen][epoch - 1];
  const beside = Math.min(y(now), floor - 12);
  // The chosen one comes last, and lies on top.
  const order = [...rows.keys()].sort(
    (a, b) => (a === chosen) - (b === chosen));
  const text = (at, down, words, attributes = {}) =>
    draft("text", { x: at, y: down, ...attributes, text: words });
  const middle = { "text-anchor": "middle" };
  return [
    ...[0, most].flatMap((value) => [
      draft("path", { class: "grid", d: `M${left} ${y(value)}H${end}` }),
      text(left - 6, y(value) + 4, value, { "text-anchor": "end" }),
    ]),
    text(x(1), floor + 17, 1, middle),
    text(x(epochs), floor + 17, epochs, middle),
    text((left + end) / 2, height - 4, WORDS.across, middle),
    draft("path", { class: "here", d: `M${x(epoch)} ${top}V${floor}` }),
    ...order.map((network) => draft("path", {
      class: `line network-${network}${network === chosen ? " first" : ""}`,
      d: `M${rows[network].map((value, at) =>
        `${x(at + 1)} ${y(value)}`).join("L")}`,
    })),
    draft("circle", {
      class: `point network-${chosen}`, r: 5, cx: x(epoch), cy: y(now),
    }),
    text(end + 10, beside - 3, names[chosen], { class: "value" }),
    text(end + 10, beside + 12, now, { class: "value" }),
  ];
}

export function largeDigit(ink) {
  return draft("svg", {
    viewBox: `0 0 ${PICTURE.side} ${PICTURE.side}`, "aria-hidden": "true",
  }, ...inkSquares(ink));
}

// What a digit was taken for, epoch by epoch.
export function answerStrip(answers, label, epoch) {
  return answers.map((answer, i) => draft("span", {
    class: ["answer", answer === label ? "" : "wrong",
      i + 1 === epoch ? "now" : ""].filter(Boolean).join(" "),
    text: answer,
  }));
}
