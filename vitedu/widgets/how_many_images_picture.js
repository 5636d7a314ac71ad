// The curves, as drafts for a width in pixels.

import { draft } from "./core/dom.js";
import { hundredths } from "./core/drawing.js";
import { commas, sentence } from "./core/texts.js";
import WORDS from "./how_many_images.words.json" with { type: "json" };

export const CURVES = { left: 34, right: 26, top: 26, bottom: 262, height: 306 };

// The places of numbers of images and of percents.
export function curveScales(sizes, width) {
  const { left, right, top, bottom } = CURVES;
  const [first, last] = [sizes[0], sizes.at(-1)];
  const room = width - left - right;
  return {
    x: (images) => hundredths(
      left + room * Math.log(images / first) / Math.log(last / first)),
    y: (percent) => hundredths(bottom + (top - bottom) * percent / 100),
    imagesAt: (x) => first * (last / first) ** ((x - left) / room),
    end: width - right,
  };
}

function curveAxes(sizes, { x, y, end }) {
  const { left, bottom } = CURVES;
  return [
    ...[0, 25, 50, 75, 100].flatMap((percent) => [
      draft("path", { class: "grid", d: `M${left} ${y(percent)}H${end}` }),
      draft("text", {
        x: left - 6, y: y(percent) + 4, "text-anchor": "end", text: percent,
      }),
    ]),
    ...sizes.map((size) => draft("text", {
      x: x(size), y: bottom + 18, "text-anchor": "middle", text: commas(size),
    })),
    draft("text", {
      x: (left + end) / 2, y: bottom + 38, "text-anchor": "middle",
      text: WORDS.axis,
    }),
  ];
}

// The band from the worst to the best, and the line of the means.
function curveOf(kind, sizes, summaries, { x, y }) {
  const places = (name) => summaries.map((summary, i) =>
    `${x(sizes[i])} ${y(summary[name])}`);
  const band = [...places("best"), ...places("worst").reverse()];
  return [
    draft("path", { class: `band ${kind}`, d: `M${band.join("L")}z` }),
    draft("path", { class: `line ${kind}`, d: `M${places("mean").join("L")}` }),
    ...summaries.map(({ mean }, i) => draft("circle", {
      class: `dot ${kind}`, cx: x(sizes[i]), cy: y(mean), r: 3,
    })),
  ];
}

// From an accuracy across to the curve of the ViT, and down to the axis.
function wayAcross(kind, images, { mean }, need, { x, y, end }) {
  const reached = Number.isFinite(need.images);
  const to = reached ? x(need.images) : end;
  const down = reached ? `V${CURVES.bottom}` : "";
  const right = to > end - 100;
  return [
    draft("path", {
      class: `across ${kind}`, d: `M${x(images)} ${y(mean)}H${to}${down}`,
    }),
    draft("text", {
      class: `needed ${kind}`, x: to + (reached ? (right ? -6 : 6) : 0),
      y: reached ? CURVES.bottom - 8 : y(mean) - 10,
      "text-anchor": right ? "end" : "start",
      text: reached ? neededText(need) : WORDS.beyond,
    }),
  ];
}

function markOf(kind, images, { mean, worst, best }, { x, y }) {
  return [
    draft("path", {
      class: `spread ${kind}`, d: `M${x(images)} ${y(worst)}V${y(best)}`,
    }),
    draft("circle", {
      class: `mark ${kind}`, cx: x(images), cy: y(mean), r: 6,
    }),
  ];
}

export function curvesPicture(sizes, found, width) {
  const scales = curveScales(sizes, width);
  const { x, y } = scales;
  const { curves, plain, cnn, helped, needs } = found;
  const images = sizes[found.at];
  const name = (kind, i, [right, down]) => draft("text", {
    class: `name ${kind}`, x: x(sizes[i]) + right,
    y: y(curves[kind][i].mean) + down, text: WORDS.networks[kind],
  });
  return [
    draft("rect", {
      class: "column", x: hundredths(x(images) - 11), y: CURVES.top - 12,
      width: 22, height: CURVES.bottom - CURVES.top + 36,
    }),
    ...curveAxes(sizes, scales),
    ...curveOf("vit", sizes, curves.vit, scales),
    ...curveOf("cnn", sizes, curves.cnn, scales),
    name("cnn", 0, [14, 20]), name("vit", 0, [12, 6]),
    ...wayAcross(...(helped ? ["vit", images, helped, needs.helped]
      : ["cnn", images, cnn, needs.cnn]), scales),
    ...(helped ? [draft("path", {
      class: "gain vit", d: `M${x(images)} ${y(plain.mean)}V${y(helped.mean)}`,
    })] : []),
    ...markOf("vit", images, plain, scales),
    ...markOf("cnn", images, cnn, scales),
    ...(helped ? markOf("vit helped", images, helped, scales) : []),
  ];
}

// Two digits: a place on a straight line between two points says no more.
export const roughly = (number) => commas(Number(number.toPrecision(2)));

export function neededText({ images, low, high }) {
  if (!Number.isFinite(images)) {
    return sentence(WORDS.moreThan, { images: commas(low) });
  }
  return low === high ? sentence(WORDS.atMost, { images: commas(low) })
    : sentence(WORDS.about, { images: roughly(images) });
}
