// Lets readers without a mouse scroll a formula that is wider than the page.
(() => {
  "use strict";

  function mark() {
    for (const node of document.querySelectorAll("div.math")) {
      const wide = node.scrollWidth > node.clientWidth;
      node.toggleAttribute("tabindex", wide);
      if (wide) node.tabIndex = 0;
    }
  }

  let timer;
  addEventListener("resize", () => {
    clearTimeout(timer);
    timer = setTimeout(mark, 300);
  });
  addEventListener("load", mark);
})();

// What a guess has unfolded may be wider than the page, too. The theme and
// the function above look again when the window changes.
addEventListener("change", ({ target }) => {
  if (target.closest(".vitedu-predict")) dispatchEvent(new Event("resize"));
});

// Excerpts of what was found are fetched, which a browser forbids on disk.
if (location.protocol === "file:") {
  DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
}

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
  if (target.closest(".btn-download-pdf-button")) print();
});
