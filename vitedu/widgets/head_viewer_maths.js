// The numbers of the explorer HeadViewer.

import { decodeArray } from "./core/arrays.js";
import { html } from "./core/dom.js";
import { entropy, softmax } from "./core/numbers.js";
import { sentence } from "./core/texts.js";
import WORDS from "./head_viewer.words.json" with { type: "json" };

// The weights of one layer on a word that the reader types. A query is the sum
// of a part for its letter and a part for its place, and so is a key.
function weightsOf(word, letters, asking, offering) {
  const ids = [...word].map((letter) => letters.indexOf(letter));
  const [heads, parts, headDim] = asking.shape;
  const n = ids.length;
  // (place, component) of one head.
  const vectors = ({ data }, head) => ids.map((id, place) => {
    const from = (part) => (head * parts + part) * headDim;
    return Float64Array.from({ length: headDim }, (_, c) =>
      data[from(id) + c] + data[from(letters.length + place) + c]);
  });
  const weights = new Float64Array(heads * n * n);
  for (let head = 0; head < heads; head += 1) {
    const [q, k] = [vectors(asking, head), vectors(offering, head)];
    q.forEach((query, place) => {
      const scores = k.map((key) =>
        query.reduce((sum, number, c) => sum + number * key[c], 0)
          / Math.sqrt(headDim));
      weights.set(softmax(scores), (head * n + place) * n);
    });
  }
  return { data: weights, shape: [1, heads, n, n] };
}

function viewOf({ data, shape }, words, targets = []) {
  const [layers, heads, queries, keys] = shape;
  function row(layer, head, query) {
    const start = ((layer * heads + head) * queries + query) * keys;
    return data.subarray(start, start + keys);
  }
  return {
    layers, heads, queries, keys, row, words,
    all: [...Array(heads).keys()],
    targets: targets.length ? targets : words,
    // Places in two sequences have no distance.
    hasOffset: !targets.length,
  };
}

// `of` gives the weights of a word, or of the tokens where none is typed: the
// same object, until it is asked for another word.
export function readData(model) {
  const [weights, asking, offering] = ["weights", "asking", "offering"]
    .map((name) => decodeArray(model.get(name)));
  const letters = [...model.get("letters")];
  let latest;
  function of(word) {
    if (latest?.word === word) return latest.view;
    const view = word
      ? viewOf(weightsOf(word, letters, asking, offering), [...word])
      : viewOf(weights, model.get("tokens"), model.get("targets"));
    latest = { word, view };
    return view;
  }
  return {
    of, letters, mostLetters: asking.shape[1] - letters.length,
    starts: model.get("words"), layers: weights.shape[0],
    opening: { layer: model.get("layer"), word: model.get("word") },
  };
}

export function readRow(row, query) {
  const largest = Math.max(...row);
  const offset = row.reduce((sum, weight, key) =>
    sum + weight * (key - query), 0);
  const most = row.indexOf(largest);
  return { most, largest, entropy: entropy(row), offset };
}

// A word may be too short for the query.
export function compute({ layer, query: asked, heads, word }, given) {
  const data = given.of(word);
  const query = Math.min(asked, data.queries - 1);
  const rows = data.all.map((head) => data.row(layer, head, query));
  const read = rows.map((row) => readRow(row, query));
  const listed = (name) => read.map((values) => values[name]);
  return {
    data, layer, query, heads, word, rows, read, published: {
      layer, query, heads, word, most: listed("most"),
      largest: listed("largest"), entropy: listed("entropy"),
      offset: listed("offset"),
    },
  };
}

// Four colours serve eight heads: those of the second four are drawn dashed
// and hollow.
export const headClass = (head) => (head < 4 ? "first" : "second");

export const headColour = (head) => `var(--c-head-${head % 4})`;

export function headName(head) {
  return html(
    "span", { class: `head-name ${headClass(head)}` },
    html("span", { class: "swatch", style: `color: ${headColour(head)}` }),
    sentence(WORDS.head, { head: head + 1 }),
  );
}
