// Which number of the photograph stands where in the sequence of its patches.
// A number of the photograph, (row, column, channel), has a flat index.

export const CHANNELS = 3;

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

// Where the numbers of a line of pixels come from: every `apart`-th place of
// `found`, from `to` on. A function of its own, so that a browser learns soon
// to run it fast, and keeps it.
function listLine(found, to, apart, channelsApart, line, columns) {
  for (let p2 = 0; p2 < columns.length; p2 += 1) {
    const from = CHANNELS * (line + columns[p2]);
    for (let c = 0; c < CHANNELS; c += 1) {
      found[to + p2 * apart + c * channelsApart] = from + c;
    }
  }
}

// `sources` holds, for each number of the sequence, its index in the
// photograph. It lies in `memory`, which has room for all of the photograph.
function cutUp({ height, width }, { size, order, cut }, memory) {
  const [rows, columns] = [height, width].map((s) => Math.floor(s / size));
  const [high, wide] = [rows * size, columns * size];
  const values = CHANNELS * size * size;
  const strides = STRIDES[order];
  const [ofRow, ofColumn, ofChannel] = strides(size, size);
  const sources = memory.subarray(0, rows * columns * values);

  // The numbers of `down` x `across` pieces, each of `tall` x `broad` pixels.
  function list(along, down, across, tall, broad) {
    const [toRow, toColumn, toChannel] = strides(tall, broad);
    const whole = CHANNELS * tall * broad;
    for (let j = 0; j < across; j += 1) {
      const ofPiece = Int32Array.from(
        { length: broad }, (_, p2) => along(j, p2, broad, across),
      );
      for (let i = 0; i < down; i += 1) {
        for (let p1 = 0; p1 < tall; p1 += 1) {
          listLine(
            sources, (i * across + j) * whole + p1 * toRow, toColumn,
            toChannel, along(i, p1, tall, down) * width, ofPiece,
          );
        }
      }
    }
  }
  // A reshape takes the memory in equal pieces: nothing is moved, as if all
  // were one patch.
  if (cut === "reshape") list(ALONG.patches, 1, 1, high, wide);
  else list(ALONG[cut], rows, columns, size, size);

  return {
    sources, size, rows, columns, values, high, wide,
    patches: rows * columns, down: height - high, right: width - wide,
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

// Calls `make` only for other values than the last time.
function lastOf(make) {
  let [key, kept] = [];
  return (...values) => {
    if (key !== values.join()) [key, kept] = [values.join(), make(...values)];
    return kept;
  };
}

// A photograph, and what becomes of it; the last sequence and its last row are
// kept, so that one who walks through them waits for nothing.
export function readPhotograph({ data, shape: [height, width] }) {
  const memory = new Int32Array(data.length);
  const cutBy = lastOf((size, order, cut) => {
    const grid = cutUp({ height, width }, { size, order, cut }, memory);
    return { ...grid, numbers: numbersAt(data, grid.sources) };
  });
  // Of the row of a patch: its numbers, their channels, where they are from;
  // and `scattered`, the pixels of a patch that is no square.
  const rowOf = lastOf((size, order, cut, patch) => {
    const { sources: all, values } = cutBy(size, order, cut);
    const sources = all.slice(patch * values, (patch + 1) * values);
    return {
      sources, numbers: numbersAt(data, sources),
      channels: channelsOf(sources), scattered: new Set(cut === "patches"
        ? [] : sources.map((at) => Math.floor(at / CHANNELS))),
    };
  });
  return { data, height, width, cutBy, rowOf };
}

// The photograph's numbers at these places.
function numbersAt(data, places) {
  const found = new Uint8Array(places.length);
  for (let n = 0; n < found.length; n += 1) found[n] = data[places[n]];
  return found;
}

// The channels of numbers of the photograph.
function channelsOf(places) {
  const found = new Uint8Array(places.length);
  for (let n = 0; n < found.length; n += 1) found[n] = places[n] % CHANNELS;
  return found;
}
