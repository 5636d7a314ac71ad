// Patches of a picture are hidden, and a masked autoencoder guesses them.

import { decodeArray, encodeArray, rowsOf } from "./core/arrays.js";
import { inGrid } from "./core/choosing.js";
import { button, noted, panel, range, titled } from "./core/controls.js";
import { html, put, svg, write } from "./core/dom.js";
import { defineExplorer } from "./core/explorer.js";
import { sentence } from "./core/texts.js";
import { networkNow, sampleButtons, waiting } from "./digit_parts.js";
import WORDS from "./hide_and_guess.words.json" with { type: "json" };
import {
  HIDING, allButTheMiddle, hiddenAtRandom, makeGuesser, misses, onTheLeft,
  outline, placesBetween, shown,
} from "./hide_and_guess_maths.js";

const SEEDS = 99;
// Hidden by the button for others at random, where nothing was before.
const USUAL = 37;

const countOf = (hidden) => hidden.filter(Boolean).length;
const hiding = (hidden) => ({ hidden: encodeArray(
  { data: Uint8Array.from(hidden), shape: [HIDING.patches] }, "bool") });

export function read(model, redraw) {
  return {
    samples: rowsOf(model.get("samples")).map((bytes) =>
      Float32Array.from(bytes, (byte) => byte / 255)),
    names: model.get("names"),
    network: networkNow(model, redraw, (bytes) =>
      makeGuesser(bytes, model.get("layout"), model.get("config"))),
  };
}

export function compute(settings, { samples, names, network }) {
  const { picture, seed } = settings;
  const hidden = Array.from(decodeArray(settings.hidden).data);
  const [pixels, name] = [samples, names].map((all) => all[picture]);
  const seen = { picture, hidden, pixels, name };
  if (!network.reader) return { ...seen, ...waiting(network) };
  const filled = shown(network.reader(pixels, hidden));
  const { off, grey } = misses(pixels, filled, hidden);
  return {
    ...seen, filled, off, grey, isBusy: false,
    published: { picture, hidden, seed, off: off ?? "none",
      grey: grey ?? "none" },
  };
}

export function say({ hidden, name, filled, off, grey, reading }) {
  if (!filled) return { reading, name };
  const count = countOf(hidden);
  const all = HIDING.patches;
  const said = { 0: WORDS.allSeen, 1: WORDS.oneHidden,
    [all - 1]: WORDS.oneSeen, [all]: WORDS.noneSeen }[count] ?? WORDS.seen;
  const words = [sentence(said, { seen: all - count, hidden: count, all })];
  if (off !== null) {
    words.push(sentence(grey === null ? WORDS.off : WORDS.grey,
      { off: off.toFixed(2), grey: grey?.toFixed(2) }));
  }
  return { reading: words.join(" "), name };
}

// A canvas with a grey pixel for each number, from 0, white, to 1, black.
function greyPicture(attributes) {
  const { side } = HIDING;
  const root = html("canvas", { width: side, height: side, ...attributes });
  function update(pixels) {
    const image = new ImageData(side, side);
    pixels.forEach((pixel, i) => {
      const shade = 255 * (1 - pixel);
      image.data.set([shade, shade, shade, 255], 4 * i);
    });
    root.getContext("2d").putImageData(image, 0, 0);
  }
  return { root, update };
}

// The patches as buttons over the picture. A pointer that goes over them does
// to all what it did to the first.
function patchCover(change) {
  const { across, patches } = HIDING;
  const neighbour = inGrid(across, across);
  const under = greyPicture({ "aria-hidden": "true" });
  let hidden = [];
  let focus = 0;
  let pen = null; // the pointer that is down, where it was, what it does
  // A click without details is one of a key. What others would do, is done.
  const marks = Array.from({ length: patches }, (_, place) => html("button", {
    type: "button", class: "patch",
    onclick: ({ detail }) => detail || change([place], !hidden[place]),
    onfocus: () => rove(place),
  }));
  const root = html("div", {
    class: "cover", role: "group", "aria-label": WORDS.patches,
    onpointerdown: down, onpointermove: move, onpointerup: up,
    onpointercancel: up, onkeydown: press,
  }, under.root, ...marks);

  function pointOf(event) {
    const box = root.getBoundingClientRect();
    return [(event.clientY - box.y) / box.height,
      (event.clientX - box.x) / box.width].map((at) => at * across);
  }
  function down(event) {
    if (pen !== null || event.button) return;
    root.setPointerCapture(event.pointerId);
    const at = pointOf(event);
    const [place] = placesBetween(at, at);
    if (place === undefined) return;
    pen = { id: event.pointerId, at, hides: !hidden[place] };
    rove(place);
    change([place], pen.hides);
  }
  function move(event) {
    if (event.pointerId !== pen?.id) return;
    const at = pointOf(event);
    change(placesBetween(pen.at, at), pen.hides);
    pen.at = at;
  }
  function up(event) {
    if (event.pointerId === pen?.id) pen = null;
  }
  function press(event) {
    const next = neighbour(focus, event.key);
    if (next === undefined) return;
    event.preventDefault();
    marks[next].focus({ preventScroll: true });
  }
  function rove(place) {
    focus = place;
    marks.forEach((one, at) =>
      put(one, "tabindex", at === focus ? "0" : "-1"));
  }
  function update(pixels, now) {
    hidden = now;
    under.update(pixels);
    marks.forEach((one, place) => {
      const is = Boolean(hidden[place]);
      put(one, "class", is ? "patch hidden" : "patch");
      put(one, "aria-label", sentence(WORDS.patch[is], {
        row: Math.floor(place / across) + 1, column: place % across + 1,
      }));
    });
  }
  rove(focus);
  return { root, update };
}

