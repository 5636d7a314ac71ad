// A ring all-reduce, round by round, beside one process that collects.

import { decodeArray, inRows } from "./core/arrays.js";
import { button } from "./core/controls.js";
import { html } from "./core/dom.js";
import { defineExplorer, slider } from "./core/explorer.js";
import { sentence } from "./core/texts.js";
import WORDS from "./ring.words.json" with { type: "json" };
import {
  collectAfter, finishedChunks, ringAfter, roundsOf,
} from "./ring_maths.js";
import { collectRows, ringRows, sentRows, tidyShare } from "./ring_panels.js";

// With fewer processes there are fewer rounds.
const fit = ({ num_processes: count, step }) =>
  ({ num_processes: count, step: Math.min(step, roundsOf(count)) });

export function compute({ num_processes: count, step }, { gradients }) {
  const used = gradients.slice(0, count).map((row) => row.slice(0, count));
  const [ring, collect] = [ringAfter(used, step), collectAfter(used, step)];
  const rounds = roundsOf(count);
  const limit = rounds / count;
  return {
    count, rounds, step, ring, collect, limit,
    shares: ring.sent.map((chunks) => chunks / count),
    most: Math.max(limit, count - 1),
    published: {
      count, numProcesses: count, step,
      held: ring.held.flat().map(({ number }) => number),
      whose: ring.held.flat().map(({ whose }) => whose), sent: ring.sent,
      collected: collect.held.flatMap(({ numbers }) => numbers),
      collectSent: collect.sent, collectReceived: collect.received,
    },
  };
}

export function say({ count, rounds, step, ring, collect, shares, limit }) {
  const [finished] = finishedChunks(ring.held);
  const half = count - 1;
  const sentences = step === 0 ? [WORDS.start] : [
    step <= half ? WORDS.reduce : WORDS.spread,
    finished ? WORDS.finished : WORDS.none, WORDS.sent,
  ];
  return {
    count, limit: tidyShare(limit),
    sentences: sentences.map((text) => sentence(text, {
      count, rounds, half, next: half + 1, finished,
      share: tidyShare(shares[0]), rootSent: collect.sent[0],
      rootGot: collect.received[0],
    })).join(" "),
  };
}

function turns({ set, settings }) {
  const by = (rounds) => () => set({ step: fit(settings()).step + rounds });
  const back = button(WORDS.back, by(-1));
  const forward = button(WORDS.forward, by(1));
  function show({ step, rounds }) {
    back.disabled = step === 0;
    forward.disabled = step === rounds;
  }
  return { root: html("div", { class: "turns" }, back, forward), show };
}

const table = (kind) => () => html("table", { class: kind });
const list = () => html("ol", { class: "shares" });

export default defineExplorer("ring", {
  words: WORDS,
  read: (model) => ({
    gradients: inRows(decodeArray(model.get("gradients")).data, 8)
      .map((row) => Array.from(row)),
  }),
  fit,
  controls: {
    num_processes: slider(),
    step: slider({
      most: (settings) => roundsOf(settings.num_processes),
      format: (step, settings) => sentence(WORDS.rounds,
        { step, rounds: roundsOf(settings.num_processes) }),
    }),
  },
  compute, say,
  pictures: {
    ring: { node: table("held"), draw: ringRows },
    "ring-sent": {
      node: list, draw: (found) => sentRows(found.shares, found),
    },
    collect: { node: table("held whole-rows"), draw: collectRows },
    "collect-sent": {
      node: list, draw: (found) => sentRows(found.collect.sent, found),
    },
  },
  parts: { turns },
  layout: [["num_processes", "step", "turns"],
    { beside: ["ring", "ring-sent", "collect", "collect-sent"] }, "reading"],
});
