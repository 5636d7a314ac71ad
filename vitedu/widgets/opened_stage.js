// A stage of a network that is open: a strip of steps leads to it, its numbers
// are squares, and one of them is worked out.

import { choosable, inGrid, inLine, markChosen } from "./core/choosing.js";
import { noted, panel, titled } from "./core/controls.js";
import { draft, html, renew, write } from "./core/dom.js";
import { hundredths } from "./core/drawing.js";
import { sentence, tidy } from "./core/texts.js";
import { rowOf } from "./matrices.js";
import STAGE from "./opened_stage.words.json" with { type: "json" };

// The words of stages. What is said of one that is alike in every network is
// said in opened_stage.words.json, under its name or the one in `alike`.
export function stagesOf(words, alike) {
  return Object.fromEntries(Object.entries(words).map(([stage, own]) =>
    [stage, { ...STAGE.alike[alike[stage] ?? stage], ...own }]));
}

// Of a sum of products: with how many it is written out, and how many are
// written otherwise, besides the last.
const FEW = { terms: 4, shown: 2 };

// "e^{x_i}" -> e, with x and i above.
function formulaNodes(text) {
  const nodes = [];
  for (let rest = text; rest;) {
    const mark = rest.search(/[_^]/);
    if (mark < 0) return [...nodes, draft("span", { text: rest })];
    if (mark) nodes.push(draft("span", { text: rest.slice(0, mark) }));
    const [inner, after] = afterMark(rest.slice(mark + 1));
    nodes.push(draft(rest[mark] === "_" ? "sub" : "sup", {},
      ...formulaNodes(inner)));
    rest = after;
  }
  return nodes;
}

// What a mark is about: one sign, or all between braces.
function afterMark(text) {
  if (text[0] !== "{") return [text[0], text.slice(1)];
  let depth = 0;
  for (let i = 0; i < text.length; i += 1) {
    depth += { "{": 1, "}": -1 }[text[i]] ?? 0;
    if (!depth) return [text.slice(1, i), text.slice(i + 1)];
  }
  return [text.slice(1), ""];
}

// How a number came about, in these numbers.
function workedText(words, { terms, factor, bias, numbers, words: kind }) {
  const said = (number) => (Number.isInteger(number) ? String(number)
    : number < 0 ? `(${tidy(number)})` : tidy(number));
  if (!terms) {
    return sentence(words[kind ?? "worked"], Object.fromEntries(
      Object.entries(numbers).map(([name, number]) => [name, said(number)]),
    ));
  }
  const product = ([a, b]) => `${said(a)} · ${said(b)}`;
  const few = terms.length <= FEW.terms + 1;
  const left = few ? terms : terms.slice(0, FEW.shown);
  const sum = [
    ...left.map(product),
    ...(few ? [] : [sentence(STAGE.opened.more, {
      count: terms.length - FEW.shown - 1,
    }), product(terms.at(-1))]),
    ...(bias === undefined ? [] : [said(bias)]),
  ].join(" + ");
  return factor === undefined ? sum : `(${sum}) · ${said(factor)}`;
}

// A matrix as squares whose area is the size of a number; those of negative
// numbers are pale. What is hidden, -Infinity, is left out.
export function signedSquares({ data: all, rows, columns }) {
  const data = all.map((number) => (Number.isFinite(number) ? number : 0));
  let most = 0;
  for (const number of data) most = Math.max(most, Math.abs(number));
  const signs = [1, -1].map((sign) => Float32Array.from(data, (number) =>
    Math.max(0, sign * number) / most || 0));
  return draft("g", {},
    draft("rect", { class: "paper", width: columns, height: rows }),
    ...signs.map((part, i) => draft("path", {
      class: i ? "negative" : "positive", d: filled(part, columns),
    })));
}

// As `weightSquares`, without the places that hold nothing, from a corner on.
// A full square takes the share `full` of its place.
export function filled(
  weights, columns, { x = 0, y = 0, cell = 1, full = 0.94 } = {},
) {
  let path = "";
  weights.forEach((weight, i) => {
    if (weight < 1e-3) return;
    const side = cell * full * Math.sqrt(weight);
    const left = x + (i % columns + 0.5) * cell - side / 2;
    const top = y + (Math.floor(i / columns) + 0.5) * cell - side / 2;
    const s = hundredths(side);
    path += `M${hundredths(left)} ${hundredths(top)}h${s}v${s}h-${s}z`;
  });
  return path;
}

