// Which number of the photograph stands where in the sequence of its patches.
// A number of the photograph, (row, column, channel), has a flat index.

const CHANNELS = 3;

// How far apart rows, columns and channels stand in a picture that is flattened
// in an order.
const STRIDES = {
  "c p1 p2": (height, width) => [width, 1, height * width],
  "p1 p2 c": (height, width) => [CHANNELS * width, CHANNELS, 1],
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
  const strides = STRIDES[order];
  const [ofRow, ofColumn, ofChannel] = strides(size, size);

  // The numbers of `down` x `across` pieces, each of `tall` x `broad` pixels.
  function sources(along, down, across, tall, broad) {
    const found = new Int32Array(rows * columns * values);
    const [toRow, toColumn, toChannel] = strides(tall, broad);
    const whole = CHANNELS * tall * broad;
    for (let i = 0; i < down; i += 1) {
      for (let j = 0; j < across; j += 1) {
        for (let p1 = 0; p1 < tall; p1 += 1) {
          const line = along(i, p1, tall, down) * width;
          const to = (i * across + j) * whole + p1 * toRow;
          for (let p2 = 0; p2 < broad; p2 += 1) {
            const from = CHANNELS * (line + along(j, p2, broad, across));
            for (let c = 0; c < CHANNELS; c += 1) {
              found[to + p2 * toColumn + c * toChannel] = from + c;
            }
          }
        }
      }
    }
    return found;
  }
  return {
    size, rows, columns, values, high, wide,
    patches: rows * columns, down: height - high, right: width - wide,
    // A reshape takes the memory in equal pieces: nothing is moved, as if all
    // were one patch.
    sources: cut === "reshape"
      ? sources(ALONG.patches, 1, 1, high, wide)
      : sources(ALONG[cut], rows, columns, size, size),
    placeOf: (p1, p2, channel) =>
      p1 * ofRow + p2 * ofColumn + channel * ofChannel,
    partsOf: (place) => [
      Math.floor(place / ofRow) % size, Math.floor(place / ofColumn) % size,
      Math.floor(place / ofChannel) % CHANNELS,
    ],
    origin: (at) => [
      Math.floor(at / (CHANNELS * width)), Math.floor(at / CHANNELS) % width,
      at % CHANNELS,
    ],
  };
}
