// A photograph, cut into patches and laid out as a sequence.

import { decodeArray } from "./core/arrays.js";
import { noted, panel, range, select, titled } from "./core/controls.js";
import { draft, html, renew, write } from "./core/dom.js";
import { explorer, onTraits, onceAFrame, setTraits } from "./core/frame.js";
import { sentence } from "./core/texts.js";
import { makeTools } from "./core/tools.js";
import WORDS from "./patch_cutter.words.json" with { type: "json" };
import { channelsOf, cutUp } from "./patch_cutter_maths.js";
import {
  allRows, enlarged, patchRow, photograph,
} from "./patch_cutter_pictures.js";

// It speaks of places, and so of any photograph of this side.
const TOURED = 224;

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
  const tools = makeTools(frame, model, { tour: isToured ? WORDS.tour : [] });
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
