// The numbers of the explorer AttentionDistance.

import { decodeArray } from "./core/arrays.js";

export const CLASS = "class token";

export function readData(model) {
  const maps = decodeArray(model.get("maps"));
  const pictures = decodeArray(model.get("images"));
  const [steps, images, layers, heads, tokens] = maps.shape;
  const [, height, width] = pictures.shape;
  const patch = model.get("patch_size");
  const prefix = model.get("num_prefix_tokens");
  const [rows, columns] = [height / patch, width / patch];
  const patches = rows * columns;

  const between = new Float64Array(patches * patches);
  for (let q = 0; q < patches; q += 1) {
    for (let k = 0; k < patches; k += 1) {
      const down = Math.floor(q / columns) - Math.floor(k / columns);
      const right = (q % columns) - (k % columns);
      between[q * patches + k] = patch * Math.hypot(down, right);
    }
  }

  // The weights that one query token gives to all tokens.
  function weights(step, image, layer, head, token) {
    const map = ((step * images + image) * layers + layer) * heads + head;
    const start = (map * tokens + token) * tokens;
    return maps.data.subarray(start, start + tokens);
  }
  // Dividing by the total drops the class token and renormalises. A row with
  // no weight on any patch counts as 0, as in vitedu.analysis.attention_maps.
  function patchDistance(row, query) {
    let total = 0;
    let sum = 0;
    for (let key = 0; key < patches; key += 1) {
      total += row[prefix + key];
      sum += row[prefix + key] * between[query * patches + key];
    }
    return total > 0 ? sum / total : 0;
  }
  function meanOverPatches(rowOf) {
    let sum = 0;
    for (let q = 0; q < patches; q += 1) sum += patchDistance(rowOf(q), q);
    return sum / patches;
  }

  const distances = new Float64Array(steps * images * layers * heads);
  for (let map = 0; map < distances.length; map += 1) {
    distances[map] = meanOverPatches((query) =>
      weights(0, 0, 0, map, prefix + query));
  }
  const hasAverage = model.get("has_average");
  const averages = decodeArray(model.get("mean_distance")).data;
  const known = hasAverage ? averages : [];
  const flat = new Float64Array(tokens).fill(1);
  const all = layers * heads;
  return {
    steps: decodeArray(model.get("steps")).data,
    names: model.get("image_names"), hasAverage,
    images, layers, heads, rows, columns, patches, patch, prefix,
    width, height, pictures, weights, patchDistance,
    uniform: meanOverPatches(() => flat),
    uniformFrom: (query) => patchDistance(flat, query),
    largest: Math.max(...distances, ...known),
    smallest: Math.min(...distances, ...known),
    // Of all heads, layer by layer.
    ofImage: (step, image) => distances.subarray(
      (step * images + image) * all, (step * images + image + 1) * all),
    ofAverage: (step) => averages.subarray(step * all, (step + 1) * all),
  };
}

export function compute(settings, data) {
  const { step, image, layer, head, row, column, query, dots } = settings;
  const byClass = query === CLASS;
  const patch = row * data.columns + column;
  const chosen = layer * data.heads + head;
  const distancesAt = (at) =>
    (dots === "average" ? data.ofAverage(at) : data.ofImage(at, image));
  const weights = data.weights(
    step, image, layer, head, byClass ? 0 : data.prefix + patch,
  );
  const toPatches = weights.subarray(data.prefix);
  const largest = Math.max(...toPatches);
  const most = toPatches.indexOf(largest);
  const distance = data.ofImage(step, image)[chosen];
  const reach = data.patchDistance(weights, patch);
  const uniformReach = data.uniformFrom(patch);
  return {
    ...settings, byClass, patch, chosen, toPatches, largest, most, distance,
    reach, uniformReach, toClass: weights[0], shown: byClass ? most : patch,
    average: data.hasAverage ? data.ofAverage(step)[chosen] : 0,
    now: distancesAt(step), untrained: distancesAt(0),
    published: {
      step, image, layer, head, row, column, query, distance, most,
      uniform: data.uniform, patchUniform: uniformReach,
      patchDistance: byClass ? "" : reach,
    },
  };
}

export const headColour = (head) => `var(--c-head-${head % 4})`;

export const pixelText = (distance) => distance.toFixed(distance < 10 ? 2 : 1);
