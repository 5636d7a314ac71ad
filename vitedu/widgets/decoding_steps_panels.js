// What the explorer shows of a step: prefixes, candidates, what is finished.

function minus(number, digits = 2) {
  return number.toFixed(digits).replace("-", "−");
}

// A table with these columns; `rows` are lists of nodes or texts.
function tableOf(name, columns, rows) {
  const cell = (tag, column, content, more = {}) =>
    html(tag, { class: column, ...more }, content);
  return html("table", { class: name },
    html("thead", {}, html("tr", {}, ...columns.map((column) =>
      cell("th", column, WORDS.columns[column], { scope: "col" })))),
    html("tbody", {}, ...rows.map(({ kind, cells }) =>
      html("tr", { class: kind ?? "" }, ...columns.map((column, at) =>
        cell("td", column, cells[at]))))));
}

function textOf(translator, ids) {
  return ids.map((id) => translator.word(id)).join(" ");
}

function prefixTable(translator, alive) {
  return tableOf("prefixes", ["place", "prefix", "total"], alive.map(
    ({ ids, logProb }, row) => ({
      cells: [row + 1, textOf(translator, ids), minus(logProb)],
    }),
  ));
}

function chanceBar(chance) {
  return html("span", { class: "chance-cell" },
    html("span", { class: "track" }, html("span", {
      class: "fill", style: `width: ${100 * chance}%`,
    })),
    html("span", { class: "percent", text: percent(chance) }));
}

function candidateTable(translator, candidates, method) {
  const chance = method === "sample" ? "drawn" : "chance";
  return tableOf("candidates", ["after", "word", chance, "total", "fate"],
    candidates.map(({ row, id, chance, logProb, fate }) => ({
      kind: fate,
      cells: [row + 1, translator.word(id), chanceBar(chance), minus(logProb),
        WORDS.fates[fate]],
    })));
}

function foundTable(translator, found) {
  return tableOf("found", ["place", "sentence", "total", "score"], found.map(
    ({ ids, logProb, score }, at) => ({
      cells: [at + 1, textOf(translator, ids), minus(logProb), minus(score)],
    }),
  ));
}
