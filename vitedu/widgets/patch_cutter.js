// A photograph, cut into patches and laid out as a sequence.

import { decodeArray } from "./core/arrays.js";
import { choice, defineExplorer, slider } from "./core/explorer.js";
import { sentence } from "./core/texts.js";
import WORDS from "./patch_cutter.words.json" with { type: "json" };
import { readPhotograph } from "./patch_cutter_maths.js";
import {
  allRows, enlarged, patchRow, photograph,
} from "./patch_cutter_pictures.js";

// The tour speaks of places, and so of any photograph of this side.
const TOURED = 224;

const isToured = ({ height, width, sizes }) =>
  height === TOURED && width === TOURED
  && [16, 32].every((size) => sizes.includes(size));

// `row` has the numbers of a patch, `under` or `place` the one looked at.
export function compute(settings, photo) {
  const { patch_size: size, order, cut, under } = settings;
  const grid = photo.cutBy(size, order, cut);
  const patch = Math.min(settings.patch, grid.patches - 1);
  const place = Math.min(settings.place, grid.values - 1);
  const looked = under ?? place;
  const row = photo.rowOf(size, order, cut, patch);
  const [pixelRow, pixelColumn, channel] = grid.origin(row.sources[looked]);
  const common = {
    patches: grid.patches, values: grid.values, patch,
    row: Math.floor(patch / grid.columns), column: patch % grid.columns,
    value: row.numbers[looked], pixelRow, pixelColumn, down: grid.down,
    right: grid.right,
  };
  return {
    photo, grid, row, order, cut, patch, place, looked, channel, common,
    isQuiet: looked !== place, published: {
      ...common, patchSize: size, order, cut, place, under: under ?? "",
      channel: WORDS.channels[channel],
    },
  };
}

// Of each picture its title, its note and its label; and the reading.
export function say({
  photo, grid, row, order, cut, looked, channel, common,
}) {
  const [p1, p2, believed] = grid.partsOf(looked);
  const isCropped = grid.down > 0 || grid.right > 0;
  const names = {
    ...common, rows: grid.rows, columns: grid.columns, size: grid.size,
    place: looked, p1, p2, pixels: row.scattered.size,
    channel: WORDS.channels[channel], believed: WORDS.channels[believed],
    last: grid.values - 1, height: photo.height, width: photo.width,
    high: grid.high, wide: grid.wide,
    whole: isCropped ? WORDS.crop : WORDS.whole,
  };
  const isReshaped = cut === "reshape";
  const { row: ofRow, patch: ofPatch } = WORDS.pictures;
  const notes = {
    photograph: WORDS.pictures.photograph.notes[cut],
    patch: isReshaped && order === "c p1 p2"
      ? ofPatch.reshaped : ofPatch.notes[order],
    row: isReshaped
      ? (isCropped ? ofRow.cropped : "") + ofRow.reshaped[order]
      : ofRow.notes[order],
    all: WORDS.pictures.all.note,
  };
  const said = Object.fromEntries(Object.entries(notes).map(([kind, note]) => {
    const { title, label = "" } = WORDS.pictures[kind];
    return [kind, {
      title: sentence(title, names), note: sentence(note, names),
      label: sentence(label, names),
    }];
  }));
  return {
    ...said, reading: sentence(WORDS.counted
      + (cut === "patches" ? WORDS.right : WORDS.wrong)
      + (isCropped ? WORDS.left : ""), names),
  };
}

// To patches of another size: to the one over the middle of the patch that was
// chosen last, however many sizes lie between.
function resizing({ height, width }) {
  const countsOf = (size) =>
    [height, width].map((side) => Math.floor(side / size));
  // The place that the slider of sizes stays at, and where it led.
  let held;
  return (size, { patch_size: before, patch: wanted }) => {
    const [rows, columns] = countsOf(before);
    const patch = Math.min(wanted, rows * columns - 1);
    if (patch !== held?.patch || before !== held.size) {
      held = { middle: [Math.floor(patch / columns), patch % columns]
        .map((at) => (at + 0.5) * before) };
    }
    const counts = countsOf(size);
    const [down, across] = counts.map((count, i) =>
      Math.min(count - 1, Math.floor(held.middle[i] / size)));
    Object.assign(held, { size, patch: down * counts[1] + across });
    return { patch_size: size, place: 0, patch: held.patch };
  };
}

export default defineExplorer("patch-cutter", {
  words: WORDS,
  controls: {
    patch_size: (made) => slider({
      format: (size) => sentence(WORDS.pixels, { size }),
      sets: resizing(made.given),
    })(made),
    order: choice(), cut: choice(),
  },
  read: (model) => ({
    ...readPhotograph(decodeArray(model.get("image"))),
    sizes: model.get("patch_sizes"),
  }),
  compute, say,
  parts: { photograph, all: allRows, patch: enlarged, row: patchRow },
  layout: [["patch_size", "order", "cut"],
    { beside: ["photograph", "all", "patch", "row"] }, "reading"],
  tour: (steps, photo) => (isToured(photo) ? steps : []),
});
