// A ring all-reduce, round by round, beside one process that collects.

import { decodeArray, inRows } from "./core/arrays.js";
import { button, noted, panel, range, titled } from "./core/controls.js";
import { html, put, renew, write } from "./core/dom.js";
import { explorer, followTraits, setTraits } from "./core/frame.js";
import { sentence } from "./core/texts.js";
import { makeTools } from "./core/tools.js";
import WORDS from "./ring.words.json" with { type: "json" };
import {
  collectAfter, finishedChunks, ringAfter, roundsOf,
} from "./ring_maths.js";
import { collectRows, ringRows, sentRows, tidyShare } from "./ring_panels.js";

const RING_TRAITS = ["num_processes", "step"];

function render({ model, el }) {
  const frame = explorer(el, "ring", WORDS.label);
  const tools = makeTools(frame, model, { tour: WORDS.tour });
  const all = inRows(decodeArray(model.get("gradients")).data, 8)
    .map((row) => Array.from(row));
  const set = (traits) => setTraits(model, traits);

  function now() {
    const count = model.get("num_processes");
    const rounds = roundsOf(count);
    const step = Math.min(model.get("step"), rounds);
    const gradients = all.slice(0, count).map((row) => row.slice(0, count));
    return { count, rounds, step, ring: ringAfter(gradients, step),
      collect: collectAfter(gradients, step) };
  }
  const sliders = {
    num_processes: range({
      label: WORDS.num_processes, min: 2, max: 8,
      value: model.get("num_processes"), format: String,
      onInput: (value) => set({ num_processes: value }),
    }),
    step: range({
      label: WORDS.step, min: 0, max: 14, value: model.get("step"),
      format: (step) => sentence(WORDS.rounds,
        { step, rounds: roundsOf(model.get("num_processes")) }),
      onInput: (step) => set({ step }),
    }),
  };
  const back = button(WORDS.back, () => set({ step: now().step - 1 }));
  const forward = button(WORDS.forward, () => set({ step: now().step + 1 }));
  const ringTable = html("table", { class: "held" });
  const collectTable = html("table", { class: "held whole-rows" });
  const [ringSent, collectSent] = [1, 2].map(() =>
    html("ol", { class: "shares" }));
  const [limitNote, collectNote] = [1, 2].map(() => noted(""));

  function update({ speak = true } = {}) {
    const { count, rounds, step, ring, collect } = now();
    sliders.num_processes.set(count);
    sliders.step.setMax(rounds);
    sliders.step.set(step);
    back.disabled = step === 0;
    forward.disabled = step === rounds;
    const limit = rounds / count;
    const most = Math.max(limit, count - 1);
    const shares = ring.sent.map((chunks) => chunks / count);
    put(frame.root, "data-count", String(count));
    renew(ringTable, ringRows(ring, WORDS));
    renew(ringSent, sentRows(shares, most, limit, WORDS));
    renew(collectTable, collectRows(collect, WORDS));
    renew(collectSent, sentRows(collect.sent, most, limit, WORDS));
    write(limitNote, sentence(WORDS.limit,
      { count, limit: tidyShare(limit) }));
    write(collectNote, sentence(WORDS.collectNote, { count }));
    const [finished] = finishedChunks(ring.held);
    const half = count - 1;
    const words = step === 0 ? [WORDS.start] : [
      step <= half ? WORDS.reduce : WORDS.spread,
      finished ? WORDS.finished : WORDS.none, WORDS.reading,
    ];
    frame.read(words.map((text) => sentence(text, {
      count, rounds, half, next: half + 1, finished,
      share: tidyShare(shares[0]), rootSent: collect.sent[0],
      rootGot: collect.received[0],
    })).join(" "), { speak });
    frame.publish({
      numProcesses: count, step,
      held: ring.held.flat().map(({ number }) => number),
      whose: ring.held.flat().map(({ whose }) => whose), sent: ring.sent,
      collected: collect.held.flatMap(({ numbers }) => numbers),
      collectSent: collect.sent, collectReceived: collect.received,
    });
  }

  frame.root.append(
    html("div", { class: "vitedu-controls" }, sliders.num_processes.root,
      sliders.step.root,
      html("div", { class: "turns" }, back, forward)),
    html("div", { class: "ways" },
      panel("of-ring", titled(WORDS.ring), ringTable, noted(WORDS.ringNote)),
      panel("of-ring-sent", titled(WORDS.sent), ringSent, limitNote),
      panel("of-collect", titled(WORDS.collect), collectTable, collectNote),
      panel("of-collect-sent", titled(WORDS.sent), collectSent)),
    ...frame.reading,
    ...tools.foot,
  );
  update({ speak: false });
  return followTraits(
    model, RING_TRAITS, update, tools.dispose, frame.dispose,
  );
}

export default { render };
