// A digit, followed through every step of a Vision Transformer.

const WORDS = {
  label: "Follow a digit through a Vision Transformer",
  field: "Drawing field",
  help: "Draw a digit with mouse, pen or finger. By keyboard: arrows move, "
    + "space inks a pixel, delete clears.",
  draw: "Draw a digit here.",
  prepared: "It becomes 8 × 8 pixels, as high and as upright as the digits "
    + "that the network learned from.",
  clear: "Clear",
  small: {
    text: "The Vision Transformer of chapter 14 reads it in your browser. "
      + "Draw, and a map shows where it looks before it answers.",
    link: "Follow it through every step →",
    page: "chapters/14-training-a-vit.html",
    map: "Where the class token looks in the last block",
    reading: "It reads a {digit}, with a chance of {chance}.",
  },
  answer: "The answer",
  lens: "What each layer would answer",
  lensNote: "The head, applied to the class token after each block. Chances "
    + "in per cent.",
  layers: { first: "input", block: "block {block}" },
  patchLens: "What each patch would answer, {layer}",
  strip: "From pixels to the answer",
  inside: "Inside block {block}",
  insideAll: "Steps of a block",
  maps: "Where the class token looks",
  mapsNote: "Two lines of eight heads for each block. The area of a square is "
    + "the weight of a patch.",
  map: "block {block}, head {head}",
  look: "Block {block}, head {head}",
  lookNote: "The largest weight is {most}. The class token gives itself "
    + "{own}.",
  block: "Block",
  head: "Head",
  // The first place of an axis, and the others, counted from 0 and from 1.
  places: {
    row: ["row {next}"], column: ["column {next}"], patch: ["patch {next}"],
    token: ["class token", "patch {at}"], number: ["number {next}"],
    query: ["query of the class token", "query of patch {at}"],
    key: ["key of the class token", "key of patch {at}"],
    "class token": ["class token"], digit: ["digit {at}"],
  },
  ofHead: ", head {head} of block {block}",
  ofBlock: ", block {block}",
  off: "Switch off",
  parts: {
    positions: "positions", scale: "the scale 1/√d", residuals: "residuals",
    block: "block {block}", head: "head {head} of block {block}",
  },
  on: "Everything on",
  reading: "It reads a {digit}, with a chance of {chance}; next comes {next}, "
    + "with {nextChance}.",
  blank: "Nothing is drawn, but it has to choose.",
  without: "The whole network reads a {digit}, with {chance}.",
  looks: "In head {head} of block {block} the class token looks most at "
    + "patch {patch}, with a weight of {weight}.",
  stages: {
    pixels: {
      title: "Pixels", formula: "x = (ink − mean) / std",
      text: "Ink from 0 to 1, less the mean of the training pixels, divided "
        + "by their standard deviation.",
      worked: "({x} − {mean}) / {std}",
    },
    patches: {
      title: "Patches", formula: "p_i = the pixels of patch i, in a row",
      text: "The picture is cut into squares, read row by row.",
      worked: "the pixel in row {down}, column {right} of the picture",
    },
    tokens: {
      title: "Tokens", formula: "t_i = E p_i + b",
      text: "One linear map makes a token of each patch. The class token, "
        + "row 1, stands in front of them.",
      learned: "learned in training, the same for every picture",
    },
    positions: {
      title: "+ positions", formula: "z_i = t_i + e_i",
      text: "Each place adds a vector of its own, learned in training.",
      worked: "{a} + {b}", alone: "{a} alone: positions are off",
    },
    norm1: ALIKE.norm,
    query: {
      title: "q", formula: "q_i = W_q y_i + b_q",
      text: "The query: what a token asks for, in this head.",
    },
    key: {
      title: "k", formula: "k_j = W_k y_j + b_k",
      text: "The key: by what a token can be found.",
    },
    value: {
      title: "v", formula: "v_j = W_v y_j + b_v",
      text: "The value: what a token hands on when it is looked at.",
    },
    scores: ALIKE.scores,
    softmax: ALIKE.softmax,
    heads: {
      ...ALIKE.mix,
      text: "Each token takes the values of all tokens, by these weights.",
      off: "0: this head is off",
    },
    projection: {
      ...ALIKE.projection, formula: "o_i = W_o [h_i of all heads] + b_o",
    },
    "attention sum": {
      title: "+ input", formula: "z′_i = z_i + o_i",
      text: "What attention has found is added to the token: the first "
        + "residual.",
      worked: "{b} + {a}", alone: "{a} alone: residuals are off",
    },
    norm2: {
      ...ALIKE.norm, formula: "y′ = γ (z′ − mean) / √(variance + ε) + β",
      text: "The second normalisation, with factors of its own.",
    },
    hidden: { ...ALIKE.hidden, formula: "u_i = W_1 y′_i + b_1" },
    gelu: ALIKE.gelu,
    narrowed: ALIKE.narrowed,
    "block sum": {
      title: "+ input", formula: "z″_i = z′_i + f_i",
      text: "The second residual. This is what the next block gets.",
      worked: "{b} + {a}", alone: "{a} alone: residuals are off",
      skipped: "what came in: this block is off",
    },
    norm: ALIKE.last,
    logits: {
      title: "Logits", formula: "l_n = w_n · y_1 + b_n",
      text: "The head reads the class token alone, and gives each digit a "
        + "number.",
    },
    answer: {
      ...ALIKE.chances, title: "Answer",
      text: "Softmax turns the logits into chances.",
    },
  },
};

