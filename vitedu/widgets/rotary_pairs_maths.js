// The numbers of the explorer RotaryPairs.

import { normalNumbers } from "./core/numbers.js";

export const PAIRS = 8;
export const MOST_APART = 64;
export const CONTENTS = {
  "the same": () => {
    const ones = Array.from({ length: PAIRS }, () => [1, 0]);
    return { query: ones, key: ones };
  },
  drawn: () => {
    const next = normalNumbers(1);
    const [query, key] = [0, 1].map(() =>
      Array.from({ length: PAIRS }, () => [next(), next()]));
    return { query, key };
  },
};

// Radians that each pair turns from one place to the next.
function speedsOf(base) {
  return Array.from({ length: PAIRS }, (_, pair) => base ** (-pair / PAIRS));
}

function turned([x, y], angle) {
  const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
  return [x * cos - y * sin, x * sin + y * cos];
}

// What each pair adds to the score of a query and a key at their places.
function partsOf({ query, key }, speeds, placeOfQuery, placeOfKey) {
  return speeds.map((speed, pair) => {
    const q = turned(query[pair], placeOfQuery * speed);
    const k = turned(key[pair], placeOfKey * speed);
    return (q[0] * k[0] + q[1] * k[1]) / Math.sqrt(2 * PAIRS);
  });
}

function total(numbers) {
  return numbers.reduce((sum, number) => sum + number, 0);
}

export function readings({ key, distance, base, content }) {
  const speeds = speedsOf(base);
  const vectors = CONTENTS[content]();
  const parts = partsOf(vectors, speeds, key + distance, key);
  const curve = Array.from({ length: MOST_APART + 1 }, (_, apart) =>
    total(partsOf(vectors, speeds, key + apart, key)));
  const hands = (name, place) => vectors[name].map((pair, at) =>
    turned(pair, place * speeds[at]));
  // The largest score that these lengths could have.
  const most = total(vectors.query.map((pair, at) =>
    Math.hypot(...pair) * Math.hypot(...vectors.key[at])))
    / Math.sqrt(2 * PAIRS);
  return {
    key, distance, base, content, speeds, parts, curve, most,
    queries: hands("query", key + distance), keys: hands("key", key),
    score: total(parts), slowest: (180 / Math.PI) * distance * speeds.at(-1),
    fastest: (180 / Math.PI) * distance,
  };
}
