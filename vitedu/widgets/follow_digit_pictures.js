// What the explorer that follows a digit draws: functions of numbers.

import { choosable, markChosen } from "./core/choosing.js";
import { draft, html, put, renew, svg, write } from "./core/dom.js";
import { sentence } from "./core/texts.js";
import { percent } from "./digit_parts.js";
import { PICTURE, inkSquares } from "./digit_picture.js";
import { likeliest, rowOf, zeros } from "./matrices.js";
import { filled, signedSquares } from "./opened_stage.js";

// Sixteen weights over the picture, a square for each patch, the largest full.
function lookSquares(weights) {
  const across = Math.sqrt(weights.length);
  const most = Math.max(...weights);
  const shares = Float64Array.from(weights, (weight) => weight / most);
  return draft("path", {
    class: "look", transform: `scale(${PICTURE.side / across})`,
    d: filled(shares, across),
  });
}

// What each layer would answer: a row for each, a column for each digit.
export function lensTable(names, caption) {
  const cells = names.map(() => Array.from({ length: 10 }, () =>
    html("td")));
  const rows = names.map((name, layer) => html("tr", {},
    html("th", { scope: "row", text: name }), ...cells[layer]));
  const root = html("table", { class: "lens" },
    html("caption", { class: "vitedu-hidden", text: caption }),
    html("thead", {}, html("tr", {}, html("td"),
      ...Array.from({ length: 10 }, (_, digit) =>
        html("th", { scope: "col", text: digit })))),
    html("tbody", {}, ...rows));
  // `lens` has the chances of all tokens; the class token is the first.
  function update(lens, chosen) {
    lens.forEach((chances, layer) => {
      const row = rowOf(chances, 0);
      const first = likeliest(row);
      put(rows[layer], "class", layer === chosen ? "layer chosen" : "layer");
      cells[layer].forEach((cell, digit) => {
        cell.style.setProperty("--weight", row[digit].toFixed(3));
        put(cell, "class", digit === first ? "chance first" : "chance");
        write(cell, digit === first || row[digit] > 0.1
          ? (100 * row[digit]).toFixed(0) : "");
      });
    });
  }
  return { root, update };
}

// What the network would answer after each block, first the name of the block.
export function blockAnswers(layers, name) {
  const blocks = Array.from({ length: layers }, (_, block) => {
    const digit = html("strong", { text: "?" });
    const chance = html("span");
    return { digit, chance, root: html("li", {},
      html("span", { text: sentence(name, { block: block + 1 }) }),
      digit, chance) };
  });
  const root = html("ol", { class: "block-answers" },
    ...blocks.map((block) => block.root));
  // The first of `lens` is what goes into block 1, the same for every picture.
  function update([, ...lens]) {
    lens.forEach((chances, at) => {
      const row = rowOf(chances, 0);
      const first = likeliest(row);
      const block = blocks[at];
      block.root.style.setProperty("--weight", row[first].toFixed(3));
      write(block.digit, String(first));
      write(block.chance, percent(row[first]));
    });
  }
  return { root, update };
}

// What each patch would answer, on its place in the picture.
export function patchLens() {
  const root = html("div", { class: "patch-lens", role: "img" });
  function update(ink, chances, label) {
    const across = Math.sqrt(chances.rows - 1);
    const size = PICTURE.side / across;
    const said = Array.from({ length: chances.rows - 1 }, (_, patch) => {
      const row = rowOf(chances, patch + 1);
      const digit = likeliest(row);
      return { digit, chance: row[digit] };
    });
    put(root, "aria-label",
      `${label}: ${said.map(({ digit }) => digit).join(" ")}`);
    renew(root, [draft("svg", { viewBox: "0 0 8 8" },
      draft("g", { class: "faint" }, ...inkSquares(ink)),
      ...said.map(({ digit, chance }, patch) => draft("text", {
        x: (patch % across + 0.5) * size,
        y: (Math.floor(patch / across) + 0.5) * size,
        "fill-opacity": (0.45 + 0.55 * chance).toFixed(2), text: digit,
      })))]);
  }
  return { root, update };
}

const PER_ROW = 8;