// The picture as the network fills it in.
function guessedPicture() {
  const { across } = HIDING;
  const filled = greyPicture({ role: "img" });
  const lines = ["under", "over"].map((name) => svg("path", { class: name }));
  const root = html("div", { class: "guessed" }, filled.root, svg("svg", {
    viewBox: `0 0 ${across} ${across}`, "aria-hidden": "true",
  }, ...lines));
  function update(pixels, hidden) {
    filled.update(pixels);
    const isHidden = hidden.includes(1);
    put(filled.root, "aria-label", WORDS.guessed[isHidden]);
    // A line around all of it would say nothing.
    for (const line of lines) put(line, "d", isHidden ? outline(hidden) : "");
  }
  return { root, update };
}

function samplePicture(pixels) {
  const { root, update } = greyPicture({ "aria-hidden": "true" });
  update(pixels);
  return root;
}

function seen({ model, set }) {
  const cover = patchCover((places, hides) => {
    const { data } = decodeArray(model.get("hidden"));
    if (places.every((place) => Boolean(data[place]) === hides)) return;
    for (const place of places) data[place] = hides;
    set(hiding(data));
  });
  return { root: panel("of-seen", titled(WORDS.sees), cover.root,
    noted(WORDS.seesNote)),
  show: ({ pixels, hidden }) => cover.update(pixels, hidden) };
}

function guess() {
  const guessed = guessedPicture();
  return { root: panel("of-guess", titled(WORDS.guesses), guessed.root,
    noted(WORDS.guessesNote)),
  show: ({ filled, hidden }) => filled && guessed.update(filled, hidden) };
}

function original() {
  const picture = greyPicture({ role: "img" });
  const note = noted("");
  function show({ pixels }, { name }) {
    picture.update(pixels);
    put(picture.root, "aria-label", sentence(WORDS.original, { name }));
    write(note, sentence(WORDS.wasNote, { name }));
  }
  return { show, root: panel("of-original", titled(WORDS.was), picture.root,
    note) };
}

function masks({ model, set }) {
  function others() {
    const count = countOf(decodeArray(model.get("hidden")).data) || USUAL;
    const seed = model.get("seed") % SEEDS + 1;
    set({ ...hiding(hiddenAtRandom(count, seed)), seed });
  }
  return { root: html("div", { class: "hiding" },
    button(WORDS.random, others),
    button(WORDS.left, () => set(hiding(onTheLeft()))),
    button(WORDS.middle, () => set(hiding(allButTheMiddle()))),
    button(WORDS.show, () => set(hiding(hiddenAtRandom(0, 1))))) };
}

function count({ model, set }) {
  const all = HIDING.patches;
  const { root, set: place } = range({
    label: WORDS.count, min: 0, max: all, value: 0,
    format: (number) => sentence(WORDS.ofAll,
      { count: number, all, share: Math.round(100 * number / all) }),
    onInput: (number) =>
      set(hiding(hiddenAtRandom(number, model.get("seed")))),
  });
  return { root, show: ({ hidden }) => place(countOf(hidden)) };
}

function pictures({ set, given: { samples, names } }) {
  const { root, update } = sampleButtons({
    label: WORDS.samples, images: samples, marked: [], names,
    pick: (picture) => set({ picture }), picture: samplePicture,
  });
  return { root, show: ({ picture }) => update(picture) };
}

export default defineExplorer("hide-and-guess", {
  words: WORDS,
  styles: ["vitedu-reads-digit"],
  read, compute, say,
  parts: { seen, guess, original, masks, count, pictures },
  layout: [{ beside: ["seen", "guess", "original"] }, "masks", ["count"],
    "reading", "pictures"],
});
