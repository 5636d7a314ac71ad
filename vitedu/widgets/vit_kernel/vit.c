// The arithmetic of a Vision Transformer for one image, on WebAssembly's
// vectors of four numbers. There is no library and no allocation: the caller
// lays everything out in memory and passes addresses. Tokens are rows, their
// number a multiple of 4; widths are multiples of 8.
//
// `kernel_plain.js` does the same in JavaScript, under the same names.
#include <stdint.h>
#include <wasm_simd128.h>

#define EXPORT(name) __attribute__((export_name(#name))) void name

typedef v128_t f32x4;

enum {
  TILE = 4,        // rows that share what they read of a panel
  PANEL = 8,       // columns of a matrix, interleaved: two vectors
  BLOCK = 256,     // rows that stay in the second cache
  DEEPEST = 4096,  // inputs of a linear map, at most
  HEAD = 64,       // width of a head
  QUERIES = 64,    // queries whose scores are held at once
};

static float panel[PANEL * DEEPEST];

static inline f32x4 splat(float x) { return wasm_f32x4_splat(x); }
static inline f32x4 load(const float *at) { return wasm_v128_load(at); }
static inline void store(float *at, f32x4 x) { wasm_v128_store(at, x); }

// a * b + c: rounded once where the machine can, else twice.
static inline f32x4 multiply_add(f32x4 a, f32x4 b, f32x4 c) {
#ifdef __wasm_relaxed_simd__
  return __builtin_wasm_relaxed_madd_f32x4(a, b, c);
#else
  return wasm_f32x4_add(wasm_f32x4_mul(a, b), c);
#endif
}

static inline float sum(f32x4 x) {
  return wasm_f32x4_extract_lane(x, 0) + wasm_f32x4_extract_lane(x, 1) +
         wasm_f32x4_extract_lane(x, 2) + wasm_f32x4_extract_lane(x, 3);
}

// 2^k times e^r with |r| <= ln 2 / 2, where seven terms of the series are
// right to single precision. Below -87 the result would not be normal.
static inline f32x4 exponential(f32x4 x) {
  x = wasm_f32x4_max(x, splat(-87.0f));
  f32x4 k = wasm_f32x4_nearest(wasm_f32x4_mul(x, splat(1.44269504f)));
  // ln 2 in two parts, of which the first has few digits: k times it is exact.
  f32x4 r = multiply_add(k, splat(-0.693359375f), x);
  r = multiply_add(k, splat(2.12194440e-4f), r);
  f32x4 series = splat(1.0f / 5040);
  series = multiply_add(series, r, splat(1.0f / 720));
  series = multiply_add(series, r, splat(1.0f / 120));
  series = multiply_add(series, r, splat(1.0f / 24));
  series = multiply_add(series, r, splat(1.0f / 6));
  series = multiply_add(series, r, splat(0.5f));
  series = multiply_add(series, r, splat(1.0f));
  series = multiply_add(series, r, splat(1.0f));
  v128_t power = wasm_i32x4_shl(wasm_i32x4_trunc_sat_f32x4(k), 23);
  return wasm_i32x4_add(series, power);
}

// to[row][0..7] = start[0..7] + sum over k of from[row][k] panel[k][0..7]
static void multiply(const float *from, int from_width, const float *columns,
                     int depth, const float *start, float *to, int to_width,
                     int rows) {
  for (int row = 0; row < rows; row += TILE) {
    const float *a = from + row * from_width;
    f32x4 low[TILE], high[TILE];
#pragma clang loop unroll(full)
    for (int i = 0; i < TILE; i++) {
      low[i] = load(start);
      high[i] = load(start + 4);
    }
    for (int k = 0; k < depth; k++) {
      f32x4 first = load(columns + PANEL * k);
      f32x4 second = load(columns + PANEL * k + 4);
#pragma clang loop unroll(full)
      for (int i = 0; i < TILE; i++) {
        f32x4 x = wasm_v128_load32_splat(a + i * from_width + k);
        low[i] = multiply_add(x, first, low[i]);
        high[i] = multiply_add(x, second, high[i]);
      }
    }
#pragma clang loop unroll(full)
    for (int i = 0; i < TILE; i++) {
      store(to + (row + i) * to_width, low[i]);
      store(to + (row + i) * to_width + 4, high[i]);
    }
  }
}

// to = from W^T + bias. W is held in panels of eight outputs, (output / 8,
// input, 8) in int8, with a scale for each output.
EXPORT(linear)(const int8_t *weight, const float *scale, const float *bias,
               const float *from, float *to, int rows, int inputs,
               int outputs) {
  for (int row = 0; row < rows; row += BLOCK) {
    int count = rows - row < BLOCK ? rows - row : BLOCK;
    for (int output = 0; output < outputs; output += PANEL) {
      const int8_t *packed = weight + output * inputs;
      f32x4 first = load(scale + output), second = load(scale + output + 4);
      for (int k = 0; k < inputs; k++) {
        v128_t eight = wasm_i16x8_load8x8(packed + PANEL * k);
        f32x4 low = wasm_f32x4_convert_i32x4(
            wasm_i32x4_extend_low_i16x8(eight));
        f32x4 high = wasm_f32x4_convert_i32x4(
            wasm_i32x4_extend_high_i16x8(eight));
        store(panel + PANEL * k, wasm_f32x4_mul(first, low));
        store(panel + PANEL * k + 4, wasm_f32x4_mul(second, high));
      }
      multiply(from + row * inputs, inputs, panel, inputs, bias + output,
               to + row * outputs + output, outputs, count);
    }
  }
}

