// Where each head looks from a chosen token.

import { decodeArray } from "./core/arrays.js";
import {
  button, noted, panel, select, settingButtons, textField, titled,
} from "./core/controls.js";
import { html, write } from "./core/dom.js";
import { explorer, followTraits, setTraits } from "./core/frame.js";
import { sentence } from "./core/texts.js";
import { makeTools } from "./core/tools.js";
import WORDS from "./head_viewer.words.json" with { type: "json" };
import { headLines } from "./head_viewer_lines.js";
import { headMaps } from "./head_viewer_maps.js";
import { headName, readData, readRow } from "./head_viewer_maths.js";

const TRAITS = ["layer", "query", "heads", "word"];
function signed(number) {
  const digits = Math.abs(number).toFixed(2);
  if (Number(digits) === 0) return digits;
  return (number < 0 ? "−" : "+") + digits;
}

function headTable({ all, words, hasOffset }) {
  const names = Object.keys(WORDS.columns).filter((name) =>
    name !== "offset" || hasOffset);
  const rows = all.map((head) => html("tr", {},
    html("th", { scope: "row" }, headName(head)),
    ...names.slice(1).map((name) => html("td", { class: name }))));
  const root = html("table", {},
    html("thead", {}, html("tr", {}, ...names.map((name) =>
      html("th", { scope: "col", class: name, text: WORDS.columns[name] })))),
    html("tbody", {}, ...rows));

  function update(read, shown) {
    rows.forEach((row, head) => {
      const { most, largest, entropy: nats, offset } = read[head];
      const texts = {
        most: sentence(WORDS.place, { place: most + 1, word: words[most] }),
        largest: largest.toFixed(2), entropy: nats.toFixed(2),
        offset: signed(offset),
      };
      names.slice(1).forEach((name, at) => {
        write(row.children[at + 1], texts[name]);
      });
      row.classList.toggle("off", !shown.includes(head));
    });
  }
  return { root, update };
}

// The length of the longest reading.
function mostLetters({ all, words, targets }) {
  const longest = (texts) => texts.reduce((most, text) =>
    (text.length > most.length ? text : most));
  const start = sentence(WORDS.reading, {
    place: targets.length, word: longest(targets),
  });
  const ofHead = sentence(WORDS.readHead, {
    head: all.length, place: words.length, word: longest(words),
    weight: "0.00",
  });
  return start.length + all.length * (1 + ofHead.length);
}

// The panels for one set of weights.
function headPanels(model, data) {
  const { words, targets, all } = data;
  const pick = (query) => setTraits(model, { query });
  const lines = headLines(data, pick);
  const maps = headMaps(data, pick, (head) => {
    const shown = model.get("heads");
    setTraits(model, {
      heads: all.filter((h) => shown.includes(h) !== (h === head)),
    });
  });
  const table = headTable(data);
  const linesTitle = titled("");
  const allHeads = button("", () => setTraits(model, {
    heads: model.get("heads").length < all.length ? all : [],
  }));
  const tallMaps = [3, 4].includes(all.length) && data.queries <= 16;
  const root = html("div", { class: `panels ${tallMaps ? "tall-maps" : ""}` },
    panel("look", linesTitle, noted(WORDS.linesNote), lines.root),
    panel("side",
      html("div", { class: "vitedu-control-head" },
        titled(WORDS.mapsTitle),
        allHeads),
      noted(WORDS.mapsNote), maps.root),
    panel("readings",
      titled(WORDS.tableTitle),
      table.root,
      noted(sentence(WORDS.tableNote, {
        keys: data.keys, flat: Math.log(data.keys).toFixed(2),
      })),
      ...(data.hasOffset ? [noted(WORDS.offsetNote)] : [])));

  // Returns the sentence that says what is to be seen, and its numbers.
  function update(at, query, shown) {
    const rows = all.map((head) => data.row(at, head, query));
    const read = rows.map((row) => readRow(row, query));
    const chosen = { place: query + 1, word: targets[query] };
    write(linesTitle, sentence(WORDS.linesTitle, chosen));
    write(allHeads, shown.length < all.length ? WORDS.showAll : WORDS.hideAll);
    lines.update(rows, query, shown);
    maps.update(at, query, shown);
    table.update(read, shown);
    const sentences = shown.map((head) => sentence(WORDS.readHead, {
      head: head + 1, place: read[head].most + 1,
      word: words[read[head].most], weight: read[head].largest.toFixed(2),
    }));
    if (!shown.length) sentences.push(WORDS.readNone);
    const listed = (name) => read.map((values) => values[name]);
    return {
      said: [sentence(WORDS.reading, chosen), ...sentences].join(" "),
      numbers: {
        most: listed("most"), largest: listed("largest"),
        entropy: listed("entropy"), offset: listed("offset"),
      },
    };
  }
  function dispose() {
    lines.dispose();
    maps.dispose();
  }
  return { root, update, dispose };
}

