// A masked autoencoder that fills a picture in: what
// vitedu/objectives/masked_autoencoder.py computes.

import { uniformNumbers } from "./core/numbers.js";
import {
  cutPatches, makeLayers, pixelOf, tensorsOf,
} from "./follow_digit_maths.js";
import { rowOf, sumOf, zeros } from "./matrices.js";

export const HIDING = { side: 28, patch: 4, across: 7, patches: 49 };

// `count` patches, drawn in the order of a seed: a larger count hides what a
// smaller one does, and more.
export function hiddenAtRandom(count, seed) {
  const draws = Array.from({ length: HIDING.patches }, uniformNumbers(seed));
  const ranks = [...draws].sort((a, b) => a - b);
  return draws.map((draw) => ranks.indexOf(draw) < count);
}

// What `of` says of each patch, asked for its row and column.
function eachPatch(of) {
  return Array.from({ length: HIDING.patches }, (_, place) =>
    of(Math.floor(place / HIDING.across), place % HIDING.across));
}

export const onTheLeft = () => eachPatch((row, column) => column < 4);

export const allButTheMiddle = () => eachPatch((row, column) =>
  Math.max(Math.abs(row - 3), Math.abs(column - 3)) > 1);

// A line around all that is seen.
export function outline(hidden) {
  const { across } = HIDING;
  const isSeen = (row, column) => row >= 0 && row < across && column >= 0
    && column < across && !hidden[row * across + column];
  return eachPatch((row, column) => !isSeen(row, column) ? "" : [
    isSeen(row - 1, column) ? "" : `M${column} ${row}h1`,
    isSeen(row + 1, column) ? "" : `M${column} ${row + 1}h1`,
    isSeen(row, column - 1) ? "" : `M${column} ${row}v1`,
    isSeen(row, column + 1) ? "" : `M${column + 1} ${row}v1`,
  ].join("")).join("");
}

// The patch in which a pixel of the picture lies.
function patchOf(pixel) {
  const { side, patch, across } = HIDING;
  return Math.floor(pixel / side / patch) * across
    + Math.floor(pixel % side / patch);
}

// Returns `fillIn`, which makes of a picture of 784 pixels from 0 to 1 and of
// which patches are hidden the picture with guesses in their place.
export function makeGuesser(bytes, layout, config) {
  const { num_layers: layers, patch_size: side, mean, std } = config;
  const { side: columns, across, patches: places } = HIDING;
  const tensors = tensorsOf(bytes, layout);
  const encoder = makeLayers(tensors, config, "encoder.blocks");
  const decoder = makeLayers(tensors, config.decoder, "decoder_blocks");

  // The class token and the patches that are seen, each with its position.
  function embed(patches, seen) {
    const some = zeros(seen.length, patches.columns);
    seen.forEach((place, i) => rowOf(some, i).set(rowOf(patches, place)));
    const embedded = encoder.linear(some, "encoder.patch_embed.proj");
    const tokens = zeros(1 + seen.length, config.d_model);
    tokens.data.set(tensors["encoder.cls_token"]);
    tokens.data.set(embedded.data, config.d_model);
    const table = { data: tensors["encoder.pos_embed.weight"],
      columns: config.d_model };
    const positions = zeros(tokens.rows, tokens.columns);
    [0, ...seen.map((place) => 1 + place)].forEach((at, i) =>
      rowOf(positions, i).set(rowOf(table, at)));
    return sumOf(tokens, positions);
  }
  function encode(patches, seen) {
    let x = embed(patches, seen);
    for (let block = 0; block < layers; block += 1) {
      x = encoder.runBlock(x, block).out;
    }
    return encoder.norm(x, "encoder.norm");
  }
  // Tokens go to their places, the mask token to all others.
  function decode(tokens, seen) {
    const narrow = decoder.linear(tokens, "decoder_embed");
    const placed = zeros(1 + places, narrow.columns);
    for (let at = 1; at <= places; at += 1) {
      rowOf(placed, at).set(tensors.mask_token);
    }
    [0, ...seen.map((place) => 1 + place)].forEach((at, i) =>
      rowOf(placed, at).set(rowOf(narrow, i)));
    let x = sumOf(placed,
      { ...placed, data: tensors["decoder_pos_embed.weight"] });
    for (let block = 0; block < config.decoder.num_layers; block += 1) {
      x = decoder.runBlock(x, block).out;
    }
    return decoder.linear(decoder.norm(x, "decoder_norm"), "decoder_pred");
  }
  function fillIn(pixels, hidden) {
    const data = Float32Array.from(pixels, (pixel) => (pixel - mean) / std);
    const patches = cutPatches({ data, columns }, side);
    const seen = Array.from(hidden.keys()).filter((place) => !hidden[place]);
    const guesses = decode(encode(patches, seen), seen);
    const filled = Float32Array.from(pixels);
    for (let i = 0; i < filled.length; i += 1) {
      const place = Math.floor(i / side ** 2);
      if (!hidden[place]) continue;
      const [row, column] = pixelOf(place, i % side ** 2, side, across);
      filled[row * columns + column] =
        rowOf(guesses, 1 + place)[i % side ** 2] * std + mean;
    }
    return filled;
  }
  return fillIn;
}

// Within what a screen can show.
export function shown(pixels) {
  return pixels.map((pixel) => Math.min(1, Math.max(0, pixel)));
}

// By how much hidden pixels are guessed too dark or too light, on average; and
// how far one grey for all would be off, the mean of what is seen. Where there
// is nothing to compare with, null.
export function misses(pixels, filled, hidden) {
  const sums = { seen: 0, ink: 0, hidden: 0, off: 0, grey: 0 };
  pixels.forEach((pixel, i) => {
    const isHidden = hidden[patchOf(i)];
    sums[isHidden ? "hidden" : "seen"] += 1;
    if (isHidden) sums.off += Math.abs(filled[i] - pixel);
    else sums.ink += pixel;
  });
  const grey = sums.ink / sums.seen;
  pixels.forEach((pixel, i) => {
    if (hidden[patchOf(i)]) sums.grey += Math.abs(grey - pixel);
  });
  return {
    off: sums.hidden ? sums.off / sums.hidden : null,
    grey: sums.hidden && sums.seen ? sums.grey / sums.hidden : null,
  };
}

// The patches that lie between two points, [row, column] in patches.
export function placesBetween(from, to) {
  const { across } = HIDING;
  const far = Math.max(...from.map((at, axis) => Math.abs(to[axis] - at)));
  const steps = Math.max(1, Math.ceil(4 * far));
  const places = new Set();
  for (let step = 0; step <= steps; step += 1) {
    const [row, column] = from.map((at, axis) =>
      Math.floor(at + (to[axis] - at) * step / steps));
    const isInside = Math.min(row, column) >= 0
      && Math.max(row, column) < across;
    if (isInside) places.add(row * across + column);
  }
  return [...places];
}
