// A ring all-reduce, round by round, beside one process that collects.

const WORDS = {
  label: "A sum for everybody, in a ring",
  num_processes: "Processes",
  step: "Round",
  rounds: "{step} of {rounds}",
  back: "Previous round",
  forward: "Next round",
  ring: "In a ring",
  ringNote: "A row is what a process holds, a column a chunk of the gradient. "
    + "A bit of colour says whose numbers are in the sum. Dashed: just sent "
    + "on. Outlined: just received.",
  collect: "All to process 0 and back",
  collectNote: "A row is the whole gradient of a process. A round takes "
    + "{count} times as long as one of the ring: whole gradients travel.",
  chunk: "c{place}",
  process: "P{rank}",
  sent: "Sent so far, in gradients",
  limit: "The line marks 2({count} − 1)/{count} = {limit} gradients.",
  start: "Each process holds its own gradient, and nobody has sent anything.",
  reduce: "Rounds 1 to {half} add up: each process hands a chunk to the next, "
    + "which adds its own.",
  spread: "Rounds {next} to {rounds} hand the finished sums around.",
  finished: "Each process now has {finished} of {count} sums.",
  none: "No sum is finished yet.",
  reading: "In the ring each process has sent {share} gradients. The other "
    + "way, process 0 has sent {rootSent} and received {rootGot}, in {count} "
    + "times the time.",
};

const TOUR = [
  ["Four processes, and after 3 rounds each has one finished sum. Each has "
    + "sent 0.75 gradients.",
  {}],
  ["It begins with the first chunk: in round 1 each hands one on, and the "
    + "next adds its own number.",
  { step: 1 }],
  ["After all 6 rounds everybody has all sums, for 1.5 gradients each. The "
    + "process that collects has sent 3 and received 3.",
  { step: 6 }],
  ["Eight processes need 14 rounds. Nobody has sent more than 1.75 "
    + "gradients; the one that collects has sent 7.",
  { num_processes: 8, step: 14 }],
  ["Two processes send 1 gradient each, in the ring.",
    { num_processes: 2, step: 2 }],
];

const RING_TRAITS = ["num_processes", "step"];

function render({ model, el }) {
  const frame = explorer(el, "ring", WORDS.label);
  const tools = makeTools(frame, model, { tour: TOUR });
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
