// The layers of the explorer ReverseTrainer, forwards and backwards by hand.
// All arrays are made once, none in a training step. Numbers are of
// double precision, which is also faster here: JavaScript computes in it, so
// that nothing has to be converted.

export const LENGTH = 10;
export const BATCH = 16;
export const D_MODEL = 32;
const EPS = 1e-6;

// A matrix is a view into numbers: entry (i, j) of it stands at
// start + i * down + j * right. To transpose is to exchange the two steps.
export function matrix(data, rows, columns, start = 0, down = columns, right = 1) {
  return { data, rows, columns, start, down, right };
}

function transposed({ data, rows, columns, start, down, right }) {
  return matrix(data, columns, rows, start, right, down);
}

// out += factor * a b. Two rows and two columns at a time, so that a number
// that was read serves twice: all sizes here are even.
function addProduct(out, a, b, factor = 1) {
  const { data: sums, down, right } = out;
  const { data: left, right: stepA } = a;
  const { data: above, down: stepB } = b;
  const { rows, columns } = out;
  const inner = a.columns;
  for (let i = 0; i < rows; i += 2) {
    for (let j = 0; j < columns; j += 2) {
      let p = a.start + i * a.down;
      let q = p + a.down;
      let r = b.start + j * b.right;
      let s = r + b.right;
      let pr = 0, ps = 0, qr = 0, qs = 0;
      for (let k = 0; k < inner; k++) {
        const first = left[p], second = left[q];
        const third = above[r], fourth = above[s];
        pr += first * third;
        ps += first * fourth;
        qr += second * third;
        qs += second * fourth;
        p += stepA;
        q += stepA;
        r += stepB;
        s += stepB;
      }
      const at = out.start + i * down + j * right;
      sums[at] += factor * pr;
      sums[at + right] += factor * ps;
      sums[at + down] += factor * qr;
      sums[at + down + right] += factor * qs;
    }
  }
}

// Numbers with their gradients, (rows, columns).
export function tensor(rows, columns) {
  const zeros = () =>
    matrix(new Float64Array(rows * columns), rows, columns);
  return { value: zeros(), grad: zeros() };
}

// Each layer is made once, between the tensors that it reads and writes. Its
// `backward` adds to the gradients of what it reads.

// y = x W' + b, with W (out, in) as PyTorch keeps it.
export function linear(x, { weight, bias }, y) {
  const turned = transposed(weight.value);
  const turnedGrad = transposed(y.grad);
  const { rows, columns } = y.value;
  const [out, outGrad] = [y.value.data, y.grad.data];
  return {
    forward() {
      for (let i = 0; i < rows; i++) out.set(bias.value.data, i * columns);
      addProduct(y.value, x.value, turned);
    },
    backward() {
      const toBias = bias.grad.data;
      for (let i = 0, at = 0; i < rows; i++) {
        for (let j = 0; j < columns; j++, at++) toBias[j] += outGrad[at];
      }
      addProduct(weight.grad, turnedGrad, x.value);
      addProduct(x.grad, y.grad, weight.value);
    },
  };
}

// y = weight * (x - mean) / sqrt(variance + EPS) + bias, token by token.
export function layerNorm(x, { weight, bias }, y) {
  const { rows, columns } = x.value;
  const [from, to] = [x.value.data, y.value.data];
  const [fromGrad, toGrad] = [x.grad.data, y.grad.data];
  const [gain, shift] = [weight.value.data, bias.value.data];
  const [gainGrad, shiftGrad] = [weight.grad.data, bias.grad.data];
  const normal = new Float64Array(rows * columns);
  const inverse = new Float64Array(rows);
  return {
    forward() {
      for (let i = 0; i < rows; i++) {
        const start = i * columns;
        let mean = 0;
        for (let j = 0; j < columns; j++) mean += from[start + j];
        mean /= columns;
        let variance = 0;
        for (let j = 0; j < columns; j++) {
          variance += (from[start + j] - mean) ** 2;
        }
        inverse[i] = 1 / Math.sqrt(variance / columns + EPS);
        for (let j = 0; j < columns; j++) {
          normal[start + j] = (from[start + j] - mean) * inverse[i];
          to[start + j] = gain[j] * normal[start + j] + shift[j];
        }
      }
    },
    // A norm swallows what moves all features alike, and what stretches
    // them: both parts are taken out of the gradient.
    backward() {
      for (let i = 0; i < rows; i++) {
        const start = i * columns;
        let alike = 0, stretch = 0;
        for (let j = 0; j < columns; j++) {
          const up = toGrad[start + j];
          gainGrad[j] += up * normal[start + j];
          shiftGrad[j] += up;
          alike += up * gain[j];
          stretch += up * gain[j] * normal[start + j];
        }
        alike /= columns;
        stretch /= columns;
        for (let j = 0; j < columns; j++) {
          fromGrad[start + j] += inverse[i] * (toGrad[start + j] * gain[j]
            - alike - normal[start + j] * stretch);
        }
      }
    },
  };
}

