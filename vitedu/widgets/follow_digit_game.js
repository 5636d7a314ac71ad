// The game: with how little ink does the network change its mind? Strokes lie
// on a digit that stays, and what they add to it is counted.

import { button } from "./core/controls.js";
import { html, put, svg, write } from "./core/dom.js";
import { whenIdle } from "./core/frame.js";
import { sentence } from "./core/texts.js";
import { percent } from "./digit_parts.js";
import { PICTURE } from "./digit_picture.js";
import GAME from "./follow_digit_game.words.json" with { type: "json" };
import { SCAN, pixelsOf, scanOf } from "./follow_digit_ink.js";
import { likeliest } from "./matrices.js";

// A fine pen, in dots: a tap inks about a quarter of a pixel, and a key the
// next quarter of its pixel.
const FINE_PEN = 2;
const QUARTERS = [[1, 1], [3, 3], [3, 1], [1, 3]];

// Strokes, as points in shares of the field, on a picture.
function inkOnto(start, strokes) {
  const dots = strokes.map((stroke) => stroke.map((point) =>
    point.map((share) => SCAN.side * share)));
  const added = pixelsOf(scanOf(dots, FINE_PEN));
  return start.map((pixel, i) => Math.min(PICTURE.most, pixel + added[i]));
}

// In pixels of full ink.
function inkSum(ink) {
  return ink.reduce((sum, pixel) => sum + pixel, 0) / PICTURE.most;
}

// The stroke of a key: the first quarter of the pixel that no key has inked.
function keyedStroke(strokes, row, column) {
  const keyed = new Set(strokes.filter((stroke) => stroke.length === 1)
    .map(String));
  return QUARTERS.map(([x, y]) => [[(column + x / 4) / PICTURE.side,
    (row + y / 4) / PICTURE.side]]).find((stroke) =>
    !keyed.has(String(stroke)));
}

// All dabs: the same ink on one pixel or on each of 2 × 2, as far as they can
// take it; the smallest first.
function dabsOn(start) {
  const { side, most } = PICTURE;
  const dabs = [];
  for (const wide of [1, 2]) {
    for (let place = 0; place < (side + 1 - wide) ** 2; place += 1) {
      const row = Math.floor(place / (side + 1 - wide));
      const column = place % (side + 1 - wide);
      const pixels = Array.from({ length: wide ** 2 }, (_, i) =>
        (row + Math.floor(i / wide)) * side + column + i % wide);
      const room = most - Math.min(...pixels.map((pixel) => start[pixel]));
      for (let more = 1; more <= room; more += 1) {
        const ink = Uint8Array.from(start);
        let added = 0;
        for (const pixel of pixels) {
          ink[pixel] = Math.min(most, start[pixel] + more);
          added += (ink[pixel] - start[pixel]) / most;
        }
        dabs.push({ wide, row, column, ink, added });
      }
    }
  }
  return dabs.sort((a, b) => a.added - b.added);
}

// Tries one dab a step, until one changes the answer. `answer` gives the
// chances of a picture, and `was` its likeliest digit without a dab.
export function leastDab(start, was, answer) {
  const dabs = dabsOn(start);
  const search = { all: dabs.length, tried: 0, found: null, step, isDone };
  function step() {
    const dab = dabs[search.tried];
    search.tried += 1;
    const digit = likeliest(answer(dab.ink));
    if (digit !== was) search.found = { ...dab, digit };
  }
  function isDone() {
    return search.found !== null || search.tried >= dabs.length;
  }
  return search;
}

const isSame = (ink, other) => String(ink) === String(other);
const inPixels = (ink) => ink.toFixed(2);

// What the line of the game says.
function gameWords({ was, digit, chance, added, whole, least, search }) {
  const said = {
    was, digit, chance: percent(chance),
    added: sentence(GAME.added,
      { ink: inPixels(added), share: percent(added / whole) }),
  };
  const words = [sentence(digit !== was ? GAME.won
    : added ? GAME.still : GAME.start, said)];
  if (least !== undefined) {
    words.push(sentence(GAME.least, { ink: inPixels(least) }));
  }
  if (search) {
    const { all, tried, found } = search;
    words.push(sentence(found ? GAME.one : search.isDone() ? GAME.none
      : GAME.trying, {
      all, tried, ...(found && { ink: inPixels(found.added),
        place: GAME.places[found.wide], digit: found.digit }),
    }));
  }
  return words.join(" ");
}

