// Who may attend to whom, and what becomes of it when a detail is wrong.

const WORDS = {
  label: "Mask editor",
  settings: "Settings",
  settingNames: {
    "decoder": "decoder", "leak": "leak", "dead row": "dead row",
    "inside out": "inside out",
  },
  presets: "Masks to start from",
  presetNames: {
    "none": "none", "padding": "padding", "causal": "causal",
    "causal and padding": "both",
  },
  hideRow: "Hide all from “{query}”",
  showRow: "Show all to “{query}”",
  query: "query",
  maskTitle: "Mask: {meaning}",
  maskLabel: "Mask",
  cell: "{text}: may {query} attend to {key}",
  maskHint: "Each row is a query, each column a key. Click or drag over "
    + "cells; or arrow keys and Space.",
  convention: "written for",
  conventions: {
    "vitedu": "vitedu",
    "F.scaled_dot_product_attention": "F.scaled_dot_product_attention",
    "nn.MultiheadAttention": "nn.MultiheadAttention",
    "additive": "code that adds it to the scores",
    "integers": "code that fills where it is 0",
  },
  meaning: {
    "vitedu": "True = may attend",
    "F.scaled_dot_product_attention": "True = may attend",
    "nn.MultiheadAttention": "True = hidden",
    "additive": "0 = may attend, −∞ = hidden",
    "integers": "1 = may attend, 0 = hidden",
  },
  handOver: {
    "vitedu": "give it unchanged to nn.MultiheadAttention",
    "F.scaled_dot_product_attention":
      "give it unchanged to nn.MultiheadAttention",
    "nn.MultiheadAttention":
      "give it unchanged to F.scaled_dot_product_attention",
    "additive": "give it unchanged to code that fills where it is 0",
    "integers": "give it unchanged to code that adds it to the scores",
  },
  scoresTitle: "Scores",
  scoresNote: "How much each query looks for each key.",
  score: "score of “{query}” for “{key}”",
  maskedTitle: "What the softmax gets",
  maskedHint: "The same scores, after the mask.",
  method: "order of steps",
  methods: {
    "fill before softmax": "fill, softmax",
    "multiply before softmax": "multiply, softmax",
    "multiply after softmax": "softmax, multiply",
    "multiply after and renormalise": "softmax, multiply, rescale",
  },
  fill: "hidden scores become",
  fills: {
    "finfo.min and clear": "min, then cleared",
    "-inf": "−∞",
    "finfo.min": "min",
    "-1e9": "−10⁹",
  },
  min: "min",
  billion: "−10⁹",
  maskedNotes: {
    "finfo.min and clear": "As vitedu does it: min is −3.4 × 10³⁸, the "
      + "smallest float32; after the softmax, hidden weights are set to 0.",
    "-inf": "The softmax turns −∞ into an exact 0, and a row of nothing but "
      + "−∞ into 0/0.",
    "finfo.min": "min is −3.4 × 10³⁸, the smallest float32. The softmax turns "
      + "it into an exact 0, but a row of nothing else into equal weights.",
    "-1e9": "The softmax turns −10⁹ into an exact 0, but a row of nothing "
      + "else into equal weights.",
    "multiply before softmax": "A hidden score becomes 0, and the softmax "
      + "still gives it e⁰ = 1 before it divides.",
    "multiply after softmax": "The softmax gets every score. Hidden weights "
      + "become 0 after it; the sum of a row still depends on hidden scores.",
    "multiply after and renormalise": "Each row is divided by what is left of "
      + "it. That equals filling with −∞, 0/0 in a row without keys included.",
  },
  misreadNotes: {
    "vitedu": "nn.MultiheadAttention takes True for hidden. It fills with −∞ "
      + "what should be seen.",
    "F.scaled_dot_product_attention": "nn.MultiheadAttention takes True for "
      + "hidden. It fills with −∞ what should be seen.",
    "nn.MultiheadAttention": "It takes True for may attend. What should be "
      + "seen is hidden, and rows that see nothing become 0.",
    "additive": "That code takes 0 for hidden. It fills with −10⁹ what "
      + "should be seen, and lets −∞ stay.",
    "integers": "Added to the scores, 1 and 0 hide nothing. Visible scores "
      + "only grow by 1.",
  },
  weightsTitle: "Weights",
  weightsNote: "Blue: weight on visible keys. Red: weight on hidden keys.",
  sum: "sum",
  leak: "hidden",
  percent: "{percent}\u00a0%",
  seen: "visible",
  hidden: "hidden",
  reading: "“{query}” for “{key}”: score {score}, {state}, weight {weight}. "
    + "The weights of “{query}” sum to {sum}; on hidden keys: {leak}. {all}",
  noLeak: "No query puts weight on a hidden key.",
  loudness: "No query puts weight on a hidden key, and yet hidden scores come "
    + "through: they decide what each row sums to, here {least} at the least.",
  worst: "Most weight on hidden keys: {leak}, from “{query}”.",
  broken: "Rows that are NaN: {count}. ",
  more: "Scores, masked scores, and masks for other libraries",
};

