// A photograph, cut into patches and laid out as a sequence.

const WORDS = {
  label: "Patches: a photograph becomes a sequence",
  size: "Patch size",
  pixels: "{size} × {size}",
  order: "Order inside a patch",
  orders: {
    "c p1 p2": "c p1 p2: by colour",
    "p1 p2 c": "p1 p2 c: by pixel",
  },
  cut: "Cut",
  cuts: {
    patches: "(rows p1) (cols p2): patches",
    swapped: "(p1 rows) (p2 cols): swapped",
    reshape: "reshape alone",
  },
  channels: ["red", "green", "blue"],
  initials: ["R", "G", "B"],
  photographTitle: "Photograph: {rows} × {columns} patches",
  photographNotes: {
    patches: "The outlined square is patch {patch}. Choose another with the "
      + "mouse, a finger or the arrow keys. Rows, columns and patches count "
      + "from 0.",
    swapped: "Yellow: the {pixels} pixels that patch {patch} is made of. "
      + "Outlined: the square that it is taken for.",
    reshape: "Yellow: the {pixels} pixels that patch {patch} is made of. "
      + "Outlined: the square that it is taken for.",
  },
  group: "Patches",
  patch: "patch {patch}: row {row}, column {column}",
  enlargedTitle: "Patch {patch}, enlarged",
  enlargedNotes: {
    "c p1 p2": "The row has the pixels in the order of the line: once for "
      + "each colour. Point at a pixel to find its three numbers.",
    "p1 p2 c": "The row has the pixels in the order of the line, each with "
      + "its three colours. Point at a pixel to find its three numbers.",
  },
  enlargedReshaped: "The row's thirds, shown as red, green and blue. Point "
    + "at a pixel to see where its three numbers come from.",
  enlargedPicture: "Patch {patch}; its pixel in row {p1}, column {p2} is "
    + "outlined.",
  rowTitle: "Its row: {values} numbers",
  rowNotes: {
    "c p1 p2": "The reds of all pixels come first, then the greens, then the "
      + "blues. The marks show the three numbers of the outlined pixel.",
    "p1 p2 c": "The red, the green and the blue of a pixel stand side by "
      + "side. The marks show the three numbers of the outlined pixel.",
  },
  reshapeNotes: {
    "c p1 p2": "Memory holds the {whole} as (colour, line, pixel), and the "
      + "row is a piece of it. Its thirds are taken for red, green and blue. The marks "
      + "show what is taken for the colours of the outlined pixel.",
    "p1 p2 c": "Memory holds the {whole} as (line, pixel, colour), and the "
      + "row is a piece of it. The marks show the three numbers of the outlined "
      + "pixel.",
  },
  whole: "photograph",
  crop: "crop",
  cropped: "The photograph was first cropped to {high} × {wide} and copied; "
    + "a reshape of the whole one would be an error. ",
  rowPicture: "The row of patch {patch}; the pixel's numbers are marked.",
  place: "Number in the row",
  ofAll: "{place}, of 0 to {last}",
  allTitle: "The sequence: {patches} rows of {values} numbers",
  allNote: "Each line is a patch, patch 0 at the top; dark is 0, white 255. "
    + "Choose a line with the mouse or a finger.",
  allPicture: "All rows below each other; the row of patch {patch} is "
    + "outlined.",
  reading: "{rows} × {columns} = {patches} patches of {size} × {size} × 3 "
    + "= {values} numbers. ",
  right: "Patch {patch} is row {row}, column {column}. Its number {place} is "
    + "{channel} of its pixel in row {p1}, column {p2}: {value}.",
  wrong: "Patch {patch} is taken for row {row}, column {column}, its number "
    + "{place} for {believed} of the pixel there in row {p1}, column {p2}. "
    + "It is {channel} of the photograph's pixel in row {pixelRow}, column "
    + "{pixelColumn}: {value}.",
  left: " {size} does not divide {height} × {width}: the last {down} of "
    + "{height} pixel rows and the last {right} of {width} pixel columns are "
    + "in no patch.",
};

