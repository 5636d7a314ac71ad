// The reader teaches a frozen Vision Transformer classes, in the page.

import { choice, defineExplorer, slider } from "./core/explorer.js";
import { fixed, sentence } from "./core/texts.js";
import WORDS from "./teach_it.words.json" with { type: "json" };
import {
  answerOf, byPatch, indexOfLargest, ofBlock,
} from "./teach_it_maths.js";
import { asked, classes, door, file, map, percent } from "./teach_it_parts.js";
import {
  BARS_HEIGHT, CHART_HEIGHT, blockAt, blockBars, evidenceBars,
} from "./teach_it_pictures.js";
import { makeStudio } from "./teach_it_studio.js";

const BLOCKS = 12;

function read(model, redraw) {
  return { studio: makeStudio(model, redraw) };
}

// The head that is in use: one out of a file, or the one that was taught.
function headOf({ evidence, names }, loaded, block) {
  if (loaded || !evidence) return loaded;
  const { weight, bias } = evidence.fits[block - 1];
  return { weight, bias, block, names };
}

// Which photographs the head takes for another class when they are left out.
function mistakesOf({ evidence, samples, names }, block) {
  const mistakes = new Map();
  evidence?.fits[block - 1].leftOut.forEach((scores, i) => {
    const guess = indexOfLargest(scores);
    const { label, photograph } = samples[i];
    if (guess !== label) mistakes.set(photograph, names[guess]);
  });
  return mistakes;
}

// What the head says of the photograph that is asked for.
function answered(head, { asked: photograph, opened }, chosen) {
  if (!head || !photograph) return {};
  const { layers } = opened;
  const answer = answerOf(head, ofBlock(photograph.means, head.block, layers));
  const first = indexOfLargest(answer.chances);
  const shown = chosen && chosen <= head.names.length ? chosen - 1 : first;
  const parts = byPatch(head, ofBlock(photograph.tokens, head.block, layers))
    .map((scores) => scores[shown]);
  return { answer, first, shown, parts, square: photograph.square };
}

export function compute(settings, { studio }) {
  const { opened, loaded } = studio;
  const lesson = opened ? studio.lesson() : {};
  const { evidence, missing = "network" } = lesson;
  const wanted = Math.min(settings.block, opened?.layers ?? BLOCKS);
  const block = wanted || (evidence?.best ?? 1);
  const head = headOf(lesson, loaded, block);
  const found = {
    evidence, block, head, missing, names: head?.names ?? [],
    taught: lesson.names, mistakes: mistakesOf(lesson, block),
    isBusy: Boolean(studio.busy), isQuiet: Boolean(studio.busy),
    ...answered(head, studio, settings.shown),
  };
  return { ...found, published: publishedOf(found, settings, studio) };
}

function publishedOf(found, { block, shown }, { opened, set, asked: one }) {
  const { evidence, answer, parts } = found;
  return {
    stage: opened ? "open" : "closed", set, setBlock: block, setShown: shown,
    kernel: opened?.kernel ?? "", hasTour: Boolean(evidence && answer),
    isTaught: Boolean(found.head),
    hasEvidence: Boolean(evidence), block: found.block,
    samples: evidence?.samples ?? 0, right: rightOf(found),
    byBlock: evidence?.byBlock ?? [], pixels: evidence?.pixels ?? 0,
    best: evidence?.best ?? 0, repeated: evidence?.repeated ?? 0,
    chances: answer?.chances ?? [], score: answer?.scores[found.shown] ?? 0,
    shown: found.shown ?? 0, parts: parts ?? [], means: one?.means.length ?? 0,
  };
}

const rightOf = ({ evidence, block }) => evidence?.byBlock[block - 1] ?? 0;

// What the counts do not show.
function caution({ evidence }) {
  if (!evidence) return "";
  const words = [];
  if (!evidence.isEnough) words.push(WORDS.tooFew);
  if (evidence.repeated) {
    words.push(evidence.repeated === 1 ? WORDS.repeatedOnce
      : sentence(WORDS.repeated, { count: evidence.repeated }));
  }
  return (words.length ? words : [WORDS.chosen]).join(" ");
}

export function say(found) {
  const { evidence, block, answer, names, first, shown, parts } = found;
  const said = {
    block, right: rightOf(found), samples: evidence?.samples ?? 0,
    pixels: evidence?.pixels ?? 0, most: evidence?.mostFrequent ?? 0,
    best: evidence?.best ?? 0, last: evidence?.byBlock.at(-1) ?? 0,
    lowest: evidence?.byBlock[0] ?? 0,
    layers: evidence?.byBlock.length ?? BLOCKS,
    caution: caution(found), first: names[first] ?? "",
    chance: answer ? percent(answer.chances[first]) : "",
    shown: names[shown] ?? "", patches: parts?.length ?? 0,
    score: answer ? fixed(answer.scores[shown]) : "",
    low: parts ? fixed(Math.min(...parts)) : "",
    high: parts ? fixed(Math.max(...parts)) : "",
  };
  const words = [evidence ? WORDS.counted : WORDS.missing[found.missing],
    ...(answer ? [WORDS.answered] : [])];
  return { ...said,
    told: words.map((one) => sentence(one, said)).join(" ") };
}

// Photographs that are pasted, or dropped elsewhere than on a class, are
// classified.
function everywhere({ frame, given: { studio } }) {
  function give(event, { files }) {
    if (!files.length || !studio.opened) return;
    event.preventDefault();
    studio.ask(files[0]);
  }
  const onPaste = (event) => give(event, event.clipboardData);
  document.addEventListener("paste", onPaste);
  frame.addEventListener("dragover", (event) => event.preventDefault());
  frame.addEventListener("drop", (event) => give(event, event.dataTransfer));
  return { dispose: () => {
    document.removeEventListener("paste", onPaste);
    studio.dispose();
  } };
}

export default defineExplorer("teach-it", {
  words: WORDS,
  alone: false,
  read, compute, say,
  controls: ({ studio }) => ({
    block: choice({
      values: Array.from({ length: BLOCKS + 1 }, (_, block) =>
        [block, block ? String(block) : WORDS.best]),
    }),
    shown: slider({
      most: () => Math.max(1, studio.names().length),
      format: (at) => (at ? studio.names()[at - 1] ?? "" : WORDS.first),
    }),
  }),
  pictures: {
    evidence: { height: BARS_HEIGHT, draw: evidenceBars },
    blocks: {
      height: CHART_HEIGHT, draw: blockBars,
      tap: (x, width, { evidence }) => (evidence
        ? { block: blockAt(x, evidence.byBlock.length, width) } : {}),
    },
  },
  parts: { door, classes, asked, map, file, everywhere },
  layout: ["door", "classes", { box: "results", rows: [
    { beside: ["evidence", "blocks"] }, ["block", "shown"],
    { beside: ["asked", "map"] }, "file", "reading",
  ] }],
  from: { block: 0, shown: 0 },
});
