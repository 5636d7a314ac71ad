// The frame of an explorer, and what follows its model and its width.

import { freeId, html, write } from "./dom.js";

// How long background work waits for an idle moment, and how long it then
// takes at least: its start and the drawing after it cost more than a bit.
const PATIENCE_MS = 50;
const TURN_MS = 10;

// The frame of an explorer, with the line that says its current reading. The
// visible line follows every movement; screen readers get the sentence once
// the reader has stopped moving. There is room for one of so many `letters`.
export function explorer(el, name, { label, letters = 0 }) {
  const visible = html("p", {
    class: "vitedu-reading", "aria-hidden": "true",
  });
  const spoken = html("p", { class: "vitedu-hidden", "aria-live": "polite" });
  // No <section>: a deck of slides takes each for a slide.
  const root = html("div", {
    role: "region", id: freeId(`explorer-${name}`),
    class: `vitedu-explorer vitedu-${name}`, "aria-label": label,
    style: `--letters: ${letters}`,
    // In JupyterLab the arrow keys are shortcuts of the notebook, unless the
    // element that has the focus says this.
    onfocusin: ({ target }) =>
      target.setAttribute("data-lm-suppress-shortcuts", "true"),
  });
  el.append(root);
  let timer;
  function read(sentence, { speak = true } = {}) {
    write(visible, sentence);
    clearTimeout(timer);
    // The first sentence stands there to be read; it is no news.
    if (!spoken.textContent) spoken.textContent = sentence;
    if (!speak) return;
    timer = setTimeout(() => (spoken.textContent = sentence), 300);
  }
  // Figures that a test, or another script, reads off the page.
  function publish(values) {
    for (const [key, value] of Object.entries(values)) {
      root.dataset[key] =
        typeof value === "object" ? JSON.stringify(Array.from(value)) : value;
    }
  }
  function dispose() {
    clearTimeout(timer);
    root.remove();
  }
  return { root, reading: [visible, spoken], read, publish, dispose };
}

// Calls `draw` at most once a frame, however often it is asked.
export function onceAFrame(draw) {
  let pending = 0;
  function ask() {
    pending ||= requestAnimationFrame(() => {
      pending = 0;
      draw();
    });
  }
  ask.cancel = () => cancelAnimationFrame(pending);
  return ask;
}

// Calls `work`, which does a bit of a few milliseconds at most and tells
// whether more is left, while the page has nothing else to do. A page that
// always has, as on a slow machine, gets on with it all the same.
export function whenIdle(work) {
  const [ask, cancel] = globalThis.requestIdleCallback
    ? [(go) => requestIdleCallback(go, { timeout: PATIENCE_MS }),
      cancelIdleCallback]
    : [(go) => setTimeout(go, 50), clearTimeout];
  let asked;
  function go(deadline) {
    asked = undefined;
    const end = performance.now() + TURN_MS;
    const isTime = () =>
      performance.now() < end || deadline?.timeRemaining() > 5;
    let more = work();
    while (more && isTime()) more = work();
    if (more) start();
  }
  function start() {
    asked ??= ask(go);
  }
  function stop() {
    cancel(asked);
    asked = undefined;
  }
  return { start, stop };
}

// The widths of nodes, without laying the page out for each look at them;
// calls `ask`, once a frame, when one has changed.
export function followWidths(nodes, ask) {
  const widths = new Map(nodes.map((node) => [node, node.clientWidth]));
  const redraw = onceAFrame(ask);
  const observer = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      if (target.clientWidth === widths.get(target)) continue;
      widths.set(target, target.clientWidth);
      redraw();
    }
  });
  for (const node of nodes) observer.observe(node);
  function dispose() {
    observer.disconnect();
    redraw.cancel();
  }
  // What is hidden has no width, and is drawn as on a narrow phone.
  return { of: (node) => Math.max(200, widths.get(node)), dispose };
}

// Calls `ask` when one of these traits changes, from wherever; returns the
// way to stop that.
export function onTraits(model, names, ask) {
  for (const name of names) model.on(`change:${name}`, ask);
  return () => {
    for (const name of names) model.off(`change:${name}`, ask);
  };
}

// Calls `update`, once a frame, when one of these traits changes; returns the
// way to stop that, which calls `ends` too.
export function followTraits(model, names, update, ...ends) {
  const redraw = onceAFrame(update);
  const ignore = onTraits(model, names, redraw);
  return () => {
    ignore();
    redraw.cancel();
    for (const end of ends) end();
  };
}

export function setTraits(model, values) {
  for (const [name, value] of Object.entries(values)) model.set(name, value);
  model.save_changes();
}
