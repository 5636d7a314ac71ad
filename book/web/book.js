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

// Another language shows the same page, at the same place. Who has chosen one
// gets it on every page.
addEventListener("DOMContentLoaded", () => {
  "use strict";

  const KEPT = "language";
  const links = [...document.querySelectorAll("a.language")];
  let chosen = null;
  try { chosen = localStorage.getItem(KEPT); } catch { /* not allowed */ }
  const wanted = links.find(({ hreflang }) => hreflang === chosen);
  if (wanted) location.replace(wanted.href + location.hash);

  // Where the address leads if that is in sight, or else the section that is
  // being read; none at the top of a page.
  function place() {
    const top = (part) => part.getBoundingClientRect().top;
    const name = location.hash.slice(1);
    const named = name && document.getElementById(name);
    if (named && Math.abs(top(named)) < innerHeight) return location.hash;
    const read = [...document.querySelectorAll("main section[id]")]
      .findLast((part) => top(part) < innerHeight / 3);
    return scrollY > 0 && read ? `#${read.id}` : "";
  }
  for (const link of links) {
    link.addEventListener("click", () => {
      try {
        localStorage.setItem(KEPT, link.hreflang);
      } catch { /* then it is forgotten */ }
      link.hash = place();
    });
  }
});

// Paper is white: it takes the light colours while a page is printed.
(() => {
  "use strict";

  const root = document.documentElement.dataset;
  let chosen;
  addEventListener("beforeprint", () => {
    chosen = root.theme;
    root.theme = "light";
  });
  addEventListener("afterprint", () => {
    root.theme = chosen;
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
