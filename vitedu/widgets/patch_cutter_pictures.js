// The pictures of the explorer PatchCutter: the photograph, a patch enlarged,
// the row of a patch, all rows.

// A picture is not drawn with more columns than that; numbers that fall
// together are averaged.
const MOST_COLUMNS = 1024;
const MARK = [255, 221, 0];
const DIMMED = 0.45;
// How much a number lightens the colours that it is not.
const OTHERS = 0.35;
// The marks are made anew when the size has not changed for so long.
const RESTS_MS = 300;

// A canvas of pixels under a drawing with the coordinates of its `viewBox`.
function layers(name, canvas, ...drawn) {
  const drawing = svg("svg", {}, ...drawn);
  canvas.setAttribute("aria-hidden", "true");
  const root = html("div", { class: `layers ${name}` }, canvas, drawing);
  function resize(width, height, viewBox = [width, height]) {
    fill(canvas, { width, height }, []);
    drawing.setAttribute("viewBox", `0 0 ${viewBox.join(" ")}`);
  }
  return { root, drawing, resize };
}

// `level` gives the brightness of a channel of the i-th pixel, 0 to 255.
function paint(canvas, level) {
  const { width, height } = canvas;
  const context = canvas.getContext("2d");
  const pixels = context.createImageData(width, height);
  const { data } = pixels;
  for (let i = 0; i < width * height; i += 1) {
    for (let c = 0; c < CHANNELS; c += 1) data[4 * i + c] = level(i, c);
    data[4 * i + 3] = 255;
  }
  context.putImageData(pixels, 0, 0);
}

// The same rows in `width` columns: the means of the numbers that share one.
function narrowed(numbers, rows, width) {
  const columns = numbers.length / rows;
  if (width === columns) return numbers;
  const starts = Array.from({ length: width + 1 }, (_, column) =>
    Math.ceil((column * columns) / width));
  const means = new Uint8ClampedArray(width * rows);
  for (let row = 0, n = 0, mean = 0; row < rows; row += 1) {
    for (let column = 0; column < width; column += 1, mean += 1) {
      const end = row * columns + starts[column + 1];
      let sum = 0;
      for (; n < end; n += 1) sum += numbers[n];
      means[mean] = sum / (starts[column + 1] - starts[column]);
    }
  }
  return means;
}

// Paints integers, 0 to 255, in rows below each other: one list in grey, or
// one list for each colour.
function paintNumbers(canvas, rows, ...colours) {
  const width = Math.min(colours[0].length / rows, MOST_COLUMNS);
  const [reds, greens = reds, blues = reds] = colours.map(
    (numbers) => narrowed(numbers, rows, width),
  );
  const image = new ImageData(width, rows);
  // A pixel at a time; the processors of browsers keep the lowest byte first.
  const pixels = new Uint32Array(image.data.buffer);
  for (let i = 0; i < pixels.length; i += 1) {
    pixels[i] = (255 << 24) | (blues[i] << 16) | (greens[i] << 8) | reds[i];
  }
  fill(canvas, { width, height: rows }, []);
  canvas.getContext("2d").putImageData(image, 0, 0);
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

function photograph({ data, width, height }, pick) {
  const canvas = html("canvas", { class: "pixels" });
  const lines = edged("path", "lines");
  const outline = edged("rect", "outline");
  const leftover = svg("path", { class: "leftover" });
  const group = svg("g", { role: "radiogroup", "aria-label": WORDS.group });
  const { root, resize } = layers(
    "photograph", canvas, leftover, ...lines.strokes, ...outline.strokes, group,
  );
  let grid;
  // Whether all of the photograph is to be seen.
  let plain = false;
  let chosen = 0;
  let making;
  const marks = [];
  resize(width, height);

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
    // They take longer than a frame: they wait until the slider rests.
    clearTimeout(making);
    marks.length = 0;
    group.replaceChildren();
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
      paint(canvas, (i, c) => (own.has(i) ? MARK[c]
        : light * data[CHANNELS * i + c]));
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

function enlarged({ look, pick }) {
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
    paint(canvas, (i, c) =>
      numbers[placeOf(Math.floor(i / size), i % size, c)]);
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

function patchRow({ look, pick }) {
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
    const colours = [0, 1, 2].map((c) => {
      const levels = new Uint8ClampedArray(count);
      for (let n = 0; n < count; n += 1) {
        levels[n] = numbers[n] * (c === channels[n] ? 1 : OTHERS);
      }
      return levels;
    });
    paintNumbers(canvas, 1, ...colours);
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

function allRows(pick) {
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
    paintNumbers(canvas, rows, numbers);
  }
  function update(patch, name) {
    line.set({ y: patch });
    fill(drawing, { role: "img", "aria-label": name }, []);
  }
  return { root, setNumbers, update };
}
