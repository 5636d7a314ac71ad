// The searches of vitedu/decoding/search.py for one sentence, with all that happens
// on the way.

import { softmax, uniformNumbers } from "./core/numbers.js";
import { chineseNumeral } from "./numeral_words.js";
import { MARKS } from "./transformer_model.js";

// Of greedy search and of sampling, which look at every word.
const SHOWN = 6;

function lengthDivisor(length, alpha) {
  return ((5 + length) / 6) ** alpha;
}

// Every prefix with one more word, the likeliest first. `chance` is the
// probability of the word; with a temperature it is that of drawing it, which
// differs also since padding is never drawn.
export function rankCandidates(alive, next, temperature) {
  const all = alive.flatMap((prefix, row) => {
    const { logProbs } = next[row];
    const chances = temperature
      ? softmax(logProbs.map((logProb) => logProb / temperature))
      : logProbs.map(Math.exp);
    return Array.from(logProbs, (logProb, id) => ({
      row, id, chance: chances[id], logProb: prefix.logProb + logProb,
      ids: [...prefix.ids, id],
    })).filter(({ id }) => id !== MARKS.pad);
  });
  return all.sort((one, other) => other.logProb - one.logProb);
}

export function draw(candidates, random) {
  let below = 0;
  for (const one of candidates) {
    below += one.chance;
    if (random < below) return one;
  }
  return candidates[0];
}

// Of the best `size`, those that end are finished; the best `size` that do
// not end go on.
function chooseBeam(ranked, ends, size) {
  const shown = ranked.slice(0, 2 * size);
  return {
    shown,
    finished: shown.slice(0, size).filter(ends),
    going: shown.filter((one) => !ends(one)).slice(0, size),
  };
}

function chooseOne(ranked, ends, one) {
  const shown = ranked.slice(0, SHOWN);
  if (!shown.includes(one)) shown.push(one);
  return {
    shown, finished: ends(one) ? [one] : [], going: ends(one) ? [] : [one],
  };
}

// Whether the prefix can no longer become one of the best: more words lower
// its log probability, and the divisor is at most that of the longest.
function outOfReach(found, size, logProb, divisor) {
  return found.length >= size && logProb / divisor <= found[size - 1].score;
}

// What the model says of one number: `after` tells what may follow a prefix,
// {logProbs, past}. That does not depend on the search; the model is asked once.
export function writerOf(translator, number) {
  const encoded = translator.read([...chineseNumeral(number)]);
  const known = new Map();
  function after({ ids, past }) {
    const key = ids.join();
    if (!known.has(key)) {
      known.set(key, translator.next(encoded.memory, past, ids.at(-1)));
    }
    return known.get(key);
  }
  const nothing = { ids: [MARKS.bos], logProb: 0, past: translator.nothing };
  return { number, encoded, nothing, after,
    maxLength: translator.maxLength };
}

// A step is {alive, candidates, found, cost}: the prefixes, what may follow
// with its fate, what is finished after it, tokens read by the decoder so far.
// The sentence may be made to begin with the ids `begins`.
export function search(writer, how) {
  const { method, temperature, seed, begins = [] } = how;
  const beam = method === "beam";
  const size = beam ? how.size : 1;
  const alpha = beam ? how.alpha : 0;
  const longest = lengthDivisor(writer.maxLength, alpha);
  const random = uniformNumbers(seed);
  let alive = [writer.nothing];
  let found = [];
  let cost = { cached: 0, whole: 0 };
  const steps = [];
  while (alive.length) {
    const next = alive.map(writer.after);
    const { length } = alive[0].ids;
    const ends = ({ id }) =>
      id === MARKS.eos || length === writer.maxLength;
    const ranked = rankCandidates(
      alive, next, method === "sample" ? temperature : undefined,
    );
    const forced = begins[length - 1];
    const choice = forced !== undefined
      ? chooseOne(ranked, ends, ranked.find(({ id }) => id === forced))
      : beam ? chooseBeam(ranked, ends, size)
        : chooseOne(ranked, ends,
          method === "sample" ? draw(ranked, random()) : ranked[0]);
    found = [...found, ...choice.finished.map((one) => ({
      ids: one.ids.slice(1), logProb: one.logProb,
      score: one.logProb / lengthDivisor(length, alpha),
    }))].sort((one, other) => other.score - one.score).slice(0, size);
    const over = choice.going.length
      && outOfReach(found, size, choice.going[0].logProb, longest);
    const going = over ? [] : choice.going;
    const fate = (one) => (choice.finished.includes(one) ? "ends"
      : going.includes(one) ? "goes" : "dropped");
    cost = {
      cached: cost.cached + alive.length,
      whole: cost.whole + alive.length * length,
    };
    steps.push({
      alive, found, cost,
      candidates: choice.shown.map((one) => ({ ...one, fate: fate(one) })),
    });
    alive = going.map((one) => ({ ...one, past: next[one.row].past }));
  }
  return { steps, found };
}
