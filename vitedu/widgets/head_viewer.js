// Where each head looks from a chosen token.

import { noted, panel, settingButtons, textField, titled } from
  "./core/controls.js";
import { html, write } from "./core/dom.js";
import { choice, defineExplorer } from "./core/explorer.js";
import { fixed, sentence } from "./core/texts.js";
import WORDS from "./head_viewer.words.json" with { type: "json" };
import { headLines } from "./head_viewer_lines.js";
import { headMaps } from "./head_viewer_maps.js";
import { compute, headName, readData, readRow } from "./head_viewer_maths.js";

const signed = (number) => {
  const text = fixed(number);
  return Number(text) > 0 ? `+${text}` : text;
};

// What each head does at the query, as texts.
export function headTexts({ data, read }) {
  return read.map(({ most, largest, entropy, offset }) => ({
    most: sentence(WORDS.place, { place: most + 1, word: data.words[most] }),
    largest: fixed(largest), entropy: fixed(entropy), offset: signed(offset),
  }));
}

function headTable({ all, keys, hasOffset }) {
  const names = Object.keys(WORDS.columns).filter((name) =>
    name !== "offset" || hasOffset);
  const rows = all.map((head) => html("tr", {},
    html("th", { scope: "row" }, headName(head)),
    ...names.slice(1).map((name) => html("td", { class: name }))));
  const table = html("table", {},
    html("thead", {}, html("tr", {}, ...names.map((name) =>
      html("th", { scope: "col", class: name, text: WORDS.columns[name] })))),
    html("tbody", {}, ...rows));

  function show(found) {
    const texts = headTexts(found);
    rows.forEach((row, head) => {
      names.slice(1).forEach((name, at) =>
        write(row.children[at + 1], texts[head][name]));
      row.classList.toggle("off", !found.heads.includes(head));
    });
  }
  const flat = fixed(Math.log(keys));
  return { show, nodes: [
    titled(WORDS.tableTitle), table,
    noted(sentence(WORDS.tableNote, { keys, flat })),
    ...(hasOffset ? [noted(WORDS.offsetNote)] : []),
  ] };
}

// The length of the longest reading.
function mostLetters({ all, words, targets }) {
  const longest = (texts) => texts.reduce((most, text) =>
    (text.length > most.length ? text : most));
  const start = sentence(WORDS.readToken, {
    place: targets.length, word: longest(targets),
  });
  const ofHead = sentence(WORDS.readHead, {
    head: all.length, place: words.length, word: longest(words),
    weight: "0.00",
  });
  return start.length + all.length * (1 + ofHead.length);
}

// A panel whose content is made anew for another word.
const ofWord = (name, make) => ({ set, frame }) => {
  const root = panel(name);
  let [data, inside] = [];
  function show(found, said) {
    if (found.data !== data) {
      inside?.dispose?.();
      data = found.data;
      inside = make(data, set);
      root.replaceChildren(...inside.nodes);
      root.classList.toggle("tall", Boolean(inside.isTall));
      frame.style.setProperty("--letters", mostLetters(data));
    }
    inside.show(found, said);
  }
  return { root, show, dispose: () => inside.dispose?.() };
};

// A box for a word of the reader's own, and buttons for some that tell more.
function wordControls({ model, set, given }) {
  const { letters, mostLetters: most, opening } = given;
  if (!opening.word) return {};
  const field = textField({
    label: WORDS.word, autocapitalize: "off", spellcheck: "false",
    maxlength: most, read,
    onValue: (word) => set({
      word, query: Math.min(model.get("query"), word.length - 1),
    }),
  });
  const starts = settingButtons(model, WORDS.words, Object.fromEntries(
    Object.entries(given.starts).map(([name, word]) => [name, { word }]),
  ));
  function read(word) {
    if (![...word].every((letter) => letters.includes(letter))) {
      const known = letters.join(" ");
      return { fault: sentence(WORDS.badLetters, { letters: known }) };
    }
    return word.length >= 2 && word.length <= most
      ? { value: word } : { fault: sentence(WORDS.badLength, { most }) };
  }
  function show({ word }) {
    starts.update();
    if (field.input.value !== word) field.set(word);
  }
  const root = html("div", { class: "word" },
    field.root, starts.root, field.fault);
  return { root, show };
}

export function say({ data, query, heads, read }) {
  const { words, targets } = data;
  const chosen = { place: query + 1, word: targets[query] };
  const sentences = heads.map((head) => sentence(WORDS.readHead, {
    head: head + 1, place: read[head].most + 1,
    word: words[read[head].most], weight: fixed(read[head].largest),
  }));
  if (!heads.length) sentences.push(WORDS.readNone);
  return {
    ...chosen,
    reading: [sentence(WORDS.readToken, chosen), ...sentences].join(" "),
  };
}

// What is most marked, of all heads at all tokens.
function tour(words, { of, opening }) {
  const { layer } = opening;
  const { all, queries, keys, hasOffset, row } = of(opening.word);
  const places = [...Array(queries).keys()];
  const found = all.flatMap((head) => places.map((query) =>
    ({ head, query, ...readRow(row(layer, head, query), query) })));
  const most = (value) => found.reduce((best, one) =>
    (value(one) > value(best) ? one : best));
  const pairs = found.flatMap((one) => found.filter((two) =>
    two.query === one.query && two.head > one.head && two.most !== one.most)
    .map((two) => [one, two]));
  const surePair = pairs.reduce((best, pair) => {
    const least = ([one, two]) => Math.min(one.largest, two.largest);
    return !best || least(pair) > least(best) ? pair : best;
  }, null);
  function stop(text, one, other = one, heads = [one.head, other.head]) {
    return [sentence(text, {
      head: one.head + 1, place: one.query + 1, most: one.most + 1,
      largest: fixed(one.largest), entropy: fixed(one.entropy),
      offset: fixed(Math.abs(one.offset)), keys, flat: fixed(Math.log(keys)),
      other: other.head + 1, others: other.most + 1,
    }), { layer, query: one.query, heads: [...new Set(heads)] }, "look"];
  }
  const surest = most(({ entropy: nats }) => -nats);
  const widest = most(({ entropy: nats }) => nats);
  const farthest = most(({ offset }) => Math.abs(offset));
  return [
    stop(words.surest, surest, surest, all),
    stop(words.alone, surest),
    stop(words.widest, widest),
    ...(hasOffset && farthest !== widest
      ? [stop(words.farthest, farthest)] : []),
    ...(surePair ? [stop(words.disagree, ...surePair)] : []),
  ];
}

export default defineExplorer("head-viewer", {
  words: WORDS,
  controls: ({ layers }) => (layers > 1 ? { layer: choice({
    values: Array.from({ length: layers }, (_, at) => [at, at + 1]),
  }) } : {}),
  read: readData,
  compute, say,
  parts: {
    word: wordControls,
    look: ofWord("look", headLines),
    side: ofWord("side", headMaps),
    readings: ofWord("readings", headTable),
  },
  layout: ["word", ["layer"], { beside: ["look", "side", "readings"] },
    "reading"],
  tour,
});
