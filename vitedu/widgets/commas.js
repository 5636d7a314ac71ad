// Numbers as texts.

// Large ones with commas, 1,000. Not toLocaleString(): it looks up the
// language each time.
const { format: commas } = new Intl.NumberFormat("en");

// So many digits after the point, a proper minus, and no sign before a zero.
function fixed(number, digits = 2) {
  return number.toFixed(digits).replace(/^-(0\.0*)$/, "$1").replace("-", "−");
}
