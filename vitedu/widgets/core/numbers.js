// Random numbers, softmax and what belongs to it.

// Numbers in [0, 1) from a seed: mulberry32.
export function uniformNumbers(seed) {
  let state = seed >>> 0;
  return function next() {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

// Standard normal numbers from a seed, by Box and Muller.
export function normalNumbers(seed, uniform = uniformNumbers(seed)) {
  let spare = null;
  return function next() {
    if (spare !== null) {
      const kept = spare;
      spare = null;
      return kept;
    }
    const radius = Math.sqrt(-2 * Math.log(1 - uniform()));
    const angle = 2 * Math.PI * uniform();
    spare = radius * Math.sin(angle);
    return radius * Math.cos(angle);
  };
}

export function softmax(scores) {
  let largest = -Infinity;
  for (const score of scores) largest = Math.max(largest, score);
  // Not from() and map(): they take five times as long.
  const weights = new Float64Array(scores.length);
  let total = 0;
  for (let i = 0; i < weights.length; i++) {
    weights[i] = Math.exp(scores[i] - largest);
    total += weights[i];
  }
  for (let i = 0; i < weights.length; i++) weights[i] /= total;
  return weights;
}

// In nats; a weight of zero adds nothing.
export function entropy(weights) {
  let sum = 0;
  for (const weight of weights) {
    if (weight > 0) sum -= weight * Math.log(weight);
  }
  return sum;
}

export function erf(x) {
  if (Math.abs(x) > 6) return Math.sign(x);
  let [sum, term] = [x, x];
  for (let n = 1; Math.abs(term) > 1e-17 * Math.abs(sum); n += 1) {
    term *= (2 * x * x) / (2 * n + 1);
    sum += term;
  }
  return (2 / Math.sqrt(Math.PI)) * Math.exp(-x * x) * sum;
}

export function gelu(x) {
  return (x * (1 + erf(x * Math.SQRT1_2))) / 2;
}
