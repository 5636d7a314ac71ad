// Take the patches of a digit away, in the order of one map or another.

import { decodeArray, inRows } from "./core/arrays.js";
import { noted, panel, range, select, titled } from "./core/controls.js";
import { html, phrased, put, renew, write } from "./core/dom.js";
import {
  explorer, followTraits, onceAFrame, setTraits,
} from "./core/frame.js";
import { sentence } from "./core/texts.js";
import { makeTools } from "./core/tools.js";
import WORDS from "./delete_patches.words.json" with { type: "json" };
import {
  ORDERS, lossArea, makeDeletion, ranked,
} from "./delete_patches_maths.js";
import {
  fadeCurves, orderButtons, pictureOfOrder, pictureWithout,
} from "./delete_patches_pictures.js";
import {
  answeredButtons, chanceBars, networkOf, percent,
} from "./digit_parts.js";
import READS from "./digit_parts.words.json" with { type: "json" };
import { PICTURE } from "./digit_picture.js";
import { likeliest } from "./matrices.js";

// A tour of the network of chapter 14, which one knows by how sure it is.
const KNOWN = "0.954";

const FRAME_MS = 12;
const TRAITS = ["digit", "order", "gone", "seed", "paint"];

function render({ model, el }) {
  const frame = explorer(el, "delete-patches", WORDS.label);
  frame.root.classList.add("vitedu-reads-digit");
  const samples = inRows(decodeArray(model.get("samples")).data,
    PICTURE.side ** 2);
  const answers = inRows(decodeArray(model.get("answers")).data, 10);
  const known = answers[7]?.[7].toFixed(3) === KNOWN;
  const tools = makeTools(frame, model, { tour: known ? WORDS.tour : [] });
  const gradients = decodeArray(model.get("gradients"));
  const gradientOf = inRows(gradients.data, gradients.shape[1]);
  const size = model.get("config").patch_size;
  const set = (traits) => setTraits(model, traits);
  const network = networkOf(model, () => redraw(), (error) => {
    put(frame.root, "aria-busy", "false");
    frame.read(sentence(READS.failed, { error: error.message }));
  });
  const deletions = new Map(); // of a digit and a paint

  const chips = answeredButtons(samples, model.get("labels"), answers,
    (digit) => set({ digit }));
  const orders = orderButtons(ORDERS, WORDS.order, WORDS.orders,
    (order) => set({ order }));
  const gone = range({
    label: WORDS.gone, min: 0, max: gradients.shape[1],
    value: model.get("gone"),
    format: (count) => sentence(WORDS.count, { gone: count }),
    onInput: (value) => set({ gone: value }),
  });
  const seed = range({
    label: WORDS.seed, min: 1, max: 50, value: model.get("seed"),
    format: String, onInput: (value) => set({ seed: value }),
  });
  const paint = select({
    label: WORDS.paint, options: WORDS.paints, value: model.get("paint"),
    onInput: (value) => set({ paint: value }),
  });
  const [left, map, curves] = ["left", "map", "curves"].map((name) =>
    html("div", { class: `picture ${name}`, role: "img" }));
  const bars = chanceBars();
  const [mapNote, curveTitle] = [noted(""), titled("")];
  // The points of the curves come a few in each frame.
  const askOn = onceAFrame(() => {
    const { deletion, ranks } = current();
    const end = performance.now() + FRAME_MS;
    while (deletion.askNext(ranks) && performance.now() < end);
    update();
  });

  function viewed() {
    const view = Object.fromEntries(TRAITS.map((name) =>
      [name, model.get(name)]));
    return { ...view, ink: samples[view.digit] };
  }

  function current() {
    const view = viewed();
    const key = `${view.digit} ${view.paint}`;
    if (!deletions.has(key)) {
      deletions.set(key, makeDeletion(network.reader, view.ink, view.paint));
    }
    const deletion = deletions.get(key);
    const scores = deletion.scoresOf(gradientOf[view.digit], view.seed);
    const ranks = ORDERS.map((order) => ranked(scores[order]));
    return { view, deletion, scores, ranks };
  }

  function update({ speak = true } = {}) {
    if (network.reader) {
      show(speak);
      return;
    }
    const { digit, ink, paint: fill } = viewed();
    chips.update(digit);
    bars.update(answers[digit]);
    renew(left, [pictureWithout(ink, [], size, fill)]);
    frame.read(READS.loading, { speak });
  }

  function show(speak) {
    const { view, deletion, scores, ranks } = current();
    const { digit, order, ink } = view;
    const { label } = deletion;
    const rank = ranks[ORDERS.indexOf(order)];
    const away = rank.slice(0, view.gone);
    const chances = deletion.chancesWithout(away);
    const lines = Object.fromEntries(ORDERS.map((name, i) =>
      [name, deletion.curve(ranks[i])]));
    const areas = Object.fromEntries(ORDERS.filter((name) =>
      !lines[name].includes(undefined)).map((name) =>
      [name, lossArea(lines[name])]));
    const isDone = ORDERS.every((name) => name in areas);
    if (!isDone) askOn();

    chips.update(digit);
    gone.set(view.gone);
    seed.set(view.seed);
    paint.set(view.paint);
    orders.update(order, Object.fromEntries(ORDERS.map((name) =>
      [name, name in areas
        ? sentence(WORDS.area, { area: areas[name].toFixed(2) }) : "…"])));
    bars.update(chances, deletion.chancesWithout([]));
    renew(left, [pictureWithout(ink, away, size, view.paint)]);
    renew(map, [pictureOfOrder(ink, scores[order], rank, view.gone, size)]);
    renew(curves, [fadeCurves(lines, order, view.gone, WORDS)]);
    write(mapNote, sentence(WORDS.note[order], view));
    const named = sentence(WORDS.curves, { label });
    write(curveTitle, named);
    const said = sentence(WORDS.lost, {
      ...view, order: sentence(WORDS.said[order], view), label,
      now: likeliest(chances), chance: percent(chances[label]), whole: percent(lines.ink[0]),
    });
    put(left, "aria-label", said);
    put(map, "aria-label", WORDS.note[order]);
    put(curves, "aria-label", named);
    const compared = isDone ? sentence(WORDS.areas, {
      areas: ORDERS.map((name) =>
        `${phrased(WORDS.order[name])} ${areas[name].toFixed(2)}`).join(", "),
    }) : WORDS.waiting;
    put(frame.root, "aria-busy", String(!isDone));
    frame.read(`${said} ${compared}`, { speak: speak && isDone });
    frame.publish({
      digit, order, gone: view.gone, seed: view.seed, paint: view.paint,
      chances, removed: away,
      ...(isDone ? { areas: ORDERS.map((name) => areas[name]),
        curve: lines[order] } : {}),
    });
  }

  frame.root.append(
    html("div", {}, noted(READS.samplesNote), chips.root),
    gone.root, orders.root,
    html("div", { class: "panels" },
      panel("of-left", titled(WORDS.left), left),
      panel("of-map", titled(WORDS.map), map, mapNote),
      panel("of-answer", titled(WORDS.answer), bars.root,
        noted(WORDS.answerNote)),
      panel("of-curves", curveTitle, curves, noted(WORDS.areaNote))),
    html("div", { class: "vitedu-controls" }, paint.root, seed.root),
    ...frame.reading, ...tools.foot,
  );
  put(frame.root, "aria-busy", "true");
  network.ask();
  const redraw = onceAFrame(update);
  update({ speak: false });
  return followTraits(
    model, TRAITS, update, redraw.cancel, askOn.cancel, tools.dispose,
    frame.dispose,
  );
}

export default { render };
