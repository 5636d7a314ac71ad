// The patches of a digit, shuffled before two Vision Transformers.

import WORDS from "./bag_of_patches.words.json" with { type: "json" };
import {
  BAG, inPlace, makeReaders, makeTally, orderOf, shuffledInk,
} from "./bag_of_patches_maths.js";
import { decodeArray, encodeArray, rowsOf } from "./core/arrays.js";
import { inGrid } from "./core/choosing.js";
import { button, noted, panel, range, titled } from "./core/controls.js";
import { draft, html, put, renew, write } from "./core/dom.js";
import { defineExplorer } from "./core/explorer.js";
import { sentence, tidy } from "./core/texts.js";
import {
  answerPanel, networkNow, percent, sampleButtons, waiting,
} from "./digit_parts.js";
import READS from "./digit_parts.words.json" with { type: "json" };
import { PICTURE } from "./digit_picture.js";
import { drawingField } from "./follow_digit_drawing.js";
import { pixelOf } from "./follow_digit_maths.js";
import { largestChange, likeliest } from "./matrices.js";

const SEEDS = 99;

const swapping = (data) =>
  ({ swapped: encodeArray({ data, shape: [BAG.places] }, "uint8") });
const shuffling = (seed) =>
  ({ seed, ...swapping(Uint8Array.from(inPlace())) });

export function read(model, redraw) {
  const network = networkNow(model, redraw, (bytes) =>
    makeReaders(bytes, model.get("networks")));
  let counted = {}; // what was read last, in which orders, and of what
  function tallyOf(reads, ink) {
    const key = `${reads} ${ink}`;
    if (counted.key !== key) {
      counted = { key, tally: makeTally(network.reader[reads], ink) };
    }
    return counted.tally;
  }
  return { network, tallyOf, samples: rowsOf(model.get("samples")),
    labels: model.get("labels"), bagReads: model.get("bag_reads"),
    kept: model.get("kept") };
}

export function compute(settings, { network, tallyOf, samples, labels }) {
  const { digit, seed, positions } = settings;
  const swapped = decodeArray(settings.swapped).data;
  const order = orderOf(seed, swapped);
  const ink = digit < 0 ? decodeArray(settings.picture).data : samples[digit];
  const shown = {
    digit, seed, positions, ink, order, label: labels[digit],
    isSwapped: swapped.some((from, to) => from !== to),
    isInOrder: order.every((patch, place) => patch === place),
  };
  if (!network.reader) return { ...shown, ...waiting(network) };
  const reads = positions ? "with" : "without";
  const tally = tallyOf(reads, ink);
  const chances = network.reader[reads](shuffledInk(ink, order));
  const most = largestChange(chances, tally.written);
  return {
    ...shown, tally, chances, most, isBusy: !tally.isDone(),
    whole: shown.isInOrder ? null : tally.written,
    goOn: tally.isDone() ? undefined : tally.step,
    published: { digit, seed, order, positions, chances, most,
      counts: tally.counts, mostOfAll: tally.most },
  };
}

function say({ digit, positions, ink, label, isInOrder, chances, most, tally,
  reading }) {
  if (!tally) return { reading, told: "" };
  const { written, counts, read: known } = tally;
  const [now, same] = [chances, written].map(likeliest);
  const answers = counts.filter((count) => count).length;
  const count = BAG.orders;
  const words = [
    ...(ink.every((pixel) => pixel === 0) ? [WORDS.blank] : []),
    ...(digit < 0 ? [] : [sentence(WORDS.shows, { label })]),
    sentence(positions ? WORDS.readsWith : WORDS.readsWithout,
      { digit: now, chance: percent(chances[now]) }),
    isInOrder ? WORDS.unmoved : sentence(
      most < 1e-4 ? WORDS.still : WORDS.moved,
      { digit: same, chance: percent(written[same]),
        most: most < 1e-4 ? tidy(most, 1) : percent(most) }),
  ];
  const told = !tally.isDone()
    ? sentence(WORDS.counting, { read: known, count })
    : sentence(answers === 1 ? WORDS.always : WORDS.varies, {
      count, digit: same, answers, same: counts[same],
      most: tidy(tally.most, 1),
    });
  return { reading: words.join(" "), told };
}

// The patches as sixteen buttons. The first that is tapped is taken, the
// second changes places with it.
function patchGrid(swap) {
  const neighbour = inGrid(BAG.across, BAG.across);
  let taken = null;
  let focus = 0;
  let shown = [];
  const marks = inPlace().map((place) => html("button", {
    type: "button", class: "patch", onclick: () => tap(place),
  }));
  const root = html("div", {
    class: "grid", role: "group", "aria-label": WORDS.patchesLabel,
    onkeydown: move,
  }, ...marks);
  function tap(place) {
    const first = taken;
    taken = first === null ? place : null;
    focus = place;
    mark();
    if (first !== null && first !== place) swap(first, place);
  }
  function move(event) {
    const next = neighbour(focus, event.key);
    if (next === undefined) return;
    event.preventDefault();
    focus = next;
    mark();
    marks[focus].focus({ preventScroll: true });
  }
  function mark() {
    marks.forEach((one, place) => {
      put(one, "aria-pressed", String(place === taken));
      put(one, "tabindex", place === focus ? "0" : "-1");
    });
  }
  function update(ink, order) {
    if (shown.some((patch, place) => patch !== order[place])) taken = null;
    shown = order;
    const side = PICTURE.side / BAG.across;
    marks.forEach((one, place) => {
      put(one, "aria-label", sentence(WORDS.patch,
        { place: place + 1, patch: order[place] + 1 }));
      renew(one, [draft("svg", {
        viewBox: `0 0 ${side} ${side}`, "aria-hidden": "true",
      }, ...patchSquares(ink, order[place], side))]);
    });
    mark();
  }
  return { root, update };
}