export function relu(x, y) {
  const [from, to] = [x.value.data, y.value.data];
  const [fromGrad, toGrad] = [x.grad.data, y.grad.data];
  return {
    forward() {
      for (let i = 0; i < from.length; i++) to[i] = from[i] > 0 ? from[i] : 0;
    },
    backward() {
      for (let i = 0; i < from.length; i++) {
        if (from[i] > 0) fromGrad[i] += toGrad[i];
      }
    },
  };
}

// y = x + branch.
export function residual(x, branch, y) {
  return {
    forward() {
      const [a, b, sum] = [x.value.data, branch.value.data, y.value.data];
      for (let i = 0; i < sum.length; i++) sum[i] = a[i] + b[i];
    },
    backward() {
      const [a, b, sum] = [x.grad.data, branch.grad.data, y.grad.data];
      for (let i = 0; i < sum.length; i++) {
        a[i] += sum[i];
        b[i] += sum[i];
      }
    },
  };
}

// What a letter is, plus where it stands (unless `places` is null).
export function embedding(ids, { weight }, places, y) {
  const width = y.value.columns;
  const [table, tableGrad] = [weight.value.data, weight.grad.data];
  const [to, toGrad] = [y.value.data, y.grad.data];
  return {
    forward() {
      for (let i = 0; i < ids.length; i++) {
        for (let j = 0; j < width; j++) {
          to[i * width + j] = table[ids[i] * width + j]
            + (places ? places[(i % LENGTH) * width + j] : 0);
        }
      }
    },
    backward() {
      for (let i = 0; i < ids.length; i++) {
        for (let j = 0; j < width; j++) {
          tableGrad[ids[i] * width + j] += toGrad[i * width + j];
        }
      }
    },
  };
}

// In place, row by row of a full matrix.
export function softmaxRows({ data, start, rows, columns }) {
  for (let i = 0; i < rows; i++) {
    const from = start + i * columns;
    let largest = -Infinity, total = 0;
    for (let j = from; j < from + columns; j++) {
      if (data[j] > largest) largest = data[j];
    }
    for (let j = from; j < from + columns; j++) {
      data[j] = Math.exp(data[j] - largest);
      total += data[j];
    }
    for (let j = from; j < from + columns; j++) data[j] /= total;
  }
}

// From the gradient of softmax's outputs, in place, to that of its inputs.
function softmaxRowsBackward({ data, start, rows, columns }, grads) {
  for (let i = 0; i < rows; i++) {
    const from = start + i * columns;
    let mean = 0;
    for (let j = from; j < from + columns; j++) {
      mean += data[j] * grads[j];
    }
    for (let j = from; j < from + columns; j++) {
      grads[j] = data[j] * (grads[j] - mean);
    }
  }
}

// y = softmax(scale q k') v for each sequence and head; q, k, v stand side by
// side in x. Also returns the weights, (sequence, head, query, key).
export function attention(x, numHeads, scale, y) {
  const headDim = D_MODEL / numHeads;
  const weights = tensor(BATCH * numHeads * LENGTH, LENGTH);
  const parts = [];
  const view = ({ data, columns }, sequence, column) => matrix(
    data, LENGTH, headDim, sequence * LENGTH * columns + column, columns,
  );
  for (let at = 0; at < BATCH * numHeads; at++) {
    const sequence = Math.floor(at / numHeads);
    const column = (at % numHeads) * headDim;
    const part = {};
    for (const kind of ["value", "grad"]) {
      const qkv = x[kind];
      part[kind] = {
        q: view(qkv, sequence, column),
        k: view(qkv, sequence, column + D_MODEL),
        v: view(qkv, sequence, column + 2 * D_MODEL),
        w: matrix(weights[kind].data, LENGTH, LENGTH, at * LENGTH * LENGTH),
        y: view(y[kind], sequence, column),
      };
      for (const name of ["k", "v", "w"]) {
        part[kind][`${name}Turned`] = transposed(part[kind][name]);
      }
    }
    parts.push(part);
  }
  return {
    weights: weights.value.data,
    forward() {
      weights.value.data.fill(0);
      y.value.data.fill(0);
      for (const { value } of parts) {
        addProduct(value.w, value.q, value.kTurned, scale);
        softmaxRows(value.w);
        addProduct(value.y, value.w, value.v);
      }
    },
    backward() {
      weights.grad.data.fill(0);
      for (const { value, grad } of parts) {
        addProduct(grad.v, value.wTurned, grad.y);
        addProduct(grad.w, grad.y, value.vTurned);
        softmaxRowsBackward(value.w, grad.w.data);
        addProduct(grad.q, grad.w, value.k, scale);
        addProduct(grad.k, grad.wTurned, value.q, scale);
      }
    },
  };
}
