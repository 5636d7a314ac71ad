// A Vision Transformer that runs on one photograph and remembers what it
// computed: of every layer the tokens, the queries and the keys.

import { plainKernel } from "./own_photograph_plain.js";

// Where everything is, from `base` on: the arrays of the file, what is kept of
// each grid, and room to compute in.
function layOut(header, grids, base) {
  const { config: { d_model: width, num_layers: layers }, bytes } = header;
  let end = base;
  function take(length) {
    const place = end;
    end = Math.ceil((end + length) / 16) * 16;
    return place;
  }
  const weights = take(bytes);
  const counts = grids.map((grid) => 1 + grid * grid);
  const rows = counts.map((count) => Math.ceil(count / 4) * 4);
  const most = Math.max(...rows);
  const padded = Math.ceil(most / 8) * 8;
  const kept = Object.fromEntries(grids.map((grid, i) => {
    const all = () => Array.from(
      { length: layers }, () => take(4 * rows[i] * width),
    );
    return [grid, {
      grid, count: counts[i], rows: rows[i],
      tokens: all(), q: all(), k: all(),
    }];
  }));
  const scratch = {
    x: take(4 * most * width), y: take(4 * most * width),
    v: take(4 * most * width),
    // Hidden numbers of an MLP, or the pixels of patches.
    wide: take(4 * most * 4 * width),
    space: take(4 * (2 * 64 + 64) * padded),
  };
  return { weights, kept, scratch, end };
}

// The kernel in WebAssembly with its memory; null where this one does not run.
async function compiledKernel(code, layOutFrom) {
  try {
    if (!WebAssembly.validate(code)) return null;
    const { instance } = await WebAssembly.instantiate(code);
    const { memory, __heap_base: heap, ...functions } = instance.exports;
    const plan = layOutFrom(Math.ceil(heap.value / 16) * 16);
    const missing = plan.end - memory.buffer.byteLength;
    memory.grow(Math.max(0, Math.ceil(missing / 65536)));
    return { functions, plan, buffer: memory.buffer };
  } catch (error) {
    // A page's policy may forbid it.
    if (error instanceof RangeError) throw error;
    return null;
  }
}

// `kinds` are tried in this order.
async function findKernel(file, header, layOutFrom, kinds) {
  for (const kind of kinds) {
    if (kind === "plain") {
      const plan = layOutFrom(0);
      const buffer = new ArrayBuffer(plan.end);
      return { kind, functions: plainKernel(buffer), plan, buffer };
    }
    const [at, , [length]] = header.arrays[`kernel.${kind}`];
    const first = header.start + at;
    const code = file.subarray(first, first + length);
    const found = await compiledKernel(code, layOutFrom);
    if (found) return { kind, ...found };
  }
  throw new Error("no kernel runs here");
}

