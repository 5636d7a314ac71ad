// The patches of a digit, shuffled before two Vision Transformers.

const WORDS = {
  label: "Shuffle the patches of a digit",
  field: "Drawing field",
  help: "Draw a digit with mouse, pen or finger. By keyboard: arrows move, "
    + "space inks a pixel, delete clears.",
  draw: "The digit",
  drawNote: "Draw one, or take a test image.",
  clear: "Clear",
  samplesNote: "Images in a red frame are misread without positions, even as "
    + "written.",
  misread: "a {label}, which the network without positions takes for a {read}",
  network: "Which network reads it",
  networks: { without: "without positions", with: "with positions" },
  patches: "What it gets",
  patchesNote: "Tap two patches to swap them.",
  patchesLabel: "The patches; arrows move, space takes one and then the one "
    + "to swap it with",
  patch: "place {place}: patch {patch}",
  seed: "Shuffle with seed",
  asWritten: "0, as written",
  byHand: "{seed}, and by hand",
  shuffle: "Shuffle",
  sort: "Put in order",
  answer: "What it answers",
  answerNote: "Bars: in this order. Lines: as written.",
  shows: "The image shows a {label}.",
  readsWith: "With positions it reads a {digit}, with a chance of {chance}.",
  readsWithout: "Without positions it reads a {digit}, with a chance of "
    + "{chance}.",
  still: "As written it answers the same: no chance has moved by more than "
    + "{most}.",
  unmoved: "All patches are where they were written.",
  moved: "As written it reads a {digit}, with {chance}; the shuffle has moved "
    + "a chance by {most}.",
  blank: "Nothing is drawn.",
  orders: "In {count} orders of these patches",
  ordersNote: "How often each digit is read. There are 16! orders, about 21 "
    + "trillion.",
  counting: "{read} of {count} orders …",
  always: "In all {count} it reads a {digit}, and no chance moves by more than "
    + "{most}.",
  varies: "In {same} of {count} it still reads a {digit}; it gives {answers} "
    + "different answers.",
};

// A tour of the networks in book/data, from a shuffled 3.
const TOUR = [
  ["Seed 7 has scattered the patches of a 3. Without positions the network "
    + "reads a 3 all the same, with a chance of 91 %.",
  {}],
  ["Seed 9 scatters them otherwise. The bars do not move: still 91 % for "
    + "the 3.",
  { seed: 9 }],
  ["Now the same patches with positions: the network is sure, at 99 %, of "
    + "a 0.",
  { seed: 9, positions: true }],
  ["Put in order, they are a 3 with positions, too. In only 30 of 200 other "
    + "orders it still reads one.",
  { seed: 0, positions: true }],
  ["What a bag cannot tell: without positions this 6 is taken for a 7, in "
    + "all 200 orders.",
  { seed: 0, digit: 11 }],
];

const BAG_TRAITS = ["digit", "picture", "seed", "swapped", "positions"];
const UNSWAPPED = () => encodeArray(
  { data: Uint8Array.from(inPlace()), shape: [BAG.places] }, "uint8");
const SEEDS = 99;
// Computed at a time while the page is idle.
const ORDERS_AT_ONCE = 3;

// The patches as sixteen buttons. The first that is tapped is taken, the
// second changes places with it.
function patchGrid(swap) {
  const neighbour = inGrid(BAG.across, BAG.across);
  let taken = null;
  let focus = 0;
  let shown = [];
  const marks = inPlace().map((place) => html("button", {
    type: "button", class: "patch", onclick: () => tap(place),
  }));
  const root = html("div", {
    class: "grid", role: "group", "aria-label": WORDS.patchesLabel,
    onkeydown: move,
  }, ...marks);
  function tap(place) {
    const first = taken;
    taken = first === null ? place : null;
    focus = place;
    mark();
    if (first !== null && first !== place) swap(first, place);
  }
  function move(event) {
    const next = neighbour(focus, event.key);
    if (next === undefined) return;
    event.preventDefault();
    focus = next;
    mark();
    marks[focus].focus({ preventScroll: true });
  }
  function mark() {
    marks.forEach((one, place) => {
      put(one, "aria-pressed", String(place === taken));
      put(one, "tabindex", place === focus ? "0" : "-1");
    });
  }
  function update(ink, order) {
    if (shown.some((patch, place) => patch !== order[place])) taken = null;
    shown = order;
    const side = PICTURE.side / BAG.across;
    marks.forEach((one, place) => {
      put(one, "aria-label", sentence(WORDS.patch,
        { place: place + 1, patch: order[place] + 1 }));
      renew(one, [draft("svg", {
        viewBox: `0 0 ${side} ${side}`, "aria-hidden": "true",
      }, ...patchSquares(ink, order[place], side))]);
    });
    mark();
  }
  return { root, update };
}

