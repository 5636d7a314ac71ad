// The pictures of the explorer ReverseTrainer: its curve, its maps, its
// letters.

import { inRows } from "./core/arrays.js";
import { draft, html, renew, svg, write } from "./core/dom.js";
import { weightSquares } from "./core/drawing.js";
import { sentence } from "./core/texts.js";
import WORDS from "./reverse_trainer.words.json" with { type: "json" };
import { LENGTH } from "./reverse_trainer_layers.js";
import { SYMBOLS, WITHOUT_ORDER } from "./reverse_trainer_maths.js";

const letterOf = (id) => String.fromCharCode(97 + id);
export const percent = (share) => Math.round(100 * share);

const CURVE = {
  left: 34, right: 10, top: 8, bottom: 24, height: 210, most: 3,
};
// The curve is drawn with at most this many points.
const POINTS = 250;
const STEP_TICKS = [[200, 50], [500, 100], [1000, 250], [2000, 500]];

// The losses of a run, of runs before, and two lines to compare with.
export function lossCurve() {
  const { left, right, top, bottom, height, most } = CURVE;
  const picture = svg("svg", { role: "img", height });
  let drawn = "";

  function path(losses, steps, x, y) {
    const bin = Math.ceil(steps / POINTS);
    let d = "";
    for (let from = 0; from < steps; from += bin) {
      const to = Math.min(from + bin, steps);
      let sum = 0;
      for (let i = from; i < to; i++) sum += losses[i];
      const [across, down] = [x((from + to + 1) / 2), y(sum / (to - from))];
      d += `${d ? "L" : "M"}${across.toFixed(1)} ${down.toFixed(1)}`;
    }
    return d;
  }
  function axes(width, x, y, last, tick) {
    const end = width - right;
    const baseline = (loss) =>
      svg("path", { class: "baseline", d: `M${left} ${y(loss)}H${end}` });
    const named = (loss, text) => svg("text", {
      class: "strong", x: end, y: y(loss) - 5, "text-anchor": "end", text,
    });
    const down = [0, 1, 2, 3].map((loss) => svg("text", {
      x: left - 6, y: y(loss) + 4, "text-anchor": "end", text: loss,
    }));
    const across = [];
    for (let step = 0; step <= last; step += tick) {
      across.push(svg("text", {
        x: x(step), y: height - 6, text: step,
        "text-anchor": step === last ? "end" : "middle",
      }));
    }
    behind.replaceChildren(
      svg("path", {
        class: "axis", d: `M${left} ${top}V${y(0)}H${end}`,
      }), ...down, ...across,
      baseline(Math.log(SYMBOLS)), baseline(WITHOUT_ORDER.loss),
    );
    // In front of the curves, which may run along a line.
    front.replaceChildren(
      named(Math.log(SYMBOLS), WORDS.chance),
      named(WITHOUT_ORDER.loss, WORDS.limit),
    );
  }
  const now = svg("path", { class: "loss" });
  const [behind, before, front] = [svg("g"), svg("g"), svg("g")];
  const looked = svg("path", { class: "looked" });
  picture.append(behind, before, now, looked, front);

  // The names of runs before, each where its curve ends.
  function endsOf(runs, x, y) {
    return runs.map(({ losses, steps, name }) => {
      const last = losses.slice(Math.max(0, steps - 20), steps);
      const mean = last.reduce((sum, loss) => sum + loss, 0) / last.length;
      const far = x(steps) > CURVE.left + 150;
      return draft("text", {
        class: "strong", x: x(steps) + (far ? -2 : 4), y: y(mean) - 6,
        "text-anchor": far ? "end" : "start", text: name,
      });
    });
  }

  // `runs` are those before this one; `lookedAt` is a step, or null.
  function update(width, { losses, steps }, runs, lookedAt, label) {
    const longest = Math.max(steps, ...runs.map((run) => run.steps));
    const [last, tick] = STEP_TICKS.find(([end]) => longest <= end);
    const x = (step) =>
      left + ((width - left - right) * step) / last;
    const y = (loss) => height - bottom
      - ((height - bottom - top) * Math.min(loss, most)) / most;
    const key = [width, last].join(" ");
    if (drawn !== key) {
      drawn = key;
      picture.setAttribute("width", width);
      axes(width, x, y, last, tick);
    }
    picture.setAttribute("aria-label", label);
    now.setAttribute("d", path(losses, steps, x, y));
    renew(before, [
      ...runs.map((run) => draft("path", {
        class: "before", d: path(run.losses, run.steps, x, y),
      })),
      ...endsOf(runs, x, y),
    ]);
    looked.setAttribute("d", lookedAt === null
      ? "" : `M${x(lookedAt)} ${top}V${y(0)}`);
  }
  return { root: picture, update };
}

