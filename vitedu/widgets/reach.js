// Which inputs can reach an output, through which layers, at what price.

import {
  explorer, followTraits, followWidths, html, noted, panel, put, range, renew,
  select, sentence, setTraits, svg, tidy, titled,
} from "./common.js";
import { numberTable } from "./number_table.js";
import WORDS from "./reach.words.json" with { type: "json" };
import { REACH_KINDS, reachNumbers, reachOf } from "./reach_maths.js";
import { REACH_SIZE, reachPicture, tokenAt } from "./reach_picture.js";
import { makeTools } from "./tools.js";

const REACH_TRAITS =
  ["kind", "num_tokens", "window", "num_layers", "place", "d_model"];

const millions = (operations) => tidy(operations / 1e6);

// A row for each kind; that of the picture is marked.
function kindsTable() {
  const columns = Object.keys(WORDS.head).slice(1);
  const table = numberTable({
    caption: WORDS.table, head: Object.values(WORDS.head),
    rows: Object.fromEntries(REACH_KINDS.map((kind) =>
      [kind, WORDS.kinds[kind]])),
  });
  function update(stack) {
    for (const kind of REACH_KINDS) {
      const found = reachNumbers({ ...stack, kind });
      table.update(kind, columns.map((name) =>
        (name === "operations" ? millions(found[name]) : found[name])),
      kind === stack.kind);
    }
  }
  return { root: table.root, update };
}

function reachSentence(stack, reach, found) {
  const { kind, place, layers } = stack;
  const from = reach.sees[0].indexOf(true) + 1;
  const to = reach.sees[0].lastIndexOf(true) + 1;
  const first = !reach.sees[0][0] ? WORDS.out
    : place === 0 ? WORDS.near : WORDS.reaches[kind] ?? WORDS.reaches.other;
  return sentence(WORDS.reading, {
    layers: sentence(WORDS.layers[Number(layers > 1)], { layers }),
    place: place + 1, sees: found.sees, tokens: stack.tokens,
    range: from < to ? sentence(WORDS.range, { from, to }) : "",
    first: sentence(first, found), operations: millions(found.operations),
  });
}

function render({ model, el }) {
  const frame = explorer(el, "reach", WORDS.label);
  const tools = makeTools(frame, model, { tour: WORDS.tour });
  const set = (name) => (value) => setTraits(model, { [name]: value });
  const schema = model.get("_schema");
  const slider = (name, more = {}) => range({
    label: WORDS[name], min: schema[name].low, max: schema[name].high,
    value: model.get(name), format: String, onInput: set(name), ...more,
  });
  const kind = select({
    label: WORDS.kind, options: Object.entries(WORDS.kinds),
    value: model.get("kind"), onInput: set("kind"),
  });
  const sliders = {
    num_layers: slider("num_layers"), window: slider("window"),
    num_tokens: slider("num_tokens"), place: slider("place"),
    d_model: slider("d_model", { log: true, step: 16 }),
  };
  const picture = svg("svg", {
    role: "img", height: REACH_SIZE.height, "aria-label": WORDS.title,
    onpointerdown: (event) => {
      const { x } = picture.getBoundingClientRect();
      set("place")(1 + tokenAt(
        event.clientX - x, widths.of(place), model.get("num_tokens")));
    },
  });
  const place = html("div", { class: "picture" }, picture);
  const table = kindsTable();

  function stackNow() {
    const tokens = model.get("num_tokens");
    return {
      kind: model.get("kind"), tokens, window: model.get("window"),
      layers: model.get("num_layers"), width: model.get("d_model"),
      place: Math.min(model.get("place"), tokens) - 1,
    };
  }
  function update({ speak = true } = {}) {
    const stack = stackNow();
    kind.set(stack.kind);
    for (const [name, one] of Object.entries(sliders)) {
      if (name === "place") one.setMax(stack.tokens);
      one.set(name === "place" ? stack.place + 1 : model.get(name));
    }
    const reach = reachOf(stack);
    const width = widths.of(place);
    put(picture, "viewBox", `0 0 ${width} ${REACH_SIZE.height}`);
    renew(picture, reachPicture(stack, reach, width));
    table.update(stack);
    const found = reachNumbers(stack);
    const said = reachSentence(stack, reach, found);
    put(picture, "aria-label", `${WORDS.title}. ${said}`);
    frame.read(said, { speak });
    frame.publish({
      kind: stack.kind, numTokens: stack.tokens, window: stack.window,
      numLayers: stack.layers, place: stack.place + 1, dModel: stack.width,
      reached: reach.sees[0].map(Number), ...found,
    });
  }

  frame.root.append(
    html("div", { class: "vitedu-controls" }, kind.root,
      sliders.num_layers.root, sliders.window.root),
    panel("of-picture", titled(WORDS.title), place, noted(WORDS.note)),
    html("div", { class: "vitedu-controls" }, sliders.num_tokens.root,
      sliders.place.root, sliders.d_model.root),
    ...frame.reading,
    panel("of-table", titled(WORDS.table), table.root, noted(WORDS.tableNote)),
    ...tools.foot,
  );
  const widths = followWidths([place], () => update({ speak: false }));
  update({ speak: false });
  return followTraits(
    model, REACH_TRAITS, update, widths.dispose, tools.dispose, frame.dispose,
  );
}

export default { render };
