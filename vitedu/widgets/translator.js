// A trained translator at work: what it writes, and where it looks.

const WORDS = {
  label: "Translator: type a number, see where each head looks",
  lines: { src: "The model reads", tgt: "The model writes" },
  sure: "Below each sign is what it means, below each word its probability, "
    + "given the words before it.",
  right: "✓ Right.",
  wrong: "✗ Wrong. Right is “{right}”.",
  endless: "The model has come to no end within {count} words.",
  whole: "The whole sentence has the probability {sure}.",
  attention: "Attention",
  kinds: {
    cross: "cross-attention", encoder: "of the encoder",
    decoder: "of the decoder",
  },
  layer: "Block",
  head: "Head",
  mean: "mean of all",
  queries: "The token that looks",
  token: "token {place}: {word}",
  mapTitle: "Who looks where: block {layer}, {who}",
  heads: { one: "head {head}", mean: "the mean of all heads" },
  mapNotes: {
    cross: "A row is a word while it is written, a column a sign, the area of "
      + "a square the weight.",
    encoder: "A row is a sign that looks, a column a sign that is looked at, "
      + "the area of a square the weight.",
    decoder: "A row is a word while it is written, a column a word that has "
      + "been read by then, the area of a square the weight.",
  },
  choose: "Rest on a token or a row, tap it, or use the arrow keys. The bars "
    + "above the tokens are the weights of the row.",
  mapPicture: "The attention map of block {layer}, {who}, with the row of "
    + "token {place}, “{word}”, marked. Its weights: {weights}.",
  verdict: {
    right: "{src} becomes “{tgt}”, which is right.",
    wrong: "{src} becomes “{tgt}”, which is wrong.",
  },
  looks: {
    cross: "While it writes token {place}, “{word}” (probability {sure}), "
      + "{who} of block {layer} looks most at sign {key}, “{at}” "
      + "({weight}).",
    encoder: "At sign {place}, “{word}”, {who} of block {layer} looks "
      + "most at sign {key}, “{at}” ({weight}).",
    decoder: "While it writes token {place}, “{word}” (probability {sure}), "
      + "{who} of block {layer} looks most at “{at}” ({weight}).",
  },
};

const TRAITS = ["number", "attention", "layer", "head", "query"];
const MEAN = -1;
// In the book the last two come out wrong.
const EXAMPLES = [300, 12_005, 34_000_000, 18_000_000, 40_000_000];

// A tour of the book's translator, which one knows by this slip.
const SLIP = [18_000_000, "eighteen million eight thousand"];
const CROSS = { attention: "cross", layer: 0, head: 0 };
const TOUR = [
  ["Here 12,005 comes out right, as “twelve thousand and five”. While it "
    + "writes “twelve”, head 1 of block 1 looks at 一, one, with a weight of "
    + "1.00.",
  { ...CROSS, number: 12_005, query: 0 }],
  ["“Twelve” needs a second sign, and another head finds it: head 2 of "
    + "block 2 looks at 二, two (0.92).",
  { ...CROSS, number: 12_005, query: 0, layer: 1, head: 1 }],
  ["18,000,000 goes wrong: “eighteen million eight thousand”. The model has "
    + "no doubt. It gives “eight” 99.8 %, and the whole sentence 98 %.",
  { ...CROSS, number: 18_000_000, query: 2 }],
  ["For 40,000,000 it writes “forty million thousand”, and gives the whole "
    + "sentence 51 %: here it wavers.",
  { ...CROSS, number: 40_000_000, query: 2 }],
  ["And 1,000,011 becomes “one million and ten”, with 82 %. The test of its "
    + "chapter found none of these slips.",
  { ...CROSS, number: 1_000_011, query: 3 }],
];

// The likeliest word at each step, until the end.
function translate(translator, number) {
  const src = [...chineseNumeral(number)];
  const { maps, memory } = translator.read(src);
  const steps = [];
  let [past, id] = [translator.nothing, MARKS.bos];
  while (id !== MARKS.eos && steps.length < translator.maxLength) {
    const step = translator.next(memory, past, id);
    past = step.past;
    id = step.logProbs.indexOf(Math.max(...step.logProbs));
    steps.push({ ...step, id, word: translator.word(id),
      logProb: step.logProbs[id] });
  }
  const ended = id === MARKS.eos;
  const words = steps.slice(0, ended ? -1 : undefined).map(({ word }) => word);
  const right = englishWords(number);
  return {
    number, src, maps, steps, ended, text: words.join(" "),
    right: right.join(" "),
    isRight: ended && words.join(" ") === right.join(" "),
    logProb: steps.reduce((sum, { logProb }) => sum + logProb, 0),
  };
}

// Where the queries and the keys of an attention stand in the two lines. The
// line of the target begins with the mark that the decoder reads first.
function placesOf(kind, { src, steps }) {
  const signs = src.map((_, at) => ({ line: "src", at }));
  const written = steps.map((_, at) => ({ line: "tgt", at: at + 1 }));
  return {
    queries: kind === "encoder" ? signs : written,
    keys: kind === "decoder"
      ? steps.map((_, at) => ({ line: "tgt", at })) : signs,
  };
}

function rowsOf(kind, { maps, steps }, layer, head) {
  const of = (at) => (kind === "encoder" ? maps[layer][at]
    : steps.map((step) => step[kind === "cross" ? "cross" : "own"][layer][at]));
  if (head !== MEAN) return of(head);
  const all = maps[layer].map((_, at) => of(at));
  return all[0].map((row, query) => row.map((_, key) =>
    all.reduce((sum, rows) => sum + rows[query][key], 0) / all.length));
}

