// One file of weights, read with one number of heads or another.

import { makeReader } from "./follow_digit_maths.js";
import { likeliest } from "./matrices.js";

export function divisors(number) {
  return Array.from({ length: number }, (_, i) => i + 1)
    .filter((one) => number % one === 0);
}

// Of these pictures, those that a reader has been asked about, in order.
function makeTally(reader, pictures, labels) {
  const said = [];
  const isDone = () => said.length === pictures.length;
  // Asks about one more; tells whether there was one.
  function askNext() {
    if (isDone()) return false;
    said.push(likeliest(reader.run(pictures[said.length]).answer.data));
    return true;
  }
  return {
    said, askNext, isDone, know: (answers) => said.push(...answers),
    right: () => said.filter((digit, at) => digit === labels[at]).length,
  };
}

// The network of the file, as a loader makes it that is told so many heads.
export function makeLoaded(bytes, layout, config, pictures, labels) {
  const known = new Map();
  return (heads) => {
    if (!known.has(heads)) {
      const told = { ...config, num_heads: heads };
      const reader = makeReader(bytes, layout, told);
      known.set(heads, { reader, tally: makeTally(reader, pictures, labels) });
    }
    return known.get(heads);
  };
}

// The shapes that the loader compares, as a network with so many heads wants
// them. The number of heads is in none of them.
function wantedShapes({ d_model: width, d_ff: wide, num_heads: heads }) {
  const head = width / heads;
  return {
    "attn.qkv.weight": [3 * heads * head, width],
    "attn.qkv.bias": [3 * heads * head],
    "attn.proj.weight": [width, heads * head],
    "attn.proj.bias": [width],
    "mlp.fc1.weight": [wide, width],
  };
}

// How many arrays of the file have another shape than is wanted.
export function misfits(layout, config) {
  const wanted = wantedShapes(config);
  return Object.entries(layout).filter(([name, [, ...shape]]) => {
    const right = wanted[name.replace(/^blocks\.\d+\./, "")];
    return right && String(right) !== String(shape);
  }).length;
}