EXPORT(layerNorm)(const float *gain, const float *bias, const float *from,
                   float *to, int rows, int width) {
  for (; rows > 0; rows--, from += width, to += width) {
    f32x4 total = splat(0), squares = splat(0);
    for (int j = 0; j < width; j += 4)
      total = wasm_f32x4_add(total, load(from + j));
    f32x4 mean = splat(sum(total) / width);
    for (int j = 0; j < width; j += 4) {
      f32x4 x = wasm_f32x4_sub(load(from + j), mean);
      squares = multiply_add(x, x, squares);
    }
    float variance = sum(squares) / width;
    f32x4 scale = splat(1 / __builtin_sqrtf(variance + 1e-6f));
    for (int j = 0; j < width; j += 4) {
      f32x4 x = wasm_f32x4_sub(load(from + j), mean);
      x = wasm_f32x4_mul(x, scale);
      store(to + j, multiply_add(x, load(gain + j), load(bias + j)));
    }
  }
}

// x / 2 (1 + erf(x / sqrt 2)), with erf after Abramowitz and Stegun, 7.1.26,
// which errs by at most 1.5e-7.
EXPORT(gelu)(float *at, int count) {
  const f32x4 one = splat(1);
  for (int j = 0; j < count; j += 4) {
    f32x4 x = load(at + j);
    f32x4 z = wasm_f32x4_mul(wasm_f32x4_abs(x), splat(0.707106781f));
    f32x4 t = wasm_f32x4_div(one, multiply_add(splat(0.3275911f), z, one));
    f32x4 series = splat(1.061405429f);
    series = multiply_add(series, t, splat(-1.453152027f));
    series = multiply_add(series, t, splat(1.421413741f));
    series = multiply_add(series, t, splat(-0.284496736f));
    series = multiply_add(series, t, splat(0.254829592f));
    f32x4 tail = exponential(wasm_f32x4_neg(wasm_f32x4_mul(z, z)));
    tail = wasm_f32x4_mul(wasm_f32x4_mul(series, t), tail);
    f32x4 error = wasm_f32x4_sub(one, tail);
    v128_t sign = wasm_v128_and(x, splat(-0.0f));
    error = wasm_v128_or(error, sign);
    f32x4 half = wasm_f32x4_mul(x, splat(0.5f));
    store(at + j, multiply_add(half, error, half));
  }
}

// to += gamma * from: a branch comes back to the tokens, through LayerScale.
EXPORT(addScaled)(const float *gamma, const float *from, float *to, int rows,
                   int width) {
  for (; rows > 0; rows--, from += width, to += width)
    for (int j = 0; j < width; j += 4)
      store(to + j,
            multiply_add(load(gamma + j), load(from + j), load(to + j)));
}

static void softmax(float *scores, int count, int padded) {
  // What only fills the last vector gets no weight.
  for (int j = count; j < padded; j++) scores[j] = -1e30f;
  f32x4 most = load(scores), total = splat(0);
  for (int j = 4; j < padded; j += 4)
    most = wasm_f32x4_max(most, load(scores + j));
  most = wasm_f32x4_max(most, wasm_i32x4_shuffle(most, most, 2, 3, 0, 1));
  most = wasm_f32x4_max(most, wasm_i32x4_shuffle(most, most, 1, 0, 3, 2));
  for (int j = 0; j < padded; j += 4) {
    f32x4 weight = exponential(wasm_f32x4_sub(load(scores + j), most));
    store(scores + j, weight);
    total = wasm_f32x4_add(total, weight);
  }
  f32x4 share = splat(1 / sum(total));
  for (int j = 0; j < padded; j += 4)
    store(scores + j, wasm_f32x4_mul(load(scores + j), share));
}

// One head of the attention of all tokens to all. `q`, `k`, `v` and `to` are
// its columns in rows of `width`; `count` tokens are real, up to a multiple of
// 4 are computed. `space` has room for keys, values and 64 rows of scores.
EXPORT(attend)(const float *q, const float *k, const float *v, float *to,
               float *space, int count, int width) {
  static const float zero[PANEL];
  int rows = (count + TILE - 1) / TILE * TILE;
  int padded = (count + PANEL - 1) / PANEL * PANEL;
  float *keys = space, *values = keys + padded * HEAD;
  float *scores = values + padded * HEAD;
  for (int j = 0; j < padded; j++)
    for (int i = 0; i < HEAD; i++) {
      float *at = keys + j / PANEL * PANEL * HEAD + PANEL * i + j % PANEL;
      *at = j < count ? k[j * width + i] * 0.125f : 0;  // 1 / sqrt(64)
    }
  for (int i = 0; i < HEAD; i += PANEL)
    for (int j = 0; j < count; j++) {
      float *at = values + i * count + PANEL * j;
      store(at, load(v + j * width + i));
      store(at + 4, load(v + j * width + i + 4));
    }
  for (int row = 0; row < rows; row += QUERIES) {
    int some = rows - row < QUERIES ? rows - row : QUERIES;
    for (int j = 0; j < padded; j += PANEL)
      multiply(q + row * width, width, keys + j * HEAD, HEAD, zero,
               scores + j, padded, some);
    for (int i = 0; i < some; i++) softmax(scores + i * padded, count, padded);
    for (int i = 0; i < HEAD; i += PANEL)
      multiply(scores, padded, values + i * count, count, zero,
               to + row * width + i, width, some);
  }
}