// The walk speaks of one network, which answers so of its samples.
const WALKED = [[3, 3, "96 %"], [10, 8, "45 %"]];
const WALK = [
  ["A 3 of the test images, in 8 × 8 pixels. The network reads a 3, with a "
    + "chance of 96 %. What lies between?",
  { digit: 3, stage: "pixels" }],
  ["Each patch becomes a token. The class token, row 1, stands in front of "
    + "them and will answer for all. At first it is the same for every "
    + "picture.",
  { digit: 3, stage: "tokens" }],
  ["In block 2, head 1 of the class token looks at patch 15, where the lower "
    + "curve ends, with a weight of 0.70.",
  { digit: 3, stage: "softmax", block: 1, column: 15 }],
  ["What would each layer answer? After block 1 it is a 3 with 50 per cent, "
    + "after block 2 with 92. The rest is little more than care.",
  { digit: 3, stage: "norm", block: 3 }],
  ["Switch the positions off, and it reads a 4, with 43 %. It has all the "
    + "strokes, and no longer knows where they were.",
  { digit: 3, stage: "positions", off: "positions" }],
  ["This 1 is misread: an 8 has 45 % and a 1 has 44 %. After block 1 the "
    + "network had it right, with 53 per cent.",
  { digit: 10, stage: "answer" }],
];

const TRAITS = ["digit", "picture", "stage", "block", "head", "row", "column",
  "off"];
const HUES = {
  positions: "position", query: "query", key: "key", value: "value",
  logits: "class-token", answer: "class-token",
};

function placeName(axis, at) {
  const names = WORDS.places[axis];
  return sentence(names[Math.min(at, names.length - 1)],
    { at, next: at + 1 });
}

// The stages in a line, each with a small picture.
function stageStrip(layers, pick) {
  const stages = [
    ...Object.keys(BEFORE).map((stage) => ({ stage })),
    ...Array.from({ length: layers }, (_, block) =>
      ({ stage: "block", block })),
    ...Object.keys(AFTER).map((stage) => ({ stage })),
  ];
  const pictures = stages.map(() => html("span", { class: "thumb" }));
  const strip = stepStrip(WORDS.strip, stages.map(({ stage, block }, i) => ({
    picture: pictures[i],
    title: WORDS.stages[stage]?.title ?? `${WORDS.block} ${block + 1}`,
  })), (i) => pick(stages[i]));
  function update(run, view) {
    const chosen = stages.findIndex(({ stage, block }) =>
      (stage === "block" ? view.stage in IN_BLOCK && block === view.block
        : stage === view.stage));
    strip.choose(chosen);
    stages.forEach(({ stage, block }, i) =>
      renew(pictures[i], thumbnail(run, stage, block)));
  }
  return { root: strip.root, update };
}

