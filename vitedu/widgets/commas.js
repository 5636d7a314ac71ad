// Numbers as texts.

// Large ones with commas, 1,000. Not toLocaleString(): it looks up the
// language each time.
export const commas = new Intl.NumberFormat("en").format;

// So many digits after the point, a proper minus, and no sign before a zero.
export function fixed(number, digits = 2) {
  return number.toFixed(digits).replace(/^-(0\.0*)$/, "$1").replace("-", "−");
}
