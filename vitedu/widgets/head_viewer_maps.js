// The right panel of the explorer: a small map of each head, under the button
// that hides or shows it.

import { onRest } from "./core/choosing.js";
import { fill, html, svg } from "./core/dom.js";
import { weightSquares } from "./core/drawing.js";
import { sentence } from "./core/texts.js";
import WORDS from "./head_viewer.words.json" with { type: "json" };
import { headClass, headColour, headName } from "./head_viewer_maths.js";

// So many tokens a side still leave room for their names.
const MOST_NAMED = 12;

function headMap({ row, queries, keys, words, targets }, head) {
  const squares = svg("path", { class: "squares" });
  const lines = Array.from({ length: queries }, (_, query) => svg("rect", {
    class: "map-row", y: query, width: keys, height: 1,
  }));
  const mark = svg("rect", { class: "map-mark", width: keys, height: 1 });
  const named = [...words, ...targets].every((word) => word.length < 3)
    && keys <= MOST_NAMED && queries <= MOST_NAMED;
  const margin = named ? 1 : 0.15;
  const name = (text, x, y) =>
    svg("text", { class: "name", "text-anchor": "middle", x, y, text });
  const names = named ? [
    ...words.map((word, key) => name(word, key + 0.5, -0.3)),
    ...targets.map((word, query) => name(word, -0.5, query + 0.75)),
  ] : [];
  const root = svg(
    "svg", {
      class: `map ${headClass(head)}`, role: "img",
      viewBox: `${-margin} ${-margin} ${keys + margin + 0.15} `
        + `${queries + margin + 0.15}`,
    },
    ...names,
    svg("rect", { class: "paper", width: keys, height: queries }),
    squares, mark,
    svg("g", {}, ...lines),
  );
  let drawn;

  function update(layer, query) {
    fill(root, { "aria-label": sentence(WORDS.mapPicture, {
      head: head + 1, place: query + 1,
    }) }, []);
    mark.style.transform = `translate(0, ${query}px)`;
    if (drawn === layer) return;
    drawn = layer;
    squares.setAttribute("d", weightSquares(
      targets.map((_, down) => row(layer, head, down)),
    ));
  }
  return { root, lines, update };
}

export function headMaps(data, pick, toggle) {
  const { all, queries } = data;
  const maps = all.map((head) => headMap(data, head));
  const buttons = all.map((head) => html("button", {
    type: "button", class: "vitedu-button toggle",
    onclick: () => toggle(head),
  }, headName(head)));
  const lines = maps.flatMap((map) => map.lines);
  const pickLine = (line) => pick(line % queries);
  lines.forEach((line, at) =>
    line.addEventListener("click", () => pickLine(at)));
  const figures = all.map((head) => html("div", {
    class: "head-map", style: `color: ${headColour(head)}`,
  }, buttons[head], maps[head].root));
  const root = html("div", { class: "maps" }, ...figures);
  const columns = Math.min(all.length, all.length > 4 ? 3 : 2);
  root.style.setProperty("--columns", columns);

  function update(layer, query, shown) {
    for (const head of all) {
      const on = shown.includes(head);
      maps[head].update(layer, query);
      buttons[head].setAttribute("aria-pressed", on);
      figures[head].classList.toggle("off", !on);
    }
  }
  return { root, update, dispose: onRest(root, lines, pickLine) };
}