export function patchSquares(ink, patch, side) {
  return Array.from({ length: side ** 2 }, (_, number) => {
    const [row, column] = pixelOf(patch, number, side, BAG.across);
    return draft("rect", {
      class: "ink", width: 1, height: 1,
      x: number % side, y: Math.floor(number / side),
      "fill-opacity": ink[row * PICTURE.side + column] / PICTURE.most,
    });
  });
}

// How often each digit was read, as bars beside one another.
function orderBars() {
  const bars = Array.from({ length: 10 }, (_, digit) => {
    const [number, level] = ["number", "level"].map((name) =>
      html("span", { class: name }));
    return { number, level, root: html("li", {}, number,
      html("span", { class: "column" }, level),
      html("span", { class: "digit", text: digit })) };
  });
  const root = html("ol", { class: "columns" },
    ...bars.map((bar) => bar.root));
  function update(counts, read) {
    const first = likeliest(counts);
    bars.forEach((bar, digit) => {
      put(bar.root, "class", read && digit === first ? "first" : "");
      bar.level.style.transform = `scaleY(${counts[digit] / (read || 1)})`;
      write(bar.number, counts[digit] || "");
    });
  }
  return { root, update };
}

function drawing({ set }) {
  const field = drawingField({ label: WORDS.field, help: WORDS.help }, (ink) =>
    set({ digit: -1, picture: encodeArray(
      { data: ink, shape: [PICTURE.side, PICTURE.side] }, "uint8") }));
  const root = panel("of-drawing", titled(WORDS.draw),
    html("div", { class: "drawing" }, field.root,
      button(WORDS.clear, field.clear)), noted(WORDS.drawNote));
  return { root, show: ({ ink }) => field.show(ink), dispose: field.dispose };
}

function patches({ model, set }) {
  const grid = patchGrid((a, b) => {
    const { data } = decodeArray(model.get("swapped"));
    [data[a], data[b]] = [data[b], data[a]];
    set(swapping(data));
  });
  const sort = button(WORDS.sort, () => set(shuffling(0)));
  const root = panel("of-patches", titled(WORDS.patches),
    html("div", { class: "drawing" }, grid.root,
      html("div", { class: "shuffling" }, button(WORDS.shuffle, () =>
        set(shuffling(model.get("seed") % SEEDS + 1))), sort)),
    noted(WORDS.patchesNote));
  function show({ ink, order, isInOrder }) {
    grid.update(ink, order);
    sort.disabled = isInOrder;
  }
  return { root, show };
}

function seeds({ set }) {
  let swapped = false;
  const { root, set: place } = range({
    label: WORDS.seed, min: 0, max: SEEDS, value: 0,
    format: (seed) => (swapped ? sentence(WORDS.byHand, { seed })
      : seed ? String(seed) : WORDS.asWritten),
    onInput: (seed) => set(shuffling(seed)),
  });
  function show({ seed, isSwapped }) {
    swapped = isSwapped;
    place(seed);
  }
  return { root, show };
}

function orders() {
  const columns = orderBars();
  const note = noted("");
  const root = panel("of-orders",
    titled(sentence(WORDS.orders, { count: BAG.orders })), columns.root, note,
    noted(WORDS.ordersNote));
  function show({ tally }, { told }) {
    if (tally) columns.update(tally.counts, tally.read);
    write(note, told);
  }
  return { root, show };
}

function images({ set, given: { samples, labels, bagReads } }) {
  const marked = labels.map((label, i) => bagReads[i] !== label);
  const chips = sampleButtons({
    label: READS.samples, images: samples, marked,
    names: labels.map((label, i) => sentence(
      marked[i] ? WORDS.misread : READS.sample, { label, read: bagReads[i] },
    )),
    pick: (digit) => set({ digit }),
  });
  return { root: html("div", {}, noted(WORDS.samplesNote), chips.root),
    show: ({ digit }) => chips.update(digit) };
}

export default defineExplorer("bag-of-patches", {
  words: WORDS,
  styles: ["vitedu-reads-digit"],
  read, compute, say,
  tour: (steps, { kept }) => (kept ? steps : []),
  starts: {
    [WORDS.networks.without]: { positions: false },
    [WORDS.networks.with]: { positions: true },
  },
  parts: { drawing, patches, answer: answerPanel(WORDS), seeds, orders,
    images },
  layout: ["starts", { beside: ["drawing", "patches", "answer"] }, ["seeds"],
    "reading", "orders", "images"],
});