function render({ model, el }) {
  const translator = translatorOf(model);
  const { num_layers: layers, num_heads: heads } = translator.config;
  const frame = explorer(el, "translator", WORDS.label);
  let found = translate(translator, SLIP[0]);
  const tools = makeTools(frame, model, {
    tour: found.text === SLIP[1] ? TOUR : [],
  });
  const pick = (query) => setTraits(model, { query });
  const field = numberField(
    EXAMPLES,
    (number) => setTraits(model, { number, query: 0 }),
    // What is there belongs to another number.
    (fault) => frame.root.classList.toggle("stale", fault !== ""),
  );
  const numbers = (count) =>
    Array.from({ length: count }, (_, at) => [at, at + 1]);
  const choices = {
    attention: select({
      label: WORDS.attention, value: model.get("attention"),
      options: Object.entries(WORDS.kinds),
      onInput: (attention) => setTraits(model, { attention, query: 0 }),
    }),
    layer: select({
      label: WORDS.layer, value: model.get("layer"), options: numbers(layers),
      onInput: (value) => setTraits(model, { layer: Number(value) }),
    }),
    head: select({
      label: WORDS.head, value: model.get("head"),
      options: [...numbers(heads), [MEAN, WORDS.mean]],
      onInput: (value) => setTraits(model, { head: Number(value) }),
    }),
  };
  const verdict = html("p", { class: "verdict" });
  const lines = translatorLines(pick);
  const map = translatorMap(pick);
  const [mapTitle, mapNote] = [titled(""), noted("")];

  function tokensOf({ src, steps, right }) {
    const rightWords = [...right.split(" "), TRANSLATION.marks.eos];
    const firstWrong = steps.findIndex(({ word }, at) =>
      word !== rightWords[at]);
    const begin = { text: TRANSLATION.marks.bos, mark: true, note: "" };
    return {
      src: src.map((text) => ({ text, note: MEANINGS[text] })),
      tgt: [begin, ...steps.map(({ id, word, logProb }, at) => ({
        text: word, mark: id === MARKS.eos, note: percent(Math.exp(logProb)),
        wrong: at === firstWrong,
      }))],
    };
  }

  function update({ speak = true } = {}) {
    const [number, kind, layer, head, asked] = TRAITS.map((name) =>
      model.get(name));
    if (found.number !== number) found = translate(translator, number);
    const rows = rowsOf(kind, found, layer, head);
    const query = Math.min(asked, rows.length - 1);
    const row = rows[query];
    const places = placesOf(kind, found);
    const tokens = tokensOf(found);
    const texts = (list) => list.map(({ line, at }) => tokens[line][at].text);
    const names = { queries: texts(places.queries), keys: texts(places.keys) };

    field.set(number);
    for (const [name, choice] of Object.entries(choices)) {
      choice.set(model.get(name));
    }
    const who = head === MEAN ? WORDS.heads.mean
      : sentence(WORDS.heads.one, { head: head + 1 });
    const colour = head === MEAN ? "var(--c-text)"
      : `var(--c-head-${head % 4})`;
    const most = row.indexOf(Math.max(...row));
    const said = {
      who, layer: layer + 1, place: query + 1, word: names.queries[query],
      key: most + 1, at: names.keys[most], weight: row[most].toFixed(2),
      sure: kind !== "encoder" && percent(Math.exp(found.steps[query].logProb)),
      src: found.src.join(""), tgt: found.text, right: found.right,
      count: found.steps.length,
      weights: Array.from(row, (weight, at) =>
        `${names.keys[at]} ${weight.toFixed(2)}`).join(", "),
    };
    lines.show(tokens, places, { row, query, colour });
    map.show(rows, names, widths.of(map.root), {
      query, label: sentence(WORDS.mapPicture, said), colour,
    });
    write(mapTitle, sentence(WORDS.mapTitle, said));
    write(mapNote, WORDS.mapNotes[kind]);
    showVerdict(said);
    frame.read([
      sentence(WORDS.verdict[found.isRight ? "right" : "wrong"], said),
      sentence(WORDS.looks[kind], said),
    ].join(" "), { speak });
    frame.publish({
      number, attention: kind, layer, head, query, row,
      tokens: found.steps.map(({ id }) => id),
      logProbs: found.steps.map(({ logProb }) => logProb),
      right: found.isRight, text: found.text,
    });
  }

  function showVerdict(said) {
    verdict.classList.toggle("wrong", !found.isRight);
    write(verdict, [
      found.isRight ? WORDS.right : sentence(WORDS.wrong, said),
      ...(found.ended ? [] : [sentence(WORDS.endless, said)]),
      sentence(WORDS.whole, { sure: percent(Math.exp(found.logProb)) }),
    ].join(" "));
  }

  frame.root.append(
    field.root, lines.root, noted(WORDS.sure), verdict,
    html("div", { class: "vitedu-controls" },
      ...Object.values(choices).map(({ root }) => root)),
    panel("of-map", mapTitle, noted(WORDS.choose), map.root, mapNote),
    ...frame.reading,
    ...tools.foot,
  );
  const widths = followWidths([map.root], () => update({ speak: false }));
  update({ speak: false });
  return followTraits(
    model, TRAITS, update, widths.dispose, lines.dispose, map.dispose,
    tools.dispose, frame.dispose,
  );
}

export default { render };
