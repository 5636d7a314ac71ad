// The attention map of the explorer: a row for each query, a column for each
// key, and in each place a square as large as the weight.

const CELL = { least: 13, most: 32 };
// About the width of a letter, and the room around a word.
const LETTER = 7;
const MARGIN = 10;

const widthOf = (words) =>
  MARGIN + Math.max(...words.map((word) =>
    [...word].reduce((sum, sign) => sum + (sign > "\u2e80" ? 12 : LETTER), 0)));

// `rows[query]` has the weights of the keys, fewer where a query sees fewer.
function translatorMap(rows, { queries, keys }, room, pick) {
  const left = widthOf(queries);
  const upright = keys.every((word) => [...word].length === 1);
  const top = upright ? 22 : widthOf(keys);
  const cell = Math.min(CELL.most, Math.max(
    CELL.least, Math.floor((room - left - 2) / keys.length)));
  const [width, height] = [keys.length * cell, queries.length * cell];
  const middle = (at) => (at + 0.5) * cell;
  const rowNames = queries.map((word, at) => svg("text", {
    class: "row-name", x: -6, y: middle(at), dy: "0.35em",
    "text-anchor": "end", text: word,
  }));
  const columnNames = keys.map((word, at) => svg("text", upright
    ? { x: middle(at), y: -7, "text-anchor": "middle", text: word }
    : { transform: `translate(${middle(at)} -6) rotate(-90)`, dy: "0.35em",
      text: word }));
  const squares = rows.flatMap((row, down) =>
    Array.from(row, (weight, right) => {
      const side = 0.94 * cell * Math.sqrt(weight);
      return svg("rect", {
        x: middle(right) - side / 2, y: middle(down) - side / 2,
        width: side, height: side,
      });
    }));
  const mark = svg("rect", { class: "map-mark", width, height: cell });
  const lines = queries.map((_, at) => svg("rect", {
    class: "map-row", x: -left, y: at * cell, width: left + width,
    height: cell, onclick: () => pick(at),
  }));
  const root = svg(
    "svg", {
      class: "map", role: "img", width: left + width + 2,
      height: top + height + 2,
      viewBox: `${-left} ${-top} ${left + width + 2} ${top + height + 2}`,
    },
    svg("rect", { class: "paper", width, height }),
    ...columnNames, ...rowNames,
    svg("g", { class: "squares" }, ...squares), mark, svg("g", {}, ...lines),
  );

  function update(query, label, colour) {
    fill(root, { "aria-label": label }, []);
    root.style.color = colour;
    mark.setAttribute("y", query * cell);
    rowNames.forEach((name, at) =>
      name.classList.toggle("chosen", at === query));
  }
  return { root, update, dispose: onRest(lines, pick) };
}
