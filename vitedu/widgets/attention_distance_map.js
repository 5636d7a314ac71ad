// The right panel of the explorer: an image, its patches to choose a query
// from, and the weights of that query as squares.

import WORDS from "./attention_distance.words.json" with { type: "json" };
import { headColour, moved } from "./attention_distance_maths.js";
import { inRows } from "./core/arrays.js";
import { choosable, markChosen } from "./core/choosing.js";
import { fill, html, put, svg, write } from "./core/dom.js";
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

export function patchMap(data, pickPatch, pickClass) {
  const { rows, columns, patches, prefix } = data;
  const scale = IMAGE / data.width;
  const cell = data.patch * scale;
  const [wide, high] = [IMAGE, data.height * scale];
  const above = prefix ? TILE + 10 : 0;
  const pictureUrls = [...Array(data.images).keys()].map((image) =>
    picture(data, image));

  const photo = svg("image", { width: wide, height: high });
  const squares = svg("path", { class: "squares", "aria-hidden": "true" });
  const circle = (name) => svg("circle", { class: name });
  const rings = [
    circle("dark"), circle("uniform"), circle("light"), circle("reach"),
  ];
  const outline = svg("g", { class: "outline" },
    ...["light", "query"].map((name) =>
      svg("rect", { class: name, width: cell, height: cell })));
  const group = svg("g", {
    role: "radiogroup", "aria-label": WORDS.patches,
  });
  const marks = [];
  for (let index = 0; index < patches; index += 1) {
    const [row, column] = [Math.floor(index / columns), index % columns];
    marks.push(svg("rect", {
      role: "radio", class: "patch", x: column * cell, y: row * cell,
      width: cell, height: cell, "data-row": row, "data-column": column,
    }));
  }
  group.append(...marks);
  function neighbour(index, key) {
    const [row, column] = [Math.floor(index / columns), index % columns];
    const [down, right] = {
      ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1],
      ArrowRight: [0, 1],
    }[key] ?? [];
    if (down === undefined) return undefined;
    const inside = row + down >= 0 && row + down < rows &&
      column + right >= 0 && column + right < columns;
    return inside ? index + down * columns + right : index;
  }
  choosable(group, marks, neighbour, (index) =>
    pickPatch(Math.floor(index / columns), index % columns));

  const tileText = svg("text", { x: TILE + 8, y: TILE / 2 + 4 });
  const tile = svg(
    "g", { class: "tile", onclick: pickClass },
    svg("rect", { x: 2, y: 2, width: TILE - 4, height: TILE - 4 }), tileText,
  );

  function update(weights, { head, image, query, byClass, reach, uniform }) {
    put(photo, "href", pictureUrls[image]);
    const shown = weights.subarray(prefix);
    const largest = Math.max(...shown);
    inside.style.color = headColour(head);
    const shares = shown.map((weight) => weight / largest || 0);
    put(squares, "d", weightSquares(inRows(shares, columns), cell));
    marks.forEach((mark, index) => {
      mark.dataset.weight = shown[index];
      mark.setAttribute("aria-label", sentence(WORDS.patch, {
        row: Math.floor(index / columns) + 1, column: index % columns + 1,
        weight: tidy(shown[index], 2),
      }));
    });
    markChosen(marks, byClass ? -1 : query, query);
    const [left, top] = [query % columns * cell, Math.floor(query / columns) * cell];
    outline.style.transform = moved(left, top);
    rings.forEach((ring, index) => fill(ring, {
      cx: left + cell / 2, cy: top + cell / 2,
      r: scale * (index < 2 ? uniform : reach),
    }, []));
    root.classList.toggle("by-class", byClass);
    write(tileText, sentence(WORDS.classTile, {
      weight: tidy(weights[0], 2),
    }));
    return largest;
  }
  // The inner svg cuts the circles off at the edge of the image.
  const inside = svg(
    "svg", { y: above, width: wide, height: high },
    photo, squares, ...rings, outline,
  );
  const root = svg(
    "svg", { viewBox: `0 0 ${wide} ${above + high}`, class: "map" },
    ...(prefix ? [tile] : []), inside,
    svg("g", { transform: `translate(0, ${above})` }, group),
  );
  return { root, update };
}

