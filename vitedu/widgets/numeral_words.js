// Numbers in Chinese and in English, as vitedu/data/numerals.py writes them.

const DIGITS = "零一二三四五六七八九";
export const MEANINGS = Object.fromEntries([
  ...[...DIGITS].map((sign, digit) => [sign, String(digit)]),
  ["十", "10"], ["百", "100"], ["千", "1,000"], ["万", "10,000"],
]);
const ONES = ["zero", "one", "two", "three", "four", "five", "six", "seven",
  "eight", "nine", "ten", "eleven", "twelve", "thirteen", "fourteen",
  "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"];
const TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy",
  "eighty", "ninety"];
export const LARGEST = 99_999_999;

// A 零 stands for the zeros before a digit, unless the number begins there.
function fourDigits(group, follows) {
  let [text, gap] = ["", false];
  [...String(group).padStart(4, "0")].forEach((digit, at) => {
    if (digit === "0") {
      gap = true;
      return;
    }
    if (gap && (text || follows)) text += DIGITS[0];
    text += DIGITS[digit] + ["千", "百", "十", ""][at];
    gap = false;
  });
  return text;
}

export function chineseNumeral(number) {
  if (number === 0) return DIGITS[0];
  const [high, low] = [Math.floor(number / 10_000), number % 10_000];
  let text = high ? `${fourDigits(high, false)}万` : "";
  if (low) text += fourDigits(low, high > 0);
  return text.startsWith("一十") ? text.slice(1) : text;
}

// The number that a text writes as above, or undefined.
export function numberOf(text) {
  const values = { 十: 10, 百: 100, 千: 1000 };
  let [sum, group, digit] = [0, 0, 0];
  for (const sign of text) {
    const value = DIGITS.indexOf(sign);
    if (value >= 0) digit = value;
    else if (sign === "万") {
      sum += (group + digit) * 10_000;
      [group, digit] = [0, 0];
    } else {
      group += (digit || 1) * values[sign];
      digit = 0;
    }
  }
  const number = sum + group + digit;
  const written = number <= LARGEST && chineseNumeral(number);
  return written === text ? number : undefined;
}

// A list: "twenty-one" is two words.
export function englishWords(number) {
  if (number < 20) return [ONES[number]];
  if (number < 100) {
    const ones = number % 10;
    return [TENS[Math.floor(number / 10) - 2], ...(ones ? [ONES[ones]] : [])];
  }
  const [value, unit] = [
    [1_000_000, "million"], [1000, "thousand"], [100, "hundred"],
  ].find(([size]) => number >= size);
  const rest = number % value;
  return [
    ...englishWords(Math.floor(number / value)), unit,
    ...(rest && rest < 100 ? ["and"] : []),
    ...(rest ? englishWords(rest) : []),
  ];
}
