// What the explorer shows of a step: prefixes, candidates, what is finished.

import { draft } from "./core/dom.js";
import { sentence } from "./core/texts.js";
import WORDS from "./decoding_steps.words.json" with { type: "json" };
import { percent } from "./translation.js";

export function minus(number, digits = 2) {
  return number.toFixed(digits).replace("-", "−");
}

const box = (name, title, ...lines) =>
  draft("div", { class: `vitedu-panel ${name}` },
    draft("p", { class: "vitedu-panel-title", text: title }), ...lines);
const noteLine = (text) => draft("p", { class: "vitedu-panel-note", text });

// A table with these columns; `rows` are lists of drafts or texts.
function tableOf(name, columns, rows) {
  const cell = (tag, column, content, more = {}) => (content.tag
    ? draft(tag, { class: column, ...more }, content)
    : draft(tag, { class: column, ...more, text: content }));
  return draft("table", { class: name },
    draft("thead", {}, draft("tr", {}, ...columns.map((column) =>
      cell("th", column, WORDS.columns[column], { scope: "col" })))),
    draft("tbody", {}, ...rows.map(({ kind, cells }) =>
      draft("tr", { class: kind ?? "" }, ...columns.map((column, at) =>
        cell("td", column, cells[at]))))));
}

export function textOf(translator, ids) {
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
  return draft("span", { class: "chance-cell" },
    draft("span", { class: "track" }, draft("span", {
      class: "fill", style: `width: ${100 * chance}%`,
    })),
    draft("span", { class: "percent", text: percent(chance) }));
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

export function stageOf(
  { translator, method, step, found, isEnd, kept }, { verdict },
) {
  const { alive, candidates } = step;
  const finished = isEnd ? found : step.found;
  const ended = box("of-found", WORDS.found,
    ...(kept ? [noteLine(sentence(WORDS.kept, { size: kept }))] : []),
    finished.length ? foundTable(translator, finished) : noteLine(WORDS.none),
    ...(isEnd ? [draft("p", { class: "verdict", text: verdict })] : []));
  if (isEnd) return [ended];
  return [
    box("of-prefixes", alive.length === 1 ? WORDS.onePrefix : WORDS.prefixes,
      prefixTable(translator, alive)),
    box("of-candidates", WORDS.candidates,
      noteLine(sentence(WORDS.candidateNotes[method],
        { count: candidates.length })),
      candidateTable(translator, candidates, method)),
    ended,
  ];
}
