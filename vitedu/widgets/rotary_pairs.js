// Queries and keys, rotated by position, pair by pair.

const WORDS = {
  label: "Rotary pairs: a query and a key, rotated by position",
  key: "Key's position (the query moves along)",
  distance: "The query comes later by",
  base: "Base",
  content: "Content",
  contents: {
    "the same": "query = key, all pairs alike", drawn: "drawn at random",
  },
  clocks: "Eight pairs, eight clocks",
  clocksNote: "Above each, the radians it turns per position; below, what "
    + "it adds to the score.",
  hands: "Dot: the query. Ring: the key.",
  clocksPicture: "Eight clocks with a hand of the query and one of the key. "
    + "The pairs add {parts} to the score.",
  curve: "The score at every distance",
  curveNote: "Move the key: all hands turn, but this curve stays as it is.",
  across: "positions between query and key",
  curvePicture: "The score over distances from 0 to 64; at {distance} it is "
    + "{score}.",
  reading: "Key at position {key}, query at position {query}: the score is "
    + "{score}, as at any two positions {distance} apart. The fastest pair "
    + "has turned {fastest}° between them, the slowest {slowest}°.",
};

// A tour: its numbers are computed.
const TOUR = [
  ["Query and key have the same content and the same position, {key}. The "
    + "two hands of each pair coincide, and the score is {score}.",
  { distance: 0 }],
  ["The query comes {distance} positions later. The fastest pair has turned "
    + "{fastest}°, the slowest {slowest}°. The score has fallen to {score}.",
  { distance: 5 }],
  ["Now both come much later, the key at position {key}. All hands have "
    + "moved, and the score is {score} again: it depends only on the "
    + "distance.",
  { key: 150, distance: 5 }],
  ["With a base of {base} the slow pairs turn faster, {slowest}° between "
    + "query and key. Distant positions are easier to tell apart.",
  { distance: 40, base: 100 }],
  ["With {base}, the base of Llama 3, the slowest turns {slowest}° over the "
    + "same {distance} positions, so it still tells positions apart in a "
    + "long text.",
  { distance: 40, base: 500_000 }],
  ["Nearer does not always mean a higher score. With random content the "
    + "score at a distance of {distance} is {score}: it depends on the "
    + "content, too.",
  { distance: 5, content: "drawn" }],
];

const TRAITS = ["key", "distance", "base", "content"];

function wordsFor(found) {
  return {
    key: found.key, query: found.key + found.distance,
    distance: found.distance, score: fixed(found.score),
    base: baseText(found.base),
    fastest: commas(Math.round(found.fastest)), slowest: tidy(found.slowest, 2),
  };
}

const baseText = (base) => commas(Number(base.toPrecision(2)));

function tourOf(model) {
  const start = Object.fromEntries(TRAITS.map((name) =>
    [name, model.get("_schema")[name].start]));
  const usual = { ...start, base: 10_000, content: "the same" };
  return TOUR.map(([words, changes]) => {
    const settings = { ...usual, ...changes };
    return [sentence(words, wordsFor(readings(settings))), settings];
  });
}

function render({ model, el }) {
  const frame = explorer(el, "rotary-pairs", WORDS.label);
  const tools = makeTools(frame, model, { tour: tourOf(model) });
  const set = (name) => (value) => setTraits(model, { [name]: value });
  const schema = model.get("_schema");
  const slider = (name, more = {}) => range({
    label: WORDS[name], min: schema[name].low, max: schema[name].high,
    value: model.get(name), format: String, onInput: set(name), ...more,
  });
  const controls = {
    key: slider("key"),
    distance: slider("distance"),
    base: slider("base", { log: true, format: baseText }),
    content: select({
      label: WORDS.content, options: Object.entries(WORDS.contents),
      value: model.get("content"), onInput: set("content"),
    }),
  };
  const [ofClocks, ofCurve] = [0, 1].map(() => svg("svg", { role: "img" }));
  const place = html("div", { class: "clocks" }, ofClocks);

  function update({ speak = true } = {}) {
    for (const [name, one] of Object.entries(controls)) {
      one.set(model.get(name));
    }
    const found = readings(Object.fromEntries(TRAITS.map((name) =>
      [name, model.get(name)])));
    const words = wordsFor(found);
    const width = widths.of(place);
    const parts = found.parts.map(signedText).join(", ");
    const { top, height, foot } = CHART;
    for (const [picture, label, high, drafts] of [
      [ofClocks, sentence(WORDS.clocksPicture, { parts }),
        clocksHeight(width), clocks(found, width)],
      [ofCurve, sentence(WORDS.curvePicture, words), top + height + foot,
        scoreCurve(found, width)],
    ]) {
      put(picture, "aria-label", label);
      put(picture, "width", width);
      put(picture, "height", high);
      renew(picture, drafts);
    }
    frame.read(sentence(WORDS.reading, words), { speak });
    frame.publish({
      key: found.key, distance: found.distance, base: found.base,
      content: found.content, queries: found.queries, keys: found.keys,
      parts: found.parts, score: found.score, curve: found.curve,
    });
  }

  frame.root.append(
    html("div", { class: "vitedu-controls" },
      controls.key.root, controls.distance.root),
    html("div", { class: "panels" },
      panel("of-clocks", titled(WORDS.clocks), noted(WORDS.clocksNote), place,
        noted(WORDS.hands)),
      panel("of-curve", titled(WORDS.curve), noted(WORDS.curveNote),
        ofCurve)),
    html("div", { class: "vitedu-controls" },
      controls.base.root, controls.content.root),
    ...frame.reading,
    ...tools.foot,
  );
  const widths = followWidths([place], () => update({ speak: false }));
  update({ speak: false });
  return followTraits(
    model, TRAITS, update, widths.dispose, tools.dispose, frame.dispose,
  );
}

export default { render };
