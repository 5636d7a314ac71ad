// The pictures of the explorer PositionalEncoding. The table and the curves
// under it share one axis of positions.

import { draft, fill, html, put, renew, svg } from "./core/dom.js";
import { sentence, tidy } from "./core/texts.js";
import WORDS from "./positional_encoding.words.json" with { type: "json" };
import { RESCALED_TO, pairsToShow } from "./positional_encoding_maths.js";

const LEFT = 40;
const RIGHT = 14;
const TABLE_TOP = 30;
const TABLE_HEIGHT = 256;
const CURVES_TOP = TABLE_TOP + TABLE_HEIGHT + 34;
const CURVES_HEIGHT = 172;
const AXIS = 38;
const OFFSET_HEIGHT = 150;
export const OFFSETS_HEIGHT = OFFSET_HEIGHT + AXIS + 4;
const TAG = 11;
const SLOP = 6;
// In front of a background of either theme; the nearer to 0 a value is, the
// more of the background shows.
const POSITIVE = [118, 88, 212];
const NEGATIVE = [122, 116, 100];

// Paints a column of a picture that is `width` pixels wide. The loop is a
// function of its own for the browser, as in the maths.
function paintColumn(rgba, x, width, values) {
  for (let y = 0; y < values.length; y++) {
    const at = 4 * (y * width + x);
    const [red, green, blue] = values[y] < 0 ? NEGATIVE : POSITIVE;
    rgba[at] = red;
    rgba[at + 1] = green;
    rgba[at + 2] = blue;
    rgba[at + 3] = Math.round(255 * Math.min(1, Math.abs(values[y])));
  }
}

// One pixel a value, a column for each list; the style sheet makes it larger.
function paint(canvas, columns) {
  const image = new ImageData(columns.length, columns[0].length);
  columns.forEach((values, x) =>
    paintColumn(image.data, x, columns.length, values));
  fill(canvas, { width: image.width, height: image.height }, []);
  canvas.getContext("2d").putImageData(image, 0, 0);
}

export function colourKey() {
  const bar = html("canvas", { class: "key-bar", "aria-hidden": "true" });
  paint(bar, Array.from({ length: 101 }, (_, x) => [x / 50 - 1]));
  return html(
    "span", { class: "key" }, html("span", { text: "−1" }), bar,
    html("span", { text: "1" }),
  );
}

// Round numbers from 0 on, at least 40 pixels apart.
function roundTicks(last, pixels) {
  const least = Math.max(1, (40 * last) / pixels);
  const power = 10 ** Math.floor(Math.log10(least));
  const step = power * [1, 2, 5, 10].find((digit) => digit * power >= least);
  const count = Math.floor(last / step) + 1;
  return Array.from({ length: count }, (_, i) => i * step);
}

const text = (x, y, anchor, content, kind = "") =>
  draft("text", { x, y, "text-anchor": anchor, class: kind, text: content });

const pathOf = (points) =>
  points.map(([x, y], i) => `${i ? "L" : "M"}${x.toFixed(2)} ${y.toFixed(2)}`)
    .join("");

// Both charts of dot products have this axis: 0, half of d_model, and room
// for whatever else the table holds.
function productAxis({ dModel, smallest, norms }, top, height) {
  const low = Math.min(0, ...smallest);
  const high = Math.max(dModel / 2, Math.max(...norms) ** 2);
  const margin = 0.06 * (high - low);
  const y = (product) => top
    + height * ((high + margin - product) / (high - low + 2 * margin));
  function draw(from, to) {
    return [0, dModel / 2].flatMap((product) => [
      draft("path", { class: "grid", d: `M${from} ${y(product)}H${to}` }),
      text(from - 6, y(product) + 4, "end", product),
    ]);
  }
  return { y, draw };
}

function positionAxis(from, y, title, last, place, end) {
  return [
    ...roundTicks(last, end - from).flatMap((number) => [
      draft("path", { class: "axis", d: `M${place(number)} ${y}v5` }),
      text(place(number), y + 18, "middle", number),
    ]),
    draft("path", { class: "axis", d: `M${from} ${y}H${end}` }),
    text((from + end) / 2, y + 34, "middle", title),
  ];
}

