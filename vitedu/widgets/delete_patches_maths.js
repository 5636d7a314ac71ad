// The deletion test of vitedu.analysis.attribution, for one picture.

import { uniformNumbers } from "./core/numbers.js";
import { PICTURE } from "./digit_picture.js";
import { likeliest } from "./matrices.js";

export const ORDERS = ["ink", "rollout", "gradient", "random"];

// Of which patch each pixel is, in a picture of `side` pixels cut into squares
// of `size`.
function patchOfPixel(side, size) {
  const across = side / size;
  return Uint8Array.from({ length: side * side }, (_, pixel) => {
    const [row, column] = [Math.floor(pixel / side), pixel % side];
    return Math.floor(row / size) * across + Math.floor(column / size);
  });
}

// The mean ink of each patch.
function inkOfPatches(ink, size) {
  const places = patchOfPixel(PICTURE.side, size);
  const means = new Float64Array((PICTURE.side / size) ** 2);
  ink.forEach((pixel, i) => {
    means[places[i]] += pixel / size ** 2;
  });
  return means;
}

// What the class token is made of in the end, patch by patch: the product of
// all layers, each half itself and half the mean of its heads.
function rolloutOf(blocks) {
  const tokens = blocks[0].x.rows;
  let row = new Float64Array(tokens);
  row[0] = 1;
  // From the last layer down, as only one row of the product is needed.
  for (const { heads } of blocks.toReversed()) {
    const below = row.map((share) => share / 2);
    for (const { weights } of heads) {
      for (let i = 0; i < tokens; i += 1) {
        const share = row[i] / 2 / heads.length;
        for (let j = 0; j < tokens; j += 1) {
          below[j] += share * weights.data[i * tokens + j];
        }
      }
    }
    row = below;
  }
  return row.subarray(1);
}

function randomScores(count, seed) {
  return Float64Array.from({ length: count }, uniformNumbers(seed));
}

// Patches, the highest score first; among equals the one that comes first.
export function ranked(scores) {
  return [...scores.keys()].sort((a, b) => scores[b] - scores[a] || a - b);
}

// The picture with some patches painted over, in empty paper or in the mean
// of the picture.
export function withoutPatches(ink, gone, size, paint) {
  const places = patchOfPixel(PICTURE.side, size);
  const whole = Float64Array.from(ink);
  const fill = paint === "white" ? 0
    : whole.reduce((sum, pixel) => sum + pixel, 0) / whole.length;
  return whole.map((pixel, i) => (gone.includes(places[i]) ? fill : pixel));
}

// The mean loss of the answer over all counts of patches.
export function lossArea(chances) {
  return chances.reduce((sum, chance) => sum + chances[0] - chance, 0)
    / chances.length;
}

// Asks the network about a picture with patches gone, each set of them once.
export function makeDeletion(reader, ink, paint) {
  const size = reader.config.patch_size;
  const whole = reader.run(ink);
  const label = likeliest(whole.answer.data);
  const known = new Map([["", whole.answer.data]]);
  const keyOf = (gone) => gone.toSorted((a, b) => a - b).join();
  // The chances of all digits.
  function chancesWithout(gone) {
    const key = keyOf(gone);
    if (!known.has(key)) {
      known.set(key,
        reader.run(withoutPatches(ink, gone, size, paint)).answer.data);
    }
    return known.get(key);
  }
  // The chance of the whole picture's answer with 0, 1, 2, ... patches gone;
  // undefined where the network has not been asked yet.
  function curve(order) {
    return Array.from({ length: order.length + 1 }, (_, count) =>
      known.get(keyOf(order.slice(0, count)))?.[label]);
  }
  // Asks for one more point of these curves; tells whether one was missing.
  function askNext(orders) {
    for (let count = 0; count <= orders[0].length; count += 1) {
      const missing = orders.map((order) => order.slice(0, count))
        .find((gone) => !known.has(keyOf(gone)));
      if (missing) {
        chancesWithout(missing);
        return true;
      }
    }
    return false;
  }
  const maps = { ink: inkOfPatches(ink, size), rollout: rolloutOf(whole.blocks) };
  // One number for each patch and order.
  const scoresOf = (gradients, seed) => ({
    ...maps, gradient: gradients, random: randomScores(gradients.length, seed),
  });
  return { chancesWithout, curve, askNext, scoresOf, label };
}
