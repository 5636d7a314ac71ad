// The left panel of the explorer: the chosen query, a line for each head and
// key, and a bar where each line ends.

import { choosable, inLine, markChosen, onRest } from "./core/choosing.js";
import { noted, titled } from "./core/controls.js";
import { draft, fill, html, put, renew, svg, write } from "./core/dom.js";
import { fixed, sentence } from "./core/texts.js";
import WORDS from "./head_viewer.words.json" with { type: "json" };
import { headClass, headColour } from "./head_viewer_maths.js";

const THICKEST = 9;
// The share of a token's height that its lines and bars take.
const SPREAD = 0.66;

function tokenList(name, words, role) {
  const marks = words.map((word) =>
    html("span", { ...role, class: `token ${name}`, text: word }));
  const root = html(
    "div", { class: `tokens ${name}` },
    ...marks.map((mark) => html("div", { class: "token-line" }, mark)),
  );
  return { root, marks };
}

// A line from the query to each key, and a bar where it ends. One unit is the
// height of a token; sideways both pictures stretch.
export function linesOf({ data, query, heads, rows }) {
  const { all, words } = data;
  const slot = SPREAD / all.length;
  const height = (token, head) =>
    token + 0.5 + slot * (head - (all.length - 1) / 2);
  const each = (make) => all.flatMap((head) => words.map((_, key) => {
    const weight = heads.includes(head) ? rows[head][key] : 0;
    const { tag, attributes } = make(head, key, weight);
    return draft(tag, {
      class: headClass(head), style: `color: ${headColour(head)}`,
      "data-head": head, "data-key": key, ...attributes,
    });
  }));
  return {
    curves: each((head, key, weight) => {
      const [from, to] = [height(query, head), height(key, head)];
      return draft("path", {
        d: `M0 ${from}C45 ${from} 55 ${to} 100 ${to}`,
        "stroke-width": THICKEST * weight,
        "stroke-opacity": weight && 0.35 + 0.5 * weight,
      });
    }),
    bars: each((head, key, weight) => draft("rect", {
      y: height(key, head) - 0.42 * slot, height: 0.84 * slot, width: weight,
      class: `${headClass(head)} ${weight ? "full" : "empty"}`,
    })),
  };
}

// The numbers, for those who do not see the bars.
export function barsInWords({ data, heads, rows }) {
  return [WORDS.barsPicture, ...heads.map((head) =>
    sentence(WORDS.barsOfHead, {
      head: head + 1, weights: data.words.map((word, key) =>
        `${word} ${fixed(rows[head][key])}`).join(", "),
    }))].join(" ");
}

export function headLines({ keys, queries, words, targets }, set) {
  const pick = (query) => set({ query });
  const left = tokenList("query", targets, { role: "radio" });
  const right = tokenList("key", words, {});
  left.marks.forEach((mark, at) => mark.setAttribute(
    "aria-label", sentence(WORDS.token, { place: at + 1, word: targets[at] }),
  ));
  fill(left.root, { role: "radiogroup", "aria-label": WORDS.queries }, []);
  choosable(left.root, left.marks, inLine(queries), pick);

  const tall = Math.max(keys, queries);
  const picture = (name, width) => svg("svg", {
    class: name, role: "img", preserveAspectRatio: "none",
    viewBox: `0 0 ${width} ${tall}`, "aria-label": WORDS.linesPicture,
  });
  const [curves, bars] = [picture("curves", 100), picture("bars", 1)];
  const title = titled("");

  function show(found, said) {
    write(title, sentence(WORDS.linesTitle, said));
    markChosen(left.marks, found.query, found.query);
    const lines = linesOf(found);
    renew(curves, lines.curves);
    renew(bars, lines.bars);
    put(bars, "aria-label", barsInWords(found));
  }
  const heading = (name, ...texts) => html(
    "div", { class: `heading ${name}` },
    ...texts.map((text) => html("span", { text })),
  );
  const grid = html(
    "div", { class: tall > 12 ? "look-grid tight" : "look-grid" },
    heading("query", WORDS.query), html("span"), heading("key", WORDS.key),
    heading("weight", "0", WORDS.weight, "1"),
    left.root, curves, right.root, bars,
  );
  grid.style.setProperty("--rows", tall);
  return {
    nodes: [title, noted(WORDS.linesNote), grid], show,
    dispose: onRest(left.root, left.marks, pick),
  };
}