function blockSteps(pick) {
  const steps = Object.keys(IN_BLOCK);
  const strip = stepStrip(WORDS.insideAll, steps.map((stage) =>
    ({ title: WORDS.stages[stage].title })), (i) => pick(steps[i]));
  const update = ({ stage }) => strip.choose(steps.indexOf(stage));
  return { root: strip.root, update };
}

// What the panel of an open stage needs to know besides its numbers.
function described(opened, { stage, block, head }) {
  const inHead = ["query", "key", "value", "scores", "softmax", "heads"];
  const where = { block: block + 1, head: head + 1 };
  const [file, line] = CODE[stage];
  return {
    ...opened, file, line, words: WORDS.stages[stage], hue: HUES[stage],
    of: inHead.includes(stage) ? sentence(WORDS.ofHead, where)
      : stage in IN_BLOCK ? sentence(WORDS.ofBlock, where) : "",
    names: opened.axes.map((axis) => (at) => placeName(axis, at)),
  };
}

// Boxes for what can be switched off, at the block and the head shown.
function switches(set) {
  const names = ({ block, head }) => ({
    positions: "positions", scale: "scale", residuals: "residuals",
    block: `block ${block}`, head: `head ${block} ${head}`,
  });
  let view = { off: [], block: 0, head: 0 };
  const boxes = Object.keys(WORDS.parts).map((part) => ({
    part, box: checkbox(WORDS.parts[part], (off) => {
      const name = names(view)[part];
      const others = view.off.filter((one) => one !== name);
      set({ off: off ? [...others, name] : others });
    }),
  }));
  const allOn = button(WORDS.on, () => set({ off: [] }));
  const root = html("fieldset", { class: "switches" },
    html("legend", { text: WORDS.off }),
    ...boxes.map(({ box }) => box.root), allOn);
  function update(now) {
    view = now;
    for (const { part, box } of boxes) {
      box.set(now.off.includes(names(now)[part]));
      write(box.root.lastChild, sentence(WORDS.parts[part], {
        block: now.block + 1, head: now.head + 1,
      }));
    }
    allOn.disabled = !now.off.length;
  }
  return { root, update };
}

