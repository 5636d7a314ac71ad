// The pictures of the explorer PatchByPatch.

import { draft } from "./core/dom.js";
import { hundredths } from "./core/drawing.js";
import { fixed, sentence, tidy } from "./core/texts.js";
import WORDS from "./patch_by_patch.words.json" with { type: "json" };
import { GRID, PATCHES, indexOf, placeOf } from "./patch_by_patch_maths.js";

export const numbersHeight = (width) => Math.min(460, Math.max(300, width));
const [BARS, WEIGHTS] = [{ most: 3, head: 20, gap: 12 },
  { top: 10, row: 38, label: 116, number: 52 }];
const CHART = { left: 44, right: 12, top: 30, height: 120, foot: 34, wide: 560 };
// How dark a place is whose value is 0.
const DARK = 0.9;
const GRID_LINES = Array.from({ length: GRID - 1 }, (_, at) =>
  `M0 ${at + 1}h${GRID}M${at + 1} 0v${GRID}`).join("");
// Numbers of a prepared photograph lie between these.
const [BLACK, WHITE] = [-2.2, 2.7];

const placed = (at) => ({ x: at % GRID, y: Math.floor(at / GRID) });

// A square over each patch: its colour, or dark where its value is small.
export function coverDrafts({ kind, colours, values }) {
  const squares = Array.from({ length: PATCHES }, (_, at) => draft("rect", {
    ...placed(at), width: 1, height: 1, "shape-rendering": "crispEdges",
    fill: colours ? `rgb(${[...colours[at]].join(" ")})` : "#0e0b08",
    "fill-opacity": colours ? 1
      : values ? hundredths(DARK * (1 - values[at])) : 0,
  }));
  return [...squares, draft("path", { class: "lines",
    d: kind === "grid" ? GRID_LINES : "" })];
}

export function outlineDrafts(token) {
  if (!token) return [];
  const [y, x] = placeOf(token);
  return ["under", "over"].map((kind) =>
    draft("rect", { class: kind, x, y, width: 1, height: 1 }));
}

const label = (x, y, anchor, text, kind = "text") =>
  draft("text", { x: hundredths(x), y: hundredths(y), class: kind,
    "text-anchor": anchor, text });

// The patch that is followed, cut out of the photograph.
function enlarged({ view, picture }, width) {
  const side = Math.min(width, numbersHeight(width));
  const [row, column] = placeOf(view.token);
  return [draft("svg", { width: side, height: side,
    viewBox: `${column} ${row} 1 1` },
  draft("image", { href: picture, width: GRID, height: GRID }))];
}

// Its numbers, colour by colour.
function tiles({ pixels, size }, width) {
  const side = (width - 16) / 3;
  const cell = side / size;
  return [0, 1, 2].flatMap((colour) => {
    const left = colour * (side + 8);
    const squares = Array.from({ length: size * size }, (_, at) => {
      const number = pixels[colour * size * size + at];
      const share = (number - BLACK) / (WHITE - BLACK);
      const grey = Math.round(255 * Math.min(1, Math.max(0, share)));
      return draft("rect", {
        x: hundredths(left + (at % size) * cell),
        y: hundredths(24 + Math.floor(at / size) * cell),
        width: hundredths(cell + 0.3), height: hundredths(cell + 0.3),
        fill: `rgb(${grey} ${grey} ${grey})`,
      });
    });
    return [label(left + side / 2, 15, "middle", WORDS.colours[colour]),
      draft("g", { class: "tile" }, ...squares)];
  });
}

// Some of the numbers of a token, at each step of a stage. What is added has
// the scale of what it is added to; a norm has one of its own.
function bars({ rows }, width) {
  const most = (values) => Math.max(...values.map(Math.abs));
  const sums = rows.every(({ name }) => name !== "normed");
  const shared = Math.max(...rows.map(({ values }) => most([...values])));
  const each = numbersHeight(width) / BARS.most;
  const half = (each - BARS.head - BARS.gap) / 2;
  return rows.flatMap(({ name, length, values }, at) => {
    const top = at * each;
    const middle = top + BARS.head + half;
    const scale = half / (sums ? shared : most([...values]));
    const step = width / values.length;
    const path = Array.from(values, (value, i) =>
      `M${hundredths(i * step + step * 0.15)} ${middle}`
      + `h${hundredths(step * 0.7)}v${hundredths(-value * scale)}`
      + `h${hundredths(-step * 0.7)}z`).join("");
    return [
      label(0, top + 13, "start", WORDS.rows[name], "name"),
      label(width, top + 13, "end", length === null ? ""
        : sentence(WORDS.length, { length: tidy(length) })),
      draft("path", { class: `bars of-${name}`, d: path }),
      draft("path", { class: "axis", d: `M0 ${middle}H${hundredths(width)}` }),
    ];
  });
}