function patchSquares(ink, patch, side) {
  return Array.from({ length: side ** 2 }, (_, number) => {
    const [row, column] = pixelOf(patch, number, side, BAG.across);
    return draft("rect", {
      class: "ink", width: 1, height: 1,
      x: number % side, y: Math.floor(number / side),
      "fill-opacity": ink[row * PICTURE.side + column] / PICTURE.most,
    });
  });
}

// How often each digit was read, as bars beside one another.
function orderBars() {
  const bars = Array.from({ length: 10 }, (_, digit) => {
    const [number, level] = ["number", "level"].map((name) =>
      html("span", { class: name }));
    return { number, level, root: html("li", {}, number,
      html("span", { class: "column" }, level),
      html("span", { class: "digit", text: digit })) };
  });
  const root = html("ol", { class: "columns" },
    ...bars.map((bar) => bar.root));
  function update(counts, read) {
    const first = likeliest(counts);
    bars.forEach((bar, digit) => {
      put(bar.root, "class", read && digit === first ? "first" : "");
      bar.level.style.transform = `scaleY(${counts[digit] / (read || 1)})`;
      write(bar.number, counts[digit] || "");
    });
  }
  return { root, update };
}

function render({ model, el }) {
  const frame = explorer(el, "bag-of-patches", WORDS.label);
  frame.root.classList.add("vitedu-reads-digit");
  const tools = makeTools(frame, model, {
    tour: model.get("kept") ? TOUR : [],
  });
  const samples = inRows(decodeArray(model.get("samples")).data,
    PICTURE.side ** 2);
  const set = (traits) => setTraits(model, traits);
  const network = networkOf(model, () => update(), (error) => {
    put(frame.root, "aria-busy", "false");
    frame.read(sentence(READS.failed, { error: error.message }));
  }, (bytes) => makeReaders(bytes, model.get("networks")));
  let done = {}; // what was read last, and of what
  let counted = {}; // in which orders, and of what

  const field = drawingField({ label: WORDS.field, help: WORDS.help }, (ink) =>
    set({ digit: -1, picture: encodeArray(
      { data: ink, shape: [PICTURE.side, PICTURE.side] }, "uint8") }));
  const [labels, bagReads] = ["labels", "bag_reads"].map((name) =>
    model.get(name));
  const misread = labels.map((label, i) => bagReads[i] !== label);
  const chips = sampleButtons({
    label: READS.samples, images: samples, marked: misread,
    names: labels.map((label, i) => sentence(
      misread[i] ? WORDS.misread : READS.sample, { label, read: bagReads[i] },
    )),
    pick: (digit) => set({ digit }),
  });
  const networks = settingButtons(model, WORDS.network, {
    [WORDS.networks.without]: { positions: false },
    [WORDS.networks.with]: { positions: true },
  });
  const grid = patchGrid((a, b) => {
    const { data } = decodeArray(model.get("swapped"));
    [data[a], data[b]] = [data[b], data[a]];
    set({ swapped: encodeArray({ data, shape: [BAG.places] }, "uint8") });
  });
  const shuffle = (seed) => set({ seed, swapped: UNSWAPPED() });
  const seed = range({
    label: WORDS.seed, min: 0, max: SEEDS, value: model.get("seed"),
    format: (number) => seedText(number), onInput: shuffle,
  });
  const sort = button(WORDS.sort, () => shuffle(0));
  const bars = chanceBars();
  const columns = orderBars();
  const ordersNote = noted("");

  function seedText(number) {
    const moved = decodeArray(model.get("swapped")).data
      .some((from, to) => from !== to);
    if (moved) return sentence(WORDS.byHand, { seed: number });
    return number ? String(number) : WORDS.asWritten;
  }

  function viewed() {
    const view = Object.fromEntries(BAG_TRAITS.map((name) =>
      [name, model.get(name)]));
    view.ink = view.digit < 0 ? decodeArray(view.picture).data
      : samples[view.digit];
    view.order = orderOf(view.seed, decodeArray(view.swapped).data);
    view.reads = view.positions ? "with" : "without";
    return view;
  }

  function update({ speak = true } = {}) {
    const view = viewed();
    field.show(view.ink);
    chips.update(view.digit);
    networks.update();
    grid.update(view.ink, view.order);
    seed.set(view.seed);
    sort.disabled = view.order.every((patch, place) => patch === place);
    if (network.reader) {
      show(view, speak);
    } else {
      frame.read(READS.loading, { speak: false });
    }
  }

  function show(view, speak) {
    const chancesOf = network.reader[view.reads];
    const key = `${view.reads} ${view.ink}`;
    if (counted.key !== key) {
      counted = { key, tally: makeTally(chancesOf, view.ink) };
      put(frame.root, "aria-busy", "true");
      counting.start();
    }
    const chances = chancesOf(shuffledInk(view.ink, view.order));
    done = { view, chances, speak };
    bars.update(chances, sort.disabled ? null : counted.tally.written);
    say();
  }

  function say() {
    const { view, chances, speak } = done;
    const { tally } = counted;
    const { written } = tally;
    const digit = likeliest(chances);
    const most = largestChange(chances, written);
    const same = likeliest(written);
    columns.update(tally.counts, tally.read);
    const answers = tally.counts.filter((count) => count).length;
    const count = BAG.orders;
    const told = !tally.isDone()
      ? sentence(WORDS.counting, { read: tally.read, count })
      : sentence(answers === 1 ? WORDS.always : WORDS.varies, {
        count, digit: same, answers, same: tally.counts[same],
        most: tidy(tally.most, 1),
      });
    write(ordersNote, told);
    const words = [
      ...(view.ink.every((pixel) => pixel === 0) ? [WORDS.blank] : []),
      ...(view.digit < 0 ? []
        : [sentence(WORDS.shows, { label: labels[view.digit] })]),
      sentence(view.positions ? WORDS.readsWith : WORDS.readsWithout,
        { digit, chance: percent(chances[digit]) }),
      sort.disabled ? WORDS.unmoved : sentence(
        most < 1e-4 ? WORDS.still : WORDS.moved,
        { digit: same, chance: percent(written[same]),
          most: most < 1e-4 ? tidy(most, 1) : percent(most) }),
    ];
    frame.read(words.join(" "), { speak });
    frame.publish({
      digit: view.digit, seed: view.seed, order: view.order,
      positions: view.positions, chances, most,
      counts: tally.counts, mostOfAll: tally.most,
    });
  }

  // A few orders at a time, while the page has nothing else to do.
  const counting = whenIdle(() => {
    const { tally } = counted;
    for (let i = 0; i < ORDERS_AT_ONCE && !tally.isDone(); i += 1) tally.step();
    say();
    put(frame.root, "aria-busy", String(!tally.isDone()));
    return !tally.isDone();
  });

  frame.root.append(
    networks.root,
    html("div", { class: "at-once" },
      panel("of-drawing", titled(WORDS.draw), html("div", { class: "drawing" },
        field.root, button(WORDS.clear, field.clear)), noted(WORDS.drawNote)),
      panel("of-patches", titled(WORDS.patches), html("div",
        { class: "drawing" }, grid.root, html("div", { class: "shuffling" },
          button(WORDS.shuffle, () =>
            shuffle(model.get("seed") % SEEDS + 1)), sort)),
      noted(WORDS.patchesNote)),
      panel("of-answer", titled(WORDS.answer), bars.root,
        noted(WORDS.answerNote))),
    html("div", { class: "vitedu-controls" }, seed.root),
    ...frame.reading,
    panel("of-orders", titled(sentence(WORDS.orders, { count: BAG.orders })),
      columns.root, ordersNote, noted(WORDS.ordersNote)),
    html("div", {}, noted(WORDS.samplesNote), chips.root),
    ...tools.foot,
  );
  put(frame.root, "aria-busy", "true");
  update({ speak: false });
  network.ask();
  return followTraits(
    model, BAG_TRAITS, update, counting.stop, field.dispose, tools.dispose,
    frame.dispose,
  );
}

export default { render };