// Where the class token looks, a small map for each head: a line of eight
// heads, as many lines as a block needs.
export function headMaps(layers, heads, names, pick) {
  const lines = Math.ceil(heads / PER_ROW);
  const across = Math.min(heads, PER_ROW);
  const places = Array.from({ length: layers * heads }, (_, i) => {
    const [layer, head] = [Math.floor(i / heads), i % heads];
    return { layer, head, x: 5 * (head % PER_ROW),
      y: 5 * (layer * lines + Math.floor(head / PER_ROW)) + 2 * layer };
  });
  const [width, height] = [5 * across - 1, 5 * layers * lines + 2 * layers - 3];
  const path = svg("path", { class: "look" });
  const papers = svg("path", { class: "paper",
    d: places.map(({ x, y }) => `M${x} ${y}h4v4h-4z`).join("") });
  const marks = places.map(({ layer, head, x, y }) => svg("rect", {
    class: "head", x: x - 0.4, y: y - 0.4, width: 4.8, height: 4.8,
    role: "radio",
    "aria-label": sentence(names.one, { block: layer + 1, head: head + 1 }),
  }));
  const group = svg("g", { role: "radiogroup", "aria-label": names.all },
    ...marks);
  const root = svg("svg", {
    class: "maps", viewBox: `-0.7 -0.7 ${width + 1.4} ${height + 1.4}`,
  }, papers, path, group);
  choosable(group, marks, (index, key) => {
    const { layer, head } = places[index];
    const to = {
      ArrowLeft: head % PER_ROW ? index - 1 : index,
      ArrowRight: (head + 1) % PER_ROW && head + 1 < heads
        ? index + 1 : index,
      ArrowUp: head >= PER_ROW ? index - PER_ROW : index - heads
        + (lines - 1) * PER_ROW,
      ArrowDown: head + PER_ROW < heads ? index + PER_ROW
        : (layer + 1) * heads + head % PER_ROW,
    }[key];
    return to === undefined ? to : places[to] ? to : index;
  }, (index) => pick(places[index].layer, places[index].head));
  function update(blocks, layer, head) {
    put(path, "d", places.map(({ layer: of, head: one, x, y }) => {
      const looks = rowOf(blocks[of].heads[one].weights, 0).subarray(1);
      const side = Math.sqrt(looks.length);
      return filled(looks, side, { x, y, cell: 4 / side, full: 1 });
    }).join(""));
    const chosen = layer * heads + head;
    markChosen(marks, chosen, chosen);
  }
  return { root, update };
}

// Where the class token looks in all heads of a block, on average.
function meanLook({ heads }) {
  const mean = new Float64Array(heads[0].weights.columns - 1);
  for (const { weights } of heads) {
    for (let i = 0; i < mean.length; i += 1) {
      mean[i] += weights.data[i + 1] / heads.length;
    }
  }
  return mean;
}

// Without weights, the picture alone.
export function pictureWithLook(ink, weights) {
  return draft("svg", { viewBox: "0 0 8 8", "aria-hidden": "true" },
    draft("g", { class: "faint" }, ...inkSquares(ink)),
    ...(weights ? [lookSquares(weights)] : []));
}

// The small picture of a stage in the strip.
export function thumbnail(run, stage, block) {
  const square = (size, ...children) => [draft("svg", {
    viewBox: `0 0 ${size} ${size}`, "aria-hidden": "true",
  }, ...children)];
  if (stage === "pixels") return square(8, ...inkSquares(run.ink));
  if (stage === "patches") {
    return square(9.5, ...inkSquares(run.ink, { gap: 0.5 }));
  }
  if (stage === "block") return [pictureWithLook(run.ink,
    meanLook(run.blocks[block]))];
  if (stage === "answer") {
    return square(8, draft("text", {
      class: "said", x: 4, y: 6.6, text: likeliest(run.answer.data),
    }));
  }
  if (stage === "logits") {
    const most = Math.max(...run.logits.data.map(Math.abs));
    return square(10, ...Array.from(run.logits.data, (logit, digit) =>
      draft("rect", {
        class: logit < 0 ? "negative" : "positive",
        x: digit + 0.1, width: 0.8, y: logit < 0 ? 5 : 5 - 5 * logit / most,
        height: 5 * Math.abs(logit) / most || 0,
      })));
  }
  if (stage === "norm") {
    const data = rowOf(run.norm, 0);
    const side = Math.ceil(Math.sqrt(data.length));
    const padded = zeros(side, side);
    padded.data.set(data);
    return square(side, signedSquares(padded));
  }
  const tokens = stage === "tokens" ? run.tokens : run.placed;
  const sizes = Float64Array.from({ length: tokens.rows - 1 }, (_, patch) =>
    Math.hypot(...rowOf(tokens, patch + 1)));
  return square(8, lookSquares(sizes));
}
