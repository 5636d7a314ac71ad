// The tree that a beam search grows: a level for each step, a box for each
// word that was tried.

import { draft, html, renew } from "./core/dom.js";
import { percent } from "./translation.js";

const BOX = { height: 38, level: 58, gap: 6, letter: 6.8, least: 58 };

// The tree up to a step. What was dropped is kept in the last level alone. A
// node has its parent's place in the level above; `best` are the ids of the
// best sentence. Nodes of one level are in the order of their parents.
export function beamTree(steps, upTo, best) {
  const levels = [];
  // Where the prefixes that live stand in the level above.
  let places = [0];
  steps.slice(0, upTo + 1).forEach(({ candidates }, step) => {
    const nodes = candidates.map(({ row, id, ids, fate, logProb }) => ({
      id, fate, logProb, parent: places[row],
      isBest: fate !== "dropped"
        && ids.slice(1).every((one, at) => one === best[at]),
    })).filter(({ fate }) => step === upTo || fate !== "dropped");
    const going = nodes.filter(({ fate }) => fate === "goes");
    nodes.sort((a, b) => a.parent - b.parent || b.logProb - a.logProb);
    places = going.map((node) => nodes.indexOf(node));
    levels.push(nodes);
  });
  return levels;
}

// Where the boxes of a tree stand. What was dropped and finds no room is left
// out.
function placedTree(levels, room, wordOf) {
  const widthOfBox = ({ id }) =>
    Math.max(BOX.least, 14 + BOX.letter * wordOf(id).length);
  const needs = (nodes) => nodes.reduce((sum, node) =>
    sum + widthOfBox(node) + BOX.gap, BOX.gap);
  let width = room;
  const kept = levels.map((nodes) => {
    const some = [...nodes];
    while (needs(some) > room) {
      const worst = some.filter(({ fate }) => fate === "dropped")
        .sort((a, b) => a.logProb - b.logProb)[0];
      if (!worst) break;
      some.splice(some.indexOf(worst), 1);
    }
    width = Math.max(width, needs(some));
    return some;
  });
  let above = [{ x: width / 2, y: BOX.height }];
  const boxes = kept.flatMap((nodes, level) => {
    const free = (width - needs(nodes)) / (nodes.length + 1) + BOX.gap;
    let left = 0;
    const row = nodes.map((node) => {
      const w = widthOfBox(node);
      left += free + w;
      return { ...node, w, x: left - w / 2, y: (level + 1) * BOX.level,
        from: above[node.parent] };
    });
    above = row.map(({ x, y }) => ({ x, y: y + BOX.height }));
    return row;
  });
  return { boxes, width, height: (kept.length + 1) * BOX.level };
}

export function beamPicture() {
  const root = html("div", { class: "tree" });
  function show(levels, room, { wordOf, label, begin }) {
    const { boxes, width, height } = placedTree(levels, room, wordOf);
    const text = (x, y, of, words) => draft("text", {
      class: of, x, y, "text-anchor": "middle", text: words,
    });
    renew(root, [draft("svg", {
      viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label,
    },
    draft("g", {}, ...boxes.map(({ x, y, from, fate, isBest }) =>
      draft("path", {
        class: `twig ${fate} ${isBest ? "best" : ""}`,
        d: `M${from.x} ${from.y}C${from.x} ${from.y + 10} ${x} ${y - 10} ${x} ${y}`,
      }))),
    text(width / 2, BOX.height - 8, "begin", begin),
    ...boxes.map(({ x, y, w, id, fate, logProb, isBest }) => draft("g", {
      class: `box ${fate} ${isBest ? "best" : ""}`,
    },
    draft("rect", { x: x - w / 2, y, width: w, height: BOX.height, rx: 6 }),
    text(x, y + 15, "word", wordOf(id)),
    text(x, y + 31, "share", percent(Math.exp(logProb))))))]);
  }
  return { root, show, clear: () => renew(root, []) };
}