// A box for a word of the reader's own, and buttons for some that tell more.
function wordControls(model) {
  const letters = model.get("letters");
  const most = model.get("asking").shape[1] - letters.length;
  const field = textField({
    label: WORDS.word, autocapitalize: "off", spellcheck: "false",
    maxlength: most, read,
    onValue: (word) => setTraits(model, {
      word, query: Math.min(model.get("query"), word.length - 1),
    }),
  });
  const settings = Object.entries(model.get("words"))
    .map(([name, word]) => [name, { word }]);
  const starts = settingButtons(
    model, WORDS.words, Object.fromEntries(settings),
  );
  function read(word) {
    if (![...word].every((letter) => letters.includes(letter))) {
      const known = [...letters].join(" ");
      return { fault: sentence(WORDS.badLetters, { letters: known }) };
    }
    return word.length >= 2 && word.length <= most
      ? { value: word } : { fault: sentence(WORDS.badLength, { most }) };
  }
  function update() {
    const word = model.get("word");
    starts.update();
    if (field.input.value !== word) field.set(word);
  }
  const root = html("div", { class: "word" },
    field.root, starts.root, field.fault);
  return { root, update };
}

function tourOf(data, layer) {
  const { all, queries, keys, hasOffset } = data;
  const places = [...Array(queries).keys()];
  const found = all.flatMap((head) => places.map((query) =>
    ({ head, query, ...readRow(data.row(layer, head, query), query) })));
  const most = (value) => found.reduce((best, one) =>
    (value(one) > value(best) ? one : best));
  const pairs = found.flatMap((one) => found.filter((two) =>
    two.query === one.query && two.head > one.head && two.most !== one.most)
    .map((two) => [one, two]));
  const surePair = pairs.reduce((best, pair) => {
    const least = ([one, two]) => Math.min(one.largest, two.largest);
    return !best || least(pair) > least(best) ? pair : best;
  }, null);
  function stop(words, one, other = one, heads = [one.head, other.head]) {
    return [sentence(words, {
      head: one.head + 1, place: one.query + 1, most: one.most + 1,
      largest: one.largest.toFixed(2), entropy: one.entropy.toFixed(2),
      offset: Math.abs(one.offset).toFixed(2), keys,
      flat: Math.log(keys).toFixed(2),
      other: other.head + 1, others: other.most + 1,
    }), { layer, query: one.query, heads: [...new Set(heads)].join("_") }];
  }
  const surest = most(({ entropy: nats }) => -nats);
  const widest = most(({ entropy: nats }) => nats);
  const farthest = most(({ offset }) => Math.abs(offset));
  return [
    stop(WORDS.tour.surest, surest, surest, all),
    stop(WORDS.tour.alone, surest),
    stop(WORDS.tour.widest, widest),
    ...(hasOffset && farthest !== widest
      ? [stop(WORDS.tour.farthest, farthest)] : []),
    ...(surePair ? [stop(WORDS.tour.disagree, ...surePair)] : []),
  ];
}

function render({ model, el }) {
  const frame = explorer(el, "head-viewer", WORDS.label);
  const tools = makeTools(frame, model, {
    tour: tourOf(readData(model), model.get("layer")),
  });
  const controls = model.get("word") ? wordControls(model) : null;
  const place = html("div");
  let [data, panels, word] = [];
  const layers = decodeArray(model.get("weights")).shape[0];
  const layer = select({
    label: WORDS.layer, value: model.get("layer"),
    options: Array.from({ length: layers }, (_, at) => [at, at + 1]),
    onInput: (value) => setTraits(model, { layer: Number(value) }),
  });

  function renewPanels() {
    if (panels && word === model.get("word")) return;
    word = model.get("word");
    panels?.dispose();
    data = readData(model);
    panels = headPanels(model, data);
    place.replaceChildren(panels.root);
    frame.root.style.setProperty("--letters", mostLetters(data));
  }
  function update({ speak = true } = {}) {
    renewPanels();
    controls?.update();
    const [at, chosen, shown] = TRAITS.map((name) => model.get(name));
    const query = Math.min(chosen, data.queries - 1);
    layer.set(at);
    const { said, numbers } = panels.update(at, query, shown);
    frame.read(said, { speak });
    frame.publish({ layer: at, query, heads: shown, word, ...numbers });
  }

  frame.root.append(
    ...(controls ? [controls.root] : []),
    ...(layers > 1
      ? [html("div", { class: "vitedu-controls" }, layer.root)] : []),
    place, ...frame.reading,
    ...tools.foot,
  );
  update({ speak: false });
  return followTraits(
    model, TRAITS, update, () => panels.dispose(), tools.dispose, frame.dispose,
  );
}

export default { render };