// A map: the area of a square is the weight; the frame is the mirrored letter.
export function mirrorMap(head) {
  const squares = svg("path", { class: "squares" });
  const places = [...Array(LENGTH).keys()];
  const letters = (at) => places.map((place) => svg("text", {
    "text-anchor": "middle", ...at(place),
  }));
  const read = letters((place) => ({ x: place + 0.5, y: -0.3 }));
  const asking = letters((place) => ({ x: -0.55, y: place + 0.78 }));
  const goal = places.map((place) =>
    `M${LENGTH - 1 - place} ${place}h1v1h-1z`).join("");
  const picture = svg(
    "svg", {
      class: "map", role: "img",
      viewBox: `-1.1 -1.2 ${LENGTH + 1.2} ${LENGTH + 1.3}`,
    },
    svg("rect", { class: "paper", width: LENGTH, height: LENGTH }),
    squares, svg("path", { class: "goal", d: goal }),
    ...read, ...asking,
  );
  const share = html("span", { class: "share" });
  const root = html(
    "div", { class: "head-map", style: `--head: var(--c-head-${head})` },
    html("p", {},
      html("span", { class: "swatch" }),
      sentence(WORDS.head, { head: head + 1 }), share),
    picture,
  );

  function update(weights, reads, mirror) {
    squares.setAttribute("d", weightSquares(inRows(weights, LENGTH)));
    reads.forEach((id, place) => {
      write(read[place], letterOf(id));
      write(asking[place], letterOf(id));
    });
    write(share, sentence(WORDS.share, { share: percent(mirror) }));
    picture.setAttribute("aria-label", sentence(WORDS.mapPicture, {
      head: head + 1, share: percent(mirror),
    }));
  }
  return { root, update };
}

// What the network reads, what it should say, what it says and how surely.
export function letterTable() {
  const row = (name) => {
    const cells = Array.from({ length: LENGTH }, () => html("td"));
    const line = html("tr", { class: name },
      html("th", { scope: "row", text: WORDS[name] }), ...cells);
    return { line, cells };
  };
  const [reads, should, says] = ["reads", "should", "says"].map(row);
  const marks = says.cells.map((cell) => {
    const letter = html("span", { class: "letter" });
    const bar = html("span", { class: "bar", "aria-hidden": "true" });
    const wrong = html("span", { class: "vitedu-hidden" });
    cell.append(letter, wrong, bar);
    return { letter, bar, wrong };
  });
  const root = html("table", { "aria-label": WORDS.tableTitle },
    html("tbody", {}, reads.line, should.line, says.line));

  function update(seen) {
    marks.forEach(({ letter, bar, wrong }, place) => {
      const right = seen.says[place] === seen.should[place];
      write(reads.cells[place], letterOf(seen.reads[place]));
      write(should.cells[place], letterOf(seen.should[place]));
      write(letter, letterOf(seen.says[place]));
      write(wrong, right ? "" : WORDS.wrong);
      says.cells[place].classList.toggle("right", right);
      bar.style.setProperty("--sure", seen.sure[place].toFixed(3));
    });
  }
  return { root, update };
}
