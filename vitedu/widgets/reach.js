// Which inputs can reach an output, through which layers, at what price.

import { choice, defineExplorer, slider } from "./core/explorer.js";
import { noted, panel, titled } from "./core/controls.js";
import { numberTable } from "./core/number_table.js";
import { sentence, tidy } from "./core/texts.js";
import WORDS from "./reach.words.json" with { type: "json" };
import { REACH_KINDS, reachNumbers, reachOf } from "./reach_maths.js";
import { REACH_SIZE, reachPicture, tokenAt } from "./reach_picture.js";

const millions = (operations) => tidy(operations / 1e6);

function compute({ kind, num_tokens: tokens, window, num_layers: layers,
  place, d_model: width }) {
  const stack = { kind, tokens, window, layers, width,
    place: Math.min(place, tokens) - 1 };
  const [reach, numbers] = [reachOf(stack), reachNumbers(stack)];
  return {
    stack, reach, numbers, published: {
      kind, numTokens: tokens, window, numLayers: layers, dModel: width,
      place: stack.place + 1, reached: reach.sees[0].map(Number), ...numbers,
    },
  };
}

function say({ stack: { kind, place, layers, tokens }, reach, numbers }) {
  const from = reach.sees[0].indexOf(true) + 1;
  const to = reach.sees[0].lastIndexOf(true) + 1;
  const first = !reach.sees[0][0] ? WORDS.out
    : place === 0 ? WORDS.near : WORDS.reaches[kind] ?? WORDS.reaches.other;
  return { reading: sentence(WORDS.sentence, {
    layers: sentence(WORDS.layers[Number(layers > 1)], { layers }),
    place: place + 1, sees: numbers.sees, tokens,
    range: from < to ? sentence(WORDS.range, { from, to }) : "",
    first: sentence(first, numbers), operations: millions(numbers.operations),
  }) };
}

// A row for each kind; that of the picture is marked.
function kindsTable() {
  const { head, title, note } = WORDS.table;
  const columns = Object.keys(head).slice(1);
  const table = numberTable({
    caption: title, head: Object.values(head), rows: WORDS.options.kind,
  });
  function show({ stack }) {
    for (const kind of REACH_KINDS) {
      const found = reachNumbers({ ...stack, kind });
      table.update(kind, columns.map((name) =>
        (name === "operations" ? millions(found[name]) : found[name])),
      kind === stack.kind);
    }
  }
  return { show, root: panel("of-table", titled(title), table.root,
    noted(note)) };
}

export default defineExplorer("reach", {
  words: WORDS,
  controls: {
    kind: choice(), num_layers: slider(), window: slider(),
    num_tokens: slider(), d_model: slider({ log: true, step: 16 }),
    place: slider({ most: (settings) => settings.num_tokens }),
  },
  compute, say,
  pictures: {
    stack: {
      height: REACH_SIZE.height,
      draw: ({ stack, reach }, width) => reachPicture(stack, reach, width),
      tap: (x, width, { stack }) =>
        ({ place: 1 + tokenAt(x, width, stack.tokens) }),
    },
  },
  parts: { table: kindsTable },
  layout: [["kind", "num_layers", "window"], "stack",
    ["num_tokens", "place", "d_model"], "reading", "table"],
});
