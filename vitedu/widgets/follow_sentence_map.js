// The attention map of the explorer: a row for each query, a column for each
// key, and in each place a square as large as the weight.

import { draft, html, renew } from "./core/dom.js";
import { weightSquares } from "./core/drawing.js";

const CELL = { least: 13, most: 32 };
// As high for few words as for a line of them: nothing below jumps.
const MAP_HEIGHT = 280;
// About the width of a letter, and the room around a word.
const LETTER = 7;
const MARGIN = 10;

const widthOf = (words) =>
  MARGIN + Math.max(...words.map((word) =>
    [...word].reduce((sum, sign) => sum + (sign > "\u2e80" ? 12 : LETTER), 0)));

export function attentionMap(pick) {
  const root = html("div", {
    class: "map-place", style: `min-height: ${MAP_HEIGHT}px`,
  });
  const lines = [];
  root.addEventListener("click", ({ target }) => {
    const at = lines.indexOf(target);
    if (at >= 0) pick(at);
  });

  // `rows[query]` has the weights of the keys, fewer where a query sees fewer.
  function show(rows, { queries, keys }, room, { query, label, colour }) {
    const left = widthOf(queries);
    const upright = keys.every((word) => [...word].length === 1);
    const top = upright ? 22 : widthOf(keys);
    const cell = Math.min(CELL.most, Math.max(CELL.least, Math.floor(Math.min(
      (room - left - 2) / keys.length, (MAP_HEIGHT - top) / queries.length,
    ))));
    const [width, height] = [keys.length * cell, queries.length * cell];
    const middle = (at) => (at + 0.5) * cell;
    const size = [left + width + 2, top + height + 2];
    renew(root, [draft("svg", {
      class: "map", role: "img", "aria-label": label,
      style: `color: ${colour}`, width: size[0], height: size[1],
      viewBox: [-left, -top, ...size].join(" "),
    },
    draft("rect", { class: "paper", width, height }),
    draft("path", { class: "squares", d: weightSquares(rows, cell) }),
    draft("rect", {
      class: "map-mark", y: query * cell, width, height: cell,
    }),
    draft("g", {}, ...keys.map((text, at) => draft("text", upright
      ? { x: middle(at), y: -7, "text-anchor": "middle", text }
      : { transform: `translate(${middle(at)} -6) rotate(-90)`, dy: "0.35em",
        text }))),
    draft("g", {}, ...queries.map((text, at) => draft("text", {
      class: at === query ? "row-name chosen" : "row-name", x: -6,
      y: middle(at), dy: "0.35em", "text-anchor": "end", text,
    }))),
    draft("g", {}, ...queries.map((_, at) => draft("rect", {
      class: "map-row", x: -left, y: at * cell, width: left + width,
      height: cell,
    }))))]);
    lines.splice(0, Infinity, ...root.querySelectorAll(".map-row"));
  }
  return { root, show };
}
