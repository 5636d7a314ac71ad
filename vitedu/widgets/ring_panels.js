// What the two ways look like after a round: tables, as drafts.

import { draft } from "./core/dom.js";
import { sentence } from "./core/texts.js";
import WORDS from "./ring.words.json" with { type: "json" };

// A bit of colour for each process whose gradient is in a number.
function ownersStrip(whose, count) {
  return draft("span", { class: "owners", "aria-hidden": "true" },
    ...Array.from({ length: count }, (_, rank) => draft("span", {
      class: whose & (1 << rank) ? `owner owner-${rank}` : "owner",
    })));
}

const signed = (number) => String(number).replace("-", "−");

export function ringRows({ ring: { held, last } }) {
  const count = held.length;
  const all = (1 << count) - 1;
  return [
    draft("tr", {}, draft("td", {}), ...held.map((_, place) =>
      draft("th", { scope: "col", text: sentence(WORDS.chunk, { place }) }))),
    ...held.map((row, rank) => {
      const before = (rank + count - 1) % count;
      return draft("tr", {},
        draft("th", { scope: "row", class: `rank rank-${rank}`,
          text: sentence(WORDS.process, { rank }) }),
        ...row.map(({ number, whose }, place) => draft("td", {
          class: ["chunk", whose === all ? "whole" : "",
            last[rank] === place ? "sent" : "",
            last[before] === place ? "got" : ""].filter(Boolean).join(" "),
        }, draft("span", { class: "number", text: signed(number) }),
        ownersStrip(whose, count))));
    }),
  ];
}

// A line for each process, with what it has sent so far, in gradients. Both
// ways have the same scale, up to `most`.
export function sentRows(shares, { most, limit }) {
  return shares.map((share, rank) => draft("li", {},
    draft("span", { class: `rank rank-${rank}`,
      text: sentence(WORDS.process, { rank }) }),
    draft("svg", { class: "track", viewBox: "0 0 100 10",
      preserveAspectRatio: "none", "aria-hidden": "true" },
    draft("rect", { class: "paper", width: 100, height: 10 }),
    draft("rect", { class: `owner-${rank}`, height: 10,
      width: (100 * share / most).toFixed(2) }),
    ...(limit ? [draft("path", { class: "limit",
      d: `M${(99 * limit / most).toFixed(2)} 0v10` })] : [])),
    draft("span", { class: "share", text: tidyShare(share) })));
}

export const tidyShare = (share) => String(Number(share.toFixed(2)));

export function collectRows({ collect: { held, last } }) {
  const count = held.length;
  const all = (1 << count) - 1;
  return held.map(({ numbers, whose }, rank) => draft("tr", {},
    draft("th", { scope: "row", class: `rank rank-${rank}`,
      text: sentence(WORDS.process, { rank }) }),
    draft("td", { class: ["chunk", whose === all ? "whole" : "",
      last?.[0] === rank ? "sent" : "", last?.[1] === rank ? "got" : ""]
      .filter(Boolean).join(" ") },
    draft("span", { class: "number", text: numbers.map(signed).join(" ") }),
    ownersStrip(whose, count))));
}
