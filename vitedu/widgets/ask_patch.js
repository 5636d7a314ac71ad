// Ask a patch of a photograph: which are like it, where do the heads look.

import WORDS from "./ask_patch.words.json" with { type: "json" };
import {
  PATCHES, SQUARES, best, bestFarFrom, placeOfQuery, readAnswers, readCosines,
} from "./ask_patch_maths.js";
import {
  MAP, askedPicture, headMaps, litPicture, readPicture, scale,
} from "./ask_patch_pictures.js";
import {
  noted, panel, range, select, settingButtons, titled,
} from "./core/controls.js";
import { draft, html, put, renew, write } from "./core/dom.js";
import { defineExplorer } from "./core/explorer.js";
import { inflated, later } from "./core/later.js";
import { sentence, tidy } from "./core/texts.js";

// What is loaded once it is asked for. A fault is told once: who asks again,
// tries again.
function loading(model, redraw) {
  const kept = new Map();
  function get(name, make) {
    const found = kept.get(name);
    if (!kept.has(name)) {
      kept.set(name, null);
      later(model, name).then(make)
        .catch((error) => ({ fault: error.message }))
        .then((made) => {
          kept.set(name, made);
          redraw();
        });
    } else if (found?.fault) {
      kept.delete(name);
    }
    return found;
  }
  return get;
}

export function read(model, redraw) {
  const get = loading(model, redraw);
  const [layers, heads] = ["num_layers", "num_heads"].map((name) =>
    model.get(name));
  // Everything that a view shows, each null as long as it is on its way.
  function load({ photograph, drawn, second }) {
    const kind = drawn ? "drawn" : "trained";
    const found = {
      photo: get(photograph, readPicture),
      answers: get(`${kind} ${photograph}`, async (bytes) =>
        readAnswers(await inflated(bytes), layers, heads)),
    };
    if (second) {
      found.secondPhoto = get(second, readPicture);
      found.across = get(`${kind} ${photograph} ${second}`, async (bytes) =>
        readCosines(new Int8Array(await inflated(bytes)), SQUARES));
    }
    return found;
  }
  const photographs = Object.fromEntries(
    model.get("photographs").map((about) => [about.name, about]));
  // `under` is the patch that the mouse is over; Python does not hear of it.
  return { load, layers, heads, photographs, settings: model.get("settings"),
    mouse: { under: null } };
}

export function compute(settings, { load, photographs, mouse: { under } }) {
  const second = settings.second === settings.photograph
    ? "" : settings.second;
  const view = { ...settings, second };
  const about = photographs[view.photograph];
  const loaded = load(view);
  const parts = Object.values(loaded);
  const fault = parts.find((part) => part?.fault)?.fault;
  const shown = { view, about, fault, published: {} };
  if (fault) return { ...shown, isBusy: false };
  if (!parts.every(Boolean)) return { ...shown, isBusy: true };
  const query = under ?? view.query;
  const place = placeOfQuery(about, query);
  const cosines = loaded.answers.cosines(view.layer, query);
  const mean = cosines.reduce((sum, value) => sum + value) / PATCHES;
  const like = bestFarFrom(place, cosines);
  const beside = (second ? inSecond : ofHead)(view, loaded, query);
  return {
    ...shown, ...loaded, query, place, cosines, mean, like, beside,
    title: photographs[second]?.title, isBusy: false, isQuiet: under !== null,
    published: {
      ...view, under: under ?? "", row: place[0], column: place[1],
      like: like.most, likePlaces: like.places, mean,
      most: beside.most, mostPlaces: beside.places,
    },
  };
}

function ofHead({ layer, head }, { photo, answers }, query) {
  const shares = answers.shares(layer, head, query);
  return { photo, values: shares.map(Math.sqrt), places: best(shares).places,
    most: answers.largest(layer, head, query) };
}

function inSecond({ layer }, { secondPhoto, across }, query) {
  const cosines = across(layer, query);
  const { most, places } = best(cosines);
  return { photo: secondPhoto, values: cosines.map((value) => value / most),
    most, places };
}

const cosineText = (value) => value.toFixed(2).replace("-", "−");

function say({ fault, view, place, like, mean, beside, title }) {
  if (fault) return { reading: sentence(WORDS.failed, { error: fault }) };
  if (!place) return undefined;
  const [layer, head] = [view.layer + 1, view.head + 1];
  const count = like.places.length;
  const most = view.second ? cosineText(beside.most) : tidy(beside.most, 2);
  const named = { layer, head, title, most, largest: most };
  const words = WORDS.beside[view.second ? "second" : "head"];
  const reading = [
    sentence(WORDS.like, {
      row: place[0] + 1, column: place[1] + 1, layer,
      outlined: sentence(count > 1 ? WORDS.several : WORDS.one, { count }),
      most: cosineText(like.most), mean: cosineText(mean),
    }),
    sentence(words.reading, named),
    ...(view.drawn ? [WORDS.readDrawn] : []),
  ].join(" ");
  return { reading, title: sentence(words.title, named),
    note: sentence(words.note, named) };
}

