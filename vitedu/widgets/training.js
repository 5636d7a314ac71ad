// Misread digits, which fade while networks are trained.

import { decodeArray, inRows } from "./core/arrays.js";
import {
  button, noted, panel, range, settingButtons, titled,
} from "./core/controls.js";
import { html, put, renew, write } from "./core/dom.js";
import { explorer, followTraits, setTraits } from "./core/frame.js";
import { whileSeen } from "./core/frames.js";
import { sentence } from "./core/texts.js";
import { makeTools } from "./core/tools.js";
import { digitTiles } from "./digit_tiles.js";
import WORDS from "./training.words.json" with { type: "json" };
import { makeHistory, worstEpoch } from "./training_maths.js";
import { answerStrip, epochLines, largeDigit } from "./training_pictures.js";

// A tour of whatever training it is: its numbers are looked up. Of each step,
// its network, its epoch and whether it chooses a misread digit.
const TOUR = [
  { network: 0, epoch: () => 1 },
  { network: 0, epoch: ({ epochs }) => Math.min(3, epochs) },
  { network: 0, epoch: (history) => worstEpoch(history, 0) },
  { network: 0, epoch: ({ epochs }) => epochs, misread: true },
  { network: 1, epoch: ({ epochs }) => Math.min(3, epochs) },
];

const TRAITS = ["network", "epoch", "image"];
const SECONDS = 0.35; // of an epoch that plays

function tourOf(history, names) {
  const { epochs, count } = history;
  return TOUR.filter(({ network }) => network < names.length)
    .map(({ network, epoch: epochOf, misread }, step) => {
      const epoch = epochOf(history);
      const image = misread ? history.nextMisread(network, epoch, -1) : 0;
      return [sentence(WORDS.tour[step], {
        epoch, epochs, count, name: names[network],
        wrong: history.misread(network, epoch).length,
        ...history.changes(network, epoch),
      }), { network, epoch, image: image ?? 0 }];
    });
}

function render({ model, el }) {
  const frame = explorer(el, "training", WORDS.label);
  const labels = decodeArray(model.get("labels")).data;
  const history = makeHistory(decodeArray(model.get("answers")), labels);
  const { epochs, count } = history;
  const names = model.get("names");
  const tools = makeTools(frame, model, { tour: tourOf(history, names) });
  const pictures = inRows(decodeArray(model.get("images")).data, 64);
  const every = Array.from({ length: epochs }, (_, at) => at + 1);
  const misread = names.map((_, network) =>
    every.map((epoch) => history.misread(network, epoch).length));
  const set = (traits) => setTraits(model, traits);

  const networks = settingButtons(model, WORDS.networks,
    Object.fromEntries(names.map((name, network) => [name, { network }])));
  const epochSlider = range({
    label: WORDS.epoch, min: 1, max: epochs, value: model.get("epoch"),
    format: (at) => sentence(WORDS.of, { at, count: epochs }),
    onInput: (epoch) => set({ epoch }),
  });
  const imageSlider = range({
    label: WORDS.image, min: 1, max: count, value: model.get("image") + 1,
    format: (at) => sentence(WORDS.of, { at, count }),
    onInput: (at) => set({ image: at - 1 }),
  });
  const next = button(WORDS.next, () => set({
    image: history.nextMisread(...TRAITS.map((name) => model.get(name))),
  }));
  const tiles = digitTiles(pictures, (image) => set({ image }));
  const [lines, large, strip] = ["lines", "large", "answers"].map((name) =>
    html("div", { class: name, role: "img" }));
  const [historyTitle, linesNote] = [titled(""), noted("")];

  let due = 0; // the epoch that is played; 0 while none is
  let waited = 0;
  const motion = whileSeen(frame.root, (seconds) => {
    stopIfMoved();
    waited += seconds;
    if (!due || waited < SECONDS) return;
    const epoch = due + 1;
    play(epoch < epochs ? epoch : 0);
    set({ epoch });
  });
  const player = button(WORDS.play, () => {
    if (due) {
      play(0);
      return;
    }
    const start = model.get("epoch") % epochs || 1;
    play(epochs > 1 ? start : 0);
    set({ epoch: start });
  });
  function play(epoch) {
    [due, waited] = [epoch, 0];
    motion.run(due > 0);
    write(player, due ? WORDS.stop : WORDS.play);
  }

  // By the reader, by the tour, in another view.
  function stopIfMoved() {
    if (due && model.get("epoch") !== due) play(0);
  }

  function update({ speak = true } = {}) {
    const [network, epoch, image] = TRAITS.map((name) => model.get(name));
    stopIfMoved();
    const wrong = misread[network][epoch - 1];
    const [label, said] = [labels[image], history.said(network, epoch, image)];
    const answers = every.map((one) => history.said(network, one, image));
    networks.update();
    epochSlider.set(epoch);
    imageSlider.set(image + 1);
    next.disabled = wrong === 0;
    tiles.update(history.states(network, epoch), image,
      sentence(WORDS.tilesLabel, { count, wrong }));
    renew(lines, [epochLines(misread, names, network, epoch, WORDS.across)]);
    put(lines, "aria-label",
      `${WORDS.curves}, ${names[network]}: ${misread[network].join(" ")}`);
    write(linesNote, sentence(WORDS.others, { names: names.filter((_, i) =>
      i !== network).join(", ") }));
    renew(large, [largeDigit(pictures[image])]);
    put(large, "aria-label", String(label));
    const title = sentence(WORDS.history, { label });
    write(historyTitle, title);
    put(strip, "aria-label", sentence(WORDS.strip,
      { title, answers: answers.join(" ") }));
    renew(strip, answerStrip(answers, label, epoch));
    frame.read([
      sentence(WORDS.reading, {
        name: names[network], epoch, wrong, count,
        right: (100 * (1 - wrong / count)).toFixed(1),
      }),
      sentence(epoch === 1 ? WORDS.first : WORDS.changed,
        history.changes(network, epoch)),
      sentence(said === label ? WORDS.known : WORDS.mistaken,
        { label, said }),
    ].join(" "), { speak: speak && !due });
    frame.publish({
      network, epoch, image, said, misread: history.misread(network, epoch),
    });
  }

  frame.root.append(
    ...(names.length > 1 ? [networks.root] : []),
    html("div", { class: "beside" }, epochSlider.root, player),
    html("div", { class: "panels" },
      html("div", {},
        panel("of-tiles", titled(sentence(WORDS.tiles, { count })),
          noted(WORDS.tilesNote), tiles.root),
        html("div", { class: "beside" }, imageSlider.root, next)),
      html("div", {},
        panel("of-lines", titled(WORDS.curves),
          ...(names.length > 1 ? [linesNote] : []), lines),
        panel("of-history", historyTitle,
          html("div", { class: "history" }, large, strip)))),
    ...frame.reading, ...tools.foot,
  );
  update({ speak: false });
  return followTraits(
    model, TRAITS, update, motion.dispose, tools.dispose, frame.dispose,
  );
}

export default { render };