// Tags that would cover each other stand side by side.
function tagPlaces(xs, width) {
  const [a, b] = xs;
  const lack = Math.max(0, 2 * TAG + 2 - Math.abs(a - b)) / 2;
  const sign = a <= b ? -1 : 1;
  const apart = [a + sign * lack, b - sign * lack];
  const over = Math.max(0, Math.max(...apart) + TAG - width);
  const under = Math.max(0, TAG - Math.min(...apart));
  return apart.map((x) => x - over + under);
}

function marker(name, x, cell, tagAt) {
  // Around the column, so that nothing of it is covered.
  const around = (gap) => ({
    x: x - cell / 2 - gap, y: TABLE_TOP - gap, width: cell + 2 * gap,
    height: TABLE_HEIGHT + 2 * gap,
  });
  const stem = `M${tagAt} ${TAG + 1}L${x} ${TABLE_TOP - 1}`
    + `M${x} ${CURVES_TOP}v${CURVES_HEIGHT}`;
  return draft(
    "g", { class: `marker of-${name}` },
    draft("path", { class: "stem", d: stem }),
    draft("rect", { class: "halo", ...around(2) }),
    draft("rect", { class: "column", ...around(1) }),
    draft("circle", { class: "tag", cx: tagAt, cy: TAG + 1, r: TAG }),
    text(tagAt, TAG + 5, "middle", name, "letter"),
  );
}

const cellOf = (length, width) => (width - RIGHT - LEFT) / length;

// What stands on the table and under it.
export function stagePicture({ table, values, p, q }, width) {
  const { length, dModel } = table;
  const end = width - RIGHT;
  const cell = cellOf(length, width);
  const place = (position) => LEFT + cell * (position + 0.5);
  const foot = CURVES_TOP + CURVES_HEIGHT;
  const axis = productAxis(table, CURVES_TOP, CURVES_HEIGHT);
  const points = (products) =>
    Array.from(products, (product, x) => [place(x), axis.y(product)]);
  const curve = (kind, products) =>
    draft("path", { class: kind, d: pathOf(points(products)) });
  const middle = TABLE_TOP + TABLE_HEIGHT / 2;
  const tags = tagPlaces([place(p), place(q)], width);
  return [
    text(LEFT - 6, TABLE_TOP + 10, "end", 0),
    text(LEFT - 6, TABLE_TOP + TABLE_HEIGHT, "end", dModel - 1),
    draft("text", {
      "text-anchor": "middle", text: WORDS.component,
      transform: `translate(${LEFT - 12} ${middle}) rotate(-90)`,
    }),
    text(LEFT, CURVES_TOP - 8, "start", WORDS.curvesTitle, "title"),
    ...axis.draw(LEFT, end),
    curve("squared-norms", table.norms.map((norm) => norm ** 2)),
    curve("curve of-q", values.otherSimilarity),
    curve("curve of-p", values.similarity),
    ...positionAxis(LEFT, foot, WORDS.places, length - 1, place, end),
    marker("q", place(q), cell, tags[1]),
    marker("p", place(p), cell, tags[0]),
  ];
}

// The table with the curves under it. `onDrag(trait, position)` is called
// while the reader drags the marker that was nearest.
export function stage(onDrag) {
  const canvas = html("canvas", { class: "table" });
  const picture = svg("svg", {
    role: "img", "aria-label": WORDS.stagePicture,
    height: CURVES_TOP + CURVES_HEIGHT + AXIS,
  });
  const root = html("div", { class: "stage" }, canvas, picture);
  let shown;
  let grip = null;
  let painted = null;

  function positionAt(event) {
    const { left, width } = picture.getBoundingClientRect();
    const x = (event.clientX - left) * picture.clientWidth / width;
    const { length } = shown.table;
    const at = Math.floor((x - LEFT) / cellOf(length, shown.width));
    return Math.max(0, Math.min(length - 1, at));
  }
  // A finger may be about to scroll the page: it has to tap or to move
  // sideways first.
  function move(event) {
    if (!grip) return;
    const right = Math.abs(event.clientX - grip.x);
    const down = Math.abs(event.clientY - grip.y);
    const tapped = event.type === "pointerup" && right + down < SLOP;
    grip.sure ||= tapped || (right >= SLOP && right > down);
    if (grip.sure) onDrag(grip.trait, positionAt(event));
  }
  picture.addEventListener("pointerdown", (event) => {
    event.preventDefault();
    picture.setPointerCapture(event.pointerId);
    const at = positionAt(event);
    const toP = Math.abs(shown.p - at) <= Math.abs(shown.q - at);
    grip = {
      trait: toP ? "position" : "other", x: event.clientX, y: event.clientY,
      sure: event.pointerType === "mouse",
    };
    move(event);
  });
  picture.addEventListener("pointermove", move);
  picture.addEventListener("pointerup", (event) => {
    move(event);
    grip = null;
  });
  picture.addEventListener("pointercancel", () => (grip = null));

  function show(found, width) {
    const { table } = found;
    shown = { ...found, width };
    if (painted !== table) paint(canvas, table.rows);
    painted = table;
    put(canvas, "style", `left: ${LEFT}px; top: ${TABLE_TOP}px; `
      + `width: ${width - RIGHT - LEFT}px; height: ${TABLE_HEIGHT}px`);
    put(picture, "width", String(width));
    renew(picture, stagePicture(found, width));
  }
  return { root, show };
}

