// The pictures of the explorer AskPatch: photographs that are lit where a
// value is large, and the small maps of all heads.

import WORDS from "./ask_patch.words.json" with { type: "json" };
import {
  GRID, LEVELS, QUERIES, ROW, STEP, placeIn, placeOfQuery, queryNear,
} from "./ask_patch_maths.js";
import { choosable, markChosen } from "./core/choosing.js";
import { fill, html, put, svg } from "./core/dom.js";
import { edged } from "./core/drawing.js";
import { sentence } from "./core/texts.js";
import { glow, light } from "./lit_photograph.js";

// Small maps are drawn so many times larger than they are, with sharp edges;
// the browser then scales them smoothly.
const SCALE = 4;
export const MAP = GRID / 2;

// The pixels of a JPEG file. Not an image with an address: a policy may
// forbid those made of bytes.
export async function readPicture(bytes) {
  const bitmap = await createImageBitmap(
    new Blob([bytes], { type: "image/jpeg" }),
  );
  const { width, height } = bitmap;
  const canvas = html("canvas", { width, height });
  const context = canvas.getContext("2d");
  context.drawImage(bitmap, 0, 0);
  return context.getImageData(0, 0, width, height);
}

// From 0 on the left to 1 on the right, as a grey photograph would show it.
export function scale(name) {
  const canvas = html("canvas", { "aria-hidden": "true" });
  const data = new Uint8ClampedArray(4 * LEVELS).fill(140);
  const values = Array.from({ length: LEVELS }, (_, at) => at / (LEVELS - 1));
  light(canvas, { width: LEVELS, height: 1, data }, values, LEVELS);
  return html("div", { class: "scale" }, name, " 0 ", canvas, " 1");
}

// The line around cells of a grid.
function outline(side, places) {
  const all = new Set(places);
  return places.map((at) => {
    const [row, column] = placeIn(side, at);
    return [
      all.has(at - side) ? "" : `M${column} ${row}h1`,
      all.has(at + side) ? "" : `M${column} ${row + 1}h1`,
      column && all.has(at - 1) ? "" : `M${column} ${row}v1`,
      column < side - 1 && all.has(at + 1) ? "" : `M${column + 1} ${row}v1`,
    ].join("");
  }).join("");
}

// A canvas under a drawing that has the coordinates of a grid.
export function litPicture(name, ...drawn) {
  const canvas = html("canvas", { "aria-hidden": "true" });
  const matches = edged("path", "match");
  const drawing = svg("svg", {}, ...drawn, ...matches.strokes);
  const root = html("div", { class: `lit ${name}` }, canvas, drawing);
  function update(photo, values, side, places) {
    light(canvas, photo, values, side);
    drawing.setAttribute("viewBox", `0 0 ${side} ${side}`);
    matches.set({ d: outline(side, places) });
  }
  return { root, drawing, update };
}

// The photograph in which one asks: with the mouse over it, another patch is
// looked at; a click, a finger and the arrow keys choose.
export function askedPicture({ look, pick }) {
  const dots = svg("path", { class: "dots" });
  const asked = edged("rect", "asked");
  asked.set({ width: 1, height: 1 });
  const group = svg("g", { role: "radiogroup", "aria-label": WORDS.patches });
  const picture = litPicture("photograph", dots);
  picture.drawing.append(...asked.strokes, group);
  const marks = Array.from({ length: QUERIES }, () =>
    svg("rect", { role: "radio", class: "patch", width: STEP, height: STEP }));
  group.append(...marks);
  let about;

  function pointedAt({ clientX, clientY }) {
    const { left, top, width, height } =
      picture.drawing.getBoundingClientRect();
    return queryNear(about, [
      Math.floor(GRID * (clientY - top) / height),
      Math.floor(GRID * (clientX - left) / width),
    ]);
  }
  picture.drawing.addEventListener("pointermove", (event) => {
    if (event.pointerType === "mouse" && about) look(pointedAt(event));
  });
  picture.drawing.addEventListener("pointerleave", () => look(null));
  choosable(group, marks, (query, key) => {
    const [down, across] = {
      ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1],
      ArrowRight: [0, 1],
    }[key] ?? [];
    if (down === undefined) return undefined;
    const [row, column] = placeIn(ROW, query);
    const inside = (at) => at >= 0 && at < ROW;
    return inside(row + down) && inside(column + across)
      ? query + down * ROW + across : query;
  }, pick);

  function setGrid(found) {
    about = found;
    marks.forEach((mark, query) => {
      const [row, column] = placeOfQuery(about, query);
      fill(mark, {
        x: column - 1, y: row - 1, "aria-label":
          sentence(WORDS.patch, { row: row + 1, column: column + 1 }),
      }, []);
    });
    put(dots, "d", marks.map((_, query) => {
      const [row, column] = placeOfQuery(about, query);
      return `M${column + 0.5} ${row + 0.5}h0`;
    }).join(""));
  }
  function update(photo, cosines, query, looked, places) {
    picture.update(photo, cosines, GRID, places);
    const [y, x] = placeOfQuery(about, looked);
    asked.set({ x, y });
    markChosen(marks, query, query);
  }
  return { root: picture.root, setGrid, update };
}

