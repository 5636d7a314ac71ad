// What the explorer that deletes patches draws: functions of numbers.

import { draft, html, put, svg, write } from "./core/dom.js";
import { withoutPatches } from "./delete_patches_maths.js";
import { PICTURE, inkSquares } from "./digit_picture.js";

export const FADE = { width: 420, height: 250, left: 44, right: 14, top: 12, bottom: 40 };
const MARKERS = {
  ink: (x, y) => `M${x - 3.5} ${y}a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0z`,
  rollout: (x, y) => `M${x - 3.5} ${y - 3.5}h7v7h-7z`,
  gradient: (x, y) => `M${x} ${y - 4.5}l4.5 8h-9z`,
  random: () => "",
};

// A picture with its patches gone: each is outlined, and empty or grey.
export function pictureWithout({ settings, ink, size, away }) {
  const across = PICTURE.side / size;
  return [
    draft("rect", { class: "sheet", width: 8, height: 8 }),
    ...inkSquares(withoutPatches(ink, away, size, settings.paint)),
    ...away.map((patch) => draft("rect", {
      class: "hole", x: (patch % across) * size + 0.12,
      y: Math.floor(patch / across) * size + 0.12,
      width: size - 0.24, height: size - 0.24,
    })),
  ];
}

// The scores of the patches over the picture, the highest full, and which is
// deleted as the how many-th.
export function pictureOfOrder({ settings, ink, size, scores, ranks }) {
  if (!ranks) return [];
  const across = PICTURE.side / size;
  const [least, most] = [Math.min(0, ...scores), Math.max(...scores)];
  const order = ranks[settings.order];
  return [
    ...order.map((patch) => draft("rect", {
      class: "score", x: (patch % across) * size,
      y: Math.floor(patch / across) * size, width: size, height: size,
      "fill-opacity":
        (0.75 * (scores[patch] - least) / (most - least || 1)).toFixed(3),
    })),
    draft("g", { class: "faint" }, ...inkSquares(ink)),
    ...order.map((patch, at) => draft("text", {
      class: at < settings.gone ? "rank first" : "rank",
      x: (patch % across + 0.5) * size,
      y: (Math.floor(patch / across) + 0.5) * size, text: at + 1,
    })),
  ];
}

// The chance of the answer against the patches gone, a line for each order.
// `across` names the axis; a line may still have gaps.
export function fadeCurves({ settings, lines: curves }, across) {
  if (!curves) return [];
  const { order: chosen, gone } = settings;
  const { width, height, left, right, top, bottom } = FADE;
  const most = curves.ink.length - 1;
  const x = (count) => left + (width - left - right) * count / most;
  const y = (chance) => top + (height - top - bottom) * (1 - chance);
  const names = Object.keys(curves).filter((name) => name !== chosen);
  const ticks = [0, 0.5, 1].flatMap((chance) => [
    draft("path", { class: "grid", d: `M${left} ${y(chance)}H${width - right}` }),
    draft("text", { x: left - 6, y: y(chance) + 4, "text-anchor": "end",
      text: `${100 * chance}%` }),
  ]);
  const counts = Array.from({ length: most / 4 + 1 }, (_, i) => draft("text", {
    x: x(4 * i), y: height - bottom + 18, "text-anchor": "middle",
    text: 4 * i,
  }));
  const lines = [...names, chosen].map((name) => {
    const points = curves[name].map((chance, count) =>
      (chance === undefined ? null : [x(count), y(chance)]
        .map((place) => Number(place.toFixed(1)))));
    const known = points.filter(Boolean);
    return draft("g", { class: name === chosen ? `of-${name} first`
      : `of-${name}` },
    draft("path", { class: "line", d: `M${known.join("L")}` }),
    draft("path", { class: "marker",
      d: known.map((point) => MARKERS[name](...point)).join("") }));
  });
  const here = curves[chosen][gone];
  return [
    ...ticks, ...counts,
    draft("text", { x: (left + width - right) / 2, y: height - 6,
      "text-anchor": "middle", text: across }),
    draft("path", { class: "here",
      d: `M${x(gone)} ${top}V${height - bottom}` }),
    ...lines,
    ...(here === undefined ? [] : [draft("circle", {
      class: `point of-${chosen}`, cx: x(gone), cy: y(here), r: 7,
    })]),
  ];
}

// Buttons for the orders, each with its line and the area under its curve.
export function orderButtons(orders, names, label, pick) {
  const buttons = orders.map((order) => {
    const area = html("span", { class: "area" });
    const swatch = svg("svg", {
      class: `swatch of-${order}`, viewBox: "0 0 28 12", width: 28, height: 12,
      "aria-hidden": "true",
    }, svg("path", { class: "line", d: "M0 6H28" }),
    svg("path", { class: "marker", d: MARKERS[order](14, 6) }));
    return { order, area, root: html("button", {
      type: "button", class: "vitedu-button order",
      onclick: () => pick(order),
    }, swatch, html("span", { text: names[order] }), area) };
  });
  const root = html("div", {
    class: "orders", role: "group", "aria-label": label,
  }, ...buttons.map((one) => one.root));
  function update(chosen, texts) {
    for (const { order, area, root: one } of buttons) {
      put(one, "aria-pressed", String(order === chosen));
      write(area, texts[order]);
    }
  }
  return { root, update };
}
