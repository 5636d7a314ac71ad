// The two sentences of the explorer, token by token: one is the choice of a
// query, and above the keys stand bars.

const LINES = ["src", "tgt"];

function translatorLines(pick) {
  const root = html("div", { class: "sentences" });
  const marks = []; // those of the queries
  choosable(root, marks, (at, key) => inLine(marks.length)(at, key), pick);

  // `tokens` has a list of {text, note, mark, wrong} for each line; `queries` and
  // `keys` are lists of {line, at}: where they stand.
  function show(tokens, { queries, keys }, { row, query, colour }) {
    const placesIn = (line, places) =>
      new Map(places.flatMap((place, at) =>
        (place.line === line ? [[place.at, at]] : [])));

    function sentenceLine(line) {
      const [asks, answers] = [queries, keys].map((p) => placesIn(line, p));
      const bar = (key) => draft("span", { class: "bar" }, draft("span", {
        class: "fill",
        style: `height: ${100 * (row[key] ?? 0)}%; color: ${colour}`,
      }));
      const choice = (at, text) => (at === undefined ? {} : {
        role: "radio", "aria-checked": at === query,
        tabindex: at === query ? 0 : -1,
        "aria-label": sentence(WORDS.token, { place: at + 1, word: text }),
      });
      const columns = tokens[line].map(({ text, note, mark, wrong }, at) =>
        draft("div", { class: "column" },
          bar(answers.get(at)),
          draft("span", {
            class: ["token", mark && "token-mark", wrong && "token-wrong"]
              .filter(Boolean).join(" "),
            text,
            ...choice(asks.get(at), text),
          }),
          ...(note === undefined ? []
            : [draft("span", { class: "sure", text: note })])));
      return draft("div", {
        class: `line ${line} ${answers.size ? "looked-at" : ""}`,
        ...(asks.size
          ? { role: "radiogroup", "aria-label": WORDS.queries } : {}),
      }, ...columns);
    }
    renew(root, LINES.map((line) => draft("div", { class: "sentence" },
      draft("p", { class: "line-title", text: WORDS.lines[line] }),
      sentenceLine(line))));
    marks.splice(0, Infinity, ...root.querySelectorAll("[role=radio]"));
  }
  return { root, show, dispose: onRest(root, marks, pick) };
}