// All heads of all layers: a column for each layer.
export function headMaps(layers, heads, pick) {
  const [wide, high] = [layers, heads].map((count) => count * (MAP + 1) - 1);
  const canvas = html("canvas", {
    width: SCALE * wide, height: SCALE * high, "aria-hidden": "true",
  });
  const small = html("canvas", { width: wide, height: high });
  const ofLayer = svg("rect", {
    class: "of-layer", y: -0.5, width: MAP + 1, height: high + 1,
  });
  const chosen = edged("rect", "chosen");
  chosen.set({ width: MAP, height: MAP });
  const group = svg("g", { role: "radiogroup", "aria-label": WORDS.heads });
  const marks = Array.from({ length: layers * heads }, (_, at) => {
    const [layer, head] = placeIn(heads, at);
    return svg("rect", {
      role: "radio", class: "head", x: layer * (MAP + 1),
      y: head * (MAP + 1), width: MAP, height: MAP, "aria-label":
        sentence(WORDS.headOf, { layer: layer + 1, head: head + 1 }),
    });
  });
  group.append(...marks);
  const drawing = svg("svg", { viewBox: `0 0 ${wide} ${high}` },
    ofLayer, ...chosen.strokes, group);
  const numbers = Array.from({ length: layers }, (_, layer) =>
    html("span", { text: layer + 1 }));
  const root = html("div", { class: "overview" },
    html("div", { class: "numbers", "aria-hidden": "true" }, ...numbers),
    html("div", { class: "maps" }, canvas, drawing));
  root.style.setProperty("--layers", layers);
  choosable(group, marks, (at, key) => {
    const [layer, head] = placeIn(heads, at);
    const [right, down] = {
      ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0],
      ArrowRight: [1, 0],
    }[key] ?? [];
    if (right === undefined) return undefined;
    const inside = layer + right >= 0 && layer + right < layers
      && head + down >= 0 && head + down < heads;
    return inside ? at + right * heads + down : at;
  }, (at) => pick(...placeIn(heads, at)));

  function update(valuesOf, layer, head) {
    const pixels = new ImageData(wide, high);
    for (let at = 0; at < layers * heads; at += 1) {
      const [left, top] = placeIn(heads, at).map((n) => n * (MAP + 1));
      valuesOf(...placeIn(heads, at)).forEach((value, i) => {
        const [row, column] = placeIn(MAP, i);
        pixels.data.set(
          [...glow(value), 255], 4 * ((top + row) * wide + left + column),
        );
      });
    }
    small.getContext("2d").putImageData(pixels, 0, 0);
    const context = canvas.getContext("2d");
    context.imageSmoothingEnabled = false;
    context.clearRect(0, 0, canvas.width, canvas.height);
    context.drawImage(small, 0, 0, canvas.width, canvas.height);
    fill(ofLayer, { x: layer * (MAP + 1) - 0.5 }, []);
    chosen.set({ x: layer * (MAP + 1), y: head * (MAP + 1) });
    const now = layer * heads + head;
    markChosen(marks, now, now);
    numbers.forEach((number, at) =>
      put(number, "class", at === layer ? "now" : "other"));
  }
  return { root, update };
}
