// The stack of layers, as drafts for a width in pixels.

import { draft } from "./core/dom.js";
import { hundredths } from "./core/drawing.js";

// As high with one layer as with many: nothing below jumps.
export const REACH_SIZE = { side: 8, top: 12, bottom: 252, height: 282 };

function reachStep(width, tokens) {
  return (width - 2 * REACH_SIZE.side) / tokens;
}

// The token below a point, counted from 0.
export function tokenAt(x, width, tokens) {
  const token = Math.floor((x - REACH_SIZE.side) / reachStep(width, tokens));
  return Math.max(0, Math.min(tokens - 1, token));
}

export function reachPicture(stack, reach, width) {
  const { kind, tokens, layers, place } = stack;
  const step = reachStep(width, tokens);
  const x = (token) => hundredths(REACH_SIZE.side + (token + 0.5) * step);
  const y = (layer) => hundredths(REACH_SIZE.bottom
    + (REACH_SIZE.top - REACH_SIZE.bottom) * layer / layers);
  const radius = hundredths(Math.min(4.5, step / 2.6));
  const line = ([from, to]) =>
    `M${x(from[1])} ${y(from[0])}L${x(to[1])} ${y(to[0])}`;
  // Below its last layer, attention joins everything to everything.
  const whole = kind === "attention" && layers > 1;
  const drawn = whole
    ? reach.links.filter(([from]) => from[0] === layers - 1) : reach.links;
  const dots = (seen) => reach.sees.flatMap((row, layer) =>
    row.flatMap((sees, token) => (sees === seen ? [draft("circle", {
      class: sees ? "sees" : "blind",
      cx: x(token), cy: y(layer), r: layer ? radius * 0.8 : radius,
    })] : [])));
  const every = Math.ceil(26 / step);
  return [
    draft("rect", {
      class: "column", x: hundredths(x(place) - step / 2), y: 0,
      width: hundredths(step), height: y(0) + 8,
    }),
    ...(whole ? [draft("rect", {
      class: "all", x: x(0), y: y(layers - 1), width: x(tokens - 1) - x(0),
      height: y(0) - y(layers - 1),
    })] : []),
    draft("path", { class: "link", d: drawn.map(line).join("") }),
    draft("path", { class: "way", d: reach.way.slice(1).map((to, i) =>
      line([reach.way[i], to])).join("") }),
    ...dots(false), ...dots(true),
    draft("circle", { class: "output", cx: x(place), cy: y(layers),
      r: radius + 2 }),
    ...Array.from({ length: tokens }, (_, token) => token).filter((token) =>
      token === 0 || token === tokens - 1
      || ((token + 1) % every === 0 && tokens - 1 - token >= every))
      .map((token) => draft("text", {
        x: x(token), y: y(0) + 22, "text-anchor": "middle", text: token + 1,
      })),
  ];
}
