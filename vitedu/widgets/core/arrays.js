// Arrays, as Python sends and takes them.

// A typed array in rows.
export function inRows(data, columns) {
  return Array.from({ length: data.length / columns }, (_, row) =>
    data.subarray(row * columns, (row + 1) * columns));
}

// {data: DataView, shape, dtype} as Python sent it -> {data: typed, shape}.
export function decodeArray({ data, shape, dtype }) {
  const bytes = data.buffer.slice(
    data.byteOffset, data.byteOffset + data.byteLength,
  );
  const typed = {
    float64: Float64Array, float32: Float32Array, int32: Int32Array,
    uint8: Uint8Array, float16: Uint16Array, bool: Uint8Array,
  }[dtype];
  if (!typed) throw new TypeError(`cannot decode an array of ${dtype}`);
  const raw = new typed(bytes);
  return { data: dtype === "float16" ? fromHalf(raw) : raw, shape };
}

// What Python sent in rows: one for each place of its first axis.
export function rowsOf(array) {
  const { data, shape } = decodeArray(array);
  return inRows(data, data.length / shape[0]);
}

// The way back, for an array that the page changed: `data` is typed as Python
// had sent it (not float16).
export function encodeArray({ data, shape }, dtype) {
  const { buffer, byteOffset, byteLength } = data;
  return { data: new DataView(buffer, byteOffset, byteLength), shape, dtype };
}

// IEEE 754 half precision: 1 bit sign, 5 bits exponent, 10 bits fraction.
export function fromHalf(halves) {
  return Float32Array.from(halves, (half) => {
    const sign = half & 0x8000 ? -1 : 1;
    const exponent = (half >> 10) & 0x1f;
    const fraction = half & 0x3ff;
    if (exponent === 0) return sign * fraction * 2 ** -24;
    return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
  });
}