// What a button sets besides the mask, where it differs from a healthy one.
const SETTINGS = {
  "decoder": {},
  "leak": { method: "multiply before softmax", query: 0, key: 0 },
  "dead row": { fill_value: "-1e9", query: 1, key: 1 },
  "inside out": { handed_over: true },
};
const HEALTHY = {
  method: "fill before softmax", fill_value: "finfo.min and clear",
  convention: "vitedu", handed_over: false,
};

// The mask of a decoder; in "dead row" a row of it sees nothing.
function settingMask(name, tokens) {
  const mask = presetMask("causal and padding", tokens);
  const { query } = SETTINGS[name];
  const size = tokens.length;
  if (name === "dead row") mask.fill(0, query * size, (query + 1) * size);
  return mask;
}

// A tour of the sentence that the editor has where Python gives no other.
const TOUR_TOKENS = "<bos> I have a cat <pad>";
const DECODER = "100000110000111000111100111110111110";
const DEAD_ROW = "100000000000111000111100111110111110";
const TOUR = [
  ["A decoder: “have” must not see “a”, the word on its right. That weight "
    + "is 0, and the row still sums to 1.00.",
  { ...HEALTHY, mask: DECODER, query: 2, key: 3 }],
  ["Multiply the scores by the mask instead. A hidden score becomes 0, which "
    + "is a score like any other: “<bos>” puts 75 % of its weight on words "
    + "that it must not see.",
  { ...HEALTHY, ...SETTINGS.leak, mask: DECODER }],
  ["Multiply the weights after the softmax. Nothing hidden has weight now, "
    + "but the row of “<bos>” sums to 0.09, and hidden scores decide how "
    + "much is left.",
  { ...HEALTHY, method: "multiply after softmax", mask: DECODER, query: 0,
    key: 0 }],
  ["Hide everything from “I”, and fill with −10⁹. A softmax over equal "
    + "scores is even: 0.17 each, and 100 % of it on hidden keys.",
  { ...HEALTHY, ...SETTINGS["dead row"], mask: DEAD_ROW }],
  ["Filled with −∞, the same row is 0/0. One NaN in the weights, and a "
    + "training step later all parameters are NaN.",
  { ...HEALTHY, fill_value: "-inf", mask: DEAD_ROW, query: 1, key: 1 }],
  ["The right mask, given to a library that takes True for hidden: “<bos>” "
    + "sees only what it must not see, 100 %.",
  { ...HEALTHY, ...SETTINGS["inside out"], mask: DECODER, query: 0, key: 0 }],
];

const TRAITS = [
  "scores", "mask", "method", "fill_value", "convention", "handed_over",
  "query", "key",
];

const twoDigits = (number) =>
  number === 0 || Number.isNaN(number) ? String(number) : number.toFixed(2);

function percent(share) {
  if (Number.isNaN(share)) return "NaN";
  const rounded = share > 0 && share < 0.005 ? "<1" : Math.round(100 * share);
  return sentence(WORDS.percent, { percent: rounded });
}

// One digit after the point, unless that would round what Python gave.
function scoreText(scores) {
  const coarse = scores.every((score) =>
    Math.abs(10 * score - Math.round(10 * score)) < 1e-4);
  return (score) => fixed(score, coarse ? 1 : 2);
}

function writtenText(value, convention) {
  if (value === -Infinity) return "−∞";
  const numbers = ["additive", "integers"].includes(convention);
  return numbers ? String(value) : value ? "True" : "False";
}

