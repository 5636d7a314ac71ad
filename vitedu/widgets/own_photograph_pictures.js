// Pictures of a grid of patches, over which a reader points at one.

import { html } from "./core/dom.js";
import { light } from "./lit_photograph.js";

// A square picture and the frame around the patch that is looked at.
// `pointing` hears of {look: place or null} and of {pick: place}, a place being
// [down, across] in shares of the side.
export function picture(name, pointing) {
  const canvas = html("canvas", { width: 1, height: 1 });
  const frame = html("div", { class: "frame", hidden: "" });
  const root = html("div", { class: `picture ${name}` }, canvas, frame);

  function placeOf({ clientX, clientY }) {
    const { left, top, width, height } = canvas.getBoundingClientRect();
    return [(clientY - top) / height, (clientX - left) / width].map(
      (share) => Math.min(0.9999, Math.max(0, share)));
  }
  root.addEventListener("pointermove", (event) => {
    if (event.pointerType === "mouse") pointing.look(placeOf(event));
    else if (event.buttons) pointing.pick(placeOf(event));
  });
  root.addEventListener("pointerleave", () => pointing.look(null));
  root.addEventListener("click", (event) => pointing.pick(placeOf(event)));

  // `colourOf(i)` is the colour of pixel i of side * side. Returns the pixels.
  function draw(side, colourOf) {
    canvas.width = side;
    canvas.height = side;
    const context = canvas.getContext("2d");
    const pixels = context.createImageData(side, side);
    for (let i = 0; i < side * side; i += 1) {
      pixels.data.set(colourOf(i), 4 * i);
      pixels.data[4 * i + 3] = 255;
    }
    context.putImageData(pixels, 0, 0);
    return pixels;
  }
  function mark(row, column, grid) {
    frame.hidden = false;
    const [top, left, size] = [row, column, 1].map((n) => `${100 * n / grid}%`);
    Object.assign(frame.style, { top, left, width: size, height: size });
  }
  // `values`, in rows of `side`, over the pixels of a photograph.
  const lit = (photograph, values, side) =>
    light(canvas, photograph, values, side);
  return { root, draw, lit, mark };
}

// How many of the weights, the largest first, make up half of their sum.
export function halfOf(weights) {
  const sorted = Float64Array.from(weights).sort().reverse();
  const half = sorted.reduce((sum, weight) => sum + weight, 0) / 2;
  let sum = 0;
  return 1 + sorted.findIndex((weight) => (sum += weight) >= half);
}

// Calls `work`, which returns a promise, with what was asked last, and with
// what was asked before only if there was time.
export function newestOnly(work) {
  let next;
  let busy = false;
  return async function ask(...given) {
    next = given;
    if (busy) return;
    busy = true;
    try {
      while (next) {
        const now = next;
        next = undefined;
        await work(...now);
      }
    } finally {
      busy = false;
    }
  };
}