// `file` is what `pack_network` wrote, `header` what `readHeader` found in it.
export async function makeNetwork(
  file, header, grids, kinds = ["relaxed", "simd", "plain"],
) {
  const { config, arrays, start } = header;
  const { d_model: width, num_heads: heads, num_layers: layers } = config;
  const side = config.patch_size;
  const { kind, functions, plan, buffer } = await findKernel(
    file, header, (base) => layOut(header, grids, base), kinds,
  );
  const { linear, layerNorm, gelu, addScaled, attend } = functions;
  const { x, y, v, wide, space } = plan.scratch;
  const numbers = new Float32Array(buffer);
  new Uint8Array(buffer).set(file.subarray(start), plan.weights);

  const address = (name) => plan.weights + arrays[name][0];
  const view = (place, length) =>
    numbers.subarray(place / 4, place / 4 + length);
  const vector = (name) => view(address(name), arrays[name][2][0]);

  // Outputs `first` to `first + outputs` of a linear map.
  function apply(name, from, to, rows, outputs, first = 0) {
    const [, , [panels, inputs]] = arrays[`${name}.weight`];
    linear(
      address(`${name}.weight`) + first * inputs,
      address(`${name}.weight.scale`) + 4 * first,
      address(`${name}.bias`) + 4 * first,
      from, to, rows, inputs, outputs ?? 8 * panels,
    );
  }
  function norm(name, from, to, rows) {
    layerNorm(
      address(`${name}.weight`), address(`${name}.bias`), from, to, rows,
      width,
    );
  }

  // The learned table, 37 x 37, resampled to a grid: bicubic, a = -0.75, each
  // place at the middle of its square, without smoothing.
  function addPositions(grid) {
    const [, , [table]] = arrays.positions;
    const size = Math.sqrt(table);
    const bytes = new Int8Array(buffer, address("positions"), table * width);
    const scale = vector("positions.scale");
    const taps = cubicTaps(size, grid);
    for (let row = 0; row < grid; row += 1) {
      for (let column = 0; column < grid; column += 1) {
        const to = x / 4 + (1 + row * grid + column) * width;
        for (const [above, down] of taps[row]) {
          for (const [left, across] of taps[column]) {
            const place = above * size + left;
            const share = down * across * scale[place];
            if (share === 0) continue;
            for (let j = 0; j < width; j += 1) {
              numbers[to + j] += share * bytes[place * width + j];
            }
          }
        }
      }
    }
  }

  // `image` is normalised, (3, grid patches, grid patches) in pixels.
  function embed(image, grid) {
    const pixels = side * grid;
    let to = wide / 4;
    for (let patch = 0; patch < grid * grid; patch += 1) {
      const top = Math.floor(patch / grid) * side;
      const left = (patch % grid) * side;
      for (let line = 0; line < 3 * side; line += 1) {
        const channel = Math.floor(line / side);
        const from =
          (channel * pixels + top + line % side) * pixels + left;
        numbers.set(image.subarray(from, from + side), to);
        to += side;
      }
    }
    apply("patch_embed.proj", wide, x + 4 * width, grid * grid);
    numbers.set(vector("first_token"), x / 4);
    addPositions(grid);
  }

  function block(layer, { rows, count, tokens, q, k }) {
    const name = `blocks.${layer}`;
    norm(`${name}.norm1`, x, y, rows);
    [q[layer], k[layer], v].forEach((to, i) =>
      apply(`${name}.attn.qkv`, y, to, rows, width, i * width));
    for (let head = 0; head < heads; head += 1) {
      const [ofQ, ofK, ofV, to] = [q[layer], k[layer], v, y].map(
        (place) => place + 4 * 64 * head);
      attend(ofQ, ofK, ofV, to, space, count, width);
    }
    // The values are not needed any more.
    apply(`${name}.attn.proj`, y, v, rows);
    addScaled(address(`${name}.ls1.gamma`), v, x, rows, width);
    norm(`${name}.norm2`, x, y, rows);
    apply(`${name}.mlp.fc1`, y, wide, rows);
    gelu(wide, rows * 4 * width);
    apply(`${name}.mlp.fc2`, wide, v, rows);
    addScaled(address(`${name}.ls2.gamma`), v, x, rows, width);
    norm("norm", x, tokens[layer], rows);
  }

  // Runs all blocks. `pause` is told how many are done and returns a promise;
  // false in it stops.
  async function run(image, grid, pause = async () => true) {
    const kept = plan.kept[grid];
    view(x, kept.rows * width).fill(0);
    embed(image, grid);
    for (let layer = 0; layer < layers; layer += 1) {
      block(layer, kept);
      if (!await pause(layer + 1)) return false;
    }
    return true;
  }

  // The tokens after a block and the last norm, (token, d_model), class token
  // first: a view, which the next run fills anew.
  function tokens(grid, layer) {
    const { tokens: all, count } = plan.kept[grid];
    return view(all[layer], count * width);
  }

  // The tokens after the block that has just run, before any norm; only while
  // `run` pauses.
  function stream(grid) {
    return view(x, plan.kept[grid].count * width);
  }

  // How alike every patch is to one of them: cosines, (patch,).
  function similarity(grid, layer, patch) {
    const all = tokens(grid, layer).subarray(width);
    const lengths = Float64Array.from({ length: grid * grid }, (_, i) =>
      Math.sqrt(dot(all, i * width, all, i * width, width)));
    return Float32Array.from(lengths, (length, i) =>
      dot(all, i * width, all, patch * width, width)
        / (length * lengths[patch]));
  }

  // The weights that a patch, or -1 for the class token, gives to every token
  // in each head, (head, token).
  function attention(grid, layer, patch) {
    const { q: queries, k: keys, count } = plan.kept[grid];
    const q = view(queries[layer], count * width);
    const k = view(keys[layer], count * width);
    const weights = new Float32Array(heads * count);
    for (let head = 0; head < heads; head += 1) {
      const first = (1 + patch) * width + 64 * head;
      const scores = Float64Array.from({ length: count }, (_, key) =>
        dot(q, first, k, key * width + 64 * head, 64) / 8);
      const most = Math.max(...scores);
      const shares = scores.map((score) => Math.exp(score - most));
      const total = shares.reduce((sum, share) => sum + share, 0);
      weights.set(shares.map((share) => share / total), head * count);
    }
    return weights;
  }

  return {
    kind, config, run, tokens, stream, similarity, attention,
    bytes: buffer.byteLength,
  };
}

export function dot(a, i, b, j, length) {
  let sum = 0;
  for (let n = 0; n < length; n += 1) sum += a[i + n] * b[j + n];
  return sum;
}

// Of each of `to` places the four of `from` places that it is made of, and
// their shares. What would lie outside is the border.
function cubicTaps(from, to) {
  const a = -0.75;
  const near = (d) => ((a + 2) * d - (a + 3)) * d * d + 1;
  const far = (d) => ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
  return Array.from({ length: to }, (_, i) => {
    const middle = (i + 0.5) * from / to - 0.5;
    const below = Math.floor(middle);
    const d = middle - below;
    return [far(d + 1), near(d), near(1 - d), far(2 - d)].map((share, n) =>
      [Math.min(from - 1, Math.max(0, below - 1 + n)), share]);
  });
}
