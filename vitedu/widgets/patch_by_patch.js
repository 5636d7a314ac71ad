// A photograph, followed patch by patch through a Vision Transformer.

import { choosable, inLine, markChosen } from "./core/choosing.js";
import { noted, panel, titled } from "./core/controls.js";
import { fill, html, put, renew, svg, write } from "./core/dom.js";
import { defineExplorer, slider } from "./core/explorer.js";
import { inflated, later } from "./core/later.js";
import { commas, fixed, sentence, tidy } from "./core/texts.js";
import WORDS from "./patch_by_patch.words.json" with { type: "json" };
import {
  GRID, IN_BLOCK, STAGES, followable, placeOf, readWalk, walkAt,
} from "./patch_by_patch_maths.js";
import {
  coverDrafts, courseDrafts, courseHeight, depthNear, keyName, numbersDrafts,
  numbersHeight, outlineDrafts,
} from "./patch_by_patch_pictures.js";

const FOLLOWED = 17;
const ACROSS = 4;

export function read(model, redraw) {
  const get = (name) => model.get(name);
  const given = {
    picture: get("picture"),
    sizes: { layers: get("num_layers"), heads: get("num_heads"),
      width: get("d_model"), patch: get("patch_size"),
      side: GRID * get("patch_size") },
  };
  later(model, "walk").then(inflated).then((buffer) => {
    given.walk = readWalk(buffer, get("layout"));
  }).catch((error) => {
    given.fault = error.message;
  }).then(redraw);
  return given;
}

export function fit(settings) {
  return { ...settings, token: followable(settings.stage, settings.token) };
}

export function compute(view, { walk, fault, picture, sizes }) {
  const { layers, patch: size } = sizes;
  const [row, column] = view.token ? placeOf(view.token) : [-1, -1];
  const shown = { view, picture, size, layers, row, column };
  if (!walk) return { ...shown, fault, published: {}, isBusy: !fault };
  const found = walkAt(walk, view, sizes);
  const { course, depth, looks, rows, cover } = found;
  return { ...shown, ...found, isBusy: false, published: {
    ...view, row, column, shape: found.shape, depth, kind: cover.kind,
    length: course.lengths[depth], near: course.near[depth] ?? "",
    all: course.all[depth], best: looks.listed.map(([key]) => key), most: looks.largest,
    lengths: rows.map(({ length }) => length),
  } };
}

const timesed = (shape) => shape.map(commas).join(" × ");
const product = (shape) => commas(shape.reduce((all, one) => all * one, 1));

// The numbers that the sentences of a stage speak of.
function numbersOf({ view, shape, pixels, rows, ofClass, cover, looks }) {
  const lengths = rows.map(({ length }) =>
    (length === null ? "" : tidy(length)));
  return {
    count: view.stage === "image" ? product(shape) : shape.at(-1),
    first: pixels ? Array.from(pixels.slice(0, 3), (number) =>
      fixed(number)).join(", ") : "",
    before: lengths[0], added: lengths[1], length: lengths.at(-1),
    classLength: ofClass.length ? tidy(ofClass.at(-1).length) : "",
    low: cover.least ? tidy(cover.least) : "",
    high: cover.most ? tidy(cover.most) : "",
    best: keyName(looks.listed[0][0], view.token), most: fixed(looks.largest, 3),
    own: fixed(looks.own, 3), ofClass: fixed(looks.ofClass, 3),
  };
}

export function say(found) {
  const { fault, view, course, depth, row, column } = found;
  if (fault) return { reading: sentence(WORDS.failed, { error: fault }) };
  if (!course) return undefined;
  const named = {
    ...numbersOf(found), block: view.block, head: view.head, depth,
    shape: timesed(found.shape), base: timesed(found.base),
    patches: GRID ** 2, size: found.size, row: row + 1, column: column + 1,
    depthLength: tidy(course.lengths[depth]),
    near: course.near.length ? fixed(course.near[depth]) : "",
    all: fixed(course.all[depth]),
    place: view.token ? sentence(WORDS.place,
      { row: row + 1, column: column + 1 }) : WORDS.classPlace,
  };
  const own = view.token ? undefined : WORDS.readingsOfClass[view.stage];
  return { ...named,
    reading: sentence(own ?? WORDS.readings[view.stage], named) };
}

function stages({ set }) {
  const steps = STAGES.map((stage) => html("div", {
    class: "step", role: "radio", text: WORDS.stages[stage].title,
  }));
  const root = html("div", {
    class: "steps", role: "radiogroup", "aria-label": WORDS.strip,
  }, ...steps);
  choosable(root, steps, inLine(steps.length), (at) =>
    set({ stage: STAGES[at] }));
  function show({ view }) {
    const at = STAGES.indexOf(view.stage);
    markChosen(steps, at, at);
  }
  return { root, show };
}

