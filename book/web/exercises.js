// Exercises of the page that ask for a number or for names. Each form carries
// what the check of the notebook knows, and says what that would say.
(() => {
  "use strict";

  const SIGNS = { "×": "*", "·": "*", "−": "-", "^": "**", "÷": "/" };
  const TOKEN = new RegExp([
    /\d[\d_]*\.?[\d_]*(?:e[-+]?\d+)?|\.\d+(?:e[-+]?\d+)?/,
    /pi\b|sqrt\b|\*\*|[-+*/()]|\s+/,
  ].map(({ source }) => source).join("|"), "giy");

  // What a number, a fraction, a power or a sum is worth, as Python reads it;
  // NaN where it is none.
  function valueOf(typed) {
    const text = typed.replace(/[×·−^÷]/g, (sign) => SIGNS[sign])
      .replace(/\b(?:math|np|torch)\./g, "").trim()
      .replace(/^(-?[1-9]\d{0,2}(?:,\d{3})+)(?![\d,])/, (all) =>
        all.replaceAll(",", ""));
    const found = text.match(TOKEN) ?? [];
    if (!text || found.join("") !== text) return NaN;
    const tokens = found.filter((token) => token.trim());
    const take = (...wanted) =>
      (wanted.includes(tokens[0]) ? tokens.shift() : undefined);

    function sum() {
      let value = product();
      for (let sign; (sign = take("+", "-"));) {
        value += sign === "+" ? product() : -product();
      }
      return value;
    }
    function product() {
      let value = signed();
      for (let sign; (sign = take("*", "/"));) {
        value = sign === "*" ? value * signed() : value / signed();
      }
      return value;
    }
    function signed() {
      if (take("-")) return -signed();
      if (take("+")) return signed();
      const base = atom();
      return take("**") ? base ** signed() : base;
    }
    function atom() {
      if (take("pi")) return Math.PI;
      const root = take("sqrt");
      if (take("(")) {
        const value = sum();
        if (!take(")")) return NaN;
        return root ? Math.sqrt(value) : value;
      }
      return root || !/^[\d.]/.test(tokens[0] ?? "") ? NaN
        : Number(tokens.shift().replaceAll("_", ""));
    }
    const value = sum();
    return tokens.length ? NaN : value;
  }

  // Python rounds what lies exactly between two numbers to the even one.
  function rounded(value, decimals) {
    const between = value * 2 ** (decimals + 1);
    const scaled = value * 10 ** decimals;
    if (Number.isInteger(between) && Math.abs(scaled % 1) === 0.5) {
      return 2 * Math.round(scaled / 2) / 10 ** decimals;
    }
    return Number(value.toFixed(decimals));
  }

  function judgeNumber({ told, tolerance, decimals, ...say }, typed) {
    const value = valueOf(typed);
    const says = (text) => text.replace("{answer}", () => typed.trim());
    if (!Number.isFinite(value)) return [false, says(say.none)];
    const given = decimals === null ? value : rounded(value, decimals);
    const right = told[0][0];
    const [nearest, message] = told.reduce((best, one) =>
      (Math.abs(one[0] - given) < Math.abs(best[0] - given) ? one : best));
    const near = tolerance * Math.max(Math.abs(nearest), Math.abs(given));
    if (Math.abs(nearest - given) <= near) return [nearest === right, message];
    return [false, says(given > right ? say.large : say.small)];
  }

  function judgeNames({ right, wrong, ...say }, given) {
    const written = Object.keys(right).filter((letter) => given[letter]);
    if (!written.length) return [false, say.none];
    const mistakes = written.flatMap((letter) =>
      wrong[letter][given[letter]] ?? []);
    if (mistakes.length) return [false, mistakes.join(" ")];
    const missing = Object.keys(right).filter((letter) => !given[letter]);
    if (missing.length) {
      return [false, say.missing.replace("{missing}", missing.join(", "))];
    }
    return [true, say.all];
  }

  // Answers stay until the next visit, by the number of each exercise.
  const KEPT = `${location.pathname}#answers`;
  let kept = {};
  try {
    kept = Object(JSON.parse(localStorage.getItem(KEPT)));
  } catch { /* not allowed, or not ours */ }

  for (const form of document.querySelectorAll("form.vitedu-answer")) {
    const bytes = Uint8Array.from(atob(form.dataset.facts), (sign) =>
      sign.charCodeAt(0));
    const facts = JSON.parse(new TextDecoder().decode(bytes));
    const { number } = form.dataset;
    const [said, field] = [form.querySelector("p"), form.querySelector("input")];
    const fields = [...form.querySelectorAll("input, select")];
    const values = () => fields.map(({ value }) => value);

    function judge() {
      const [right, message] = field ? judgeNumber(facts, field.value)
        : judgeNames(facts, Object.fromEntries(new FormData(form)));
      const start = document.createElement("strong");
      start.textContent = facts.starts[Number(right)];
      said.replaceChildren(start, message);
      return right;
    }
    function keep() {
      kept[number] = values();
      try {
        localStorage.setItem(KEPT, JSON.stringify(kept));
      } catch { /* then it is forgotten */ }
    }

    form.hidden = false;
    if (Array.isArray(kept[number])) {
      fields.forEach((one, at) => { one.value = kept[number][at] ?? ""; });
      if (values().some(Boolean)) judge();
    }
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      if (judge()) {
        document.dispatchEvent(
          new CustomEvent("vitedu:right", { detail: number }));
      }
      keep();
    });
    // What was said is no longer about what stands there.
    form.addEventListener("input", () => said.replaceChildren());
  }
})();
