// The left panel of the explorer: one dot a head, depth against distance.

import WORDS from "./attention_distance.words.json" with { type: "json" };
import { headColour, moved, pixelText } from "./attention_distance_maths.js";
import { choosable, markChosen, onRest } from "./core/choosing.js";
import { put, svg } from "./core/dom.js";
import { sentence } from "./core/texts.js";

const PLOT = { width: 400, height: 330, left: 34, right: 60, top: 10, bottom: 38 };
const PLOT_RIGHT = PLOT.width - PLOT.right;
const PLOT_FLOOR = PLOT.height - PLOT.bottom;

// From 0 on, unless all distances are so close together that one would see
// nothing then.
function plotRange({ uniform, smallest, largest }) {
  const [low, high] = [Math.min(uniform, smallest), Math.max(uniform, largest)];
  if (low < 0.5 * high) return [0, 1.12 * high];
  const margin = 0.12 * (high - low || high);
  return [low - margin, high + margin];
}

function plotScales(data) {
  const { layers, heads } = data;
  const band = (PLOT_RIGHT - PLOT.left) / layers;
  const apart = Math.min(22, (0.88 * band) / heads);
  const [bottom, top] = plotRange(data);
  return {
    band, bottom, top, radius: Math.max(2.5, Math.min(10, apart / 2)),
    x: (layer, head) =>
      PLOT.left + band * (layer + 0.5) + apart * (head - (heads - 1) / 2),
    y: (distance) => PLOT_FLOOR -
      ((distance - bottom) / (top - bottom)) * (PLOT_FLOOR - PLOT.top),
  };
}

// The round distance between two grid lines that gives about five of them.
function gridStep(range) {
  const power = 10 ** Math.floor(Math.log10(range / 5));
  return [1, 2, 5, 10].find((digit) => digit * power >= range / 6) * power;
}

function plotAxes({ layers, uniform }, { band, bottom, top, y }) {
  const across = (distance) => ({
    x1: PLOT.left, x2: PLOT_RIGHT, y1: y(distance), y2: y(distance),
  });
  const bands = [...Array(layers).keys()].flatMap((layer) => {
    const left = PLOT.left + band * layer;
    const number = svg("text", {
      x: left + band / 2, y: PLOT_FLOOR + 16, "text-anchor": "middle",
      text: layer + 1,
    });
    if (layer % 2) return [number];
    return [number, svg("rect", {
      class: "band", x: left, y: PLOT.top, width: band,
      height: PLOT_FLOOR - PLOT.top,
    })];
  });
  const lines = [];
  const step = gridStep(top - bottom);
  for (let n = Math.ceil(bottom / step); n * step <= top; n++) {
    const tick = n * step;
    lines.push(
      svg("line", { class: "grid", ...across(tick) }),
      svg("text", {
        x: PLOT.left - 6, y: y(tick) + 4, "text-anchor": "end",
        text: Number(tick.toFixed(6)),
      }),
    );
  }
  const title = svg("text", {
    x: (PLOT.left + PLOT_RIGHT) / 2, y: PLOT.height - 5,
    "text-anchor": "middle", text: WORDS.layerAxis,
  });
  const value = sentence(WORDS.baselineValue, { distance: pixelText(uniform) });
  const label = [[WORDS.baseline, -2], [value, 13]].map(([text, below]) =>
    svg("text", { x: PLOT_RIGHT + 6, y: y(uniform) + below, text }));
  const baseline = svg("line", { class: "baseline", ...across(uniform) });
  return svg(
    "g", { "aria-hidden": "true" },
    ...bands, ...lines, title, baseline, ...label,
  );
}

function plotDot(layer, head, radius) {
  const label = radius < 7
    ? { class: "name", y: -radius - 6, text: sentence(WORDS.head, { head: head + 1 }) }
    : { class: "number", y: 4, text: head + 1 };
  return svg(
    "g", {
      role: "radio", class: "dot", style: `color: ${headColour(head)}`,
      "data-layer": layer, "data-head": head,
    },
    svg("circle", { class: "halo", r: radius + 4 }),
    svg("circle", { class: "ring", r: radius }),
    svg("text", { "text-anchor": "middle", ...label }),
  );
}

export function headPlot(data, pick) {
  const { layers, heads } = data;
  const scales = plotScales(data);
  const { x, y, radius } = scales;
  const place = (index) => [Math.floor(index / heads), index % heads];
  const all = [...Array(layers * heads).keys()];
  const marks = all.map((index) => plotDot(...place(index), radius));
  // One path for all of them: the browser has one thing to style and to draw.
  const stems = svg("path", { class: "stems" });
  const ghosts = svg("path", { class: "ghosts", "stroke-width": 0.7 * radius });
  const shown = new Float64Array(all.length);

  // Sideways to the same head of the next layer, up and down by distance.
  function neighbour(index, key) {
    const [layer, head] = place(index);
    const sideways = { ArrowLeft: -1, ArrowRight: 1 }[key];
    if (sideways) {
      const next = Math.min(layers - 1, Math.max(0, layer + sideways));
      return next * heads + head;
    }
    const upwards = { ArrowDown: -1, ArrowUp: 1 }[key];
    if (!upwards) return undefined;
    const order = all
      .slice(layer * heads, (layer + 1) * heads)
      .sort((a, b) => shown[a] - shown[b] || a - b);
    return order[order.indexOf(index) + upwards] ?? index;
  }

  function update(distanceOf, untrainedOf, chosen) {
    let [lines, points] = ["", ""];
    for (const index of all) {
      const [layer, head] = place(index);
      const now = distanceOf(layer, head);
      const [low, high] = [y(untrainedOf(layer, head)), y(now)];
      const at = x(layer, head);
      shown[index] = now;
      lines += `M${at} ${low}V${high}`;
      points += `M${at} ${low}h0`;
      marks[index].style.transform = moved(at, high);
      put(marks[index], "data-distance", String(now));
      put(marks[index], "aria-label", sentence(WORDS.dot, {
        layer: layer + 1, head: head + 1, distance: pixelText(now),
      }));
    }
    put(stems, "d", lines);
    put(ghosts, "d", points);
    markChosen(marks, chosen, chosen);
  }

  const dots = svg(
    "g", { role: "radiogroup", "aria-label": WORDS.heads }, ...marks,
  );
  const pickAt = (index) => pick(...place(index));
  choosable(dots, marks, neighbour, pickAt);
  // Small dots are hard to hit: a click beside them means the nearest.
  function pickNearest(event) {
    if (event.target.closest("[role=radio]")) return;
    const point = new DOMPoint(event.clientX, event.clientY)
      .matrixTransform(root.getScreenCTM().inverse());
    const away = (index) => Math.hypot(
      x(...place(index)) - point.x, y(shown[index]) - point.y,
    );
    pickAt(all.reduce((best, index) =>
      away(index) < away(best) ? index : best));
  }
  const root = svg(
    "svg", { viewBox: `0 0 ${PLOT.width} ${PLOT.height}`, class: "plot" },
    plotAxes(data, scales),
    svg("g", { "aria-hidden": "true" }, stems, ghosts),
    dots,
  );
  root.addEventListener("click", pickNearest);
  return {
    root, update, dispose: onRest(dots, marks, pickAt),
    startsAtZero: scales.bottom === 0,
  };
}
