// From a photograph to what a network reads, as `preprocess` of
// vitedu.data.photographs does it, and from tokens to colours.

import { dot } from "./own_photograph_network.js";

// The centre square of a picture in red, green, blue and alpha, (row, column,
// 4) from 0 to 255: pixels in [0, 1], (3, side, side).
export function centreSquare({ data, width, height }, side) {
  const shorter = Math.min(width, height);
  const [columns, rows] = [width, height].map((length) => {
    const resized = Math.floor(length * side / shorter);
    return smoothTaps(length, resized, halfToEven((resized - side) / 2), side);
  });
  const top = rows[0].first;
  const bottom = rows.at(-1).first + rows.at(-1).shares.length;
  // Columns first, of the lines that are needed.
  const lines = new Float32Array((bottom - top) * side * 3);
  for (let line = top; line < bottom; line += 1) {
    for (let column = 0; column < side; column += 1) {
      const { first, shares } = columns[column];
      let from = 4 * (line * width + first);
      let [red, green, blue] = [0, 0, 0];
      for (const share of shares) {
        red += share * data[from];
        green += share * data[from + 1];
        blue += share * data[from + 2];
        from += 4;
      }
      const to = 3 * ((line - top) * side + column);
      lines[to] = red;
      lines[to + 1] = green;
      lines[to + 2] = blue;
    }
  }
  const square = new Float32Array(3 * side * side);
  const sums = new Float64Array(3 * side);
  for (let row = 0; row < side; row += 1) {
    sums.fill(0);
    rows[row].shares.forEach((share, n) => {
      const from = 3 * side * (rows[row].first - top + n);
      for (let i = 0; i < 3 * side; i += 1) sums[i] += share * lines[from + i];
    });
    for (let i = 0; i < 3 * side; i += 1) {
      const place = i % 3 * side * side + row * side + Math.floor(i / 3);
      // Bicubic interpolation overshoots at edges.
      square[place] = Math.min(1, Math.max(0, sums[i] / 255));
    }
  }
  return square;
}

// Of `count` of `to` places, from `offset` on, which of `from` places each is
// made of, and their shares: bicubic, a = -0.5, as wide as what one place of
// the smaller picture covers.
function smoothTaps(from, to, offset, count) {
  const cubic = (x) => {
    const d = Math.abs(x);
    if (d >= 2) return 0;
    return d < 1 ? (1.5 * d - 2.5) * d * d + 1
      : ((-0.5 * d + 2.5) * d - 4) * d + 2;
  };
  const wide = Math.max(1, from / to);
  return Array.from({ length: count }, (_, i) => {
    const middle = (offset + i + 0.5) * from / to;
    const first = Math.max(0, Math.trunc(middle - 2 * wide + 0.5));
    const end = Math.min(from, Math.trunc(middle + 2 * wide + 0.5));
    const shares = Array.from({ length: end - first }, (_, n) =>
      cubic((first + n - middle + 0.5) / wide));
    const total = shares.reduce((sum, share) => sum + share, 0);
    return { first, shares: shares.map((share) => share / total) };
  });
}

// As Python rounds.
function halfToEven(x) {
  const below = Math.floor(x);
  return x - below === 0.5 ? below + below % 2 : Math.round(x);
}

// Pixels in [0, 1] as a network wants them.
export function normalised(square, { mean, std }) {
  const each = square.length / 3;
  return square.map((value, i) => {
    const channel = Math.floor(i / each);
    return (value - mean[channel]) / std[channel];
  });
}

// The means of squares of an image, (3, side, side): (3, count, count).
export function averaged(image, side, count) {
  const each = side / count;
  const means = new Float32Array(3 * count * count);
  image.forEach((value, i) => {
    const row = Math.floor(i / side) % side;
    const square = Math.floor(row / each) * count
      + Math.floor(i % side / each);
    means[Math.floor(i / (side * side)) * count * count + square] +=
      value / (each * each);
  });
  return means;
}

// The first principal components of rows, (row, width): (row, 3), the largest
// first. Each is turned so that few rows stand out with large numbers rather
// than with small ones.
export function principalComponents(rows, width, most = 3) {
  const count = rows.length / width;
  const centred = centre(rows, width);
  const covariance = products(centred, width);
  const found = leadingVectors(covariance, width, most);
  const scores = new Float32Array(count * most);
  found.forEach((vector, n) => {
    const along = Float64Array.from({ length: count }, (_, row) =>
      dot(centred, row * width, vector, 0, width));
    const skewed = along.reduce((sum, x) => sum + x ** 3, 0);
    along.forEach((x, row) => {
      scores[row * most + n] = skewed < 0 ? -x : x;
    });
  });
  return scores;
}

function centre(rows, width) {
  const mean = new Float64Array(width);
  rows.forEach((x, i) => (mean[i % width] += x * width / rows.length));
  return Float32Array.from(rows, (x, i) => x - mean[i % width]);
}

// The products of columns with columns, summed over rows: (width, width).
function products(rows, width) {
  const sums = new Float64Array(width * width);
  for (let row = 0; row < rows.length; row += width) {
    for (let i = 0; i < width; i += 1) {
      const x = rows[row + i];
      for (let j = 0; j <= i; j += 1) sums[i * width + j] += x * rows[row + j];
    }
  }
  for (let i = 0; i < width; i += 1) {
    for (let j = 0; j < i; j += 1) sums[j * width + i] = sums[i * width + j];
  }
  return sums;
}

// Eigenvectors of the largest eigenvalues of a symmetric matrix, by orthogonal
// iteration: multiply all, make each orthogonal to those before it.
function leadingVectors(matrix, width, most) {
  const vectors = Array.from({ length: most }, (_, n) =>
    Float64Array.from({ length: width }, (_, i) => Math.cos((n + 1) * i)));
  for (let step = 0, moves = 1; step < 1000 && moves > 1e-6; step += 1) {
    moves = 0;
    vectors.forEach((vector, n) => {
      const next = Float64Array.from({ length: width }, (_, i) =>
        dot(matrix, i * width, vector, 0, width));
      for (const before of vectors.slice(0, n)) {
        const along = dot(before, 0, next, 0, width);
        for (let i = 0; i < width; i += 1) next[i] -= along * before[i];
      }
      const length = Math.sqrt(dot(next, 0, next, 0, width)) || 1;
      for (let i = 0; i < width; i += 1) {
        const now = next[i] / length;
        moves = Math.max(moves, Math.abs(now - vector[i]));
        vector[i] = now;
      }
    });
  }
  return vectors;
}

// Columns of numbers as shares of 0 to 255: the hundredth part at each end is
// cut off.
export function asColours(scores, most = 3) {
  const colours = new Uint8ClampedArray(scores.length);
  for (let n = 0; n < most; n += 1) {
    const column = scores.filter((_, i) => i % most === n);
    const sorted = column.slice().sort();
    const at = (share) => sorted[Math.round(share * (sorted.length - 1))];
    const [low, high] = [at(0.01), at(0.99)];
    column.forEach((x, row) => {
      colours[row * most + n] = 255 * (x - low) / (high - low || 1);
    });
  }
  return colours;
}