function maskedText(value, toText) {
  const names = new Map([
    [-Infinity, "−∞"], [SMALLEST, WORDS.min], [-1e9, WORDS.billion], [0, "0"],
  ]);
  return names.get(value) ?? toText(value);
}

const beside = (...controls) => html("div", { class: "beside" }, ...controls);
const group = (label, buttons) =>
  html("div", { class: "vitedu-settings", role: "group", "aria-label": label },
    ...buttons.map(({ root }) => root));

function render({ model, el }) {
  const frame = explorer(el, "mask-editor", WORDS.label);
  const tools = makeTools(frame, model, {
    tour: model.get("tokens").join(" ") === TOUR_TOKENS ? TOUR : [],
  });
  const tokens = model.get("tokens");
  const size = tokens.length;
  const choose = (query, key) => setTraits(model, { query, key });
  const take = (name) => (value) => setTraits(model, { [name]: value });
  const arrayOf = (name) => decodeArray(model.get(name)).data;
  const send = (data, dtype) =>
    encodeArray({ data, shape: [size, size] }, dtype);
  const setMask = (mask, changes) =>
    setTraits(model, { mask: send(mask, "bool"), ...changes });

  function paint(query, key, seen) {
    const mask = arrayOf("mask");
    mask[query * size + key] = seen;
    setMask(mask, { query, key });
  }
  function turnRow() {
    const mask = arrayOf("mask");
    const start = model.get("query") * size;
    const row = mask.subarray(start, start + size);
    row.fill(row.some(Boolean) ? 0 : 1);
    setMask(mask);
  }
  function setScore(score) {
    const scores = arrayOf("scores");
    scores[model.get("query") * size + model.get("key")] = score;
    setTraits(model, { scores: send(scores, "float32") });
  }

  function applySetting(name) {
    setMask(settingMask(name, tokens), { ...HEALTHY, ...SETTINGS[name] });
  }
  function isSet(name, mask) {
    const wanted = { ...HEALTHY, ...SETTINGS[name] };
    return Object.keys(HEALTHY)
      .every((trait) => model.get(trait) === wanted[trait])
      && settingMask(name, tokens).every((seen, at) => seen === mask[at]);
  }

  const settings = Object.entries(WORDS.settingNames).map(([name, text]) => ({
    name, root: button(text, () => applySetting(name)),
  }));
  const presets = Object.entries(WORDS.presetNames).map(([name, text]) => ({
    name, root: button(text, () => setMask(presetMask(name, tokens))),
  }));
  const rowButton = button("", turnRow);
  const convention = select({
    label: WORDS.convention, options: Object.entries(WORDS.conventions),
    value: model.get("convention"), onInput: take("convention"),
  });
  const handOverText = html("span");
  const handOver = checkbox(handOverText, take("handed_over"));
  const method = select({
    label: WORDS.method, options: Object.entries(WORDS.methods),
    value: model.get("method"), onInput: take("method"),
  });
  const fillValue = select({
    label: WORDS.fill, options: Object.entries(WORDS.fills),
    value: model.get("fill_value"), onInput: take("fill_value"),
  });
  const slider = range({
    label: WORDS.scoresTitle, min: -5, max: 5, step: 0.1, value: 0,
    format: (score) => scoreText([score])(score), onInput: setScore,
  });
  const sliderLabel = slider.root.querySelector("label");
  const matrices = {
    mask: maskGrid(tokens, choose, paint),
    scores: numberGrid(WORDS.scoresTitle, tokens, choose),
    masked: numberGrid(WORDS.maskedTitle, tokens, choose),
    weights: weightGrid(tokens, choose),
  };
  const maskTitle = titled("");
  const maskedNote = noted("");

  function stateNow() {
    return {
      scores: Float64Array.from(arrayOf("scores")), mask: arrayOf("mask"),
      method: model.get("method"), fillValue: model.get("fill_value"),
      convention: model.get("convention"),
      handedOver: model.get("handed_over"),
      query: model.get("query"), key: model.get("key"),
    };
  }

  function update({ speak = true } = {}) {
    const state = stateNow();
    const values = readings(state);
    showControls(state);
    showMatrices(state, values);
    say(state, values, speak);
    const figures = Object.entries({ ...values, scores: state.scores })
      .map(([name, array]) => [name, Array.from(array, String)]);
    frame.publish({ ...state, ...Object.fromEntries(figures) });
  }

  function showControls(state) {
    const { mask, query, key } = state;
    const named = { query: tokens[query], key: tokens[key] };
    for (const { name, root } of settings) {
      root.setAttribute("aria-pressed", isSet(name, mask));
    }
    for (const { name, root } of presets) {
      const same = presetMask(name, tokens).every((seen, at) =>
        seen === mask[at]);
      root.setAttribute("aria-pressed", same);
    }
    const row = mask.subarray(query * size, (query + 1) * size);
    write(rowButton, sentence(
      row.some(Boolean) ? WORDS.hideRow : WORDS.showRow, named,
    ));
    convention.set(state.convention);
    handOver.set(state.handedOver);
    write(handOverText, WORDS.handOver[state.convention]);
    method.set(state.method);
    fillValue.set(state.fillValue);
    // Another library masks in its own way.
    method.input.disabled = state.handedOver;
    fillValue.input.disabled =
      state.handedOver || state.method !== "fill before softmax";
    write(sliderLabel, sentence(WORDS.score, named));
    slider.set(Number(state.scores[query * size + key].toFixed(6)));
  }

  function showMatrices(state, values) {
    const toText = scoreText(state.scores);
    const texts = (numbers, textOf) => Array.from(numbers, textOf);
    matrices.mask.show(texts(values.written, (value) =>
      writtenText(value, state.convention)), state);
    matrices.scores.show(texts(state.scores, toText), state);
    matrices.masked.show(texts(values.masked, (value) =>
      maskedText(value, toText)), state);
    matrices.weights.show(values, state);
    write(maskTitle, sentence(WORDS.maskTitle, {
      meaning: WORDS.meaning[state.convention],
    }));
    write(maskedNote, state.handedOver
      ? WORDS.misreadNotes[state.convention]
      : WORDS.maskedNotes[state.method] ?? WORDS.maskedNotes[state.fillValue]);
  }

  function say(state, { weights, sums, leaks }, speak) {
    const { query, key, scores, mask } = state;
    const at = query * size + key;
    const known = leaks.map((leak) => leak || 0);
    const worst = known.indexOf(Math.max(...known));
    const broken = leaks.filter(Number.isNaN).length;
    const all = known[worst] > 0
      ? sentence(WORDS.worst, {
        leak: percent(known[worst]), query: tokens[worst],
      })
      : broken ? "" : loudness(state, sums) ?? WORDS.noLeak;
    const nan = broken ? sentence(WORDS.broken, { count: broken }) : "";
    const said = sentence(WORDS.reading, {
      query: tokens[query], key: tokens[key],
      score: scoreText(scores)(scores[at]), state: mask[at] ? WORDS.seen : WORDS.hidden,
      weight: twoDigits(weights[at]), sum: twoDigits(sums[query]),
      leak: percent(leaks[query]), all: nan + all,
    });
    frame.read(said.trim(), { speak });
  }

  // Multiplied after the softmax, a row sums to less than 1, and what is
  // missing tells of the hidden scores.
  function loudness({ method, handedOver, mask }, sums) {
    if (method !== "multiply after softmax" || handedOver) return undefined;
    if (mask.every(Boolean)) return undefined;
    return sentence(WORDS.loudness, { least: twoDigits(Math.min(...sums)) });
  }

  frame.root.append(
    group(WORDS.settings, settings),
    html("div", { class: "panels" },
      panel("mask", maskTitle,
        beside(group(WORDS.presets, presets), slider.root),
        matrices.mask.root, noted(WORDS.maskHint), rowButton),
      panel("weights", titled(WORDS.weightsTitle),
        beside(method.root, fillValue.root), matrices.weights.root,
        noted(WORDS.weightsNote), maskedNote)),
    ...frame.reading,
    html("details", { class: "more" },
      html("summary", { text: WORDS.more }),
      html("div", { class: "beside" }, convention.root, handOver.root),
      html("div", { class: "panels" },
        panel("scores", titled(WORDS.scoresTitle), noted(WORDS.scoresNote),
          matrices.scores.root),
        panel("masked", titled(WORDS.maskedTitle), noted(WORDS.maskedHint),
          matrices.masked.root))),
    ...tools.foot,
  );
  update({ speak: false });
  return followTraits(model, TRAITS, update, tools.dispose, frame.dispose);
}

export default { render };
