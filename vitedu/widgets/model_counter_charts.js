// The pictures of the explorer ModelCounter: a bar with its table, and the
// curve of the quadratic share.

import { noted, panel } from "./core/controls.js";
import { draft, html, renew, write } from "./core/dom.js";
import { commas, sentence, tidy } from "./core/texts.js";
import WORDS from "./model_counter.words.json" with { type: "json" };
import { countFlops, quadraticShare, sumOf } from "./model_counter_maths.js";

// Four significant digits and the prefix of a unit.
function scaled(number, base, prefixes) {
  let at = 0;
  while (number >= base && at < prefixes.length - 1) {
    number /= base;
    at += 1;
  }
  const digits = at ? Math.max(0, 3 - Math.floor(Math.log10(number))) : 0;
  return `${number.toFixed(digits)} ${prefixes[at]}`;
}

export const flopText = (count) => scaled(
  count, 1000, ["FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP", "PFLOP", "EFLOP"],
);
export const byteText = (count) => scaled(
  count, 1024, ["B", "KiB", "MiB", "GiB", "TiB", "PiB"],
);

// A power of ten, short enough for an axis.
const shortText = (count) => ["", "k", "M", "G"]
  .map((prefix, i) => [count / 1000 ** i, prefix])
  .filter(([number]) => number >= 1).at(-1).join("");

function percentText(share) {
  if (share > 0 && share < 0.0005) return "< 0.1%";
  return `${(100 * share).toFixed(share ? 1 : 0)}%`;
}

// A bar cut into parts, and a row for each of them: name, count, share.
export function stackedBar(kind, parts, format) {
  const [total, compared] = [html("strong"), html("span")];
  const [bar, rows] = [html("div", { class: "bar", "aria-hidden": "true" }),
    html("tbody")];
  const note = noted("");
  function show({ counted }, { bars }) {
    const sum = sumOf(counted[kind]);
    write(compared, bars[kind].compared);
    write(total, bars[kind].total);
    write(note, bars[kind].note);
    renew(bar, parts.map((part) => draft("span", {
      "data-part": part, style: `flex-grow: ${counted[kind][part] / sum}`,
    })));
    renew(rows, parts.map((part) => draft("tr", {},
      draft("th", { scope: "row" },
        draft("span", {
          class: "swatch", "data-part": part, "aria-hidden": "true",
        }),
        draft("span", { text: WORDS.parts[part] })),
      draft("td", { text: format(counted[kind][part]) }),
      draft("td", { text: percentText(counted[kind][part] / sum) }))));
  }
  const root = panel(
    kind,
    html("p", { class: "vitedu-panel-title" }, WORDS.titles[kind],
      compared, total),
    bar, html("table", { "aria-label": WORDS.titles[kind] }, rows), note,
  );
  return { root, show };
}

export const CURVE_HEIGHT = 240;
const PLOT = { left: 46, right: 16, top: 40, floor: CURVE_HEIGHT - 40 };
const STEPS = 160;
const PIXEL_TICKS = [4, 16, 64, 256, 1024, 4096, 16384];

// The powers of ten that the axis of tokens shows.
const decadesOf = ({ tokens, crossover }) => Math.ceil(
  Math.log10(Math.max(1e5, 6 * tokens, 4 * crossover)),
);

// The number of tokens over which a place in the curve is.
export function tokensAt(across, width, { counted }) {
  const share = (across - PLOT.left) / (width - PLOT.right - PLOT.left);
  return 10 ** (decadesOf(counted) * share);
}

// The quadratic share over the number of tokens, on a logarithmic axis.
export function shareCurve({ sizes, counted, pinned }, width) {
  const { left, top, floor } = PLOT;
  const { tokens, share, crossover } = counted;
  const { patchSize: patch } = sizes;
  const end = width - PLOT.right;
  const middle = (left + end) / 2;
  const decades = decadesOf(counted);
  const x = (count) => left + ((end - left) * Math.log10(count)) / decades;
  const y = (part) => floor - (floor - top) * part;
  const text = (across, at, anchor, content, kind = "") => draft("text", {
    x: across, y: at, "text-anchor": anchor, class: kind, text: content,
  });
  const tokensOf = (pixels) => (pixels / patch) ** 2 + 1;
  const pixels = PIXEL_TICKS.filter((side) =>
    side >= patch && tokensOf(side) <= 10 ** decades);
  const powers = [...Array(decades + 1).keys()].map((i) => 10 ** i);
  const line = Array.from({ length: STEPS + 1 }, (_, i) => {
    const count = 10 ** ((decades * i) / STEPS);
    const part = quadraticShare(countFlops(sizes, count));
    return `${i ? "L" : "M"}${x(count).toFixed(2)} ${y(part).toFixed(2)}`;
  }).join("");
  const [across, down] = [x(tokens), y(share)];
  // Above the curve is room on its left, but not at its start; near the top,
  // where the sides of the image stand, there is room on its right.
  const near = across - left < 60;
  const high = share > 0.85;
  const words = WORDS.pictures.curve;
  return [
    ...[0, 0.5, 1].flatMap((part) => [
      draft("path", { class: "grid", d: `M${left} ${y(part)}H${end}` }),
      text(left - 6, y(part) + 4, "end", `${100 * part}%`),
    ]),
    ...powers.flatMap((count) => [
      draft("path", { class: "axis", d: `M${x(count)} ${floor}v5` }),
      text(x(count), floor + 18, "middle", shortText(count)),
    ]),
    text(middle, floor + 35, "middle", words.tokens),
    ...pixels.flatMap((side) => [
      draft("path", { class: "axis", d: `M${x(tokensOf(side))} ${top}v-5` }),
      text(x(tokensOf(side)), top - 9, "middle", commas(side)),
    ]),
    text(middle, top - 26, "middle", sentence(words.pixels, { patch })),
    draft("path", {
      class: "crossover", d: `M${x(crossover)} ${top}V${floor}`,
    }),
    text(x(crossover) + 6, floor - 8, "start", `${2 + sizes.mlpRatio}h`,
      "strong"),
    draft("path", { class: "curve", d: line }),
    ...(pinned ? [draft("circle", {
      class: "pinned", cx: x(pinned.tokens), cy: y(pinned.share), r: 5.5,
    })] : []),
    draft("circle", { class: "point", cx: across, cy: down, r: 5.5 }),
    text(high ? Math.min(across + 4, width - 50) : across + (near ? 2 : -8),
      down + (high ? 22 : -10), near || high ? "start" : "end",
      `${tidy(100 * share)}%`, "strong"),
  ];
}