// Steps in a line of which one is open; each has a `title`, and may have a
// `picture` above it.
export function stepStrip(label, steps, pick) {
  const marks = steps.map(({ title, picture }) => html("div", {
    class: picture ? "step" : "step in-block", role: "radio",
  }, ...(picture ? [picture] : []), html("span", { text: title })));
  const root = html("div", {
    class: steps[0].picture ? "strip" : "strip inner",
    role: "radiogroup", "aria-label": label,
  }, ...marks);
  choosable(root, marks, inLine(marks.length), pick);
  let chosen = -1;
  function choose(at) {
    markChosen(marks, at, Math.max(0, at));
    if (at !== chosen) bringIn(chosen = at);
  }
  // Where the line is too long, the middle of it has the step that is open.
  function bringIn(at) {
    const { offsetLeft = 0, offsetWidth = 0 } = marks[at] ?? {};
    root.scrollLeft = offsetLeft + (offsetWidth - root.clientWidth) / 2;
  }
  // One that has been hidden has not been scrolled.
  new ResizeObserver(() => bringIn(chosen)).observe(root);
  return { root, choose };
}

// `choose` gets {row, column} of the number that the reader picks.
export function stagePanel(choose) {
  const title = titled("");
  const text = noted("");
  // The next key may come before the page is drawn again.
  function pick(row, column) {
    const place = { row: Math.floor(row), column: Math.floor(column) };
    Object.assign(shown, place);
    choose(place);
  }
  const grid = html("div", {
    class: "numbers", role: "application", tabindex: "0",
    "aria-label": STAGE.opened.label,
    onclick: (event) => {
      const box = grid.getBoundingClientRect();
      pick((event.clientY - box.y) / box.height * shown.rows,
        (event.clientX - box.x) / box.width * shown.columns);
    },
    onkeydown: (event) => {
      const { rows, columns, row, column } = shown;
      const to = inGrid(rows, columns)(row * columns + column, event.key);
      if (to === undefined) return;
      event.preventDefault();
      pick(to / columns, to % columns);
    },
  });
  const formula = html("p", { class: "formula" });
  const place = html("p", { class: "vitedu-panel-note" });
  const worked = html("p", { class: "worked" });
  const code = html("code");
  const source = html("span", { class: "vitedu-panel-note" });
  const list = html("p", { class: "listed" });
  let shown;
  const details = html("details", {}, html("summary", { text: STAGE.opened.all }),
    list);
  const root = panel("of-stage", title, text,
    html("div", { class: "opened" },
      html("div", {},
        html("div", { class: "numbers-place" }, grid),
        noted(STAGE.opened.how)),
      html("div", {}, formula, place, worked,
        html("p", { class: "code-line" }, code, source), details)));

  // `names` has a function for each axis that names a place; `of` says where
  // in the network the stage is. Returns what is to be said of the number.
  function update({
    matrix, row, column, value, made, words, of, hue, names, file, line,
  }) {
    shown = { ...matrix, row, column };
    write(title, `${words.title}: ${sentence(STAGE.opened.shape, matrix)}${of}`);
    write(text, words.text);
    root.style.setProperty("--hue", `var(--c-${hue ?? "text"})`);
    const high = Math.min(40, 180 / matrix.rows);
    grid.style.height = `${(high * matrix.rows).toFixed(1)}px`;
    grid.style.maxWidth = `${(matrix.columns * Math.max(high, 26)).toFixed()}px`;
    renew(grid, [draft("svg", {
      viewBox: `0 0 ${matrix.columns} ${matrix.rows}`,
      preserveAspectRatio: "none", "aria-hidden": "true",
    }, signedSquares(matrix),
    draft("rect", { class: "cross", y: row, width: matrix.columns,
      height: 1 }),
    draft("rect", { class: "cross", x: column, width: 1,
      height: matrix.rows }))]);
    renew(formula, formulaNodes(words.formula));
    const there = sentence(STAGE.opened.place,
      { row: names[0](row), column: names[1](column) });
    write(place, there);
    renew(worked, [...formulaNodes(workedText(words, made)),
      draft("strong", { text: ` = ${tidy(value)}` })]);
    write(code, line);
    write(source, sentence(STAGE.opened.computes, { file }));
    write(list, Array.from(rowOf(matrix, row), (number) =>
      tidy(number, 2)).join(", "));
    return sentence(STAGE.opened.says, {
      title: words.title, place: there, value: tidy(value),
    });
  }
  return { root, update };
}
