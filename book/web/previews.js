// Shows, beside a link in the text, what the link leads to: a term, a
// reference, the first lines of a section, a function. For each page there is
// a script with these texts (vitedu_book/previews.py). It is loaded when the
// first of them is needed.
(() => {
  "use strict";

  const LINKS = "article a.reference.internal"
    + ":not(.download, [href*='_modules/']), "
    + "article a[href^='#']:not(.headerlink)";
  const REST = 350; // milliseconds on a link before its preview opens
  const AWAY = 300; // milliseconds outside both before it closes
  const GAP = 6; // pixels around a preview

  if (!("popover" in HTMLElement.prototype)) return;
  const site = new URL("..", document.currentScript.src).href;
  const panel = document.createElement("div");
  panel.id = panel.className = "link-preview";
  panel.setAttribute("role", "tooltip");
  panel.popover = "manual";
  const linkOf = (node) => node.closest?.(LINKS);
  let wanted = null; // the link whose preview is open or loading
  let timer = 0;

  const texts = new Map(); // page -> a promise of its texts
  function load(page) {
    if (!texts.has(page)) {
      texts.set(page, new Promise((done) => {
        const script = document.createElement("script");
        script.src = `${site}_static/previews/${page}.js`;
        script.onload = () => done(globalThis.viteduPreviews[page]);
        script.onerror = () => done({});
        document.head.append(script);
      }));
    }
    return texts.get(page);
  }

  async function textFor(link) {
    // A host may leave out ".html".
    const [page] = link.href.slice(site.length).split(/\.html|[?#]/);
    const found = await load(page);
    return found[link.hash.slice(1)];
  }

  // Puts the preview below the link, or above it if there is more room. A link
  // may take two lines: `y` says which of them the pointer is on.
  function place(link, y) {
    const { left, top, bottom } = [...link.getClientRects()]
      .find((line) => line.top <= y && y <= line.bottom)
      ?? link.getBoundingClientRect();
    const { clientWidth, clientHeight } = document.documentElement;
    panel.style.maxHeight = "";
    const above = top - 2 * GAP;
    const below = clientHeight - bottom - 2 * GAP;
    const up = panel.offsetHeight > below && above > below;
    panel.style.maxHeight = `${up ? above : below}px`;
    const most = clientWidth - panel.offsetWidth - GAP;
    const x = Math.max(GAP, Math.min(left, most));
    panel.style.left = `${scrollX + x}px`;
    const at = up ? top - GAP - panel.offsetHeight : bottom + GAP;
    panel.style.top = `${scrollY + at}px`;
  }

  function hide() {
    clearTimeout(timer);
    wanted?.removeAttribute("aria-describedby");
    wanted = null;
    panel.hidePopover();
  }

  // Returns whether there is anything to show.
  async function show(link, y) {
    hide();
    wanted = link;
    const text = await textFor(link);
    if (wanted !== link) return true; // the reader has gone on
    if (!text) {
      wanted = null;
      return false;
    }
    panel.innerHTML = text;
    link.closest("article").append(panel);
    panel.showPopover();
    place(link, y);
    link.setAttribute("aria-describedby", panel.id);
    link.removeAttribute("title"); // the browser would show it too
    return true;
  }

  document.addEventListener("pointerover", (event) => {
    if (event.pointerType === "touch") return;
    clearTimeout(timer);
    const link = linkOf(event.target);
    const stays = link ? link === wanted : panel.contains(event.target)
      || wanted?.matches(":focus-visible");
    if (stays) return;
    timer = link ? setTimeout(show, REST, link, event.clientY)
      : setTimeout(hide, AWAY);
  });
  document.addEventListener("focusin", ({ target }) => {
    if (linkOf(target) && target.matches(":focus-visible")) show(target);
  });
  document.addEventListener("focusout", hide);
  document.addEventListener("keydown", ({ key }) => {
    if (key === "Escape") hide();
  });
  addEventListener("resize", () => {
    if (panel.matches(":popover-open")) place(wanted);
  });

  // A finger cannot hover: the first tap shows, the second follows the link.
  let finger = false;
  document.addEventListener("pointerdown", ({ target, pointerType }) => {
    finger = pointerType === "touch";
    if (!panel.contains(target) && linkOf(target) !== wanted) hide();
  });
  document.addEventListener("click", async (event) => {
    const link = linkOf(event.target);
    if (!link) return;
    const tapped = finger && event.detail; // which is 0 for the Enter key
    if (!tapped || link === wanted) {
      hide();
      return;
    }
    event.preventDefault();
    event.stopPropagation();
    if (!await show(link, event.clientY)) link.click();
  }, true);
})();
