// The patches of a digit, shuffled before two Vision Transformers.

import WORDS from "./bag_of_patches.words.json" with { type: "json" };
import {
  BAG, inPlace, makeReaders, makeTally, orderOf, shuffledInk,
} from "./bag_of_patches_maths.js";
import { decodeArray, encodeArray, inRows } from "./core/arrays.js";
import { inGrid } from "./core/choosing.js";
import {
  button, noted, panel, range, settingButtons, titled,
} from "./core/controls.js";
import { draft, html, put, renew, write } from "./core/dom.js";
import { explorer, followTraits, setTraits, whenIdle } from "./core/frame.js";
import { sentence, tidy } from "./core/texts.js";
import { makeTools } from "./core/tools.js";
import {
  chanceBars, networkOf, percent, sampleButtons,
} from "./digit_parts.js";
import READS from "./digit_parts.words.json" with { type: "json" };
import { PICTURE } from "./digit_picture.js";
import { drawingField } from "./follow_digit_drawing.js";
import { pixelOf } from "./follow_digit_maths.js";
import { largestChange, likeliest } from "./matrices.js";

const BAG_TRAITS = ["digit", "picture", "seed", "swapped", "positions"];
const UNSWAPPED = () => encodeArray(
  { data: Uint8Array.from(inPlace()), shape: [BAG.places] }, "uint8");
const SEEDS = 99;
// Computed at a time while the page is idle.
const ORDERS_AT_ONCE = 3;

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

