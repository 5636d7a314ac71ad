// A small encoder that is trained in the page to say letters in reverse.

import {
  button, noted, panel, range, select, settingButtons, titled,
} from "./core/controls.js";
import { html, write } from "./core/dom.js";
import {
  explorer, followTraits, followWidths, setTraits,
} from "./core/frame.js";
import { whileSeen } from "./core/frames.js";
import { sentence } from "./core/texts.js";
import { makeTools } from "./core/tools.js";
import WORDS from "./reverse_trainer.words.json" with { type: "json" };
import {
  letterTable, lossCurve, mirrorMap, percent,
} from "./reverse_trainer_charts.js";
import { BATCH } from "./reverse_trainer_layers.js";
import {
  MAX_STEPS, TEST_BATCHES, WITHOUT_ORDER, largestOf, makeTrainer,
} from "./reverse_trainer_maths.js";

const TRAITS = ["positions", "scaled", "num_heads", "learning_rate", "seed"];
// What the buttons set: a run that learns, and three that tell why.
const HEALTHY = {
  positions: true, scaled: true, num_heads: 1, learning_rate: 0.001,
};
const STARTS = {
  "default": HEALTHY,
  "no positions": { ...HEALTHY, positions: false },
  "fast": { ...HEALTHY, learning_rate: 0.01 },
  "too fast": { ...HEALTHY, learning_rate: 0.1 },
};
const TOUR = WORDS.tour.map(([words, settings, part]) =>
  [sentence(words, { right: percent(WITHOUT_ORDER.right) }), settings, part]);
// Runs that are kept to be compared with, and the fewest steps of one: a
// slider on its way starts many runs that are not worth keeping.
const KEPT_RUNS = 3;
const KEPT_STEPS = 50;
const BUDGET_MS = 8;
// So often, in steps, the network is tested on new sequences.
const TEST_EVERY = 10;
const MILESTONES = [["half", 0.5], ["most", 0.95]];

function tile(name) {
  const [number, aside] = [html("span"), html("span", { class: "aside" })];
  const root = html("div", {},
    html("dt", { text: WORDS[name] }), html("dd", {}, number, aside));
  function set(value, text) {
    write(number, value);
    write(aside, text);
  }
  return { root, set };
}

function settingsOf(model) {
  const [positions, scaled, numHeads, learningRate, seed] =
    TRAITS.map((name) => model.get(name));
  return { positions, scaled, numHeads, learningRate, seed };
}

// What is special about a run.
function runName(settings) {
  const usual = { ...HEALTHY, seed: 0 };
  const special = Object.entries(settings)
    .filter(([name, value]) => value !== usual[name])
    .map(([name, value]) => sentence(WORDS.runNames[name], { value }));
  return special.join(", ") || "default";
}

function makeControls(model) {
  const yesNo = (name, label, yes, no) => select({
    label, value: model.get(name), options: [[true, yes], [false, no]],
    onInput: (text) => setTraits(model, { [name]: text === "true" }),
  });
  return {
    positions: yesNo("positions", WORDS.positions, WORDS.withPositions,
      WORDS.noPositions),
    scaled: yesNo("scaled", WORDS.scaled, WORDS.withScale, WORDS.noScale),
    num_heads: select({
      label: WORDS.heads, value: model.get("num_heads"),
      options: [[1, 1], [2, 2], [4, 4]],
      onInput: (text) => setTraits(model, { num_heads: Number(text) }),
    }),
    learning_rate: range({
      label: WORDS.rate, min: 1e-4, max: 0.1, step: 1e-4, log: true,
      value: model.get("learning_rate"), format: (rate) => String(Number(rate.toPrecision(2))),
      onInput: (rate) => setTraits(model, { learning_rate: rate }),
    }),
  };
}

