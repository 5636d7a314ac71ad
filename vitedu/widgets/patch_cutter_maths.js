// Which number of the photograph stands where in the sequence of its patches.
// A number of the photograph, (row, column, channel), has a flat index.

const CHANNELS = 3;

// The index of a number in a picture that is flattened in an order, and back.
const ORDERS = {
  "c p1 p2": {
    index: ([row, column, channel], height, width) =>
      (channel * height + row) * width + column,
    parts: (index, height, width) => [
      Math.floor(index / width) % height, index % width,
      Math.floor(index / (height * width)),
    ],
  },
  "p1 p2 c": {
    index: ([row, column, channel], height, width) =>
      (row * width + column) * CHANNELS + channel,
    parts: (index, height, width) => [
      Math.floor(index / (CHANNELS * width)),
      Math.floor(index / CHANNELS) % width, index % CHANNELS,
    ],
  },
};

// The row in the photograph of the pixel in row p1 of a patch in row i of the
// grid; columns go the same way.
const ALONG = {
  patches: (i, p1, size) => i * size + p1,
  swapped: (i, p1, size, count) => p1 * count + i,
};

// `sources` holds, for each number of the sequence, its index in the
// photograph.
function cutUp({ height, width }, { size, order, cut }) {
  const [rows, columns] = [height, width].map((s) => Math.floor(s / size));
  const [high, wide] = [rows * size, columns * size];
  const values = CHANNELS * size * size;
  const { index, parts } = ORDERS[order];
  const whole = ORDERS["p1 p2 c"].index;
  const along = ALONG[cut];

  function source(n) {
    // Memory in equal pieces: nothing is moved.
    if (!along) return whole(parts(n, high, wide), height, width);
    const patch = Math.floor(n / values);
    const [p1, p2, channel] = parts(n % values, size, size);
    const row = along(Math.floor(patch / columns), p1, size, rows);
    const column = along(patch % columns, p2, size, columns);
    return whole([row, column, channel], height, width);
  }
  // A number stands in each patch as far from the first as in patch 0.
  function sources() {
    const found = new Int32Array(rows * columns * values);
    const count = along ? values : found.length;
    for (let n = 0; n < count; n++) found[n] = source(n);
    for (let from = count; from < found.length; from += count) {
      const first = source(from);
      for (let n = 0; n < count; n++) found[from + n] = first + found[n];
    }
    return found;
  }
  return {
    size, rows, columns, values, high, wide,
    patches: rows * columns, down: height - high, right: width - wide,
    sources: sources(),
    placeOf: (p1, p2, channel) => index([p1, p2, channel], size, size),
    partsOf: (place) => parts(place, size, size),
    origin: (at) => ORDERS["p1 p2 c"].parts(at, height, width),
  };
}
