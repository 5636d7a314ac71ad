// Many digits as small tiles, always in the same places, each in a state.

import { put, svg } from "./core/dom.js";

const TILES = { across: 24, side: 9, ink: 6.5 };

// The inked pixels of a picture of 8 x 8, a rectangle for each run of them.
function inkPath(ink) {
  const side = Math.sqrt(ink.length);
  let path = "";
  for (let row = 0; row < side; row += 1) {
    for (let column = 0; column < side; column += 1) {
      let length = 0;
      while (column + length < side
        && ink[row * side + column + length] >= TILES.ink) length += 1;
      if (length) path += `M${column} ${row}h${length}v1h-${length}z`;
      column += length;
    }
  }
  return path;
}

// A click on a tile picks it; keys pick by a slider beside it.
export function digitTiles(pictures, pick) {
  const { across, side } = TILES;
  const down = Math.ceil(pictures.length / across);
  const place = (at) => [side * (at % across), side * Math.floor(at / across)];
  const tiles = pictures.map((ink, at) => svg("path", {
    d: inkPath(ink), transform: `translate(${place(at)})`,
  }));
  const mark = svg("rect", {
    class: "picked", width: side + 1, height: side + 1,
  });
  const root = svg("svg", {
    class: "tiles", role: "img",
    viewBox: `-1 -1 ${side * across + 1} ${side * down + 1}`,
    onclick: (event) => {
      const box = root.getBoundingClientRect();
      const [x, y] = [(event.clientX - box.x) / box.width * across,
        (event.clientY - box.y) / box.height * down].map(Math.floor);
      if (y * across + x < pictures.length) pick(y * across + x);
    },
  }, ...tiles, mark);
  // `states` has the class of each tile.
  function update(states, picked, label) {
    tiles.forEach((tile, at) => put(tile, "class", `tile ${states[at]}`));
    const [x, y] = place(picked);
    put(mark, "x", String(x - 1));
    put(mark, "y", String(y - 1));
    put(root, "aria-label", label);
  }
  return { root, update };
}
