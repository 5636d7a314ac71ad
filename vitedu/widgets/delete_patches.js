// Take the patches of a digit away, in the order of one map or another.

import { rowsOf } from "./core/arrays.js";
import { noted } from "./core/controls.js";
import { html, phrased } from "./core/dom.js";
import { choice, defineExplorer, slider } from "./core/explorer.js";
import { sentence } from "./core/texts.js";
import WORDS from "./delete_patches.words.json" with { type: "json" };
import {
  ORDERS, lossArea, makeDeletion, ranked,
} from "./delete_patches_maths.js";
import {
  FADE, fadeCurves, orderButtons, pictureOfOrder, pictureWithout,
} from "./delete_patches_pictures.js";
import {
  answerPanel, answeredButtons, networkNow, percent, waiting,
} from "./digit_parts.js";
import READS from "./digit_parts.words.json" with { type: "json" };
import { likeliest } from "./matrices.js";

// A tour of the network of chapter 14, which one knows by how sure it is.
const KNOWN = "0.954";

const ofOrders = (make) => Object.fromEntries(
  ORDERS.map((name, i) => [name, make(name, i)]));

export function read(model, redraw) {
  const [samples, answers, gradients] = ["samples", "answers", "gradients"]
    .map((name) => rowsOf(model.get(name)));
  const network = networkNow(model, redraw);
  const deletions = new Map();
  function deletionOf(digit, paint) {
    const key = `${digit} ${paint}`;
    if (!deletions.has(key)) {
      deletions.set(key, makeDeletion(network.reader, samples[digit], paint));
    }
    return deletions.get(key);
  }
  return { samples, answers, gradients, network, deletionOf,
    labels: model.get("labels"), size: model.get("config").patch_size };
}

export function compute(settings, given) {
  const { digit, order, gone, seed, paint } = settings;
  const shown = { settings, size: given.size, ink: given.samples[digit] };
  if (!given.network.reader) {
    return { ...shown, away: [], chances: given.answers[digit],
      ...waiting(given.network) };
  }
  const deletion = given.deletionOf(digit, paint);
  const scores = deletion.scoresOf(given.gradients[digit], seed);
  const ranks = ofOrders((name) => ranked(scores[name]));
  const lines = ofOrders((name) => deletion.curve(ranks[name]));
  const away = ranks[order].slice(0, gone);
  const chances = deletion.chancesWithout(away);
  const isBusy = Object.values(lines).flat().includes(undefined);
  // Some may be known before the others.
  const areas = ofOrders((name) => (lines[name].includes(undefined)
    ? undefined : lossArea(lines[name])));
  return {
    ...shown, deletion, scores: scores[order], ranks, lines, away, chances,
    whole: deletion.chancesWithout([]), areas, isBusy, isQuiet: isBusy,
    goOn: isBusy ? () => deletion.askNext(Object.values(ranks)) : undefined,
    published: { ...settings, chances, removed: away, ...(isBusy ? {}
      : { areas: Object.values(areas), curve: lines[order] }) },
  };
}

function say({ settings, deletion, chances, lines, areas, isBusy, reading }) {
  if (!deletion) return { reading, lost: "", note: "", curves: "" };
  const { label } = deletion;
  const { order } = settings;
  const lost = sentence(WORDS.lost, {
    ...settings, order: sentence(WORDS.said[order], settings), label,
    now: likeliest(chances), chance: percent(chances[label]),
    whole: percent(lines.ink[0]),
  });
  const compared = isBusy ? WORDS.waiting : sentence(WORDS.areas, {
    areas: ORDERS.map((name) =>
      `${phrased(WORDS.order[name])} ${areas[name].toFixed(2)}`).join(", "),
  });
  return { reading: `${lost} ${compared}`, lost,
    note: sentence(WORDS.note[order], settings),
    curves: sentence(WORDS.curves, { label }) };
}

function images({ given, set }) {
  const chips = answeredButtons(given.samples, given.labels, given.answers,
    (digit) => set({ digit }));
  return { root: html("div", {}, noted(READS.samplesNote), chips.root),
    show: ({ settings }) => chips.update(settings.digit) };
}

function orders({ set }) {
  const { root, update } = orderButtons(ORDERS, WORDS.order, WORDS.orders,
    (order) => set({ order }));
  function show({ settings, areas }) {
    if (areas) {
      update(settings.order, ofOrders((name) => (areas[name] === undefined
        ? "…" : sentence(WORDS.area, { area: areas[name].toFixed(2) }))));
    }
  }
  return { root, show };
}

const DIGIT = "-0.1 -0.1 8.2 8.2";

export default defineExplorer("delete-patches", {
  words: WORDS,
  styles: ["vitedu-reads-digit"],
  read, compute, say,
  tour: (steps, { answers }) =>
    (answers[7]?.[7].toFixed(3) === KNOWN ? steps : []),
  controls: {
    gone: slider({ format: (gone) => sentence(WORDS.count, { gone }) }),
    paint: choice(), seed: slider(),
  },
  pictures: {
    left: { viewBox: DIGIT, draw: pictureWithout },
    map: { viewBox: DIGIT, draw: pictureOfOrder },
    curves: {
      viewBox: `0 0 ${FADE.width} ${FADE.height}`,
      draw: (found) => fadeCurves(found, WORDS.across),
    },
  },
  parts: { images, orders, answer: answerPanel(WORDS) },
  layout: ["images", "gone", "orders",
    { beside: ["left", "map", "answer", "curves"] }, ["paint", "seed"],
    "reading"],
});
