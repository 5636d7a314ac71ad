// The arithmetic of vit_kernel/vit.c in JavaScript, for a browser without
// WebAssembly's vectors. Addresses are bytes of `buffer`, as there.

export function plainKernel(buffer) {
  const bytes = new Int8Array(buffer);
  const at = new Float32Array(buffer);
  const panel = new Float32Array(8 * 4096);
  const zero = new Float32Array(4);

  // to[row][0..3] = start[0..3] + sum over k of from[row][k] columns[8 k ...],
  // of four rows at a time.
  function multiply(
    from, fromWidth, columns, first, depth, start, to, toWidth, rows,
  ) {
    for (let row = 0; row < rows; row += 4) {
      const a = from + row * fromWidth;
      const b = a + fromWidth;
      const c = b + fromWidth;
      const d = c + fromWidth;
      let [a0, a1, a2, a3] = start;
      let [b0, b1, b2, b3] = start;
      let [c0, c1, c2, c3] = start;
      let [d0, d1, d2, d3] = start;
      for (let k = 0, p = first; k < depth; k += 1, p += 8) {
        const w = columns[p];
        const x = columns[p + 1];
        const y = columns[p + 2];
        const z = columns[p + 3];
        const ak = at[a + k];
        const bk = at[b + k];
        const ck = at[c + k];
        const dk = at[d + k];
        a0 += ak * w; a1 += ak * x; a2 += ak * y; a3 += ak * z;
        b0 += bk * w; b1 += bk * x; b2 += bk * y; b3 += bk * z;
        c0 += ck * w; c1 += ck * x; c2 += ck * y; c3 += ck * z;
        d0 += dk * w; d1 += dk * x; d2 += dk * y; d3 += dk * z;
      }
      const o = to + row * toWidth;
      const q = o + toWidth;
      const r = q + toWidth;
      const s = r + toWidth;
      at[o] = a0; at[o + 1] = a1; at[o + 2] = a2; at[o + 3] = a3;
      at[q] = b0; at[q + 1] = b1; at[q + 2] = b2; at[q + 3] = b3;
      at[r] = c0; at[r + 1] = c1; at[r + 2] = c2; at[r + 3] = c3;
      at[s] = d0; at[s + 1] = d1; at[s + 2] = d2; at[s + 3] = d3;
    }
  }

  function linear(weight, scale, bias, from, to, rows, inputs, outputs) {
    for (let output = 0; output < outputs; output += 8) {
      const packed = weight + output * inputs;
      for (let k = 0; k < 8 * inputs; k += 1) {
        panel[k] = at[scale / 4 + output + k % 8] * bytes[packed + k];
      }
      for (const half of [0, 4]) {
        const first = bias / 4 + output + half;
        multiply(
          from / 4, inputs, panel, half, inputs, at.subarray(first, first + 4),
          to / 4 + output + half, outputs, rows,
        );
      }
    }
  }

  function layerNorm(gain, bias, from, to, rows, width) {
    for (let row = 0; row < rows; row += 1) {
      const x = from / 4 + row * width;
      const y = to / 4 + row * width;
      let mean = 0;
      for (let j = 0; j < width; j += 1) mean += at[x + j] / width;
      let variance = 0;
      for (let j = 0; j < width; j += 1) {
        variance += (at[x + j] - mean) ** 2 / width;
      }
      const scale = 1 / Math.sqrt(variance + 1e-6);
      for (let j = 0; j < width; j += 1) {
        at[y + j] =
          (at[x + j] - mean) * scale * at[gain / 4 + j] + at[bias / 4 + j];
      }
    }
  }

  // Of erf the approximation of vit.c.
  function gelu(address, count) {
    for (let j = address / 4; j < address / 4 + count; j += 1) {
      const x = at[j];
      const z = Math.abs(x) * Math.SQRT1_2;
      const t = 1 / (1 + 0.3275911 * z);
      const series = ((((1.061405429 * t - 1.453152027) * t + 1.421413741) * t
        - 0.284496736) * t + 0.254829592) * t;
      const error = Math.sign(x) * (1 - series * Math.exp(-z * z));
      at[j] = x / 2 * (1 + error);
    }
  }

  function addScaled(gamma, from, to, rows, width) {
    for (let row = 0; row < rows; row += 1) {
      for (let j = 0; j < width; j += 1) {
        const place = row * width + j;
        at[to / 4 + place] += at[gamma / 4 + j] * at[from / 4 + place];
      }
    }
  }

  function softmax(first, count) {
    let most = -Infinity;
    for (let j = 0; j < count; j += 1) most = Math.max(most, at[first + j]);
    let total = 0;
    for (let j = 0; j < count; j += 1) {
      at[first + j] = Math.exp(at[first + j] - most);
      total += at[first + j];
    }
    for (let j = 0; j < count; j += 1) at[first + j] /= total;
  }

  function attend(q, k, v, to, space, count, width) {
    const rows = Math.ceil(count / 4) * 4;
    const padded = Math.ceil(count / 8) * 8;
    const keys = space / 4;
    const values = keys + padded * 64;
    const scores = values + padded * 64;
    for (let j = 0; j < padded; j += 1) {
      const place = keys + (j - j % 8) * 64 + j % 8;
      for (let i = 0; i < 64; i += 1) {
        at[place + 8 * i] = j < count ? at[k / 4 + j * width + i] / 8 : 0;
        if (j >= count) continue;
        const value = values + (i - i % 8) * count + 8 * j + i % 8;
        at[value] = at[v / 4 + j * width + i];
      }
    }
    for (let row = 0; row < rows; row += 64) {
      const some = Math.min(64, rows - row);
      for (let j = 0; j < padded; j += 4) {
        multiply(
          q / 4 + row * width, width, at, keys + (j - j % 8) * 64 + j % 8, 64,
          zero, scores + j, padded, some,
        );
      }
      for (let i = 0; i < some; i += 1) softmax(scores + i * padded, count);
      for (let i = 0; i < 64; i += 4) {
        multiply(
          scores, padded, at, values + (i - i % 8) * count + i % 8, count,
          zero, to / 4 + row * width + i, width, some,
        );
      }
    }
  }

  return { linear, layerNorm, gelu, addScaled, attend };
}
