// The pictures of the explorer PatchCutter: the photograph, a patch enlarged,
// the row of a patch, all rows.

import { choosable, markChosen } from "./core/choosing.js";
import { fill, html, svg } from "./core/dom.js";
import { sentence } from "./core/texts.js";
import WORDS from "./patch_cutter.words.json" with { type: "json" };
import { CHANNELS } from "./patch_cutter_maths.js";

// A picture is not drawn with more columns than that; numbers that fall
// together are averaged.
const MOST_COLUMNS = 1024;
// Pixels as the processors of browsers keep them, the lowest byte first: red,
// green, blue, and how opaque it is.
const OPAQUE = 255 << 24;
const GREY = 0x010101;
const COLOURS = [0x000001, 0x000100, 0x010000];
const MARK = OPAQUE | 0x00ddff;
const DIMMED = 0.6;
// How much a number lightens the colours that it is not.
const OTHERS = 0.35;
// The marks are made anew when the size has not changed for so long.
const RESTS_MS = 300;

// A canvas of pixels under a drawing with the coordinates that it is given.
function layers(name, canvas, ...drawn) {
  const drawing = svg("svg", {}, ...drawn);
  canvas.setAttribute("aria-hidden", "true");
  const root = html("div", { class: `layers ${name}` }, canvas, drawing);
  function resize(width, height) {
    drawing.setAttribute("viewBox", `0 0 ${width} ${height}`);
  }
  return { root, drawing, resize };
}

// New memory for each picture would be cleared, and collected later, within
// the frames of one that drags; a picture is copied as soon as it is made.
let memory = new ArrayBuffer(0);

// The pixels of the next picture, row by row.
function blank(width, height) {
  const bytes = 4 * width * height;
  if (memory.byteLength < bytes) memory = new ArrayBuffer(bytes);
  return new Uint32Array(memory, 0, width * height).fill(OPAQUE);
}

function show(canvas, { buffer, byteLength, length }, width) {
  fill(canvas, { width, height: length / width }, []);
  const bytes = new Uint8ClampedArray(buffer, 0, byteLength);
  canvas.getContext("2d").putImageData(new ImageData(bytes, width), 0, 0);
}

// The loops over pixels are functions of their own, made once: a browser
// forgets how to run those fast that are made anew for each picture.

// Lines of pixels from as many numbers; a `step` is what 1 adds to a pixel.
function addNumbers(pixels, numbers, step) {
  for (let i = 0; i < pixels.length; i += 1) pixels[i] |= numbers[i] * step;
}

// A line of pixels from more numbers: those up to `ends` are averaged.
function addMeans(pixels, to, numbers, from, ends, step) {
  for (let i = 0, n = 0; i < ends.length; i += 1) {
    const first = n;
    let sum = 0;
    for (; n < ends[i]; n += 1) sum += numbers[from + n];
    pixels[to + i] |= Math.round(sum / (n - first)) * step;
  }
}

// Adds integers, 0 to 255, in rows below each other.
function addRows(pixels, rows, numbers, step) {
  const [width, columns] = [pixels, numbers].map((list) => list.length / rows);
  if (width === columns) {
    addNumbers(pixels, numbers, step);
    return;
  }
  const ends = Uint32Array.from({ length: width }, (_, column) =>
    Math.ceil(((column + 1) * columns) / width));
  for (let row = 0; row < rows; row += 1) {
    addMeans(pixels, row * width, numbers, row * columns, ends, step);
  }
}

// Paints such rows, from a list of numbers for each step.
function paintNumbers(canvas, rows, steps, ...lists) {
  const width = Math.min(lists[0].length / rows, MOST_COLUMNS);
  const pixels = blank(width, rows);
  lists.forEach((numbers, i) => addRows(pixels, rows, numbers, steps[i]));
  show(canvas, pixels, width);
}

// The part of a channel in the colours that stand for numbers.
function tinted(numbers, channels, channel) {
  const levels = new Uint8ClampedArray(numbers.length);
  for (let n = 0; n < levels.length; n += 1) {
    levels[n] = numbers[n] * (channels[n] === channel ? 1 : OTHERS);
  }
  return levels;
}

