// The four matrices of the explorer MaskEditor: words at the rows and the
// columns, a number in each cell.

import { html, write } from "./core/dom.js";
import { sentence } from "./core/texts.js";
import WORDS from "./mask_editor.words.json" with { type: "json" };

const word = (role, text, name = "") =>
  html("div", { role, class: `word ${name}`, title: text, text });

// `extra` is a list of {head, make}: columns beside the matrix.
function grid({ label, tokens, makeCell, extra = [] }) {
  const corner = html("div", { role: "columnheader", class: "word corner" },
    html("span", { class: "vitedu-hidden", text: WORDS.query }));
  const head = html("div", { role: "row" }, corner,
    ...tokens.map((token) => word("columnheader", token, "key")),
    ...extra.map((column) =>
      html("div", {
        role: "columnheader", class: "extra", text: column.head,
      })));
  const cells = tokens.flatMap((_, query) => tokens.map((_, key) =>
    makeCell(query * tokens.length + key)));
  const beside = extra.map(({ make }) => tokens.map(make));
  const heads = tokens.map((token) => word("rowheader", token, "query"));
  const rows = tokens.map((_, query) => html("div", { role: "row" },
    heads[query],
    ...cells.slice(query * tokens.length, (query + 1) * tokens.length)
      .map((cell) => html("div", { role: "cell", class: "place" }, cell)),
    ...beside.map((column) =>
      html("div", { role: "cell", class: "extra" }, column[query].root))));
  const root = html("div", {
    role: "table", "aria-label": label, style: `--n: ${tokens.length}`,
    class: tokens.length > 6 ? "grid many" : "grid",
  }, head, ...rows);

  const columns = [...head.querySelectorAll(".key")];
  function markChosen(query, key) {
    const at = query * tokens.length + key;
    cells.forEach((cell, index) =>
      cell.classList.toggle("chosen", index === at));
    heads.forEach((node, index) =>
      node.classList.toggle("chosen", index === query));
    columns.forEach((node, index) =>
      node.classList.toggle("chosen", index === key));
  }
  return { root, cells, beside, markChosen };
}

// A matrix to read. A click on a cell chooses it.
export function numberGrid(label, tokens, choose, extra) {
  const made = grid({
    label, tokens, extra,
    makeCell: (index) => html("div", {
      class: "cell", onclick: () =>
        choose(Math.floor(index / tokens.length), index % tokens.length),
    }),
  });
  function show(texts, { mask, query, key }) {
    made.markChosen(query, key);
    made.cells.forEach((cell, index) => {
      write(cell, texts[index]);
      cell.classList.toggle("masked", !mask[index]);
      cell.classList.toggle("broken", texts[index] === "NaN");
    });
  }
  return { ...made, show };
}

// The sum of a row, and a bar for what of it lies on hidden keys.
function sumCell() {
  const root = html("span");
  return { root, show: (sum) => write(root, twoDigits(sum)) };
}

function leakCell() {
  const level = html("span", { class: "level" });
  const number = html("span", { class: "number" });
  const root = html("span", { class: "leak" },
    html("span", { class: "track" }, level), number);
  function show(leak) {
    level.style.transform = `scaleX(${Number.isNaN(leak) ? 0 : leak})`;
    write(number, percent(leak));
  }
  return { root, show };
}

export function weightGrid(tokens, choose) {
  const made = numberGrid(WORDS.weightsTitle, tokens, choose, [
    { head: WORDS.sum, make: sumCell }, { head: WORDS.leak, make: leakCell },
  ]);
  function show({ weights, sums, leaks }, state) {
    made.show(Array.from(weights, twoDigits), state);
    made.cells.forEach((cell, index) => {
      cell.classList.toggle("leaks", !state.mask[index] && weights[index] > 0);
      cell.style.setProperty("--weight", weights[index] || 0);
    });
    const [sumCells, leakCells] = made.beside;
    sums.forEach((sum, query) => sumCells[query].show(sum));
    leaks.forEach((leak, query) => leakCells[query].show(leak));
  }
  return { root: made.root, show };
}

// The mask, to edit: by click or tap, by a stroke of the mouse, by keyboard.
// It is one tab stop; `choose` gets a cell, `paint` a cell and its new value.
export function maskGrid(tokens, choose, paint) {
  const size = tokens.length;
  let seen = [];
  let stroke = null; // what a stroke of the mouse paints
  let painted = false; // the click at its end is no second one
  const made = grid({
    label: WORDS.maskLabel, tokens,
    makeCell: () => html("button", { type: "button", class: "cell" }),
  });
  const { root, cells } = made;
  const place = (index) => [Math.floor(index / size), index % size];
  const indexOf = (event) => cells.indexOf(event.target.closest("button"));

  root.addEventListener("pointerdown", (event) => {
    const index = indexOf(event);
    painted = event.pointerType === "mouse" && event.button === 0 && index >= 0;
    if (!painted) return;
    stroke = !seen[index];
    cells[index].focus({ preventScroll: true });
    paint(...place(index), stroke);
  });
  root.addEventListener("pointerover", (event) => {
    if (!(event.buttons & 1)) stroke = null;
    const index = indexOf(event);
    if (stroke !== null && index >= 0) paint(...place(index), stroke);
  });
  root.addEventListener("click", (event) => {
    stroke = null;
    // A click that a key or a screen reader makes has no detail.
    if (painted && event.detail) return;
    const index = indexOf(event);
    if (index >= 0) paint(...place(index), !seen[index]);
  });
  root.addEventListener("keydown", (event) => {
    const index = indexOf(event);
    const [query, key] = place(index);
    const [row, column] = {
      ArrowUp: [query - 1, key], ArrowDown: [query + 1, key],
      ArrowLeft: [query, key - 1], ArrowRight: [query, key + 1],
      Home: [query, 0], End: [query, size - 1],
    }[event.key] ?? [];
    if (index < 0 || row === undefined) return;
    event.preventDefault();
    if (Math.min(row, column) < 0 || Math.max(row, column) >= size) return;
    cells[row * size + column].focus({ preventScroll: true });
    choose(row, column);
  });

  function show(texts, { mask, query, key }) {
    seen = mask;
    made.markChosen(query, key);
    cells.forEach((cell, index) => {
      const [row, column] = place(index);
      write(cell, texts[index]);
      cell.classList.toggle("masked", !mask[index]);
      cell.setAttribute("aria-pressed", Boolean(mask[index]));
      cell.tabIndex = row === query && column === key ? 0 : -1;
      cell.setAttribute("aria-label", sentence(WORDS.cell, {
        text: texts[index], query: tokens[row], key: tokens[column],
      }));
    });
  }
  return { root, show };
}

export function percent(share) {
  if (Number.isNaN(share)) return "NaN";
  const rounded = share > 0 && share < 0.005 ? "<1" : Math.round(100 * share);
  return sentence(WORDS.percent, { percent: rounded });
}

export const twoDigits = (number) =>
  number === 0 || Number.isNaN(number) ? String(number) : number.toFixed(2);
