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
import { draft, fill, html, put, renew, write } from "./core/dom.js";
import { explorer, onTraits, onceAFrame, setTraits } from "./core/frame.js";
import { later } from "./core/later.js";
import { sentence, tidy } from "./core/texts.js";
import { makeTools } from "./core/tools.js";

const TRAITS = ["photograph", "query", "layer", "head", "drawn", "second"];

async function inflated(bytes) {
  const stream = new Blob([bytes]).stream()
    .pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).arrayBuffer();
}

// What is loaded once it is asked for; calls `ready` when something has come.
function loading(model, ready, failed) {
  const kept = new Map();
  function get(name, read) {
    if (!kept.has(name)) {
      kept.set(name, null);
      later(model, name).then(read).then((found) => {
        kept.set(name, found);
        ready();
      }).catch((error) => {
        kept.delete(name);
        failed(error);
      });
    }
    return kept.get(name);
  }
  return get;
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

function render({ model, el }) {
  const photographs = Object.fromEntries(
    model.get("photographs").map((about) => [about.name, about]),
  );
  const [layers, heads] = ["num_layers", "num_heads"].map((name) =>
    model.get(name));
  const frame = explorer(el, "ask-patch", WORDS.label);
  const tools = makeTools(frame, model, {
    tour: model.get("settings").map(([, values, said]) => [said, values]),
  });
  const set = (traits) => setTraits(model, traits);
  // The patch that the mouse is over; Python does not hear of it.
  let under = null;
  let shown;

  const settings = settingButtons(
    model, WORDS.settings, Object.fromEntries(model.get("settings")),
  );
  const buttons = photographButtons(photographs, (photograph) =>
    set({ photograph, query: photographs[photograph].query }));
  const controls = {
    drawn: select({
      label: WORDS.weights, value: String(model.get("drawn")),
      options: Object.entries(WORDS.kinds),
      onInput: (drawn) => set({ drawn: drawn === "true" }),
    }),
    layer: range({
      label: WORDS.layer, min: 1, max: layers, value: model.get("layer") + 1,
      format: String, onInput: (layer) => set({ layer: layer - 1 }),
    }),
    second: select({
      label: WORDS.second, value: model.get("second"),
      options: [["", WORDS.oneHead], ...Object.entries(photographs).map(
        ([name, { title }]) => [name, sentence(WORDS.other, { title })],
      )],
      onInput: (second) => set({ second }),
    }),
  };
  const asked = askedPicture({
    look: (query) => {
      if (query === under) return;
      under = query;
      redraw();
    },
    pick: (query) => set({ query }),
  });
  const maps = headMaps(layers, heads, (layer, head) =>
    set({ layer, head, second: "" }));
  const beside = litPicture("beside");
  const credit = creditLine();
  const likeTitle = titled("");
  const besideTitle = titled("");
  const besideNote = noted("");

  const get = loading(model, () => redraw(), (error) => {
    put(frame.root, "aria-busy", "false");
    frame.read(sentence(WORDS.failed, { error: error.message }));
  });

  // Everything that is shown now, or undefined while some of it is on its way.
  function loaded({ photograph, drawn, second }) {
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
    return Object.values(found).every(Boolean) ? found : undefined;
  }

  function update({ speak = true } = {}) {
    const view = Object.fromEntries(
      TRAITS.map((name) => [name, model.get(name)]),
    );
    if (view.second === view.photograph) view.second = "";
    settings.update();
    buttons.update(view.photograph);
    controls.layer.set(view.layer + 1);
    controls.drawn.set(String(view.drawn));
    controls.second.set(view.second);
    for (const option of controls.second.input.options) {
      option.disabled = option.value === view.photograph;
    }
    const found = loaded(view);
    put(frame.root, "aria-busy", String(!found));
    if (found) show(view, found, speak);
  }

  function show(view, found, speak) {
    const about = photographs[view.photograph];
    const { layer } = view;
    const query = under ?? view.query;
    const place = placeOfQuery(about, query);
    if (shown !== view.photograph) {
      shown = view.photograph;
      asked.setGrid(about);
      credit.update(about);
    }
    const cosines = found.answers.cosines(layer, query);
    const mean = cosines.reduce((sum, value) => sum + value) / PATCHES;
    const like = bestFarFrom(place, cosines);
    asked.update(found.photo, cosines, view.query, query, like.places);
    maps.update((...which) =>
      found.answers.shares(...which, query).map(Math.sqrt), layer, view.head);
    write(likeTitle, sentence(WORDS.likeTitle, { layer: layer + 1 }));
    const other = (view.second ? showSecond : showHead)(view, found, query);
    const count = like.places.length;
    const words = [
      sentence(WORDS.reading, {
        row: place[0] + 1, column: place[1] + 1, layer: layer + 1,
        outlined: sentence(count > 1 ? WORDS.several : WORDS.one, { count }),
        most: cosineText(like.most), mean: cosineText(mean),
      }),
      other.words,
    ];
    if (view.drawn) words.push(WORDS.readDrawn);
    frame.read(words.join(" "), { speak: speak && under === null });
    frame.publish({
      ...view, under: under ?? "", row: place[0], column: place[1],
      like: like.most, likePlaces: like.places, mean,
      most: other.most, mostPlaces: other.places,
    });
  }

  function showHead({ layer, head }, { photo, answers }, query) {
    const shares = answers.shares(layer, head, query);
    const { places } = best(shares);
    const most = answers.largest(layer, head, query);
    const named = {
      layer: layer + 1, head: head + 1, largest: tidy(most, 2),
    };
    return showBeside(photo, shares.map(Math.sqrt), { most, places }, {
      title: sentence(WORDS.headTitle, named),
      note: sentence(WORDS.headNote, named),
      words: sentence(WORDS.readHead, named),
    });
  }

  function showSecond({ layer, second }, { secondPhoto, across }, query) {
    const cosines = across(layer, query);
    const found = best(cosines);
    const { title } = photographs[second];
    const named = { layer: layer + 1, title, most: cosineText(found.most) };
    const shares = cosines.map((cosine) => cosine / found.most);
    return showBeside(secondPhoto, shares, found, {
      title: sentence(WORDS.secondTitle, named),
      note: sentence(WORDS.secondNote, { largest: named.most }),
      words: sentence(WORDS.readSecond, named),
    });
  }

  function showBeside(photo, values, found, { title, note, words }) {
    beside.update(photo, values, MAP, found.places);
    fill(beside.drawing, { role: "img", "aria-label": title }, []);
    write(besideTitle, title);
    write(besideNote, note);
    return { ...found, words };
  }

  frame.root.append(
    settings.root,
    html("div", { class: "choices" }, buttons.root, controls.drawn.root),
    html("div", { class: "panels" },
      panel("of-photograph", likeTitle, noted(WORDS.likeNote), asked.root,
        html("div", { class: "below" }, scale(WORDS.scale), credit.root),
        controls.layer.root),
      panel("of-heads",
        titled(sentence(WORDS.mapsTitle, { count: layers * heads })),
        noted(WORDS.mapsNote), maps.root),
      panel("of-second", beside.root,
        html("div", { class: "words" },
          besideTitle, controls.second.root, besideNote))),
    ...frame.reading,
    noted(WORDS.grid),
    ...tools.foot,
  );
  const redraw = onceAFrame(update);
  const ignore = onTraits(model, TRAITS, redraw);
  update({ speak: false });
  return () => {
    ignore();
    redraw.cancel();
    tools.dispose();
    frame.dispose();
  };
}

const cosineText = (value) => value.toFixed(2).replace("-", "−");

export default { render };