// It speaks of places, and so of any photograph of this side.
const TOURED = 224;
const TOUR = [
  ["A reshape alone makes 49 rows of 3072 numbers, which is the right shape. "
    + "But they are strips, not squares. Number 0 of row 24 is taken for red "
    + "and is green, of the pixel in row 105, column 32.",
  { patch_size: 32, patch: 24, place: 0, cut: "reshape" }],
  ["Swap rows and p1, and the shape is right once more. Each row now holds "
    + "every 7th pixel of the whole photograph: row 24 begins with the one "
    + "in row 3, column 3.",
  { patch_size: 32, patch: 24, place: 0, cut: "swapped" }],
  ["Cut as it should be, patch 24 is the square in row 3, column 3 of the "
    + "grid, and its 3072 numbers are its own.",
  { patch_size: 32, patch: 24, place: 0, cut: "patches" }],
  ["Half the side makes four times as many patches, 196, each with a quarter "
    + "of the numbers, 768. Every pixel is still there, once.",
  { patch_size: 16, patch: 105, place: 0, cut: "patches" }],
  ["By pixel instead of by colour, the same 768 numbers stand in another "
    + "order. A network can learn with either one, but not with both.",
  {
    patch_size: 16, patch: 105, place: 0, cut: "patches", order: "p1 p2 c",
  }],
];

const TRAITS = ["patch_size", "order", "cut", "patch", "place"];
const TILES = 12;

// Some numbers of a row around the one looked at: place, number, channel.
function numberTiles() {
  const root = html("ol", { class: "numbers" });
  function update(numbers, channels, looked) {
    // They stay where they are while one walks through them.
    const first = looked - (looked % TILES);
    renew(root, Array.from(
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
    ));
  }
  return { root, update };
}