function render({ model, el }) {
  const small = model.get("small");
  const { num_layers: layers, num_heads: heads } = model.get("config");
  const frame = explorer(el, "follow-digit", WORDS.label);
  frame.root.classList.add("vitedu-reads-digit");
  const samples = inRows(decodeArray(model.get("samples")).data,
    PICTURE.side ** 2);
  const answers = inRows(decodeArray(model.get("answers")).data, 10);
  const isWalked = WALKED.every(([sample, digit, chance]) =>
    answers[sample] && percent(answers[sample][digit]) === chance);
  const tools = makeTools(frame, model, { tour: isWalked ? WALK : [] });
  const set = (traits) => setTraits(model, traits);
  const network = networkOf(model, () => redraw(), (error) => {
    put(frame.root, "aria-busy", "false");
    frame.read(sentence(READS.failed, { error: error.message }));
  });
  let done = {}; // the last run, and of what

  const field = drawingField({ label: WORDS.field, help: WORDS.help }, (ink) =>
    set(game?.startTraits(ink) ?? { digit: -1, picture: encodeArray(
      { data: ink, shape: [PICTURE.side, PICTURE.side] }, "uint8") }));
  const [drawTitle, drawNote] = [titled(WORDS.draw), noted(WORDS.prepared)];
  const game = small ? null : mindGame({
    field, set, publish: frame.publish, turn: (plays) => {
      write(drawTitle, plays ? GAME.draw : WORDS.draw);
      write(drawNote, plays ? GAME.rule : WORDS.prepared);
    },
  });
  const bars = chanceBars();
  const chips = answeredButtons(samples, model.get("labels"), answers,
    (digit) => set({ digit }));
  const strip = stageStrip(layers, ({ stage, block }) => set(
    stage !== "block" ? { stage } : { block,
      stage: model.get("stage") in IN_BLOCK ? model.get("stage") : "softmax" },
  ));
  const steps = blockSteps((stage) => set({ stage }));
  const opened = stagePanel(set);
  const layerNames = [WORDS.layers.first,
    ...Array.from({ length: layers }, (_, block) =>
      sentence(WORDS.layers.block, { block: block + 1 }))];
  const lens = lensTable(layerNames, WORDS.lens);
  const patches = patchLens();
  const maps = headMaps(layers, heads,
    { one: WORDS.map, all: WORDS.maps },
    (block, head) => set({ block, head }));
  const look = html("div", {
    class: "big-look", role: "img",
    "aria-label": small ? WORDS.small.map : WORDS.maps,
  });
  const lookNote = noted("");
  const [lookTitle, patchTitle, insideTitle] = [1, 2, 3].map(() =>
    titled(""));
  const off = switches(set);
  const sliders = { block: layers, head: heads };
  for (const [name, most] of Object.entries(sliders)) {
    sliders[name] = range({
      label: WORDS[name], min: 1, max: Math.max(2, most),
      value: model.get(name) + 1, format: String,
      onInput: (value) => set({ [name]: value - 1 }),
    });
    sliders[name].input.disabled = most === 1;
  }

  function viewed() {
    const view = Object.fromEntries(TRAITS.map((name) =>
      [name, model.get(name)]));
    view.ink = view.digit < 0 ? decodeArray(view.picture).data
      : samples[view.digit];
    return view;
  }

  // The network on this picture, whole and without what is off.
  function runs({ ink, off: parts }) {
    const key = `${ink} ${parts}`;
    if (done.key !== key) {
      const whole = network.reader.run(ink);
      const run = parts.length ? network.reader.run(ink, parts) : whole;
      done = { key, whole, run };
    }
    return done;
  }

  function update({ speak = true } = {}) {
    const view = viewed();
    field.show(view.ink);
    chips.update(view.digit);
    if (small) pointToChapter(view);
    if (network.reader) {
      show(view, speak);
      return;
    }
    // What Python knows already can be shown before the network is here.
    const known = view.digit >= 0 && !view.off.length;
    bars.update(known ? answers[view.digit] : null);
    renew(look, [pictureWithLook(view.ink, null)]);
    frame.read(known ? verdict(answers[view.digit]) : READS.loading,
      { speak });
    if (!known) ask();
  }

  function ask() {
    if (network.reader) return;
    put(frame.root, "aria-busy", "true");
    network.ask();
  }

  function verdict(chances) {
    const order = [...chances.keys()].sort((a, b) => chances[b] - chances[a]);
    return sentence((small ? WORDS.small : WORDS).reading, {
      digit: order[0], chance: percent(chances[order[0]]),
      next: order[1], nextChance: percent(chances[order[1]]),
    });
  }

  function show(view, speak) {
    const { whole, run } = runs(view);
    const { block, head } = view;
    const where = { block: block + 1, head: head + 1 };
    const blank = view.ink.every((pixel) => pixel === 0);
    bars.update(run.answer.data, run === whole ? null : whole.answer.data);
    const words = [...(blank ? [WORDS.blank] : []), verdict(run.answer.data)];
    if (run !== whole) {
      const digit = likeliest(whole.answer.data);
      words.push(sentence(WORDS.without,
        { digit, chance: percent(whole.answer.data[digit]) }));
    }
    if (small) {
      renew(look, [pictureWithLook(view.ink, meanLook(run.blocks.at(-1)))]);
    } else {
      words.push(showAll(view, run, where));
    }
    put(frame.root, "aria-busy", "false");
    frame.read(words.join(" "), { speak });
    frame.publish({ chances: run.answer.data, ...(small ? {} : {
      digit: view.digit, stage: view.stage, block, head,
      off: view.off.join(", "),
    }) });
  }

  function showAll(view, run, where) {
    const { block, head } = view;
    for (const name of ["block", "head"]) sliders[name].set(view[name] + 1);
    strip.update(run, view);
    steps.update(view);
    lens.update(run.lens, block + 1);
    maps.update(run.blocks, block, head);
    off.update(view);
    game.update(view, run.answer.data,
      (ink) => network.reader.run(ink, view.off).answer.data);
    write(insideTitle, sentence(WORDS.inside, where));
    const title = sentence(WORDS.patchLens,
      { layer: `${sentence(WORDS.layers.block, where)}` });
    write(patchTitle, title);
    patches.update(view.ink, run.lens[block + 1], title);
    const row = rowOf(run.blocks[block].heads[head].weights, 0);
    const weights = row.subarray(1);
    const patch = weights.indexOf(Math.max(...weights));
    renew(look, [pictureWithLook(view.ink, weights)]);
    write(lookTitle, sentence(WORDS.look, where));
    put(look, "aria-label", sentence(WORDS.look, where));
    write(lookNote, sentence(WORDS.lookNote, {
      most: tidy(weights[patch], 2), own: tidy(row[0], 2),
    }));
    const now = openStage(network.reader, run, view);
    const said = opened.update(described(now, view));
    frame.publish({ row: now.row, column: now.column, value: now.value });
    return [sentence(WORDS.looks, {
      ...where, patch: patch + 1, weight: tidy(weights[patch], 2),
    }), said].join(" ");
  }

  // To the same digit, or to what is drawn in its place.
  const toChapter = html("a", { text: WORDS.small.link });
  function pointToChapter({ digit, ink }) {
    const root = document.documentElement.dataset.content_root ?? "./";
    const settings = new URLSearchParams({ digit,
      ...(digit < 0 ? { picture: Array.from(ink).join("_") } : {}) });
    put(toChapter, "href",
      `${root}${WORDS.small.page}#${frame.root.id}:${settings}`);
  }

  const drawing = html("div", { class: "drawing" }, field.root,
    html("div", { class: "game-row" }, button(WORDS.clear, field.clear),
      ...(small ? [] : [game.play])));
  if (small) {
    frame.root.classList.add("small");
    frame.root.append(
      html("div", { class: "at-once" },
        panel("of-drawing", drawTitle, drawing),
        panel("of-answer", titled(WORDS.answer), bars.root)),
      html("div", { class: "invitation" }, look, html("p", {},
        `${WORDS.small.text} `, toChapter)),
      ...frame.reading,
    );
  } else {
    frame.root.append(
      html("div", { class: "at-once" },
        panel("of-drawing", drawTitle, drawing, drawNote),
        game.root,
        panel("of-answer", titled(WORDS.answer), bars.root),
        panel("of-lens", titled(WORDS.lens), lens.root,
          noted(WORDS.lensNote))),
      html("div", {}, noted(READS.samplesNote), chips.root),
      ...frame.reading,
      panel("of-strip", titled(WORDS.strip), strip.root, insideTitle,
        steps.root),
      html("div", { class: "vitedu-controls" }, sliders.block.root,
        sliders.head.root),
      opened.root,
      html("div", { class: "looks" },
        panel("of-maps", titled(WORDS.maps), noted(WORDS.mapsNote),
          maps.root),
        html("div", {},
          panel("of-look", lookTitle, look, lookNote),
          panel("of-patches", patchTitle, patches.root)),
        off.root),
      ...tools.foot,
    );
  }
  // The small form waits until it is touched.
  if (small) {
    for (const event of ["pointerenter", "pointerdown", "focusin"]) {
      frame.root.addEventListener(event, ask, { once: true });
    }
  } else {
    ask();
  }
  const redraw = onceAFrame(update);
  update({ speak: false });
  return followTraits(
    model, TRAITS, update, redraw.cancel, field.dispose, tools.dispose,
    frame.dispose, ...(small ? [] : [game.dispose]),
  );
}

export default { render };
