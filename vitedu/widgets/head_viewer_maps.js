// The right panel of the explorer: a small map of each head, under the button
// that hides or shows it.

import { onRest } from "./core/choosing.js";
import { button, noted, titled } from "./core/controls.js";
import { draft, html, put, renew, svg, write } from "./core/dom.js";
import { weightSquares } from "./core/drawing.js";
import { sentence } from "./core/texts.js";
import WORDS from "./head_viewer.words.json" with { type: "json" };
import { headClass, headColour, headName } from "./head_viewer_maths.js";

// So many tokens a side still leave room for their names.
const MOST_NAMED = 12;

// The weights of a head, as one path.
export const mapPath = ({ row, targets }, layer, head) =>
  weightSquares(targets.map((_, query) => row(layer, head, query)));

function headMap({ queries, keys, words, targets }, head) {
  const lines = Array.from({ length: queries }, (_, query) => svg("rect", {
    class: "map-row", y: query, width: keys, height: 1,
  }));
  const named = [...words, ...targets].every((word) => word.length < 3)
    && keys <= MOST_NAMED && queries <= MOST_NAMED;
  const margin = named ? 1 : 0.15;
  const name = (text, x, y) =>
    draft("text", { class: "name", "text-anchor": "middle", x, y, text });
  const names = named ? [
    ...words.map((word, key) => name(word, key + 0.5, -0.3)),
    ...targets.map((word, query) => name(word, -0.5, query + 0.75)),
  ] : [];
  const drawing = svg("g");
  const root = svg("svg", {
    class: `map ${headClass(head)}`, role: "img",
    viewBox: `${-margin} ${-margin} ${keys + margin + 0.15} `
      + `${queries + margin + 0.15}`,
  }, drawing, svg("g", {}, ...lines));

  function show(path, query) {
    put(root, "aria-label", sentence(WORDS.mapPicture, {
      head: head + 1, place: query + 1,
    }));
    renew(drawing, [
      ...names,
      draft("rect", { class: "paper", width: keys, height: queries }),
      draft("path", { class: "squares", d: path }),
      draft("rect", {
        class: "map-mark", width: keys, height: 1,
        style: `transform: translate(0, ${query}px)`,
      }),
    ]);
  }
  return { root, lines, show };
}

export function headMaps(data, set) {
  const { all, queries } = data;
  const maps = all.map((head) => headMap(data, head));
  let shown = [];
  let drawn = {};
  const toggles = all.map((head) => html("button", {
    type: "button", class: "vitedu-button toggle",
    onclick: () => set({
      heads: all.filter((h) => shown.includes(h) !== (h === head)),
    }),
  }, headName(head)));
  const allHeads = button("", () =>
    set({ heads: shown.length < all.length ? all : [] }));
  const lines = maps.flatMap((map) => map.lines);
  const pickLine = (line) => set({ query: line % queries });
  lines.forEach((line, at) =>
    line.addEventListener("click", () => pickLine(at)));
  const figures = all.map((head) => html("div", {
    class: "head-map", style: `color: ${headColour(head)}`,
  }, toggles[head], maps[head].root));
  const root = html("div", { class: "maps" }, ...figures);
  root.style.setProperty(
    "--columns", Math.min(all.length, all.length > 4 ? 3 : 2),
  );

  function show({ layer, query, heads }) {
    shown = heads;
    if (drawn.layer !== layer) {
      drawn = { layer, paths: all.map((head) => mapPath(data, layer, head)) };
    }
    write(allHeads, heads.length < all.length ? WORDS.showAll : WORDS.hideAll);
    for (const head of all) {
      const on = heads.includes(head);
      maps[head].show(drawn.paths[head], query);
      put(toggles[head], "aria-pressed", String(on));
      figures[head].classList.toggle("off", !on);
    }
  }
  return {
    nodes: [
      html("div", { class: "vitedu-control-head" },
        titled(WORDS.mapsTitle), allHeads),
      noted(WORDS.mapsNote), root,
    ],
    show, dispose: onRest(root, lines, pickLine),
    // Four large maps leave room under a short list of tokens.
    isTall: [3, 4].includes(all.length) && queries <= 16,
  };
}
