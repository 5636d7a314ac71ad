// The pictures of the explorer PatchCutter: the photograph, a patch enlarged,
// the row of a patch, all rows.

import { choosable, markChosen } from "./core/choosing.js";
import { noted, panel, range, titled } from "./core/controls.js";
import { draft, fill, html, renew, svg, write } from "./core/dom.js";
import { edged } from "./core/drawing.js";
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
const TILES = 12;
// The marks are made anew when the size has not changed for so long.
const RESTS_MS = 300;

// A canvas of pixels under a drawing with the coordinates that it is given.
function layers(kind, canvas, ...drawn) {
  const drawing = svg("svg", {}, ...drawn);
  canvas.setAttribute("aria-hidden", "true");
  const root = html("div", { class: `layers ${kind}` }, canvas, drawing);
  function resize(width, height) {
    drawing.setAttribute("viewBox", `0 0 ${width} ${height}`);
  }
  const name = (label) =>
    fill(drawing, { role: "img", "aria-label": label }, []);
  return { root, drawing, resize, name };
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

function paint(canvas, { buffer, byteLength, length }, width) {
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
  paint(canvas, pixels, width);
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

// A panel with a title and a note, which `say` writes.
function titledPanel(kind, ...children) {
  const [title, note] = [titled(""), noted("")];
  function say(said) {
    write(title, said[kind].title);
    write(note, said[kind].note);
  }
  return { root: panel(`of-${kind}`, title, ...children, note), say };
}

export function photograph({ set, given: { data, width, height } }) {
  const canvas = html("canvas", { class: "pixels" });
  const lines = edged("path", "lines");
  const outline = edged("rect", "outline");
  const leftover = svg("path", { class: "leftover" });
  const group = svg("g", { role: "radiogroup", "aria-label": WORDS.group });
  const picture = layers(
    "photograph", canvas, leftover, ...lines.strokes, ...outline.strokes,
  );
  const { root, say } = titledPanel("photograph", picture.root);
  let grid;
  let row;
  // Whether all of the photograph is to be seen.
  let plain = false;
  let chosen = 0;
  let making;
  const marks = [];
  picture.resize(width, height);
  // The marks have a drawing of their own: hundreds that stay as they are
  // should not be gone through when a line over them moves.
  const choices = svg("svg", { viewBox: `0 0 ${width} ${height}` }, group);

  function makeMarks() {
    const { size, columns, patches } = grid;
    const squares = Array.from({ length: patches }, (_, patch) => {
      const [down, right] = [Math.floor(patch / columns), patch % columns];
      return svg("rect", {
        role: "radio", class: "patch", x: right * size, y: down * size,
        width: size, height: size, "aria-label":
          sentence(WORDS.mark, { patch, row: down, column: right }),
      });
    });
    marks.splice(0, marks.length, ...squares);
    markChosen(marks, chosen, chosen);
    group.replaceChildren(...squares);
    picture.root.append(choices);
  }

  function drawGrid(first) {
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
  }, (patch) => set({ patch }));

  function drawRow({ scattered }, patch) {
    const { size, columns } = grid;
    const light = scattered.size ? DIMMED : 1;
    if (scattered.size || !plain) {
      const pixels = blank(width, height);
      addPixels(pixels, 0, pixels.length, data, [0, 1, 2], CHANNELS, light);
      for (const pixel of scattered) pixels[pixel] = MARK;
      paint(canvas, pixels, width);
    }
    plain = scattered.size === 0;
    outline.set({
      x: (patch % columns) * size, y: Math.floor(patch / columns) * size,
    });
    picture.root.classList.toggle("taken-for", !plain);
    chosen = patch;
    markChosen(marks, chosen, chosen);
  }
  function show(found, said) {
    const before = grid;
    grid = found.grid;
    if (before?.size !== grid.size) drawGrid(!before);
    if (row !== found.row) drawRow(found.row, found.patch);
    ({ row } = found);
    say(said);
  }
  return { root, show, dispose: () => clearTimeout(making) };
}

export function enlarged({ set, move }) {
  const canvas = html("canvas", { class: "pixels" });
  const way = edged("path", "way");
  const pixel = edged("rect", "pixel");
  const picture = layers(
    "enlarged", canvas, ...way.strokes, ...pixel.strokes,
  );
  const { root, say } = titledPanel("patch", picture.root);
  let row;
  let grid;
  pointable(picture.root, () => [grid.size, grid.size], {
    look: (cell) => move({ under: cell && grid.placeOf(...cell, 0) }),
    pick: (cell) => set({ place: grid.placeOf(...cell, 0) }),
  });
  pixel.set({ width: 1, height: 1 });

  function drawPatch({ numbers }) {
    const { size, placeOf } = grid;
    picture.resize(size, size);
    const pixels = blank(size, size);
    for (let line = 0; line < size; line += 1) {
      const first = [0, 1, 2].map((c) => placeOf(line, 0, c));
      addPixels(
        pixels, line * size, size, numbers, first, placeOf(0, 1, 0), 1,
      );
    }
    paint(canvas, pixels, size);
  }
  function show(found, said) {
    ({ grid } = found);
    if (row !== found.row) drawPatch(found.row);
    ({ row } = found);
    const [p1, p2] = grid.partsOf(found.looked);
    // From the first pixel, row by row.
    const lines = Array.from({ length: p1 + 1 }, (_, y) =>
      `0.5 ${y + 0.5}H${(y < p1 ? grid.size - 1 : p2) + 0.5}`);
    way.set({ d: `M${lines.join("L")}` });
    pixel.set({ x: p2, y: p1 });
    picture.name(said.patch.label);
    say(said);
  }
  return { root, show };
}

// Some numbers of a row around the one looked at: place, number, channel.
export function tilesDrawn({ row: { numbers, channels }, looked }) {
  // They stay where they are while one walks through them.
  const first = looked - (looked % TILES);
  return Array.from(
    numbers.subarray(first, first + TILES),
    (number, i) => draft("li", {
      class: `of-${channels[first + i]}`
        + (first + i === looked ? " looked" : ""),
      "data-place": first + i,
    },
    draft("span", { class: "place", text: first + i }),
    draft("span", { class: "number", text: number }),
    draft("span", {
      class: "channel", text: WORDS.initials[channels[first + i]],
    })),
  );
}

export function patchRow({ set, move }) {
  const canvas = html("canvas");
  const ticks = [0, 1, 2].map(() => edged("path", "tick"));
  const picture = layers(
    "strip", canvas, ...ticks.flatMap(({ strokes }) => strokes),
  );
  picture.drawing.setAttribute("preserveAspectRatio", "none");
  let last = 0;
  const slider = range({
    label: WORDS.place, min: 0, max: 1, value: 0,
    format: (place) => sentence(WORDS.ofAll, { place, last }),
    onInput: (place) => set({ place }),
  });
  const tiles = html("ol", { class: "numbers" });
  const { root, say } = titledPanel("row", picture.root, slider.root, tiles);
  let row;
  pointable(picture.root, () => [1, last + 1], {
    look: (cell) => move({ under: cell && cell[1] }),
    pick: (cell) => set({ place: cell[1] }),
  });

  function drawRow({ numbers, channels }) {
    last = numbers.length - 1;
    slider.setMax(last);
    picture.resize(numbers.length, 1);
    paintNumbers(canvas, 1, COLOURS, ...COLOURS.map(
      (_, channel) => tinted(numbers, channels, channel),
    ));
  }
  function show(found, said) {
    const { grid, looked, place } = found;
    if (row !== found.row) drawRow(found.row);
    ({ row } = found);
    slider.set(place);
    // Where the three numbers of a pixel stand; one of them is looked at.
    const [p1, p2] = grid.partsOf(looked);
    ticks.forEach((tick, channel) => {
      const at = grid.placeOf(p1, p2, channel);
      tick.set({ d: `M${at + 0.5} 0V1` });
      for (const stroke of tick.strokes) {
        stroke.classList.toggle("looked", at === looked);
      }
    });
    renew(tiles, tilesDrawn(found));
    picture.name(said.row.label);
    say(said);
  }
  return { root, show };
}

export function allRows({ set }) {
  const canvas = html("canvas");
  const line = edged("rect", "line");
  const picture = layers("sheet", canvas, ...line.strokes);
  const { root, say } = titledPanel("all", picture.root);
  picture.drawing.setAttribute("preserveAspectRatio", "none");
  let grid;
  pointable(picture.root, () => [grid.patches, 1], {
    pick: ([patch]) => set({ patch }),
  });
  line.set({ width: 1, height: 1 });

  function show(found, said) {
    if (grid !== found.grid) {
      ({ grid } = found);
      picture.resize(1, grid.patches);
      paintNumbers(canvas, grid.patches, [GREY], grid.numbers);
    }
    line.set({ y: found.patch });
    picture.name(said.all.label);
    say(said);
  }
  return { root, show };
}
