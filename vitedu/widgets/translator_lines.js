// The two sentences of the explorer, token by token: one is the choice of a
// query, and above the keys stand bars.

function sentenceLine(name, tokens) {
  const fills = tokens.map(() => html("span", { class: "fill" }));
  const marks = tokens.map(({ text, mark }) => html("span", {
    class: `token ${mark ? "token-mark" : ""}`, text,
  }));
  const root = html("div", { class: `line ${name}` },
    ...tokens.map(({ note }, at) => html("div", { class: "column" },
      html("span", { class: "bar" }, fills[at]), marks[at],
      ...(note === undefined ? []
        : [html("span", { class: "sure", text: note })]))));
  return { root, marks, fills };
}

// `queries` and `keys` are lists of {line, at}: where they stand.
function translatorLines({ src, tgt }, { queries, keys }, pick) {
  const lines = { src: sentenceLine("src", src), tgt: sentenceLine("tgt", tgt) };
  const group = lines[queries[0].line].root;
  const marks = queries.map(({ line, at }) => lines[line].marks[at]);
  const fills = keys.map(({ line, at }) => lines[line].fills[at]);
  fill(group, { role: "radiogroup", "aria-label": WORDS.queries }, []);
  lines[keys[0].line].root.classList.add("looked-at");
  marks.forEach((mark, at) => fill(mark, {
    role: "radio", "aria-label": sentence(WORDS.token, {
      place: at + 1, word: mark.textContent,
    }),
  }, []));
  choosable(group, marks, inLine(marks.length), pick);

  function update(row, query, colour) {
    markChosen(marks, query, query);
    fills.forEach((mark, key) => {
      mark.style.height = `${100 * (row[key] ?? 0)}%`;
      mark.style.color = colour;
    });
  }
  const titled = (name) => html("div", { class: "sentence" },
    html("p", { class: "line-title", text: WORDS.lines[name] }),
    lines[name].root);
  const root = html("div", {}, titled("src"), titled("tgt"));
  return { root, update, dispose: onRest(marks, pick) };
}
