// Lets readers without a mouse scroll what is wider than the page.
addEventListener("DOMContentLoaded", () => {
  "use strict";

  const seen = new Set(); // what has been laid out

  // All are asked before one is changed: each change would have the browser
  // look at the whole page again.
  function mark(nodes) {
    const wide = new Set(nodes.filter((node) =>
      node.scrollWidth > node.clientWidth
      || node.scrollHeight > node.clientHeight));
    for (const node of nodes) {
      if (wide.has(node)) node.tabIndex = 0;
      else node.removeAttribute("tabindex");
    }
  }

  const sizes = new ResizeObserver((changes) => {
    const nodes = changes.map(({ target }) => target);
    for (const node of nodes) seen.add(node);
    mark(nodes);
  });
  for (const node of document.querySelectorAll(
    "pre, div.math, .cell_output > .output, .pst-scrollable-table-container",
  )) sizes.observe(node);
  document.fonts.addEventListener("loadingdone", () => mark([...seen]));
});

// The contents close when they lead to a section of the page itself.
addEventListener("click", ({ target }) => {
  const panel = target.closest?.("#contents");
  if (panel && target.closest("a[href^='#']")) panel.hidePopover();
});

// What was chosen stays until the next visit, by the name of each question and
// the place of the answer. Choosing the same again takes it back. After a wrong
// answer the right one stays hidden until a second.
addEventListener("DOMContentLoaded", () => {
  "use strict";

  const KEPT = `${location.pathname}#guesses`;
  let chosen = {};
  try {
    chosen = Object(JSON.parse(localStorage.getItem(KEPT)));
  } catch { /* not allowed, or not ours */ }
  for (const box of document.querySelectorAll(
    ".vitedu-predict, .vitedu-quiz",
  )) {
    const inputs = [...box.querySelectorAll("input")];
    const [{ name }] = inputs;
    const kept = inputs[chosen[name]];
    if (kept) kept.checked = true;
    box.addEventListener("click", ({ target }) => choose(target));
    // Of the space bar on what is chosen already browsers make no click.
    box.addEventListener("keyup", (event) => {
      if (event.key !== " ") return;
      event.preventDefault();
      choose(event.target);
    });
    function choose(input) {
      const at = inputs.indexOf(input);
      if (at < 0) return;
      const isFirst = chosen[name] === undefined;
      const isRight = input.closest("[data-right]") !== null;
      const asks = input.closest(".vitedu-show") !== null;
      input.checked = at !== chosen[name];
      chosen[name] = input.checked ? at : undefined;
      box.classList.toggle("again", isFirst && !isRight && !asks);
      if (input.checked && isRight && box.matches(".vitedu-quiz")) {
        document.dispatchEvent(
          new CustomEvent("vitedu:right", { detail: name }));
      }
      try {
        localStorage.setItem(KEPT, JSON.stringify(chosen));
      } catch { /* then it is forgotten */ }
    }
  }
});

// Paper is white: it takes the light colours while a page is printed. And it is
// narrow: explorers, which no longer draw then, shrink to it as they are.
(() => {
  "use strict";

  const PAPER = 656; // pixels between the margins of A4
  const root = document.documentElement.dataset;
  let chosen;
  addEventListener("beforeprint", () => {
    chosen = root.theme;
    root.theme = "light";
    const explorers = [...document.querySelectorAll(".vitedu-explorer")];
    const widths = explorers.map((explorer) => explorer.offsetWidth);
    explorers.forEach(({ style }, at) => {
      style.width = `${widths[at]}px`;
      style.zoom = Math.min(1, PAPER / widths[at]);
    });
  });
  addEventListener("afterprint", () => {
    root.theme = chosen;
    for (const { style } of document.querySelectorAll(".vitedu-explorer")) {
      style.width = style.zoom = "";
    }
  });
})();

// The theme's button for paper; its own script stands in an attribute.
addEventListener("click", ({ target }) => {
  if (!target.closest(".btn-download-pdf-button")) return;
  document.querySelector("#contents").hidePopover();
  print();
});

// What leads into a fold opens it: an address, or a link on the page. On paper
// the sections that go deeper are open.
(() => {
  "use strict";

  const DEEP = "details.deep:not([open])";
  let closed = [];

  // Where the address leads; the browser knows it (:target) only later.
  function target() {
    try {
      const name = decodeURIComponent(location.hash.slice(1));
      return document.getElementById(name);
    } catch {
      return null; // an address with a typing error
    }
  }

  function open() {
    const place = target();
    const folds = [place?.querySelector(`:scope > ${DEEP}`)];
    for (let node = place; node; node = node.parentElement) {
      if (node.matches("details:not([open])")) folds.push(node);
    }
    const found = folds.filter(Boolean);
    for (const fold of found) fold.open = true;
    if (found.length) place.scrollIntoView();
  }
  addEventListener("DOMContentLoaded", open);
  addEventListener("hashchange", open);
  // A link to where the reader has been already changes no address.
  addEventListener("click", (event) => {
    if (event.target.closest("a[href*='#']")) setTimeout(open);
  });
  addEventListener("beforeprint", () => {
    closed = [...document.querySelectorAll(DEEP)];
    for (const fold of closed) fold.open = true;
  });
  addEventListener("afterprint", () => {
    for (const fold of closed) fold.open = false;
  });
})();
