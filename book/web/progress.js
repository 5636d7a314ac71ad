// The place of a reader: in another language, and kept in the browser, with
// the chapters that were read to their end, what was answered right, and a file
// for all that is kept.
(() => {
  "use strict";

  // The section that is being read.
  const reading = () => [...document.querySelectorAll("main section[id]")]
    .findLast((part) => part.getBoundingClientRect().top < innerHeight / 3);

  // Another language shows the same page, at the same place. Who has chosen
  // one gets it on every page.
  const links = [...document.querySelectorAll("a.language")];
  let chosen = null;
  try { chosen = localStorage.getItem("language"); } catch { /* forbidden */ }
  const wanted = links.find(({ hreflang }) => hreflang === chosen);
  if (wanted) location.replace(wanted.href + location.hash);

  // Where the address leads if that is in sight, or else the section that is
  // being read; none at the top of a page.
  function place() {
    const name = location.hash.slice(1);
    const named = name && document.getElementById(name);
    const top = named && named.getBoundingClientRect().top;
    if (named && Math.abs(top) < innerHeight) return location.hash;
    const read = reading();
    return scrollY > 0 && read ? `#${read.id}` : "";
  }
  for (const link of links) {
    link.addEventListener("click", () => {
      try {
        localStorage.setItem("language", link.hreflang);
      } catch { /* then it is forgotten */ }
      link.hash = place();
    });
  }

  const KEPT = "progress";
  const FORMAT = "From Transformer to ViT: kept by a browser";
  // Of the whole site; guesses and settings of explorers belong to pages.
  const OF_SITE = ["mode", "theme", "language", KEPT];
  const panel = document.querySelector("#contents .kept");
  if (!panel) return;
  // The book in another language is in a folder of the English one.
  const inEnglish = document.documentElement.lang.startsWith("en");
  const script = new URL(document.currentScript.src);
  const site = new URL(inEnglish ? ".." : "../..", script).pathname;

  function load() {
    try {
      const found = Object(JSON.parse(localStorage.getItem(KEPT)));
      const [read, right] = [found.read, found.right].map((list) =>
        (Array.isArray(list) ? list : []));
      return { read, right, last: found.last ?? null };
    } catch {
      return { read: [], right: [], last: null }; // not allowed, or not ours
    }
  }

  function keep(change) {
    try {
      localStorage.setItem(KEPT, JSON.stringify({ ...load(), ...change }));
    } catch { /* then it is forgotten */ }
  }

  const nameOf = (link) => link.pathname.split("/").at(-1).split(".")[0];
  const dashes = [...document.querySelectorAll(".dashes a")];
  const chapter = dashes.find((link) => link.hasAttribute("aria-current"));
  const lists = [...document.querySelectorAll("#contents .pages a")];
  const count = panel.querySelector(".read");
  const ofAll = count.textContent;
  let forgotten = false;

  function show() {
    const found = load();
    const read = new Set(found.read);
    for (const link of [...dashes, ...lists]) {
      link.classList.toggle("read", read.has(nameOf(link)));
    }
    const all = dashes.filter((link) => read.has(nameOf(link))).length;
    count.textContent = ofAll
      .replace("{read}", all).replace("{all}", dashes.length)
      .replace("{right}", found.right.length);
  }

  // A question of the page was answered right.
  document.addEventListener("vitedu:right", ({ detail }) => {
    keep({ right: [...new Set([...load().right, detail])] });
    show();
  });

  function say(kind) {
    panel.querySelector("[role=status]").textContent =
      panel.querySelector(`.${kind}`).textContent;
  }

  // Where reading stopped, on the front page, which has left room for it.
  function lead() {
    const link = document.querySelector(".stopped a");
    if (!link) return;
    const { last } = load();
    const dash = dashes.find((one) => nameOf(one) === last?.chapter);
    if (!dash) {
      link.remove();
      return;
    }
    link.href = dash.href + last.place;
    link.querySelector("span").textContent = dash.textContent.trim();
  }

  if (chapter) {
    addEventListener("pagehide", () => {
      if (forgotten || !scrollY) return;
      keep({ last: { chapter: nameOf(chapter), place: place() } });
    });
    const end = document.querySelector(".onward");
    new IntersectionObserver((entries, observer) => {
      if (!entries.some(({ isIntersecting }) => isIntersecting)) return;
      observer.disconnect();
      keep({ read: [...new Set([...load().read, nameOf(chapter)])] });
      show();
    }).observe(end);
  }

  // All that is ours, by names that hold wherever the book lies.
  const isOurs = (name) => OF_SITE.includes(name)
    || /^[\w/.-]*\.html#[\w-]+$|^#[\w-]+$/.test(name);

  function kept() {
    const found = {};
    for (const name of Object.keys(localStorage)) {
      const ours = name.startsWith(site) ? name.slice(site.length) : name;
      if ((name !== ours || OF_SITE.includes(name)) && isOurs(ours)) {
        found[ours] = localStorage.getItem(name);
      }
    }
    return found;
  }

  const placeOf = (name) => (OF_SITE.includes(name) ? name : site + name);

  const tools = {
    save() {
      const text = JSON.stringify({ format: FORMAT, kept: kept() }, null, 1);
      const file = new Blob([text], { type: "application/json" });
      const link = document.createElement("a");
      link.href = URL.createObjectURL(file);
      link.download = "from-transformer-to-vit.json";
      link.click();
      URL.revokeObjectURL(link.href);
    },
    load() {
      panel.querySelector("input").click();
    },
    forget() {
      for (const name of Object.keys(kept())) {
        localStorage.removeItem(placeOf(name));
      }
      // At its end again, the page would count as read.
      forgotten = true;
      history.scrollRestoration = "manual";
      location.reload();
    },
  };

  async function take(file) {
    const found = JSON.parse(await file.text());
    const entries = Object.entries(Object(found?.kept));
    const strings = entries.every(([name, value]) =>
      isOurs(name) && typeof value === "string");
    if (found?.format !== FORMAT || !strings) throw new TypeError(file.name);
    for (const [name, value] of entries) {
      localStorage.setItem(placeOf(name), value);
    }
  }

  panel.addEventListener("click", ({ target }) => {
    try {
      tools[target.dataset.kept]?.();
    } catch {
      say("forbidden");
    }
  });
  panel.querySelector("input").addEventListener("change", async ({ target }) => {
    const [file] = target.files;
    target.value = "";
    try {
      await take(file);
      location.reload();
    } catch {
      say("wrong");
    }
  });
  show();
  lead();
})();
