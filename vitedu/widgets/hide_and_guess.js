// Patches of a picture are hidden, and a masked autoencoder guesses them.

import { decodeArray, encodeArray, inRows } from "./core/arrays.js";
import { inGrid } from "./core/choosing.js";
import { button, noted, panel, range, titled } from "./core/controls.js";
import { html, put, svg, write } from "./core/dom.js";
import { explorer, followTraits, setTraits } from "./core/frame.js";
import { sentence } from "./core/texts.js";
import { makeTools } from "./core/tools.js";
import { networkOf, sampleButtons } from "./digit_parts.js";
import READS from "./digit_parts.words.json" with { type: "json" };
import WORDS from "./hide_and_guess.words.json" with { type: "json" };
import {
  HIDING, allButTheMiddle, eachPatch, hiddenAtRandom, makeGuesser, misses,
  onTheLeft, placesBetween, shown,
} from "./hide_and_guess_maths.js";

const HIDE_TRAITS = ["picture", "hidden", "seed"];
const SEEDS = 99;
// Hidden by the button for others at random, where nothing was before.
const USUAL = 37;

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

// A line around all that is seen.
function outline(hidden) {
  const { across } = HIDING;
  const isSeen = (row, column) => row >= 0 && row < across && column >= 0
    && column < across && !hidden[row * across + column];
  return eachPatch((row, column) => !isSeen(row, column) ? "" : [
    isSeen(row - 1, column) ? "" : `M${column} ${row}h1`,
    isSeen(row + 1, column) ? "" : `M${column} ${row + 1}h1`,
    isSeen(row, column - 1) ? "" : `M${column} ${row}v1`,
    isSeen(row, column + 1) ? "" : `M${column + 1} ${row}v1`,
  ].join("")).join("");
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

function render({ model, el }) {
  const frame = explorer(el, "hide-and-guess", WORDS.label);
  frame.root.classList.add("vitedu-reads-digit");
  const tools = makeTools(frame, model, { tour: WORDS.tour });
  const samples = inRows(decodeArray(model.get("samples")).data,
    HIDING.side ** 2).map((bytes) => Float32Array.from(bytes, (b) => b / 255));
  const names = model.get("names");
  const set = (traits) => setTraits(model, traits);
  const hide = (hidden, traits = {}) => set({ ...traits, hidden: encodeArray(
    { data: Uint8Array.from(hidden), shape: [HIDING.patches] }, "bool") });
  const network = networkOf(model, () => update(), (error) => {
    put(frame.root, "aria-busy", "false");
    frame.read(sentence(READS.failed, { error: error.message }));
  }, (bytes) => makeGuesser(bytes, model.get("layout"), model.get("config")));

  const cover = patchCover((places, hides) => {
    const { data } = decodeArray(model.get("hidden"));
    if (places.every((place) => Boolean(data[place]) === hides)) return;
    for (const place of places) data[place] = hides;
    hide(data);
  });
  const guessed = guessedPicture();
  const original = greyPicture({ role: "img" });
  const wasNote = noted("");
  const chips = sampleButtons({
    label: WORDS.samples, images: samples, marked: [], names,
    pick: (picture) => set({ picture }), picture: samplePicture,
  });
  const count = range({
    label: WORDS.count, min: 0, max: HIDING.patches,
    value: countOf(viewed().hidden), format: countText,
    onInput: (number) => hide(hiddenAtRandom(number, model.get("seed"))),
  });
  const others = () => {
    const seed = model.get("seed") % SEEDS + 1;
    hide(hiddenAtRandom(countOf(viewed().hidden) || USUAL, seed), { seed });
  };

  function countText(number) {
    return sentence(WORDS.ofAll, { count: number, all: HIDING.patches,
      share: Math.round(100 * number / HIDING.patches) });
  }

  function viewed() {
    const { data } = decodeArray(model.get("hidden"));
    return { picture: model.get("picture"), hidden: Array.from(data),
      seed: model.get("seed") };
  }

  function update({ speak = true } = {}) {
    const view = viewed();
    const [pixels, name] = [samples, names].map((all) => all[view.picture]);
    cover.update(pixels, view.hidden);
    original.update(pixels);
    put(original.root, "aria-label", sentence(WORDS.original, { name }));
    write(wasNote, sentence(WORDS.wasNote, { name }));
    chips.update(view.picture);
    count.set(countOf(view.hidden));
    if (network.reader) {
      show(view, pixels, speak);
    } else {
      frame.read(READS.loading, { speak: false });
    }
  }

  function show(view, pixels, speak) {
    const filled = shown(network.reader(pixels, view.hidden));
    const { off, grey } = misses(pixels, filled, view.hidden);
    guessed.update(filled, view.hidden);
    frame.read(readingOf(view.hidden, off, grey), { speak });
    frame.publish({ ...view, off: off ?? "none", grey: grey ?? "none" });
    put(frame.root, "aria-busy", "false");
  }

  frame.root.append(
    html("div", { class: "at-once" },
      panel("of-seen", titled(WORDS.sees), cover.root, noted(WORDS.seesNote)),
      panel("of-guess", titled(WORDS.guesses), guessed.root,
        noted(WORDS.guessesNote)),
      panel("of-original", titled(WORDS.was), original.root, wasNote)),
    html("div", { class: "hiding" },
      button(WORDS.random, others),
      button(WORDS.left, () => hide(onTheLeft())),
      button(WORDS.middle, () => hide(allButTheMiddle())),
      button(WORDS.show, () => hide(hiddenAtRandom(0, 1)))),
    html("div", { class: "vitedu-controls" }, count.root),
    ...frame.reading,
    chips.root,
    ...tools.foot,
  );
  put(frame.root, "aria-busy", "true");
  update({ speak: false });
  network.ask();
  return followTraits(model, HIDE_TRAITS, update, tools.dispose, frame.dispose);
}

function readingOf(hidden, off, grey) {
  const count = countOf(hidden);
  const all = HIDING.patches;
  const said = { 0: WORDS.allSeen, 1: WORDS.oneHidden,
    [all - 1]: WORDS.oneSeen, [all]: WORDS.noneSeen }[count] ?? WORDS.seen;
  const words = sentence(said, { seen: all - count, hidden: count, all });
  if (off === null) return words;
  const missed = sentence(grey === null ? WORDS.off : WORDS.grey,
    { off: off.toFixed(2), grey: grey?.toFixed(2) });
  return `${words} ${missed}`;
}

const countOf = (hidden) => hidden.filter(Boolean).length;

export default { render };
