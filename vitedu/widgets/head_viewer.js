// Where each head looks from a chosen token.

const WORDS = {
  label: "Heads: choose a token, see where each head looks",
  layer: "Layer",
  linesTitle: "Where token {place}, “{word}”, looks",
  linesNote: "Rest on a token, tap it, or use the arrow keys. The thicker a "
    + "line, the more weight; it ends at the bar of that weight.",
  query: "query",
  key: "key",
  weight: "weight",
  queries: "Query token",
  token: "token {place}: {word}",
  linesPicture: "A line for each head and key, as thick as the weight.",
  barsPicture: "A bar for each head and key, as long as the weight.",
  barsOfHead: "Head {head}: {weights}.",
  mapsTitle: "The map of each head",
  mapsNote: "A row is a query, a column a key, the area of a square the "
    + "weight. A button hides its head or shows it.",
  mapPicture: "The attention map of head {head}, with the row of token "
    + "{place} marked.",
  head: "head {head}",
  showAll: "Show all",
  hideAll: "Hide all",
  tableTitle: "What each head does at this token",
  tableNote: "Entropy in nats: 0 is all weight on one key, ln {keys} = {flat} "
    + "the same weight on all.",
  offsetNote: "Mean offset: how many tokens ahead the head looks, on average; "
    + "−1 is the token before.",
  columns: {
    head: "head", most: "looks most at", largest: "weight",
    entropy: "entropy", offset: "mean offset",
  },
  place: "{place} “{word}”",
  reading: "Token {place}, “{word}”.",
  readHead: "Head {head} looks most at token {place}, “{word}” ({weight}).",
  readNone: "All heads are hidden.",
};

const TRAITS = ["layer", "query", "heads"];
const headColour = (head) => `var(--c-head-${head % 4})`;
// Four colours serve eight heads: those of the second four are drawn dashed
// and hollow.
const headClass = (head) => (head < 4 ? "first" : "second");

function headName(head) {
  return html(
    "span", { class: `head-name ${headClass(head)}` },
    html("span", { class: "swatch", style: `color: ${headColour(head)}` }),
    sentence(WORDS.head, { head: head + 1 }),
  );
}

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

function render({ model, el }) {
  const data = readData(model);
  const { layers, words, targets, all } = data;
  const frame = explorer(el, "head-viewer", WORDS.label);
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
  const layer = select({
    label: WORDS.layer, value: model.get("layer"),
    options: Array.from({ length: layers }, (_, at) => [at, at + 1]),
    onInput: (value) => setTraits(model, { layer: Number(value) }),
  });

  function update({ speak = true } = {}) {
    const [at, query, shown] = TRAITS.map((name) => model.get(name));
    const rows = all.map((head) => data.row(at, head, query));
    const read = rows.map((row) => readRow(row, query));
    const chosen = { place: query + 1, word: targets[query] };
    layer.set(at);
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
    frame.read(
      [sentence(WORDS.reading, chosen), ...sentences].join(" "), { speak },
    );
    const listed = (name) => read.map((values) => values[name]);
    frame.publish({
      layer: at, query, heads: shown, most: listed("most"),
      largest: listed("largest"), entropy: listed("entropy"),
      offset: listed("offset"),
    });
  }

  const tallMaps = [3, 4].includes(all.length) && data.queries <= 16;
  frame.root.style.setProperty("--letters", mostLetters(data));
  frame.root.append(
    ...(layers > 1
      ? [html("div", { class: "vitedu-controls" }, layer.root)] : []),
    html("div", { class: `panels ${tallMaps ? "tall-maps" : ""}` },
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
        ...(data.hasOffset ? [noted(WORDS.offsetNote)] : []))),
    ...frame.reading,
  );
  update({ speak: false });
  return followTraits(
    model, TRAITS, update, lines.dispose, maps.dispose, frame.dispose,
  );
}

export default { render };
