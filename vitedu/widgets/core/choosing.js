// A set of marks of which one is chosen: by mouse, by touch, by keyboard.

import { put } from "./dom.js";

const HOVER_MS = 120;

// One tab stop for a set of marks; the arrow keys go from mark to mark.
export function choosable(group, marks, neighbour, pick) {
  function go(event, index) {
    event.preventDefault();
    marks[index].focus({ preventScroll: true });
    pick(index);
  }
  group.addEventListener("keydown", (event) => {
    const index = marks.indexOf(event.target);
    const stays = event.key === " " || event.key === "Enter";
    const next = stays ? index : neighbour(index, event.key);
    if (next !== undefined) go(event, next);
  });
  group.addEventListener("click", (event) => {
    const mark = event.target.closest("[role=radio]");
    if (mark) go(event, marks.indexOf(mark));
  });
}

// The neighbours of marks that stand in one line.
export function inLine(count) {
  return (index, key) => {
    const before = Math.max(0, index - 1);
    const after = Math.min(count - 1, index + 1);
    return {
      ArrowUp: before, ArrowLeft: before, ArrowDown: after, ArrowRight: after,
      Home: 0, End: count - 1,
    }[key];
  };
}

// The neighbours of marks that stand in rows, `across` in each.
export function inGrid(down, across) {
  return (index, key) => {
    const [row, column] = [Math.floor(index / across), index % across];
    const to = {
      ArrowUp: [Math.max(0, row - 1), column],
      ArrowDown: [Math.min(down - 1, row + 1), column],
      ArrowLeft: [row, Math.max(0, column - 1)],
      ArrowRight: [row, Math.min(across - 1, column + 1)],
    }[key];
    return to && to[0] * across + to[1];
  };
}

// There may be thousands of marks; those that stay as they are cost little.
export function markChosen(marks, chosen, tabStop) {
  marks.forEach((mark, index) => {
    put(mark, "aria-checked", String(index === chosen));
    put(mark, "tabindex", index === tabStop ? "0" : "-1");
  });
}

// A mouse on its way elsewhere crosses other marks; only one that rests on a
// mark chooses it. A click chooses at once, and nothing is chosen after it.
// The marks in `root` may change.
export function onRest(root, marks, pick) {
  let resting;
  const stop = () => clearTimeout(resting);
  root.addEventListener("pointerover", ({ pointerType, target }) => {
    stop();
    const index = marks.findIndex((mark) => mark.contains(target));
    if (pointerType !== "mouse" || index < 0) return;
    resting = setTimeout(() => pick(index), HOVER_MS);
  });
  root.addEventListener("pointerout", stop);
  root.addEventListener("pointerdown", stop);
  return stop;
}