function render({ model, el }) {
  const { data, shape: [height, width] } = decodeArray(model.get("image"));
  const image = { data, height, width };
  const memory = new Int32Array(data.length);
  const sizes = model.get("patch_sizes");
  const frame = explorer(el, "patch-cutter", WORDS.label);
  const isToured = height === TOURED && width === TOURED
    && [16, 32].every((size) => sizes.includes(size));
  const tools = makeTools(frame, model, { tour: isToured ? TOUR : [] });
  // The place in the row that the mouse is at; Python does not hear of it.
  let under = null;
  let grid;
  // The place that the slider of sizes stays at, and where it led.
  let held;
  let numbers;
  let channels;
  let pixels;
  const done = {};

  const set = (traits) => setTraits(model, traits);
  const pointing = {
    look: (place) => {
      under = place;
      redraw();
    },
    pick: (place) => set({ place }),
  };
  const photo = photograph(image, (patch) => set({ patch }));
  const zoom = enlarged(pointing);
  const row = patchRow(pointing);
  const all = allRows((patch) => set({ patch }));
  const tiles = numberTiles();
  const titles = Array.from({ length: 4 }, () => titled(""));
  const notes = titles.map(() => noted(""));

  const controls = {
    size: range({
      label: WORDS.size, min: 0, max: sizes.length - 1, value: 0,
      format: (at) => sentence(WORDS.pixels, { size: sizes[at] }),
      onInput: (at) => resize(sizes[at]),
    }),
    order: select({
      label: WORDS.order, options: Object.entries(WORDS.orders),
      value: model.get("order"), onInput: (order) => set({ order }),
    }),
    cut: select({
      label: WORDS.cut, options: Object.entries(WORDS.cuts),
      value: model.get("cut"), onInput: (cut) => set({ cut }),
    }),
  };
  const slider = range({
    label: WORDS.place, min: 0, max: 1, value: 0,
    format: (place) =>
      sentence(WORDS.ofAll, { place, last: (grid?.values ?? 1) - 1 }),
    onInput: (place) => set({ place }),
  });

  // To patches of another size: to the one over the middle of the patch that
  // was chosen last, however many sizes lie between.
  function resize(size) {
    const { patch, row, column } = placeInGrid();
    if (patch !== held?.patch || grid.size !== held.size) {
      held = { middle: [row, column].map((at) => (at + 0.5) * grid.size) };
    }
    const [rows, columns] = [height, width].map((s) => Math.floor(s / size));
    const [down, across] = [rows, columns].map((count, i) =>
      Math.min(count - 1, Math.floor(held.middle[i] / size)));
    Object.assign(held, { size, patch: down * columns + across });
    set({ patch_size: size, place: 0, patch: held.patch });
  }
  function placeInGrid() {
    const patch = Math.min(model.get("patch"), grid.patches - 1);
    return {
      patch, row: Math.floor(patch / grid.columns),
      column: patch % grid.columns,
    };
  }
  // The photograph's numbers at these places.
  function numbersAt(places) {
    const found = new Uint8Array(places.length);
    for (let n = 0; n < found.length; n += 1) found[n] = data[places[n]];
    return found;
  }
  // Calls `draw` if one of these values is another than the last time.
  function anew(name, values, draw) {
    const key = values.join();
    if (done[name] === key) return;
    done[name] = key;
    draw();
  }

  function update() {
    const [size, order, cut] = TRAITS.map((name) => model.get(name));
    anew("cut", [size, order, cut], () => {
      grid = cutUp(image, { size, order, cut }, memory);
      all.setNumbers(grid.patches, numbersAt(grid.sources));
      slider.setMax(grid.values - 1);
    });
    anew("size", [size], () => photo.setGrid(grid));
    const { patch, row: gridRow, column } = placeInGrid();
    const from = patch * grid.values;
    const sources = grid.sources.subarray(from, from + grid.values);
    anew("patch", [size, order, cut, patch], () => {
      numbers = numbersAt(sources);
      channels = channelsOf(sources);
      pixels = photo.update(patch, cut === "patches" ? [] : sources);
      zoom.setPatch(grid, numbers);
      row.setNumbers(numbers, channels);
    });
    const place = Math.min(model.get("place"), grid.values - 1);
    const looked = under ?? place;
    const [p1, p2, believed] = grid.partsOf(looked);
    const [pixelRow, pixelColumn, channel] = grid.origin(sources[looked]);
    const shown = {
      rows: grid.rows, columns: grid.columns, patches: grid.patches,
      values: grid.values, size, patch, row: gridRow, column, place: looked,
      p1, p2, value: numbers[looked], pixelRow, pixelColumn, pixels,
      channel: WORDS.channels[channel], believed: WORDS.channels[believed],
      down: grid.down, right: grid.right, last: grid.values - 1, height, width,
      high: grid.high, wide: grid.wide,
      whole: grid.down || grid.right ? WORDS.crop : WORDS.whole,
    };
    const say = (template) => sentence(template, shown);

    controls.size.set(sizes.indexOf(size));
    controls.order.set(order);
    controls.cut.set(cut);
    slider.set(place);
    zoom.update([p1, p2], say(WORDS.enlargedPicture));
    row.update(
      [0, 1, 2].map((c) => grid.placeOf(p1, p2, c)), looked,
      say(WORDS.rowPicture),
    );
    all.update(patch, say(WORDS.allPicture));
    tiles.update(numbers, channels, looked);
    const reshaped = cut === "reshape";
    const cropped = grid.down || grid.right ? WORDS.cropped : "";
    [
      [WORDS.photographTitle, WORDS.photographNotes[cut]],
      [WORDS.enlargedTitle, reshaped && order === "c p1 p2"
        ? WORDS.enlargedReshaped : WORDS.enlargedNotes[order]],
      [WORDS.rowTitle, reshaped
        ? cropped + WORDS.reshapeNotes[order] : WORDS.rowNotes[order]],
      [WORDS.allTitle, WORDS.allNote],
    ].forEach(([title, note], i) => {
      write(titles[i], say(title));
      write(notes[i], say(note));
    });
    frame.read(
      say(WORDS.reading + (cut === "patches" ? WORDS.right : WORDS.wrong)
        + (grid.down || grid.right ? WORDS.left : "")),
      { speak: under === null },
    );
    frame.publish({
      patchSize: size, order, cut, patch, place, under: under ?? "",
      patches: grid.patches, values: grid.values, row: gridRow, column,
      value: numbers[looked], channel, pixelRow, pixelColumn,
      down: grid.down, right: grid.right,
    });
  }

  frame.root.append(
    html("div", { class: "vitedu-controls" },
      ...Object.values(controls).map(({ root }) => root)),
    html("div", { class: "panels" },
      panel("of-photograph", titles[0], photo.root, notes[0]),
      panel("of-all", titles[3], all.root, notes[3]),
      panel("of-patch", titles[1], zoom.root, notes[1]),
      panel("of-row", titles[2], row.root, slider.root, tiles.root, notes[2])),
    ...frame.reading,
    ...tools.foot,
  );
  const redraw = onceAFrame(update);
  update();
  const ignore = onTraits(model, TRAITS, () => {
    // What was just done counts, not where the mouse was left.
    under = null;
    redraw();
  });
  return () => {
    ignore();
    redraw.cancel();
    photo.dispose();
    tools.dispose();
    frame.dispose();
  };
}

export default { render };
