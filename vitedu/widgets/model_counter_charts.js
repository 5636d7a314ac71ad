// The pictures of the explorer ModelCounter: a bar with its table, and the
// curve of the quadratic share.

import { noted, panel } from "./core/controls.js";
import { draft, html, renew, svg, write } from "./core/dom.js";
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
  if (share > 0 && share < 0.0005) return "< 0.1 %";
  return `${(100 * share).toFixed(share ? 1 : 0)} %`;
}

// A bar cut into parts, and a row for each of them: name, count, share.
export function stackedBar(kind, parts, format) {
  const segments = parts.map((part) => html("span", { "data-part": part }));
  const rows = parts.map((part) => {
    const [count, share] = [html("td"), html("td")];
    const row = html("tr", {},
      html("th", { scope: "row" },
        html("span", {
          class: "swatch", "data-part": part, "aria-hidden": "true",
        }),
        WORDS.parts[part]),
      count, share);
    return { row, count, share };
  });
  const [total, compared] = [html("strong"), html("span")];
  const note = noted("");
  const root = panel(
    kind,
    html("p", { class: "vitedu-panel-title" }, WORDS.titles[kind],
      compared, total),
    html("div", { class: "bar", "aria-hidden": "true" }, ...segments),
    html("table", { "aria-label": WORDS.titles[kind] },
      html("tbody", {}, ...rows.map(({ row }) => row))),
    note,
  );
  // `ratio` says how many times another model's sum this one is.
  function update(counts, ratio, text) {
    const sum = sumOf(counts);
    write(compared, ratio);
    write(total, format(sum));
    parts.forEach((part, i) => {
      segments[i].style.flexGrow = counts[part] / sum;
      write(rows[i].count, format(counts[part]));
      write(rows[i].share, percentText(counts[part] / sum));
    });
    write(note, text);
  }
  return { root, update };
}

const PLOT = { left: 46, right: 16, top: 40, bottom: 40, height: 240 };
const STEPS = 160;
const PIXEL_TICKS = [4, 16, 64, 256, 1024, 4096, 16384];

// The quadratic share over the number of tokens, on a logarithmic axis. A drag
// calls `moveTo` with the number of tokens under the pointer.
export function shareCurve(moveTo) {
  const { left, right, top, bottom, height } = PLOT;
  const root = svg("svg", { role: "img", class: "share", height });
  const floor = height - bottom;
  const y = (share) => floor - (floor - top) * share;

  function text(x, at, anchor, content, kind = "") {
    return draft("text", {
      x, y: at, "text-anchor": anchor, class: kind, text: content,
    });
  }
  function axes(x, end, decades, patch) {
    const middle = (left + end) / 2;
    const tokensOf = (pixels) => (pixels / patch) ** 2 + 1;
    const most = 10 ** decades;
    const pixels = PIXEL_TICKS.filter((side) =>
      side >= patch && tokensOf(side) <= most);
    const powers = [...Array(decades + 1).keys()].map((i) => 10 ** i);
    return [
      ...[0, 0.5, 1].flatMap((share) => [
        draft("path", { class: "grid", d: `M${left} ${y(share)}H${end}` }),
        text(left - 6, y(share) + 4, "end", `${100 * share} %`),
      ]),
      ...powers.flatMap((count) => [
        draft("path", { class: "axis", d: `M${x(count)} ${floor}v5` }),
        text(x(count), floor + 18, "middle", shortText(count)),
      ]),
      text(middle, floor + 35, "middle", WORDS.tokenAxis),
      ...pixels.flatMap((side) => [
        draft("path", { class: "axis", d: `M${x(tokensOf(side))} ${top}v-5` }),
        text(x(tokensOf(side)), top - 9, "middle", commas(side)),
      ]),
      text(middle, top - 26, "middle", sentence(WORDS.pixelAxis, { patch })),
    ];
  }
  let tokensAt;
  root.addEventListener("pointerdown", (event) => {
    root.setPointerCapture(event.pointerId);
    moveTo(tokensAt(event.offsetX));
  });
  root.addEventListener("pointermove", (event) => {
    if (event.buttons) moveTo(tokensAt(event.offsetX));
  });
  function update(width, sizes, counted, pinned) {
    const { tokens, share, crossover } = counted;
    const end = width - right;
    const decades = Math.ceil(
      Math.log10(Math.max(1e5, 6 * tokens, 4 * crossover)),
    );
    const x = (count) => left + ((end - left) * Math.log10(count)) / decades;
    tokensAt = (across) => 10 ** (decades * (across - left) / (end - left));
    const line = Array.from({ length: STEPS + 1 }, (_, i) => {
      const count = 10 ** ((decades * i) / STEPS);
      const part = quadraticShare(countFlops(sizes, count));
      return `${i ? "L" : "M"}${x(count).toFixed(2)} ${y(part).toFixed(2)}`;
    }).join("");
    const [across, down] = [x(tokens), y(share)];
    // Above the curve is room on its left, but not at its start; near the
    // top, where the sides of the image stand, there is room on its right.
    const near = across - left < 60;
    const high = share > 0.85;
    const side = near || high ? "start" : "end";
    const label = {
      x: high ? Math.min(across + 4, width - 50) : across + (near ? 2 : -8),
      y: down + (high ? 22 : -10),
    };
    const factor = 2 + sizes.mlpRatio;
    root.setAttribute("width", width);
    root.setAttribute("aria-label", sentence(WORDS.sharePicture, {
      tokens: commas(tokens), share: tidy(100 * share),
      crossover: commas(crossover),
    }));
    renew(root, [
      ...axes(x, end, decades, sizes.patchSize),
      draft("path", {
        class: "crossover", d: `M${x(crossover)} ${top}V${floor}`,
      }),
      text(x(crossover) + 6, floor - 8, "start", `${factor}h`, "strong"),
      draft("path", { class: "curve", d: line }),
      ...(pinned ? [draft("circle", {
        class: "pinned", cx: x(pinned.tokens), cy: y(pinned.share), r: 5.5,
      })] : []),
      draft("circle", { class: "point", cx: across, cy: down, r: 5.5 }),
      text(label.x, label.y, side, `${tidy(100 * share)} %`, "strong"),
    ]);
  }
  return { root, update };
}