// `field` is where one draws; `set` sets traits, `publish` publishes figures,
// and `turn` hears whether one plays.
export function mindGame({ field, set, publish, turn }) {
  const least = new Map(); // of each digit, and of what is off
  let seen = null; // what the explorer shows, and how it reads pictures
  let start = null; // the ink one began with, and the traits that show it
  let drawn = null; // its ink with the strokes
  let known = {}; // what is read at the start, without what is off
  let [search, timer] = [null, 0];

  const play = button(GAME.play, () => (start ? leave() : begin()));
  const undo = button(GAME.undo, field.undo);
  const again = button(GAME.again, () => {
    field.onto(lay);
    set(start.traits);
  });
  const compare = button(GAME.giveUp, () => {
    search = leastDab(start.ink, known.was, seen.answer);
    trying.start();
    say();
  });
  const line = html("p", { class: "game-line", "aria-hidden": "true" });
  const spoken = html("p", { class: "vitedu-hidden", role: "status" });
  const mark = svg("rect", { class: "dab" });
  const root = html("div", {
    class: "game", role: "group", "aria-label": GAME.row,
  }, undo, again, compare, line, spoken);
  field.root.firstChild.append(mark);
  show();

  // What the field needs to know of the digit that it lets one draw on.
  const lay = {
    help: GAME.help, key: keyedStroke,
    ground: () => start.ink,
    make: (strokes) => {
      undo.disabled = again.disabled = !strokes.length;
      drawn = inkOnto(start.ink, strokes);
      return drawn;
    },
  };
  const trying = whenIdle(() => {
    if (!search.isDone()) search.step();
    const more = !search.isDone();
    if (!more || search.tried % 50 === 0) say();
    return more;
  });

  function begin() {
    const { digit, picture, ink } = seen.view;
    start = { ink: Uint8Array.from(ink), traits: { digit, picture } };
    field.onto(lay);
    show();
    say();
  }
  function end() {
    [start, known] = [null, {}];
    trying.stop();
    clearTimeout(timer);
    field.onto(null);
    show();
  }
  function leave() {
    if (!start) return;
    const { traits } = start;
    end();
    set(traits);
  }
  function show() {
    root.hidden = !start;
    write(play, start ? GAME.leave : GAME.play);
    put(mark, "width", "0");
    turn(start !== null);
  }
  function say() {
    const { view, chances } = seen;
    const key = `${start.ink} ${view.off}`;
    if (known.key !== key) {
      trying.stop();
      search = null;
      known = { key, was: likeliest(seen.answer(start.ink)) };
    }
    const [whole, { was }] = [inkSum(start.ink), known];
    const [digit, added] = [likeliest(chances), inkSum(view.ink) - whole];
    if (digit !== was) {
      least.set(key, Math.min(added, least.get(key) ?? Infinity));
    }
    const words = gameWords({ was, digit, chance: chances[digit], added,
      whole, least: least.get(key), search });
    write(line, words);
    put(line, "class", `game-line${digit !== was ? " won" : ""}`);
    clearTimeout(timer);
    timer = setTimeout(() => write(spoken, words), 300);
    compare.disabled = search !== null;
    write(compare, least.has(key) ? GAME.compare : GAME.giveUp);
    const { wide = 0, row = 0, column = 0 } = search?.found ?? {};
    for (const [name, value] of Object.entries({
      x: column, y: row, width: wide, height: wide,
    })) put(mark, name, String(value));
    publish({ added, least: least.get(key) ?? "" });
  }

  // `answer` gives the chances that the explorer's network, without what is
  // off, gives a picture.
  function update(view, chances, answer) {
    seen = { view, chances, answer };
    const blank = view.ink.every((pixel) => pixel === 0);
    if (start) {
      // Another digit has been chosen: the game goes on with that.
      if (isSame(view.ink, drawn)) say();
      else if (blank) end();
      else begin();
    }
    play.disabled = blank;
  }
  // Without strokes it is the digit that one began with.
  const startTraits = (ink) =>
    (start && isSame(ink, start.ink) ? start.traits : null);
  function dispose() {
    trying.stop();
    clearTimeout(timer);
  }
  return { root, play, leave, update, startTraits, dispose };
}