// What the stage does, and the shape of its table beside that of ViT-B/16.
function described() {
  const [title, text, shape] = [titled(""), noted(""),
    html("p", { class: "shape" })];
  const root = panel("of-stage", title, text, shape);
  function show({ view }, said) {
    const words = WORDS.stages[view.stage];
    write(title, words.title);
    write(text, words.text);
    if (said?.shape) write(shape, sentence(WORDS.shapes, said));
  }
  return { root, show };
}

// Where the arrow keys lead from a mark: number 0 is the class token, which
// may be `first`.
function neighbour(token, key, first) {
  if (!token) {
    return { ArrowRight: 1, ArrowDown: 1, ArrowLeft: 0, ArrowUp: 0 }[key];
  }
  const [row, column] = [Math.floor((token - 1) / ACROSS),
    (token - 1) % ACROSS];
  const [down, across] = { ArrowUp: [-1, 0], ArrowDown: [1, 0],
    ArrowLeft: [0, -1], ArrowRight: [0, 1] }[key] ?? [];
  if (down === undefined) return undefined;
  if (token === 1 && down + across < 0) return first;
  const inside = (at) => at >= 0 && at < ACROSS;
  return inside(row + down) && inside(column + across)
    ? token + down * ACROSS + across : token;
}

function markOf(token) {
  if (!token) {
    return svg("rect", { role: "radio", class: "mark of-class", x: -1.6, y: 0,
      width: 1.2, height: 1.2, rx: 0.25, "aria-label": WORDS.classPlace });
  }
  const [row, column] = placeOf(token);
  return svg("rect", { role: "radio", class: "mark", x: column - 1, y: row - 3,
    width: ACROSS, height: ACROSS, "aria-label":
      sentence(WORDS.place, { row: row + 1, column: column + 1 }) });
}

function photograph({ set, given: { picture } }) {
  const [cover, outline] = [svg("g"), svg("g")];
  const dots = svg("path", { class: "dots",
    d: Array.from({ length: FOLLOWED - 1 }, (_, at) => {
      const [row, column] = placeOf(at + 1);
      return `M${column + 0.5} ${row + 0.5}h0`;
    }).join("") });
  const marks = Array.from({ length: FOLLOWED }, (_, token) => markOf(token));
  const group = svg("g", { role: "radiogroup", "aria-label": WORDS.follow },
    ...marks);
  const drawing = svg("svg", { viewBox: `-2 0 ${GRID + 2} ${GRID}` },
    svg("image", { href: picture, width: GRID, height: GRID }), cover, dots,
    outline, group);
  let early = true;
  choosable(group, marks, (token, key) => neighbour(token, key, Number(early)),
    (token) => set({ token }));
  const [title, note] = [titled(""), noted("")];
  const root = panel("of-photograph", title, drawing, note);
  function show(found, said) {
    const { view } = found;
    const kind = found.cover?.kind ?? "plain";
    renew(cover, coverDrafts(found.cover ?? { kind }));
    renew(outline, outlineDrafts(view.token));
    markChosen(marks, view.token, view.token);
    early = followable(view.stage, 0) !== 0;
    fill(marks[0], { visibility: early ? "hidden" : "visible" }, []);
    if (!said?.shape) return;
    write(title, sentence(WORDS.covers[kind].title, said));
    write(note, sentence(WORDS.covers[kind].note, said));
  }
  return { root, show };
}

function numbers() {
  const drawing = svg("svg", { role: "img" });
  const place = html("div", { class: "picture" }, drawing);
  const [title, note] = [titled(""), noted("")];
  const root = panel("of-numbers", title, place, note);
  function show(found, said, width) {
    put(drawing, "width", String(width));
    put(drawing, "height", String(numbersHeight(width)));
    if (!said?.shape) return;
    const words = WORDS.numbers[found.view.stage] ?? WORDS.numbers.other;
    write(title, sentence(words.title, said));
    write(note, sentence(words.note, said));
    put(drawing, "aria-label", `${title.textContent}. ${said.reading}`);
    renew(drawing, numbersDrafts(found, width));
  }
  return { root, place, show };
}

const inBlock = ({ stage }) => IN_BLOCK.includes(stage);

export default defineExplorer("patch-by-patch", {
  words: WORDS,
  read, fit, compute, say,
  controls: {
    block: slider({ shown: ({ stage }) => stage !== "answer" }),
    head: slider({ shown: ({ stage }) => stage === "attention" }),
  },
  pictures: {
    course: {
      height: courseHeight, draw: courseDrafts,
      tap: (x, width, { layers, view }) => ({
        block: depthNear(x, width, layers),
        stage: inBlock(view) ? view.stage : "depth",
      }),
    },
  },
  parts: { stages, described, photograph, numbers },
  layout: ["stages", "described", ["block", "head"],
    { beside: ["photograph", "numbers", "course"] }, "reading"],
  from: { block: 6, head: 1, token: 6 },
});
