// Numbers and sentences as a reader sees them.

import { phrased } from "./dom.js";

// A number in about `digits` significant digits, as a person would write it.
export function tidy(number, digits = 3) {
  if (number === 0) return "0";
  if (number === -Infinity) return "−∞";
  const size = Math.abs(number);
  if (size < 1e-3 || size >= 1e5) {
    const [mantissa, power] = number.toExponential(1).split("e");
    return `${mantissa} × 10${superscript(Number(power))}`;
  }
  const decimals = Math.max(0, digits - 1 - Math.floor(Math.log10(size)));
  return number.toFixed(decimals).replace("-", "−");
}

export function superscript(integer) {
  const signs = { "-": "⁻", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴",
    5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" };
  return [...String(integer)].map((sign) => signs[sign]).join("");
}

// The words of a sentence around its numbers: "{n} keys", {n: 4} -> "4 keys".
// Of the digits, 8 alone begins like a vowel.
export function sentence(template, values) {
  return phrased(template)
    .replace(/\{(\w+)\}/g, (_, key) => phrased(values[key]))
    .replace(/\b([aA]) (?=8\b)/g, "$1n ");
}

// Large ones with commas, 1,000. Not toLocaleString(): it looks up the
// language each time.
export const commas = new Intl.NumberFormat("en").format;

// So many digits after the point, a proper minus, and no sign before a zero.
export function fixed(number, digits = 2) {
  return number.toFixed(digits).replace(/^-(0\.0*)$/, "$1").replace("-", "−");
}