function patchSquares(ink, patch, side) {
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

function render({ model, el }) {
  const frame = explorer(el, "bag-of-patches", WORDS.label);
  frame.root.classList.add("vitedu-reads-digit");
  const tools = makeTools(frame, model, {
    tour: model.get("kept") ? WORDS.tour : [],
  });
  const samples = inRows(decodeArray(model.get("samples")).data,
    PICTURE.side ** 2);
  const set = (traits) => setTraits(model, traits);
  const network = networkOf(model, () => update(), (error) => {
    put(frame.root, "aria-busy", "false");
    frame.read(sentence(READS.failed, { error: error.message }));
  }, (bytes) => makeReaders(bytes, model.get("networks")));
  let done = {}; // what was read last, and of what
  let counted = {}; // in which orders, and of what

  const field = drawingField({ label: WORDS.field, help: WORDS.help }, (ink) =>
    set({ digit: -1, picture: encodeArray(
      { data: ink, shape: [PICTURE.side, PICTURE.side] }, "uint8") }));
  const [labels, bagReads] = ["labels", "bag_reads"].map((name) =>
    model.get(name));
  const misread = labels.map((label, i) => bagReads[i] !== label);
  const chips = sampleButtons({
    label: READS.samples, images: samples, marked: misread,
    names: labels.map((label, i) => sentence(
      misread[i] ? WORDS.misread : READS.sample, { label, read: bagReads[i] },
    )),
    pick: (digit) => set({ digit }),
  });
  const networks = settingButtons(model, WORDS.network, {
    [WORDS.networks.without]: { positions: false },
    [WORDS.networks.with]: { positions: true },
  });
  const grid = patchGrid((a, b) => {
    const { data } = decodeArray(model.get("swapped"));
    [data[a], data[b]] = [data[b], data[a]];
    set({ swapped: encodeArray({ data, shape: [BAG.places] }, "uint8") });
  });
  const shuffle = (seed) => set({ seed, swapped: UNSWAPPED() });
  const seed = range({
    label: WORDS.seed, min: 0, max: SEEDS, value: model.get("seed"),
    format: (number) => seedText(number), onInput: shuffle,
  });
  const sort = button(WORDS.sort, () => shuffle(0));
  const bars = chanceBars();
  const columns = orderBars();
  const ordersNote = noted("");

  function seedText(number) {
    const moved = decodeArray(model.get("swapped")).data
      .some((from, to) => from !== to);
    if (moved) return sentence(WORDS.byHand, { seed: number });
    return number ? String(number) : WORDS.asWritten;
  }

  function viewed() {
    const view = Object.fromEntries(BAG_TRAITS.map((name) =>
      [name, model.get(name)]));
    view.ink = view.digit < 0 ? decodeArray(view.picture).data
      : samples[view.digit];
    view.order = orderOf(view.seed, decodeArray(view.swapped).data);
    view.reads = view.positions ? "with" : "without";
    return view;
  }

  function update({ speak = true } = {}) {
    const view = viewed();
    field.show(view.ink);
    chips.update(view.digit);
    networks.update();
    grid.update(view.ink, view.order);
    seed.set(view.seed);
    sort.disabled = view.order.every((patch, place) => patch === place);
    if (network.reader) {
      show(view, speak);
    } else {
      frame.read(READS.loading, { speak: false });
    }
  }

  function show(view, speak) {
    const chancesOf = network.reader[view.reads];
    const key = `${view.reads} ${view.ink}`;
    if (counted.key !== key) {
      counted = { key, tally: makeTally(chancesOf, view.ink) };
      put(frame.root, "aria-busy", "true");
      counting.start();
    }
    const chances = chancesOf(shuffledInk(view.ink, view.order));
    done = { view, chances, speak };
    bars.update(chances, sort.disabled ? null : counted.tally.written);
    say();
  }

  function say() {
    const { view, chances, speak } = done;
    const { tally } = counted;
    const { written } = tally;
    const digit = likeliest(chances);
    const most = largestChange(chances, written);
    const same = likeliest(written);
    columns.update(tally.counts, tally.read);
    const answers = tally.counts.filter((count) => count).length;
    const count = BAG.orders;
    const told = !tally.isDone()
      ? sentence(WORDS.counting, { read: tally.read, count })
      : sentence(answers === 1 ? WORDS.always : WORDS.varies, {
        count, digit: same, answers, same: tally.counts[same],
        most: tidy(tally.most, 1),
      });
    write(ordersNote, told);
    const words = [
      ...(view.ink.every((pixel) => pixel === 0) ? [WORDS.blank] : []),
      ...(view.digit < 0 ? []
        : [sentence(WORDS.shows, { label: labels[view.digit] })]),
      sentence(view.positions ? WORDS.readsWith : WORDS.readsWithout,
        { digit, chance: percent(chances[digit]) }),
      sort.disabled ? WORDS.unmoved : sentence(
        most < 1e-4 ? WORDS.still : WORDS.moved,
        { digit: same, chance: percent(written[same]),
          most: most < 1e-4 ? tidy(most, 1) : percent(most) }),
    ];
    frame.read(words.join(" "), { speak });
    frame.publish({
      digit: view.digit, seed: view.seed, order: view.order,
      positions: view.positions, chances, most,
      counts: tally.counts, mostOfAll: tally.most,
    });
  }

  // A few orders at a time, while the page has nothing else to do.
  const counting = whenIdle(() => {
    const { tally } = counted;
    for (let i = 0; i < ORDERS_AT_ONCE && !tally.isDone(); i += 1) tally.step();
    say();
    put(frame.root, "aria-busy", String(!tally.isDone()));
    return !tally.isDone();
  });

  frame.root.append(
    networks.root,
    html("div", { class: "at-once" },
      panel("of-drawing", titled(WORDS.draw), html("div", { class: "drawing" },
        field.root, button(WORDS.clear, field.clear)), noted(WORDS.drawNote)),
      panel("of-patches", titled(WORDS.patches), html("div",
        { class: "drawing" }, grid.root, html("div", { class: "shuffling" },
          button(WORDS.shuffle, () =>
            shuffle(model.get("seed") % SEEDS + 1)), sort)),
      noted(WORDS.patchesNote)),
      panel("of-answer", titled(WORDS.answer), bars.root,
        noted(WORDS.answerNote))),
    html("div", { class: "vitedu-controls" }, seed.root),
    ...frame.reading,
    panel("of-orders", titled(sentence(WORDS.orders, { count: BAG.orders })),
      columns.root, ordersNote, noted(WORDS.ordersNote)),
    html("div", {}, noted(WORDS.samplesNote), chips.root),
    ...tools.foot,
  );
  put(frame.root, "aria-busy", "true");
  update({ speak: false });
  network.ask();
  return followTraits(
    model, BAG_TRAITS, update, counting.stop, field.dispose, tools.dispose,
    frame.dispose,
  );
}

export default { render };