// A line of pixels whose three numbers stand in `places`, the others of the
// line `apart` from them.
function addPixels(pixels, to, count, numbers, places, apart, light) {
  const [red, green, blue] = places;
  for (let i = 0; i < count; i += 1) {
    const at = i * apart;
    pixels[to + i] |= Math.round(light * numbers[red + at])
      | (Math.round(light * numbers[green + at]) << 8)
      | (Math.round(light * numbers[blue + at]) << 16);
  }
}

// Tells which of `rows` x `columns` cells is pointed at. A mouse looks; a
// click, or a finger, chooses.
function pointable(node, sizes, { look = () => {}, pick }) {
  function cell({ clientX, clientY }) {
    const { left, top, width, height } = node.getBoundingClientRect();
    const at = (share, count) =>
      Math.min(count - 1, Math.max(0, Math.floor(share * count)));
    const [rows, columns] = sizes();
    return [
      at((clientY - top) / height, rows),
      at((clientX - left) / width, columns),
    ];
  }
  node.addEventListener("pointermove", (event) => {
    if (event.pointerType === "mouse") look(cell(event));
  });
  node.addEventListener("pointerleave", () => look(null));
  node.addEventListener("click", (event) => pick(cell(event)));
}

// Two strokes, dark under light: seen on any photograph.
function edged(tag, name) {
  const strokes = ["under", "over"].map((place) =>
    svg(tag, { class: `${name} ${place}` }));
  return {
    strokes,
    set: (attributes) =>
      strokes.forEach((stroke) => fill(stroke, attributes, [])),
  };
}

export function photograph({ data, width, height }, pick) {
  const canvas = html("canvas", { class: "pixels" });
  const lines = edged("path", "lines");
  const outline = edged("rect", "outline");
  const leftover = svg("path", { class: "leftover" });
  const group = svg("g", { role: "radiogroup", "aria-label": WORDS.group });
  const { root, resize } = layers(
    "photograph", canvas, leftover, ...lines.strokes, ...outline.strokes,
  );
  let grid;
  // Whether all of the photograph is to be seen.
  let plain = false;
  let chosen = 0;
  let making;
  const marks = [];
  resize(width, height);
  // The marks have a drawing of their own: hundreds that stay as they are
  // should not be gone through when a line over them moves.
  const choices = svg("svg", { viewBox: `0 0 ${width} ${height}` }, group);

  function makeMarks() {
    const { size, columns, patches } = grid;
    const squares = Array.from({ length: patches }, (_, patch) => {
      const [row, column] = [Math.floor(patch / columns), patch % columns];
      return svg("rect", {
        role: "radio", class: "patch", x: column * size, y: row * size,
        width: size, height: size, "aria-label":
          sentence(WORDS.patch, { patch, row, column }),
      });
    });
    marks.splice(0, marks.length, ...squares);
    markChosen(marks, chosen, chosen);
    group.replaceChildren(...squares);
    root.append(choices);
  }

  function setGrid(found) {
    const first = !grid;
    grid = found;
    const { size, rows, columns, high, wide } = grid;
    const steps = (count) => [...Array(count + 1).keys()].map((i) => i * size);
    lines.set({
      d: steps(rows).map((y) => `M0 ${y}H${wide}`).join("")
        + steps(columns).map((x) => `M${x} 0V${high}`).join(""),
    });
    leftover.setAttribute(
      "d", `M0 ${high}H${wide}V0H${width}V${height}H0z`,
    );
    outline.set({ width: size, height: size });
    // They take longer than a frame: they wait until the slider rests, and
    // those of the size before are not there until then.
    clearTimeout(making);
    marks.length = 0;
    choices.remove();
    if (first) makeMarks();
    else making = setTimeout(makeMarks, RESTS_MS);
  }
  choosable(group, marks, (index, key) => {
    const { columns, patches } = grid;
    const [across, down] = {
      ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1],
      ArrowDown: [0, 1],
    }[key] ?? [];
    if (across === undefined) return undefined;
    // Over the end of a row of patches comes the next, as in the sequence.
    const next = index + across + down * columns;
    return next >= 0 && next < patches ? next : index;
  }, pick);

  // `scattered` holds the numbers of the patch where it is no square.
  function update(patch, scattered) {
    const { size, columns } = grid;
    const own = new Set(scattered.map((at) => Math.floor(at / CHANNELS)));
    const light = own.size ? DIMMED : 1;
    if (own.size || !plain) {
      const pixels = blank(width, height);
      addPixels(pixels, 0, pixels.length, data, [0, 1, 2], CHANNELS, light);
      for (const pixel of own) pixels[pixel] = MARK;
      show(canvas, pixels, width);
    }
    plain = own.size === 0;
    outline.set({
      x: (patch % columns) * size, y: Math.floor(patch / columns) * size,
    });
    root.classList.toggle("taken-for", own.size > 0);
    chosen = patch;
    markChosen(marks, chosen, chosen);
    return own.size;
  }
  return { root, setGrid, update, dispose: () => clearTimeout(making) };
}

