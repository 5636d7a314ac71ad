// A table of numbers.

import { html, write } from "./dom.js";

// `head` has the title of each column, that of the names first; `rows` the
// name of each row, by a key that is its class, too.
export function numberTable({ caption, head, rows }) {
  const lines = Object.fromEntries(Object.entries(rows).map(([key, text]) => {
    const cells = head.slice(1).map(() => html("td"));
    return [key, { cells, root: html("tr", { class: key },
      html("th", { scope: "row", text }), ...cells) }];
  }));
  const root = html("table", { class: "number-table" },
    html("caption", { class: "vitedu-hidden", text: caption }),
    html("thead", {}, html("tr", {}, ...head.map((text) =>
      html("th", { scope: "col", text })))),
    html("tbody", {}, ...Object.values(lines).map((line) => line.root)));
  function update(key, texts, isChosen = false) {
    lines[key].cells.forEach((cell, i) => write(cell, texts[i]));
    lines[key].root.classList.toggle("chosen", isChosen);
  }
  return { root, update };
}
