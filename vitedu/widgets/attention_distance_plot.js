// The left panel of the explorer: one dot a head, depth against distance.

import WORDS from "./attention_distance.words.json" with { type: "json" };
import { headColour, pixelText } from "./attention_distance_maths.js";
import { choosable, markChosen, onRest } from "./core/choosing.js";
import { noted, panel, titled } from "./core/controls.js";
import { draft, put, renew, svg } from "./core/dom.js";
import { sentence } from "./core/texts.js";

const PLOT = {
  width: 400, height: 330, left: 34, right: 60, top: 10, bottom: 38,
};
const PLOT_RIGHT = PLOT.width - PLOT.right;
const PLOT_FLOOR = PLOT.height - PLOT.bottom;

// From 0 on, unless all distances are so close together that one would see
// nothing then.
function plotRange({ uniform, smallest, largest }) {
  const low = Math.min(uniform, smallest);
  const high = Math.max(uniform, largest);
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
  const text = (at, words) => draft("text", { ...at, text: words });
  const bands = [...Array(layers).keys()].flatMap((layer) => {
    const left = PLOT.left + band * layer;
    const number = text({
      x: left + band / 2, y: PLOT_FLOOR + 16, "text-anchor": "middle",
    }, layer + 1);
    if (layer % 2) return [number];
    return [number, draft("rect", {
      class: "band", x: left, y: PLOT.top, width: band,
      height: PLOT_FLOOR - PLOT.top,
    })];
  });
  const lines = [];
  const step = gridStep(top - bottom);
  for (let n = Math.ceil(bottom / step); n * step <= top; n++) {
    const tick = n * step;
    lines.push(
      draft("line", { class: "grid", ...across(tick) }),
      text({ x: PLOT.left - 6, y: y(tick) + 4, "text-anchor": "end" },
        Number(tick.toFixed(6))),
    );
  }
  const value = sentence(
    WORDS.baselineValue, { distance: pixelText(uniform) },
  );
  return [
    ...bands, ...lines,
    text({
      x: (PLOT.left + PLOT_RIGHT) / 2, y: PLOT.height - 5,
      "text-anchor": "middle",
    }, WORDS.layerAxis),
    draft("line", { class: "baseline", ...across(uniform) }),
    ...[[WORDS.baseline, -2], [value, 13]].map(([words, below]) =>
      text({ x: PLOT_RIGHT + 6, y: y(uniform) + below }, words)),
  ];
}

// Where the dots stand, and what lies behind them: a line from each head as
// it was untrained, and a grey dot there. One path for all: the browser has
// one thing to style and to draw.
export function plotOf({ now, untrained }, data) {
  const scales = plotScales(data);
  const { x, y, radius } = scales;
  const places = Array.from(now, (distance, at) =>
    [x(Math.floor(at / data.heads), at % data.heads), y(distance)]);
  const starts = Array.from(untrained, y);
  return {
    places,
    behind: [
      ...plotAxes(data, scales),
      draft("path", {
        class: "stems",
        d: places.map(([at, to], i) => `M${at} ${starts[i]}V${to}`).join(""),
      }),
      draft("path", {
        class: "ghosts", "stroke-width": 0.7 * radius,
        d: places.map(([at], i) => `M${at} ${starts[i]}h0`).join(""),
      }),
    ],
  };
}

export function plotNote(data) {
  const note = sentence(WORDS.plotNote, { step: data.steps[0] });
  return plotScales(data).bottom === 0 ? note : note + WORDS.zoomNote;
}

function plotDot(layer, head, radius) {
  const label = radius < 7
    ? { class: "name", y: -radius - 6,
      text: sentence(WORDS.head, { head: head + 1 }) }
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

export function headPlot({ given: data, set }) {
  const { layers, heads } = data;
  const { radius } = plotScales(data);
  const place = (index) => [Math.floor(index / heads), index % heads];
  const all = [...Array(layers * heads).keys()];
  const marks = all.map((index) => plotDot(...place(index), radius));
  const behind = svg("g", { "aria-hidden": "true" });
  let [distances, places] = [];

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
      .sort((a, b) => distances[a] - distances[b] || a - b);
    return order[order.indexOf(index) + upwards] ?? index;
  }

  function show(found) {
    const plotted = plotOf(found, data);
    [distances, places] = [found.now, plotted.places];
    renew(behind, plotted.behind);
    marks.forEach((mark, index) => {
      const [layer, head] = place(index);
      const [left, top] = places[index];
      mark.style.transform = `translate(${left}px, ${top}px)`;
      put(mark, "data-distance", String(distances[index]));
      put(mark, "aria-label", sentence(WORDS.dot, {
        layer: layer + 1, head: head + 1,
        distance: pixelText(distances[index]),
      }));
    });
    markChosen(marks, found.chosen, found.chosen);
  }

  const dots = svg(
    "g", { role: "radiogroup", "aria-label": WORDS.heads }, ...marks,
  );
  function pick(index) {
    const [layer, head] = place(index);
    set({ layer, head });
  }
  choosable(dots, marks, neighbour, pick);
  // Small dots are hard to hit: a click beside them means the nearest.
  function pickNearest(event) {
    if (event.target.closest("[role=radio]")) return;
    const point = new DOMPoint(event.clientX, event.clientY)
      .matrixTransform(plot.getScreenCTM().inverse());
    const away = ([x, y]) => Math.hypot(x - point.x, y - point.y);
    pick(all.reduce((best, index) =>
      (away(places[index]) < away(places[best]) ? index : best)));
  }
  const plot = svg("svg", {
    viewBox: `0 0 ${PLOT.width} ${PLOT.height}`, class: "plot",
    onclick: pickNearest,
  }, behind, dots);
  return {
    root: panel("of-heads", titled(WORDS.plotTitle), plot,
      noted(plotNote(data))),
    show, dispose: onRest(dots, marks, pick),
  };
}
