// Finds sections of the book, on the page search.html.
//
// The index (vitedu_book/search.py) and the library MiniSearch are loaded when
// somebody searches. Both are scripts: a page from disk may load nothing else.
(() => {
  "use strict";

  const WORDS = {
    loading: "Searching",
    failed: "The index of the search could not be loaded.",
    none: "No section was found. Try fewer words, or other ones.",
    one: "1 section",
    many: "{number} sections",
    reference: "In the reference of the library",
    more: "Show all {number}",
  };
  const SHOWN = 20; // before a reader asks for all
  const EXCERPT = 220; // letters; Chinese needs half as many
  const ENOUGH = 0.6; // of the words of a query
  const ENOUGH_PAIRS = 0.75; // of the pairs of Chinese characters
  const HAN = /^\p{sc=Han}/u;
  const RUN = /\p{sc=Han}+|(?:(?!\p{sc=Han})[\p{L}\p{N}])+/gu;
  // They say little: a query may have them, a section need not.
  const COMMON = new Set((
    "a an and are as at be by can do does for from how i if in into is it its "
    + "not of on or so than that the then there this to what when where which "
    + "who why will with you 为什么 什么 怎么 怎样 如何 哪些 是 的 了 和 吗 呢"
  ).split(" "));
  const COMMON_HAN = /为什么|什么|怎么样|怎么|怎样|如何|哪些|[的了吗呢]/g;

  const { dataset: addresses } = document.currentScript;
  const stems = new Map();
  let names = null; // finds the names of book/search.yml in a text
  const groups = new Map(); // name -> what stands for its group in the index
  const capitals = new Set(); // names that are none in small letters, as ln

  // Loads what is needed once; makes an index of it, and the list of sections.
  let loading = null;
  function load() {
    loading ??= Promise.all(
      [addresses.library, addresses.index].map((address) =>
        new Promise((done, failed) => {
          const script = document.createElement("script");
          script.src = address;
          script.onload = done;
          script.onerror = () => failed(new Error(WORDS.failed));
          document.head.append(script);
        })),
    ).then(() => makeIndex(globalThis.viteduSearchIndex));
    return loading;
  }

  async function makeIndex({ names: known, pages }) {
    learn(known);
    const sections = pages.flatMap(([address, count, kept]) =>
      kept.map(([anchor, titles, text]) => ({
        address: anchor ? `${address}#${anchor}` : address,
        count,
        path: titles.slice(0, -1),
        title: titles.at(-1),
        text,
      })));
    sections.forEach((section, id) => Object.assign(section, { id }));
    const index = new globalThis.MiniSearch({
      fields: ["title", "page", "text"],
      extractField: (section, name) =>
        name === "page" ? section.path.join(" ") : section[name],
      tokenize: terms,
      processTerm: (term) => term,
      searchOptions: {
        tokenize: (term) => [term],
        boost: { title: 4, page: 1.5 },
        boostDocument: (id) => sections[id].count || 1,
      },
    });
    await index.addAllAsync(sections, { chunkSize: 50 });
    return { index, sections };
  }

  function learn(known) {
    const between = "[\\s,/-]+";
    const pattern = (name) => name
      .replace(/[.*+?^${}()|[\]\\]/g, "\\$&").split(/[\s-]+/).join(between);
    known.forEach((all, number) => {
      for (const name of all) {
        groups.set(plain(name), `=${number}`);
        if (/^[A-Z]+$/.test(name)) capitals.add(name);
      }
    });
    const all = known.flat().sort((a, b) => b.length - a.length);
    const latin = all.filter((name) => /^\w/.test(name)).map(pattern);
    const rest = all.filter((name) => !/^\w/.test(name)).map(pattern);
    names = RegExp(`\\b(?:${latin.join("|")})s?\\b|${rest.join("|")}`, "gi");
  }

  function plain(name) {
    return name.toLowerCase().split(/[\s,/-]+/).join(" ");
  }

  function groupOf(name) {
    const key = plain(name);
    return groups.get(key) ?? groups.get(key.replace(/s$/, ""));
  }

  // What stands for a word in the index.
  function stem(word) {
    if (!stems.has(word)) {
      const small = word.toLowerCase()
        .replace(/iz(?=(e|ed|es|er|ers|ing|ations?)$)/, "is");
      stems.set(word, /^[a-z]{3,}$/.test(small)
        ? new globalThis.Stemmer().stemWord(small) : small);
    }
    return stems.get(word);
  }

  // The terms of a text, each with the place of what it stands for: words,
  // pairs of Chinese characters, and names of one thing.
  function* placed(text) {
    for (const { 0: run, index: at } of text.matchAll(RUN)) {
      if (!HAN.test(run)) {
        yield [stem(run), at, at + run.length];
        continue;
      }
      const signs = Array.from(run);
      let here = at;
      for (let i = 0; i < signs.length; i += 1) {
        const pair = signs.slice(i, i + 2).join("");
        yield [pair, here, here + pair.length];
        here += signs[i].length;
      }
    }
    for (const { 0: name, index: at } of text.matchAll(names)) {
      const bare = name.replace(/s$/, "");
      if (capitals.has(bare.toUpperCase()) && !capitals.has(bare)) continue;
      yield [groupOf(name), at, at + name.length];
    }
  }

  function terms(text) {
    return Array.from(placed(text), ([term]) => term);
  }

  // What a query asks for: a name stands for all names of its thing.
  function asked(query) {
    const wanted = [];
    const rest = query.replace(names, (name) => {
      wanted.push(groupOf(name));
      return " ";
    });
    const words = [];
    for (const [run] of rest.replace(COMMON_HAN, " ").matchAll(RUN)) {
      const signs = Array.from(run);
      if (!HAN.test(run) || signs.length === 1) words.push(run);
      else {
        for (let i = 1; i < signs.length; i += 1) {
          words.push(signs[i - 1] + signs[i]);
        }
      }
    }
    const telling = words.filter((word) => !COMMON.has(word.toLowerCase()));
    const kept = telling.length || wanted.length ? telling : words;
    return new Set([...wanted, ...kept.map(stem)]);
  }

  function isSign(term) {
    return HAN.test(term) && Array.from(term).length === 1;
  }

  // The sections that have most of the words, best first: those of the book,
  // and those of the reference.
  function search({ index, sections }, query) {
    const wanted = [...asked(query)];
    const unfinished = /\p{L}$/u.test(query) ? wanted.at(-1) : null;
    const all = new Map(); // id -> what was found of the section
    let known = wanted.length;
    for (const term of wanted) {
      // A single Chinese character is the beginning of a pair.
      const prefix = isSign(term) || (term === unfinished && term.length > 2);
      let results = index.search(term, { prefix });
      if (!results.length && /^[a-z]{5,}$/.test(term)) {
        results = index.search(term, { fuzzy: 0.2 });
      }
      // A word that stands nowhere keeps nothing from being found.
      if (!results.length && !HAN.test(term)) known -= 1;
      for (const { id, score, terms: matched } of results) {
        const section = all.get(id)
          ?? { ...sections[id], score: 0, words: 0, terms: new Set() };
        section.score += score;
        section.words += 1;
        for (const one of isSign(term) ? [term] : matched) {
          section.terms.add(one);
        }
        all.set(id, section);
      }
    }
    const share = wanted.some((term) => HAN.test(term))
      ? ENOUGH_PAIRS : ENOUGH;
    const good = [...all.values()]
      .filter(({ words }) => words >= share * known);
    for (const section of good) {
      section.score *= (section.words / known) ** 2;
    }
    good.sort((a, b) => b.score - a.score);
    return [true, false].map((book) =>
      good.filter(({ count }) => Boolean(count) === book));
  }

  // The part of a text with most of the terms, in pieces: [text, is found].
  function excerpt(text, wanted) {
    const length = /\p{sc=Han}{9}/u.test(text) ? EXCERPT / 2 : EXCERPT;
    const hits = [...placed(text)].flatMap(([term, at, end]) => {
      if (wanted.has(term)) return [[term, at, end]];
      const [sign] = term;
      return wanted.has(sign) && isSign(sign)
        ? [[sign, at, at + sign.length]] : [];
    }).sort((a, b) => a[1] - b[1]);
    let best = [0, 0];
    hits.forEach(([, at], i) => {
      const inside = hits.slice(i).filter(([, , end]) => end <= at + length);
      const worth = new Set(inside.map(([term]) => term)).size;
      if (worth > best[0]) best = [worth, at];
    });
    const from = beginning(text, best[1], length);
    const to = ending(text, from + length);
    const pieces = [];
    let done = from;
    for (const [, at, end] of hits) {
      if (at < from || end > to || end <= done) continue;
      const start = Math.max(at, done);
      if (start > done) pieces.push([text.slice(done, start), false]);
      const last = pieces.at(-1);
      if (last?.[1] && start === done) last[0] += text.slice(start, end);
      else pieces.push([text.slice(start, end), true]);
      done = end;
    }
    pieces.push([text.slice(done, to), false]);
    if (from > 0) pieces.unshift(["… ", false]);
    if (to < text.length) pieces.push([" …", false]);
    return pieces;
  }

  // Where the sentence begins, if that is near, or else a word.
  function beginning(text, at, length) {
    const before = text.slice(Math.max(0, at - length / 2), at);
    const sentence = Math.max(
      ...[". ", "? ", "! ", "。", "？"].map((end) => {
        const found = before.lastIndexOf(end);
        return found < 0 ? found : found + end.length;
      }));
    if (sentence >= 0) return at - before.length + sentence;
    if (at <= length / 2) return 0;
    const word = text.slice(0, at - 30).lastIndexOf(" ");
    return Math.max(word + 1, at - length / 2);
  }

  function ending(text, at) {
    if (at >= text.length) return text.length;
    const word = text.lastIndexOf(" ", at);
    return word > at - 20 ? word : at;
  }

  function element(kind, attributes, ...children) {
    const node = document.createElement(kind);
    for (const [name, value] of Object.entries(attributes)) {
      node.setAttribute(name, value);
    }
    node.append(...children);
    return node;
  }

  function item({ address, path, title, text, terms: wanted }) {
    const shown = excerpt(text, wanted).map(([piece, hit]) =>
      hit ? element("mark", {}, piece) : piece);
    return element(
      "li", {},
      element("a", { href: address }, title),
      ...(path.length ? [element("small", {}, path.join(" › "))] : []),
      ...(text ? [element("p", {}, ...shown)] : []),
    );
  }

  function list(sections) {
    const items = element("ol", {}, ...sections.slice(0, SHOWN).map(item));
    if (sections.length <= SHOWN) return [items];
    const words = WORDS.more.replace("{number}", sections.length);
    const more = element("button", { type: "button" }, words);
    more.addEventListener("click", () => {
      items.append(...sections.slice(SHOWN).map(item));
      items.children[SHOWN].querySelector("a").focus();
      more.remove();
    });
    return [items, more];
  }

  addEventListener("DOMContentLoaded", () => {
    const field = document.querySelector("main form input");
    const place = document.querySelector("#search-results");
    const said = document.querySelector("#search-said");
    let turn = 0;

    async function show() {
      const mine = (turn += 1);
      const query = field.value.trim();
      if (!query) {
        said.textContent = "";
        place.replaceChildren();
        return;
      }
      if (!place.childElementCount) said.textContent = WORDS.loading;
      let book, reference;
      try {
        [book, reference] = search(await load(), query);
      } catch (error) {
        loading = null; // to be tried again
        said.textContent = error.message;
        return;
      }
      if (mine !== turn) return;
      const number = book.length + reference.length;
      said.textContent = number > 1
        ? WORDS.many.replace("{number}", number)
        : number ? WORDS.one : WORDS.none;
      place.replaceChildren(
        ...(book.length ? list(book) : []),
        ...(reference.length
          ? [element("h2", {}, WORDS.reference), ...list(reference)] : []),
      );
    }

    field.value = new URLSearchParams(location.search).get("q") ?? "";
    field.oninput = () => {
      const address = new URL(location.href);
      address.searchParams.set("q", field.value);
      try {
        history.replaceState(null, "", address);
      } catch { /* a browser that forbids it on disk */ }
      show();
    };
    field.form.addEventListener("submit", (event) => {
      event.preventDefault();
      show();
    });
    field.focus();
    show();
  });
})();
