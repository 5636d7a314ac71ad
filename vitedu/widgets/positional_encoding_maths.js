// The numbers of the explorer PositionalEncoding.

export const RESCALED_TO = 200;

// By how much a step of one turns each component.
function frequencies(dModel, base, formula) {
  return Float64Array.from({ length: dModel }, (_, component) => {
    const shared = formula === "wrong exponent" ? component
      : component - (component % 2);
    return base ** -(shared / dModel);
  });
}

// The position that the formula puts in for token j of a sentence.
const placeOf = (j, length, formula) =>
  formula === "rescaled" ? (j / length) * RESCALED_TO : j;

// The loops over all numbers of a table are functions of their own, made once:
// a browser forgets how to run those fast that are made anew for each table.

function encode(place, frequency) {
  const row = new Float64Array(frequency.length);
  for (let i = 0; i < row.length; i++) {
    row[i] = (i % 2 ? Math.cos : Math.sin)(place * frequency[i]);
  }
  return row;
}

function dot(a, b) {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  return sum;
}

// Everything that does not depend on the two positions.
export function makeTable({ dModel, base, length, formula }) {
  const frequency = frequencies(dModel, base, formula);
  const row = (j, tokens) => encode(placeOf(j, tokens, formula), frequency);
  const rows = Array.from({ length }, (_, j) => row(j, length));
  // The bounds of the dot products of rows 0, 1, 2, ... positions apart.
  const smallest = new Float64Array(length).fill(Infinity);
  const largest = new Float64Array(length).fill(-Infinity);
  for (let a = 0; a < length; a++) {
    for (let b = a; b < length; b++) {
      const product = dot(rows[a], rows[b]);
      smallest[b - a] = Math.min(smallest[b - a], product);
      largest[b - a] = Math.max(largest[b - a], product);
    }
  }
  return {
    dModel, length, formula, frequency, rows, smallest, largest,
    norms: Float64Array.from(rows, (own) => Math.sqrt(dot(own, own))),
    paper: paperProducts(dModel, base, length),
    // How far row j moves when the sentence has one token more.
    moved: (j) => Math.hypot(
      ...row(j, length + 1).map((value, i) => value - rows[j][i]),
    ),
  };
}

function sumOfCosines(offset, frequency) {
  let sum = 0;
  for (let i = 0; i < frequency.length; i += 2) {
    sum += Math.cos(offset * frequency[i]);
  }
  return sum;
}

// The dot product over the offset by the paper's formula.
function paperProducts(dModel, base, length) {
  const frequency = frequencies(dModel, base, "paper");
  return Float64Array.from(
    { length }, (_, offset) => sumOfCosines(offset, frequency),
  );
}

export function readings(table, p, q) {
  const { rows, norms, smallest, largest, moved } = table;
  const withAll = (own) => Float64Array.from(rows, (row) => dot(own, row));
  return {
    encoding: rows[p], otherEncoding: rows[q],
    norm: norms[p], otherNorm: norms[q], norms,
    similarity: withAll(rows[p]), otherSimilarity: withAll(rows[q]),
    offset: q - p, dotProduct: dot(rows[p], rows[q]),
    smallest, largest, moved: moved(p),
  };
}

// Up to `most` pairs of components, the fastest and the slowest among them.
export function pairsToShow(dModel, most) {
  const pairs = dModel / 2;
  const count = Math.min(pairs, most);
  return Array.from({ length: count }, (_, i) =>
    Math.round((i * (pairs - 1)) / Math.max(1, count - 1)));
}

// Where p and q (`position` and `other`) are once the reader has moved one of
// them: if they move together, only as far as both stay inside.
export const movesTo = (name) => (value, settings) => {
  if (!settings.together) return { [name]: value };
  const { position: p, other: q, length } = settings;
  const step = Math.max(-Math.min(p, q), Math.min(
    length - 1 - Math.max(p, q), value - settings[name],
  ));
  return { position: p + step, other: q + step };
};

// A shorter table takes them along.
export function withLength(length, { position, other }) {
  const inside = (at) => Math.min(at, length - 1);
  return { length, position: inside(position), other: inside(other) };
}