export function enlarged({ look, pick }) {
  const canvas = html("canvas", { class: "pixels" });
  const way = edged("path", "way");
  const pixel = edged("rect", "pixel");
  const { root, drawing, resize } = layers(
    "enlarged", canvas, ...way.strokes, ...pixel.strokes,
  );
  let grid;
  const placed = (then) => (cell) =>
    then(cell && grid.placeOf(...cell, 0));
  pointable(root, () => [grid.size, grid.size], {
    look: placed(look), pick: placed(pick),
  });
  pixel.set({ width: 1, height: 1 });

  function setPatch(found, numbers) {
    grid = found;
    const { size, placeOf } = grid;
    resize(size, size);
    const pixels = blank(size, size);
    for (let row = 0; row < size; row += 1) {
      const first = [0, 1, 2].map((c) => placeOf(row, 0, c));
      addPixels(
        pixels, row * size, size, numbers, first, placeOf(0, 1, 0), 1,
      );
    }
    show(canvas, pixels, size);
  }
  function update([row, column], name) {
    const { size } = grid;
    // From the first pixel, row by row.
    const lines = Array.from({ length: row + 1 }, (_, y) =>
      `0.5 ${y + 0.5}H${(y < row ? size - 1 : column) + 0.5}`);
    way.set({ d: `M${lines.join("L")}` });
    pixel.set({ x: column, y: row });
    fill(drawing, { role: "img", "aria-label": name }, []);
  }
  return { root, setPatch, update };
}

export function patchRow({ look, pick }) {
  const canvas = html("canvas");
  const ticks = [0, 1, 2].map(() => edged("path", "tick"));
  const { root, drawing } = layers(
    "strip", canvas, ...ticks.flatMap(({ strokes }) => strokes),
  );
  drawing.setAttribute("preserveAspectRatio", "none");
  let count = 1;
  pointable(root, () => [1, count], {
    look: (cell) => look(cell && cell[1]), pick: (cell) => pick(cell[1]),
  });

  function setNumbers(numbers, channels) {
    count = numbers.length;
    drawing.setAttribute("viewBox", `0 0 ${count} 1`);
    paintNumbers(canvas, 1, COLOURS, ...COLOURS.map(
      (_, channel) => tinted(numbers, channels, channel),
    ));
  }
  // Where the three numbers of a pixel stand; one of them is looked at.
  function update(places, looked, name) {
    ticks.forEach(({ strokes, set }, c) => {
      set({ d: `M${places[c] + 0.5} 0V1` });
      for (const stroke of strokes) {
        stroke.classList.toggle("looked", places[c] === looked);
      }
    });
    fill(drawing, { role: "img", "aria-label": name }, []);
  }
  return { root, setNumbers, update };
}

export function allRows(pick) {
  const canvas = html("canvas");
  const line = edged("rect", "line");
  const { root, drawing } = layers("sheet", canvas, ...line.strokes);
  drawing.setAttribute("preserveAspectRatio", "none");
  let rows = 1;
  pointable(root, () => [rows, 1], { pick: ([row]) => pick(row) });
  line.set({ width: 1, height: 1 });

  function setNumbers(count, numbers) {
    rows = count;
    drawing.setAttribute("viewBox", `0 0 1 ${rows}`);
    paintNumbers(canvas, rows, [GREY], numbers);
  }
  function update(patch, name) {
    line.set({ y: patch });
    fill(drawing, { role: "img", "aria-label": name }, []);
  }
  return { root, setNumbers, update };
}
