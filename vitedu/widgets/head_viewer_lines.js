// The left panel of the explorer: the chosen query, a line for each head and
// key, and a bar where each line ends.

import { choosable, inLine, markChosen, onRest } from "./core/choosing.js";
import { fill, html, svg } from "./core/dom.js";
import { sentence } from "./core/texts.js";
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

export function headLines({ all, keys, queries, words, targets }, pick) {
  const left = tokenList("query", targets, { role: "radio" });
  const right = tokenList("key", words, {});
  left.marks.forEach((mark, at) => mark.setAttribute(
    "aria-label", sentence(WORDS.token, { place: at + 1, word: targets[at] }),
  ));
  fill(left.root, { role: "radiogroup", "aria-label": WORDS.queries }, []);
  choosable(left.root, left.marks, inLine(queries), pick);

  // One unit is the height of a token; sideways both pictures stretch.
  const rows = Math.max(keys, queries);
  const slot = SPREAD / all.length;
  const height = (token, head) =>
    token + 0.5 + slot * (head - (all.length - 1) / 2);
  const picture = (name, label, width, ...marks) => svg("svg", {
    class: name, role: "img", "aria-label": label,
    preserveAspectRatio: "none",
    viewBox: `0 0 ${width} ${rows}`,
  }, ...marks);
  const each = (make) => all.flatMap((head) => words.map((_, key) => fill(
    make(head, key), {
      class: headClass(head), style: `color: ${headColour(head)}`,
      "data-head": head, "data-key": key,
    }, [],
  )));
  const curves = each(() => svg("path"));
  const bars = each((head, key) => svg("rect", {
    y: height(key, head) - 0.42 * slot, height: 0.84 * slot,
  }));
  const barsPicture = picture("bars", WORDS.barsPicture, 1, ...bars);
  // The numbers, for those who do not see the bars.
  const inWords = (weights) => (head) => sentence(WORDS.barsOfHead, {
    head: head + 1,
    weights: words.map((word, key) =>
      `${word} ${weights[head][key].toFixed(2)}`).join(", "),
  });

  function update(weights, query, shown) {
    markChosen(left.marks, query, query);
    all.forEach((head) => words.forEach((_, key) => {
      const at = head * keys + key;
      const weight = shown.includes(head) ? weights[head][key] : 0;
      const [from, to] = [height(query, head), height(key, head)];
      fill(curves[at], {
        d: `M0 ${from}C45 ${from} 55 ${to} 100 ${to}`,
        "stroke-width": THICKEST * weight,
        "stroke-opacity": weight && 0.35 + 0.5 * weight,
      }, []);
      bars[at].setAttribute("width", weight);
      bars[at].classList.toggle("empty", !weight);
    }));
    const told = [WORDS.barsPicture, ...shown.map(inWords(weights))];
    fill(barsPicture, { "aria-label": told.join(" ") }, []);
  }
  const heading = (name, ...texts) => html(
    "div", { class: `heading ${name}` },
    ...texts.map((text) => html("span", { text })),
  );
  const root = html(
    "div", { class: "look-grid" },
    heading("query", WORDS.query), html("span"), heading("key", WORDS.key),
    heading("weight", "0", WORDS.weight, "1"),
    left.root, picture("curves", WORDS.linesPicture, 100, ...curves),
    right.root, barsPicture,
  );
  root.style.setProperty("--rows", rows);
  root.classList.toggle("tight", rows > 12);
  return { root, update, dispose: onRest(left.root, left.marks, pick) };
}
