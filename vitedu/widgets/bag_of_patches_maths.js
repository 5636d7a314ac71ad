// The patches of a digit in other orders, and what a network makes of them.

import { uniformNumbers } from "./core/numbers.js";
import { PICTURE } from "./digit_picture.js";
import { makeReader, pixelOf } from "./follow_digit_maths.js";
import { largestChange, likeliest } from "./matrices.js";

export const BAG = { across: 4, places: 16, orders: 200 };

export const inPlace = () => Array.from({ length: BAG.places }, (_, i) => i);

// Which patch a shuffle brings to each place; the seed 0 leaves all in place.
export function shuffleOf(seed) {
  const order = inPlace();
  if (seed === 0) return order;
  const next = uniformNumbers(seed);
  for (let last = BAG.places - 1; last > 0; last -= 1) {
    const other = Math.floor(next() * (last + 1));
    [order[last], order[other]] = [order[other], order[last]];
  }
  return order;
}

// The same, after places were swapped by hand. An address may name a patch
// twice, which no swap does.
export function orderOf(seed, swapped) {
  const order = shuffleOf(seed);
  return new Set(swapped).size === BAG.places
    ? Array.from(swapped, (place) => order[place]) : order;
}

// Of 64 numbers, row by row, those of each patch move together.
export function shuffledInk(ink, order) {
  const side = PICTURE.side / BAG.across;
  const moved = new Uint8Array(ink.length);
  order.forEach((patch, place) => {
    for (let number = 0; number < side ** 2; number += 1) {
      const [from, to] = [patch, place].map((at) => {
        const [row, column] = pixelOf(at, number, side, BAG.across);
        return row * PICTURE.side + column;
      });
      moved[to] = ink[from];
    }
  });
  return moved;
}

// Reads a picture in the orders of the seeds 1, 2, 3 ..., one a step,
// which tells whether more are left: how often which digit came out, and by
// how much a chance has moved at most from what it is as `written`, with all
// patches in place.
export function makeTally(chancesOf, ink) {
  const written = chancesOf(ink);
  const counts = Array.from({ length: 10 }, () => 0);
  const tally = { written, read: 0, most: 0, counts };
  tally.isDone = () => tally.read === BAG.orders;
  tally.step = () => {
    tally.read += 1;
    const chances = chancesOf(shuffledInk(ink, shuffleOf(tally.read)));
    counts[likeliest(chances)] += 1;
    tally.most = Math.max(tally.most, largestChange(chances, written));
    return !tally.isDone();
  };
  return tally;
}

// The two networks: what each makes of a picture, as chances of ten digits.
export function makeReaders(bytes, networks) {
  const [placed, bag] = ["with", "without"].map((name) =>
    makeReader(bytes, networks[name].layout, networks[name].config));
  return {
    with: (ink) => placed.run(ink).answer.data,
    without: (ink) => bag.run(ink, ["positions"]).answer.data,
  };
}
