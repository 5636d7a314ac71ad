// The two sentences, token by token: signs and words are chosen here, and bars
// above the keys show where an attention looks.

import { choosable, inLine } from "./core/choosing.js";
import { draft, html, put, renew } from "./core/dom.js";
import WORDS from "./follow_sentence.words.json" with { type: "json" };
import { percent } from "./translation.js";

export function sentenceLines(pick) {
  const lines = ["src", "tgt"].map((line) => {
    const row = html("div", { class: `line ${line}` });
    const marks = []; // the tokens that can be chosen
    choosable(row, marks, (at, key) => inLine(marks.length)(at, key),
      (at) => pick(line, at));
    return { line, row, marks };
  });
  const root = html("div", { class: "sentences" }, ...lines.map(
    ({ line, row }) => html("div", { class: "sentence" },
      html("p", { class: "line-title", text: WORDS.lines[line] }), row),
  ));

  // `tokens` has a list of {text, note, kinds} for each line; `chosen` says
  // which token is chosen, of those after the first `skipped`; `bars` are the
  // weights of a line.
  function show(tokens, { chosen, skipped, bars, colour }) {
    for (const { line, row, marks } of lines) {
      const { [line]: weights } = bars;
      const asks = chosen[line] !== undefined;
      put(row, "class", `line ${line}${weights ? " looked-at" : ""}`);
      put(row, "role", asks ? "radiogroup" : "group");
      put(row, "aria-label", asks ? WORDS.choose[line] : WORDS.lines[line]);
      renew(row, tokens[line].map(({ text, note, label, kinds }, at) => {
        const place = at - skipped[line];
        const isChosen = place === chosen[line];
        return draft("div", { class: "column" },
          draft("span", { class: "bar" }, draft("span", {
            class: "fill",
            style: `height: ${100 * (weights?.[at] ?? 0)}%; color: ${colour}`,
          })),
          draft("span", {
            class: ["token", ...kinds].join(" "), text,
            ...(asks && place >= 0 ? {
              role: "radio", "aria-checked": isChosen,
              tabindex: isChosen ? 0 : -1, "aria-label": label,
            } : {}),
          }),
          ...(note === undefined ? []
            : [draft("span", { class: "sure", text: note })]));
      }));
      marks.splice(0, Infinity, ...row.querySelectorAll("[role=radio]"));
    }
  }
  return { root, show };
}

// What may come next: words with their chances, each a button that forces it.
export function chanceList(force) {
  const root = html("ol", { class: "chances" });
  const shown = [];
  root.addEventListener("click", ({ target }) => {
    const at = shown.findIndex((one) => one.contains(target));
    if (at >= 0) force(Number(shown[at].dataset.id));
  });
  // `chances` is a list of {id, word, chance}; `written` is the id that the
  // sentence goes on with.
  function show(chances, written) {
    renew(root, chances.map(({ id, word, chance }) => draft("li", {},
      draft("button", {
        type: "button", class: "chance", "data-id": id,
        "aria-pressed": id === written,
      },
      draft("span", { class: "word", text: word }),
      draft("span", { class: "track" }, draft("span", {
        class: "level", style: `transform: scaleX(${chance.toFixed(4)})`,
      })),
      draft("span", { class: "number", text: percent(chance) })))));
    shown.splice(0, Infinity, ...root.querySelectorAll("button"));
  }
  return { root, show };
}