function photographButtons(photographs, pick) {
  const buttons = Object.entries(photographs).map(([name, about]) => ({
    name, root: html("button", {
      type: "button", class: "thumbnail", "aria-label": about.title,
      title: about.title, onclick: () => pick(name),
    }, html("img", { src: about.thumbnail, alt: "", width: 56, height: 56 })),
  }));
  const root = html("div", {
    class: "photographs", role: "group", "aria-label": WORDS.photographs,
  }, ...buttons.map((one) => one.root));
  function update(chosen) {
    for (const one of buttons) {
      put(one.root, "aria-pressed", String(one.name === chosen));
    }
  }
  return { root, update };
}

// Whose photograph it is, with the way to it and to its licence.
function creditLine() {
  const root = html("p", { class: "vitedu-panel-note credit" });
  function update({ author, source, licence, terms }) {
    const plain = (text) => draft("span", { text });
    renew(root, [
      plain(WORDS.by), draft("a", { href: source, text: author }), plain(", "),
      terms ? draft("a", { href: terms, text: licence }) : plain(licence),
      plain(WORDS.cut),
    ]);
  }
  return { root, update };
}

function settings({ model }) {
  const { root, update } = settingButtons(
    model, WORDS.settings, Object.fromEntries(model.get("settings")));
  return { root, show: update };
}

function choices({ set, given: { photographs } }) {
  const buttons = photographButtons(photographs, (photograph) =>
    set({ photograph, query: photographs[photograph].query }));
  const weights = select({
    label: WORDS.weights, value: "false", options: Object.entries(WORDS.kinds),
    onInput: (drawn) => set({ drawn: drawn === "true" }),
  });
  const root = html("div", { class: "choices" }, buttons.root, weights.root);
  function show({ view }) {
    buttons.update(view.photograph);
    weights.set(String(view.drawn));
  }
  return { root, show };
}

// The photograph in which one asks. Pictures stay until others are here.
function photograph({ set, redraw, given: { layers, mouse } }) {
  const asked = askedPicture({
    look(query) {
      if (query === mouse.under) return;
      mouse.under = query;
      redraw();
    },
    pick: (query) => set({ query }),
  });
  const credit = creditLine();
  const title = titled("");
  const slider = range({
    label: WORDS.layer, min: 1, max: layers, value: 1, format: String,
    onInput: (layer) => set({ layer: layer - 1 }),
  });
  const root = panel("of-photograph", title, noted(WORDS.likeNote), asked.root,
    html("div", { class: "below" }, scale(WORDS.scale), credit.root),
    slider.root);
  let drawn;
  function show({ view, about, photo, cosines, query, like }) {
    slider.set(view.layer + 1);
    if (!cosines) return;
    if (drawn !== about) {
      drawn = about;
      asked.setGrid(about);
      credit.update(about);
    }
    asked.update(photo, cosines, view.query, query, like.places);
    write(title, sentence(WORDS.likeTitle, { layer: view.layer + 1 }));
  }
  return { root, show };
}

function overview({ set, given: { layers, heads } }) {
  const maps = headMaps(layers, heads, (layer, head) =>
    set({ layer, head, second: "" }));
  const root = panel("of-heads",
    titled(sentence(WORDS.mapsTitle, { count: layers * heads })),
    noted(WORDS.mapsNote), maps.root);
  function show({ view, cosines, answers, query }) {
    if (!cosines) return;
    maps.update((...which) => answers.shares(...which, query).map(Math.sqrt),
      view.layer, view.head);
  }
  return { root, show };
}

// The chosen head, enlarged, or another photograph.
function beside({ set, given: { photographs } }) {
  const lit = litPicture("beside");
  const [title, note] = [titled(""), noted("")];
  const choice = select({
    label: WORDS.second, value: "",
    options: [["", WORDS.oneHead], ...Object.entries(photographs).map(
      ([name, about]) => [name, sentence(WORDS.other, about)])],
    onInput: (second) => set({ second }),
  });
  const root = panel("of-second", lit.root,
    html("div", { class: "words" }, title, choice.root, note));
  function show({ view, beside: found }, said) {
    choice.set(view.second);
    for (const option of choice.input.options) {
      option.disabled = option.value === view.photograph;
    }
    if (!found) return;
    lit.update(found.photo, found.values, MAP, found.places);
    put(lit.drawing, "role", "img");
    put(lit.drawing, "aria-label", said.title);
    write(title, said.title);
    write(note, said.note);
  }
  return { root, show };
}

export default defineExplorer("ask-patch", {
  words: WORDS,
  read, compute, say,
  tour: (_, given) => given.settings.map(([, values, said]) =>
    [said, values, values.second ? "of-second" : "of-photograph"]),
  parts: { settings, choices, photograph, overview, beside,
    grid: () => ({ root: noted(WORDS.grid) }) },
  layout: ["settings", "choices",
    { beside: ["photograph", "overview", "beside"] }, "reading", "grid"],
});