export function keyName(key, token) {
  if (key === indexOf(token)) return WORDS.itself;
  if (!key) return WORDS.classToken;
  const { x, y } = placed(key - 1);
  return sentence(WORDS.rowColumn, { row: y + 1, column: x + 1 });
}

// The tokens that get most, and those that are always listed.
function weightBars({ looks, view }, width) {
  const room = width - WEIGHTS.label - WEIGHTS.number;
  return looks.listed.flatMap(([key, weight], at) => {
    const y = WEIGHTS.top + at * WEIGHTS.row;
    const length = room * weight / looks.largest;
    return [
      label(0, y + 16, "start", keyName(key, view.token), "name"),
      draft("rect", { class: key ? "weight" : "weight of-class",
        x: WEIGHTS.label, y: y + 2, width: hundredths(length), height: 18 }),
      label(WEIGHTS.label + length + 6, y + 16, "start", fixed(weight, 3)),
    ];
  });
}

// The photograph, bright where patches are like the token that is followed.
function alike({ cosines, view, picture }, width) {
  const side = Math.min(width, numbersHeight(width));
  return [draft("svg", { width: side, height: side,
    viewBox: `0 0 ${GRID} ${GRID}` },
  draft("image", { href: picture, width: GRID, height: GRID }),
  draft("g", {}, ...coverDrafts({ kind: "cosines",
    values: cosines.map((cosine) => Math.max(0, cosine)) })),
  draft("g", {}, ...outlineDrafts(view.token)))];
}

export function numbersDrafts(found, width) {
  const { stage } = found.view;
  const made = { image: enlarged, patches: tiles, attention: weightBars,
    depth: alike, answer: alike }[stage] ?? bars;
  return [draft("g", { class: "made" }, ...made(found, width))];
}

// Curves by depth: how long the token is, and how like the others.
const wideEnough = (width) => width >= CHART.wide;
const chartHeight = CHART.top + CHART.height + CHART.foot;
export const courseHeight = (width) =>
  (wideEnough(width) ? 1 : 2) * chartHeight;
const chartWidth = (width) => (wideEnough(width) ? width / 2 - 10 : width);

export function depthNear(x, width, layers) {
  const own = chartWidth(width);
  const inside = wideEnough(width) && x > width / 2 ? x - width / 2 - 10 : x;
  const share = (inside - CHART.left) / (own - CHART.left - CHART.right);
  return Math.min(layers, Math.max(1, Math.round(share * layers)));
}

function chart({ title, curves, ticks, y }, { depth, layers }, own) {
  const end = own - CHART.right;
  const floor = CHART.top + CHART.height;
  const x = (at) => CHART.left + (end - CHART.left) * at / layers;
  const line = (values) => values.map((value, at) =>
    `${at ? "L" : "M"}${hundredths(x(at))} ${hundredths(y(value))}`).join("");
  return [
    label(0, 14, "start", title, "name"),
    ...ticks.flatMap((tick) => [
      draft("path", { class: "axis", d: `M${CHART.left} ${hundredths(y(tick))}H${hundredths(end)}` }),
      label(CHART.left - 6, y(tick) + 4, "end", String(tick)),
    ]),
    ...Array.from({ length: Math.floor(layers / 2) + 1 }, (_, at) =>
      label(x(2 * at), floor + 16, "middle", String(2 * at))),
    label((CHART.left + end) / 2, floor + 31, "middle", WORDS.after),
    draft("path", { class: "stem", d: `M${hundredths(x(depth))} ${CHART.top}V${floor}` }),
    ...curves.flatMap(({ name, values }) => [
      draft("path", { class: `curve of-${name}`, d: line(values) }),
      draft("circle", { class: `dot of-${name}`, r: 4.5,
        cx: hundredths(x(depth)), cy: hundredths(y(values[depth])) }),
    ]),
  ];
}

export function courseDrafts({ course, depth, layers }, width) {
  if (!course) return [];
  const own = chartWidth(width);
  const [low, high] = [0.1, 100].map(Math.log10);
  const floor = CHART.top + CHART.height;
  const lengths = {
    title: WORDS.course.lengths, ticks: [0.1, 1, 10, 100],
    curves: [{ name: "length", values: course.lengths }],
    y: (value) => floor
      - CHART.height * (Math.log10(value) - low) / (high - low),
  };
  const cosines = {
    title: WORDS.course[course.near.length ? "cosines" : "classCosines"],
    ticks: [0, 0.5, 1],
    curves: ["near", "all"].filter((name) => course[name].length)
      .map((name) => ({ name, values: course[name] })),
    y: (value) => floor - CHART.height * value,
  };
  const [right, down] = wideEnough(width)
    ? [width / 2 + 10, 0] : [0, chartHeight];
  return [
    draft("g", {}, ...chart(lengths, { depth, layers }, own)),
    draft("g", { transform: `translate(${right} ${down})` },
      ...chart(cosines, { depth, layers }, own)),
  ];
}