// The dot product over the offset: of all pairs of positions, of the pairs
// that p is in, and of those that q is in.
export function offsetsPicture({ table, values, p, q }, width) {
  const { length, smallest, largest, paper } = table;
  const end = width - RIGHT;
  const place = (offset) => LEFT + ((end - LEFT) * offset) / (length - 1);
  const axis = productAxis(table, 4, OFFSET_HEIGHT);
  const points = (products) =>
    Array.from(products, (product, x) => [place(x), axis.y(product)]);
  const band = pathOf([...points(smallest), ...points(largest).reverse()]);
  // To the left of its position and to the right, over the same offsets.
  const folded = (kind, products, own) => draft("path", {
    class: `thread ${kind}`,
    d: pathOf(points(products.slice(own)))
      + pathOf(points(products.slice(0, own + 1).reverse())),
  });
  const [x, y] = [place(Math.abs(q - p)), axis.y(values.dotProduct)];
  return [
    ...axis.draw(LEFT, end),
    draft("path", { class: "band", d: `${band}z` }),
    folded("of-q", values.otherSimilarity, q),
    folded("of-p", values.similarity, p),
    draft("path", { class: "paper", d: pathOf(points(paper)) }),
    ...positionAxis(
      LEFT, OFFSET_HEIGHT + 4, WORDS.offset, length - 1, place, end,
    ),
    draft("path", { class: "drop", d: `M${x} ${y}V${OFFSET_HEIGHT + 4}` }),
    draft("circle", { class: "here", cx: x, cy: y, r: 6 }),
  ];
}

const RADIUS = 42;

function clock(pair, table, p, q) {
  const { rows, frequency, formula, length } = table;
  const tip = (position) => [
    RADIUS * rows[position][2 * pair], -RADIUS * rows[position][2 * pair + 1],
  ];
  const hand = (name, [x, y]) => draft(
    "g", { class: `hand of-${name}` },
    draft("path", { d: `M0 0L${x} ${y}` }),
    draft("circle", { cx: x, cy: y, r: 6 }),
  );
  const [ofP, ofQ] = [tip(p), tip(q)];
  const unit = formula === "rescaled" ? length / RESCALED_TO : 1;
  const [ofSine, ofCosine] = [0, 1].map((i) => {
    const wavelength = (2 * Math.PI * unit) / frequency[2 * pair + i];
    // Without spaces it fits under the smallest clock.
    return sentence(WORDS.wavelength, {
      wavelength: tidy(wavelength).replaceAll(" ", ""),
    });
  });
  return draft(
    "div", { class: "clock" },
    draft("svg", { viewBox: "-54 -54 108 108", "aria-hidden": "true" },
      draft("circle", { class: "face", r: RADIUS }),
      draft("path", { class: "noon", d: `M0 ${-RADIUS - 5}v10` }),
      draft("path", { class: "between", d: pathOf([[0, 0], ofP, ofQ]) + "z" }),
      hand("q", ofQ), hand("p", ofP)),
    draft("span", { text: sentence(WORDS.pair, { pair }) }),
    draft("span", { text: ofSine }),
    // Its line stays where it is empty.
    draft("span", { text: ofCosine === ofSine ? "\u00a0" : ofCosine }),
  );
}

export function clocks({ table, p, q }) {
  return pairsToShow(table.dModel, 8)
    .map((pair) => clock(pair, table, p, q));
}
