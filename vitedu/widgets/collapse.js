// A student and its teacher, trained in the page until they agree.

import { button } from "./core/controls.js";
import { html, write } from "./core/dom.js";
import { choice, defineExplorer, slider } from "./core/explorer.js";
import { whileSeen } from "./core/frames.js";
import { fixed, sentence } from "./core/texts.js";
import WORDS from "./collapse.words.json" with { type: "json" };
import { POINTS, makeRun, verdictOf } from "./collapse_maths.js";
import {
  CURVES_HEIGHT, MEANS_HEIGHT, entropyCurves, meanBars, pointSigns,
  pointsHeight,
} from "./collapse_pictures.js";

const RUNS = 3;
// The curves have a mark at every other step, and at the last.
const EVERY = 2;
// Runs that are remembered, so that going back to settings is at once.
const REMEMBERED = 8;
const BOTH = { centring: true, teacher_temperature: 0.05, momentum: 0.98 };
const STARTS = {
  both: BOTH,
  plain: { ...BOTH, centring: false },
  flat: { ...BOTH, teacher_temperature: 0.1 },
  neither: { ...BOTH, centring: false, teacher_temperature: 0.1 },
  copy: { ...BOTH, momentum: 0 },
};

// The runs of settings, and how far they are; those that were asked for last
// are kept.
export function makeLibrary() {
  const known = new Map();
  return function runsOf(settings) {
    const { centring, teacher_temperature: temperature, momentum, seed } =
      settings;
    const key = [centring, temperature, momentum, seed].join();
    const found = known.get(key) ?? { reached: 0,
      runs: Array.from({ length: RUNS }, (_, at) =>
        makeRun({ centring, temperature, momentum }, seed + at)) };
    known.delete(key);
    known.set(key, found);
    if (known.size > REMEMBERED) known.delete(known.keys().next().value);
    return found;
  };
}

function curveTo(run, last) {
  const steps = Array.from({ length: Math.ceil(last / EVERY) }, (_, at) =>
    at * EVERY);
  return [...steps, last].map((step) => {
    const { ofMean, ofEach } = run.at(step);
    return { step, ofMean, ofEach };
  });
}

// Trains all runs to the next mark of the curves, or as far as is wanted;
// tells whether they are to go on.
function goOn(training, wanted) {
  const even = training.reached - training.reached % EVERY;
  training.reached = Math.min(wanted, even + EVERY);
  for (const run of training.runs) run.at(training.reached);
  return training.reached < wanted;
}

export function compute(settings, { runsOf, most }, { whole = true } = {}) {
  const training = runsOf(settings);
  while (whole && training.reached < settings.step) {
    goOn(training, settings.step);
  }
  const step = Math.min(training.reached, settings.step);
  const isBusy = step < settings.step;
  const runs = training.runs.map((run) => {
    const look = run.at(step);
    return { seed: run.seed, look, verdict: verdictOf(look),
      curve: curveTo(run, step) };
  });
  const all = (name) => runs.map(({ look }) => look[name]);
  return {
    settings, step, runs, most, isBusy, isQuiet: isBusy,
    goOn: isBusy ? () => goOn(training, settings.step) : undefined,
    published: {
      ...settings, step, verdicts: runs.map(({ verdict }) => verdict),
      ofMean: all("ofMean"), ofEach: all("ofEach"),
      means: all("mean").flatMap((mean) => [...mean]),
      chosen: all("chosen").flat(),
    },
  };
}

export function say({ settings, step, runs }) {
  const told = runs.map(({ seed, look, verdict }) => ({
    seed, verdict, mean: fixed(look.ofMean), each: fixed(look.ofEach),
    shares: Array.from(look.mean, (share) => fixed(share)).join(", "),
  }));
  const joined = (words) => told.map((one) =>
    sentence(words(one), one)).join(" ");
  const [first, second] = told;
  return {
    step, points: POINTS, momentum: settings.momentum,
    temperature: settings.teacher_temperature, ...first,
    second: second.seed, secondMean: second.mean,
    runs: joined(({ verdict }) => WORDS.runs[verdict]),
    means: joined(() => WORDS.mean),
  };
}

// Trains step by step; the page alone knows of the steps on the way.
function training({ model, set, settings, move, frame, given }) {
  const { most } = given;
  let due = null; // the step that is shown while it trains
  let begun;
  const motion = whileSeen(frame, () => {
    if (isMoved()) run(null);
    if (due === null) return;
    if (due + 1 < most) {
      due += 1;
      move({ step: due });
    } else {
      stopAt(most);
    }
  });
  // By the reader, by the tour, in another view.
  const isMoved = () => due !== null && model.get("step") !== begun;
  function run(step) {
    due = step;
    motion.run(due !== null);
    write(toggle, due === null ? WORDS.play : WORDS.pause);
  }
  function stopAt(step) {
    run(null);
    set({ step });
  }
  const toggle = button(WORDS.play, () => {
    if (due !== null) return stopAt(due);
    begun = model.get("step");
    run(begun < most ? begun : 0);
    return move({ step: due });
  });
  const once = button(WORDS.once, () =>
    stopAt(Math.min(most, settings().step + 1)));
  const seeds = button(WORDS.seeds, () =>
    set({ seed: (model.get("seed") + RUNS) % (given.seeds + 1) }));
  function show({ settings: { step } }) {
    if (isMoved()) run(null);
    once.disabled = step === most;
  }
  return {
    root: html("div", { class: "buttons leads" }, toggle, once, seeds), show,
    quiet: () => due !== null, dispose: motion.dispose,
  };
}

const starts = Object.fromEntries(Object.entries(STARTS).map(
  ([name, settings]) => [WORDS.settings[name], settings]));

export default defineExplorer("collapse", {
  words: WORDS,
  read: (model) => {
    const { step, seed } = model.get("_schema");
    return { runsOf: makeLibrary(), most: step.high, seeds: seed.high };
  },
  controls: {
    centring: choice({ values: [[true, WORDS.options.centring.true],
      [false, WORDS.options.centring.false]] }),
    teacher_temperature: slider(), momentum: slider(), step: slider(),
  },
  starts,
  compute, say,
  pictures: {
    points: { height: pointsHeight, draw: pointSigns },
    means: { height: MEANS_HEIGHT, draw: meanBars },
    entropies: { height: CURVES_HEIGHT, draw: entropyCurves },
  },
  parts: { training },
  layout: [
    "starts", ["centring", "teacher_temperature", "momentum"],
    ["step", "training"], "points", "means", "entropies", "reading",
  ],
  from: { ...BOTH, seed: 1 },
});
