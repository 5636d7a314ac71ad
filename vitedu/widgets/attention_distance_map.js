// The right panel of the explorer: an image, its patches to choose a query
// from, and the weights of that query as squares.

import WORDS from "./attention_distance.words.json" with { type: "json" };
import { CLASS, headColour } from "./attention_distance_maths.js";
import { inRows } from "./core/arrays.js";
import { choosable, inGrid, markChosen } from "./core/choosing.js";
import { noted, panel, titled } from "./core/controls.js";
import { draft, html, put, renew, svg, write } from "./core/dom.js";
import { weightSquares } from "./core/drawing.js";
import { sentence, tidy } from "./core/texts.js";

const IMAGE = 280;
const TILE = 26;

function picture({ pictures, width, height }, image) {
  const canvas = html("canvas", { width, height });
  const context = canvas.getContext("2d");
  const pixels = context.createImageData(width, height);
  for (let pixel = 0; pixel < width * height; pixel += 1) {
    const grey = 255 * pictures.data[image * width * height + pixel];
    pixels.data.set([grey, grey, grey, 255], 4 * pixel);
  }
  context.putImageData(pixels, 0, 0);
  return canvas.toDataURL();
}

// What lies over the image: the weights, and how far the query looks.
export function overImage(found, { columns, width, patch }) {
  const { toPatches, largest, patch: query, byClass } = found;
  const scale = IMAGE / width;
  const cell = patch * scale;
  const shares = toPatches.map((weight) => weight / largest || 0);
  const squares = draft("path", {
    class: "squares", d: weightSquares(inRows(shares, columns), cell),
  });
  if (byClass) return [squares];
  const [x, y] = [query % columns * cell, Math.floor(query / columns) * cell];
  const ring = (name, distance) => draft("circle", {
    class: name, cx: x + cell / 2, cy: y + cell / 2, r: scale * distance,
  });
  const outline = (name) =>
    draft("rect", { class: name, x, y, width: cell, height: cell });
  return [
    squares,
    ring("dark", found.uniformReach), ring("uniform", found.uniformReach),
    ring("light", found.reach), ring("reach", found.reach),
    outline("light outline"), outline("query outline"),
  ];
}

export function patchMap({ given: data, set }) {
  const { rows, columns, patches, prefix } = data;
  const cell = data.patch * IMAGE / data.width;
  const [wide, high] = [IMAGE, data.height * IMAGE / data.width];
  const above = prefix ? TILE + 10 : 0;
  const pictureUrls = [...Array(data.images).keys()].map((image) =>
    picture(data, image));
  const place = (index) => ({
    row: Math.floor(index / columns), column: index % columns,
  });

  const photo = svg("image", { width: wide, height: high });
  const over = svg("g", { "aria-hidden": "true" });
  const marks = Array.from({ length: patches }, (_, index) => {
    const { row, column } = place(index);
    return svg("rect", {
      role: "radio", class: "patch", x: column * cell, y: row * cell,
      width: cell, height: cell, "data-row": row, "data-column": column,
    });
  });
  const group = svg("g", {
    role: "radiogroup", "aria-label": WORDS.patches,
    transform: `translate(0, ${above})`,
  }, ...marks);
  choosable(group, marks, inGrid(rows, columns), (index) =>
    set({ query: "patch", ...place(index) }));

  const tileText = svg("text", { x: TILE + 8, y: TILE / 2 + 4 });
  const tile = svg(
    "g", { class: "tile", onclick: () => set({ query: CLASS }) },
    svg("rect", { x: 2, y: 2, width: TILE - 4, height: TILE - 4 }), tileText,
  );
  const map = svg(
    "svg", { viewBox: `0 0 ${wide} ${above + high}` },
    ...(prefix ? [tile] : []),
    // The inner svg cuts the circles off at the edge of the image.
    svg("svg", { y: above, width: wide, height: high }, photo, over),
    group,
  );
  const [title, note] = [titled(""), noted("")];

  function show(found, said) {
    const { toPatches, byClass, patch } = found;
    put(photo, "href", pictureUrls[found.image]);
    put(over, "style", `color: ${headColour(found.head)}`);
    renew(over, overImage(found, data));
    marks.forEach((mark, index) => {
      const { row, column } = place(index);
      put(mark, "data-weight", String(toPatches[index]));
      put(mark, "aria-label", sentence(WORDS.patch, {
        row: row + 1, column: column + 1, weight: tidy(toPatches[index], 2),
      }));
    });
    markChosen(marks, byClass ? -1 : patch, patch);
    put(map, "class", byClass ? "map by-class" : "map");
    write(tileText, sentence(WORDS.classTile, { weight: said.toClass }));
    write(title, sentence(WORDS.mapTitle, said));
    write(note, sentence(byClass ? WORDS.classNote : WORDS.patchNote, said));
  }
  return { root: panel("of-patches", title, map, note), show };
}