function render({ model, el }) {
  const frame = explorer(el, "reverse-trainer", WORDS);
  const tools = makeTools(frame, model, { tour: TOUR });
  // Said at once, while the reading follows the training in silence.
  const news = html("p", { class: "vitedu-hidden", "aria-live": "polite" });
  const controls = makeControls(model);
  let fast = false;
  const speed = select({
    label: WORDS.speed, value: fast,
    options: [[false, WORDS.slow], [true, WORDS.fast]],
    onInput: (text) => (fast = text === "true"),
  });
  const curve = lossCurve();
  const letters = letterTable();
  const tiles = { step: tile("step"), right: tile("right") };
  const mapsRoot = html("div", { class: "maps" });
  let [trainer, maps, tested, told, sequence, begunWith, rate, name] = [];
  let runs = [];
  // What was seen at every test of this run, and which of it is looked at;
  // null for the network as it is now.
  let history;
  let lookedAt = null;
  let playing = false;

  function start() {
    if (trainer?.steps >= KEPT_STEPS) {
      const { losses, steps } = trainer;
      runs = [...runs, { losses, steps, name }].slice(-KEPT_RUNS);
    }
    name = runName(Object.fromEntries(TRAITS.map((trait) =>
      [trait, model.get(trait)])));
    const settings = settingsOf(model);
    const { learningRate, ...others } = settings;
    const beginning = JSON.stringify(others);
    // Before the first step, the rate has changed nothing yet.
    if (!trainer || trainer.steps || begunWith !== beginning) {
      trainer = makeTrainer(others);
      tested = trainer.evaluate();
      begunWith = beginning;
    }
    rate = learningRate;
    [told, sequence] = [0, 0];
    [history, lookedAt] = [[], null];
    remember();
    news.textContent = "";
    for (const [name, { set }] of Object.entries(controls)) {
      set(model.get(name));
    }
    if (maps?.length !== settings.numHeads) {
      maps = Array.from({ length: settings.numHeads }, (_, h) => mirrorMap(h));
      mapsRoot.replaceChildren(...maps.map(({ root }) => root));
    }
    mapsRoot.style.setProperty("--columns", Math.min(2, maps.length));
    show({ speak: playing });
  }
  function remember() {
    const seen = trainer.look(sequence);
    // The next look overwrites its maps.
    const kept = { ...seen, maps: seen.maps.map((map) => map.slice()) };
    history.push({ step: trainer.steps, tested, seen: kept });
  }
  function step() {
    lookedAt = null;
    trainer.step(rate);
    if (trainer.steps % TEST_EVERY) return;
    tested = trainer.evaluate();
    remember();
    const milestone = MILESTONES[told]?.[0];
    if (milestone && tested.right >= MILESTONES[told][1]) {
      told += 1;
      news.textContent = sentence(WORDS[milestone], { step: tested.step });
    }
  }
  function stepsOfAFrame() {
    const until = performance.now() + BUDGET_MS;
    do step();
    while (fast && performance.now() < until && trainer.steps < MAX_STEPS);
    if (trainer.steps < MAX_STEPS) return show({ speak: false });
    news.textContent = sentence(WORDS.end, { step: MAX_STEPS });
    return play(false);
  }
  const training = whileSeen(frame.root, stepsOfAFrame);

  function play(value) {
    playing = value && trainer.steps < MAX_STEPS;
    training.run(playing);
    show({ speak: !playing });
  }
  function show({ speak }) {
    if (!playing && tested.step !== trainer.steps) tested = trainer.evaluate();
    const now = history[lookedAt] ?? {
      step: trainer.steps, tested, seen: trainer.look(sequence),
    };
    const { seen, tested: result } = now;
    const { steps } = trainer;
    const best = largestOf(result.mirror, 0, result.mirror.length);
    const words = {
      step: result.step, loss: result.loss.toFixed(2),
      right: percent(result.right), count: TEST_BATCHES * BATCH,
      head: best + 1, share: percent(result.mirror[best]),
      limit: WITHOUT_ORDER.loss.toFixed(2), most: MAX_STEPS,
    };
    curve.update(
      widths.of(curvePanel), trainer, runs, lookedAt === null ? null : now.step,
      sentence(WORDS.curvePicture, words),
    );
    maps.forEach((map, head) =>
      map.update(seen.maps[head], seen.reads, result.mirror[head]));
    letters.update(seen);
    starts.update();
    back.setMax(history.length - 1);
    back.set(lookedAt ?? history.length - 1);
    back.input.disabled = history.length < 2;
    tiles.step.set(now.step, sentence(WORDS.ofSteps, words));
    tiles.right.set(sentence(WORDS.share, { share: words.right }),
      sentence(WORDS.limitRight, { right: percent(WITHOUT_ORDER.right) }));
    write(toggle, playing ? WORDS.pause : WORDS.play);
    toggle.disabled = once.disabled = steps === MAX_STEPS;
    frame.read(sentence(WORDS.reading, words), { speak });
    frame.publish({
      ...settingsOf(model), playing, step: steps, sequence,
      trainLoss: steps ? trainer.losses[steps - 1] : "",
      tested: result.step, loss: result.loss, right: result.right,
      mirror: result.mirror, lookedAt: lookedAt === null ? "" : now.step,
      reads: seen.reads, says: seen.says, sure: seen.sure,
    });
  }

  const toggle = button(WORDS.play, () => play(!playing));
  const once = button(WORDS.once, () => {
    step();
    play(false);
  });
  const again = button(WORDS.again, start);
  const newSeed = button(WORDS.newSeed, () =>
    setTraits(model, { seed: (model.get("seed") + 1) % 2 ** 32 }));
  const other = button(WORDS.other, () => {
    sequence = (sequence + 1) % BATCH;
    lookedAt = null;
    show({ speak: !playing });
  });
  const starts = settingButtons(model, WORDS.starts, STARTS);
  const back = range({
    label: WORDS.back, min: 0, max: 0, value: 0,
    format: (at) => history?.[at]?.step ?? 0,
    onInput: (at) => {
      lookedAt = at < history.length - 1 ? at : null;
      play(false);
    },
  });
  const curvePanel = panel(
    "curve", titled(WORDS.curveTitle), noted(WORDS.curveNote), curve.root,
    back.root,
    html("dl", {}, ...Object.values(tiles).map(({ root }) => root)),
  );
  frame.root.append(
    starts.root,
    html("div", { class: "buttons leads" }, toggle, once, again, newSeed),
    html("div", { class: "vitedu-controls" },
      controls.positions.root, controls.scaled.root, controls.num_heads.root,
      speed.root, controls.learning_rate.root),
    html("div", { class: "panels" },
      curvePanel,
      panel("look", titled(WORDS.mapsTitle), noted(WORDS.mapsNote), mapsRoot),
      panel("answer", titled(WORDS.answerTitle), noted(WORDS.answerNote),
        letters.root, other)),
    ...frame.reading, news,
    ...tools.foot,
  );
  const widths = followWidths([curvePanel], () => show({ speak: false }));
  start();
  return followTraits(
    model, TRAITS, start, widths.dispose, training.dispose, tools.dispose,
    frame.dispose,
  );
}

export default { render };
