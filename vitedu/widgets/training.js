// Misread digits, which fade while networks are trained.

import { decodeArray, inRows } from "./core/arrays.js";
import {
  button, noted, panel, settingButtons, titled,
} from "./core/controls.js";
import { html, put, renew, write } from "./core/dom.js";
import { defineExplorer, slider } from "./core/explorer.js";
import { whileSeen } from "./core/frames.js";
import { sentence } from "./core/texts.js";
import { digitTiles } from "./digit_tiles.js";
import WORDS from "./training.words.json" with { type: "json" };
import { makeHistory, worstEpoch } from "./training_maths.js";
import {
  answerStrip, epochLines, largeDigit, linesHeight,
} from "./training_pictures.js";

const SECONDS = 0.35; // of an epoch that plays

export function read(model) {
  const [images, labels, answers] = ["images", "labels", "answers"].map(
    (name) => decodeArray(model.get(name)));
  return {
    history: makeHistory(answers, labels.data), names: model.get("names"),
    inks: inRows(images.data, 64),
  };
}

export function compute({ network, epoch, image }, { history, names, inks }) {
  const [answers, wrong] = [
    history.answers(network, image), history.misread(network, epoch),
  ];
  const said = answers[epoch - 1];
  return {
    history, names, network, epoch, image, answers, wrong, said,
    label: history.labels[image], ink: inks[image],
    published: { network, epoch, image, said, misread: wrong },
  };
}

export function say({ history, names, network, epoch, answers, wrong, said, label }) {
  const { epochs, count } = history;
  const name = names[network];
  const others = names.filter((_, at) => at !== network).join(", ");
  const told = {
    name, epoch, epochs, count, wrong: wrong.length, label, said,
    right: (100 * (1 - wrong.length / count)).toFixed(1),
    answers: answers.join(" "),
    lines: `${WORDS.pictures.lines.title}, ${name}: ${
      history.counts[network].join(" ")}`,
    others: others && sentence(WORDS.others, { names: others }),
    title: sentence(WORDS.history.title, { label }),
    ...history.changes(network, epoch),
  };
  const reading = [
    WORDS.misreads, epoch === 1 ? WORDS.first : WORDS.changed,
    said === label ? WORDS.known : WORDS.mistaken,
  ].map((words) => sentence(words, told)).join(" ");
  return { ...told, reading };
}

// A tour of whatever training it is: which epoch its steps mean is looked up.
const EPOCHS = {
  first: () => 1, third: ({ epochs }) => Math.min(3, epochs),
  worst: (history) => worstEpoch(history, 0), last: ({ epochs }) => epochs,
};

export function tour(steps, { history, names }) {
  return steps.filter(([, { network }]) => network < names.length).map(
    ([words, { network, epoch: name, misread }, part]) => {
      const epoch = EPOCHS[name](history);
      const image = misread && history.nextMisread(network, epoch, -1);
      return [words, { network, epoch, image: image ?? 0 }, part];
    },
  );
}

// There is nothing to choose from where there is one network.
function networks({ model, given: { names } }) {
  const made = settingButtons(model, WORDS.networks,
    Object.fromEntries(names.map((name, network) => [name, { network }])));
  return { root: names.length > 1 ? made.root : "", show: made.update };
}

function play({ model, set, given: { history: { epochs } }, frame }) {
  let due = 0; // the epoch that is played; 0 while none is
  let waited = 0;
  const motion = whileSeen(frame, (seconds) => {
    show();
    waited += seconds;
    if (!due || waited < SECONDS) return;
    const epoch = due + 1;
    run(epoch < epochs ? epoch : 0);
    set({ epoch });
  });
  const root = button(WORDS.play, () => {
    if (due) {
      run(0);
      return;
    }
    const start = model.get("epoch") % epochs || 1;
    run(epochs > 1 ? start : 0);
    set({ epoch: start });
  });
  function run(epoch) {
    [due, waited] = [epoch, 0];
    motion.run(due > 0);
    write(root, due ? WORDS.stop : WORDS.play);
  }
  // Stops where it was moved: by the reader, by the tour, in another view.
  function show() {
    if (due && model.get("epoch") !== due) run(0);
  }
  return { root, show, quiet: () => due > 0, dispose: motion.dispose };
}

function tiles({ set, given: { history, inks } }) {
  const { title, note, label } = WORDS.tiles;
  const made = digitTiles(inks, (image) => set({ image }));
  return {
    root: panel("of-tiles", titled(sentence(title, history)), noted(note),
      made.root),
    show: ({ network, epoch, image }, said) => made.update(
      history.states(network, epoch), image, sentence(label, said)),
  };
}

function next({ set, given: { history } }) {
  let now;
  const root = button(WORDS.next, () => set({
    image: history.nextMisread(now.network, now.epoch, now.image),
  }));
  function show(found) {
    now = found;
    root.disabled = found.wrong.length === 0;
  }
  return { root, show };
}

function history() {
  const [large, strip] = ["large", "answers"].map((name) =>
    html("div", { class: name, role: "img" }));
  const title = titled("");
  function show({ ink, answers, label, epoch }, said) {
    write(title, said.title);
    renew(large, [largeDigit(ink)]);
    put(large, "aria-label", String(label));
    put(strip, "aria-label", sentence(WORDS.history.label, said));
    renew(strip, answerStrip(answers, label, epoch));
  }
  return { show, root: panel("of-history", title,
    html("div", { class: "history" }, large, strip)) };
}

// "1 of 7", also of what counts from 0.
const counted = (knows) => slider({
  format: (value) => sentence(WORDS.of, {
    at: value + 1 - knows.facts.low,
    count: knows.facts.high + 1 - knows.facts.low,
  }),
})(knows);

export default defineExplorer("training", {
  words: WORDS,
  controls: { epoch: counted, image: counted },
  read, compute, say, tour,
  pictures: { lines: { height: linesHeight, draw: epochLines } },
  parts: { networks, play, tiles, next, history },
  layout: ["networks", ["epoch", "play"], { beside: [
    { box: "column", rows: ["tiles", ["image", "next"]] },
    { box: "column", rows: ["lines", "history"] },
  ] }, "reading"],
});
