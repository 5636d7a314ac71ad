// Two ways to give every process the sum of all gradients, round by round.
// `gradients` has a row of n chunks for each of n processes; a chunk is a
// number. Whose gradients a number holds are the bits of `whose`.

export const roundsOf = (count) => 2 * (count - 1);

// What each holds after `rounds` rounds of a ring, how many chunks it has
// sent, and which chunk it has sent in the last of them.
export function ringAfter(gradients, rounds) {
  const count = gradients.length;
  const sent = gradients.map(() => 0);
  let last = gradients.map(() => null);
  let held = gradients.map((row, rank) =>
    row.map((number) => ({ number, whose: 1 << rank })));
  for (let turn = 0; turn < rounds; turn += 1) {
    const adding = turn < count - 1;
    const before = held;
    held = before.map((row) => [...row]);
    last = gradients.map((_, rank) => (rank - turn + 2 * count) % count);
    last.forEach((place, rank) => {
      const to = (rank + 1) % count;
      const [moved, own] = [before[rank][place], before[to][place]];
      held[to][place] = adding ? {
        number: own.number + moved.number, whose: own.whose | moved.whose,
      } : moved;
      sent[rank] += 1;
    });
  }
  return { held, sent, last };
}

// The same if all send to process 0, which adds up and sends the sum back:
// whole gradients, over its one line, so one after the other.
export function collectAfter(gradients, rounds) {
  const count = gradients.length;
  const sent = gradients.map(() => 0);
  const received = gradients.map(() => 0);
  const held = gradients.map((row, rank) =>
    ({ numbers: [...row], whose: 1 << rank }));
  let last = null;
  for (let turn = 0; turn < rounds; turn += 1) {
    const gathers = turn < count - 1;
    const other = 1 + turn % (count - 1);
    last = gathers ? [other, 0] : [0, other];
    const [from, to] = last;
    sent[from] += 1;
    received[to] += 1;
    const numbers = held[from].numbers.map((number, place) =>
      (gathers ? number + held[to].numbers[place] : number));
    const whose = held[from].whose | (gathers ? held[to].whose : 0);
    held[to] = { numbers, whose };
  }
  return { held, sent, received, last };
}

export function finishedChunks(held) {
  const all = (1 << held.length) - 1;
  return held.map((row) => row.filter(({ whose }) => whose === all).length);
}
