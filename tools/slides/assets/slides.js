// Starts the deck, and makes what stands on a slide small enough for it.
(() => {
  "use strict";

  // The largest of these sizes at which a slide does not overflow.
  const SIZES = [1, 0.95, 0.9, 0.85, 0.8, 0.75, 0.7, 0.65, 0.6, 0.55, 0.5];

  function fit(content) {
    const box = content.parentNode;
    if (!box.clientHeight) return; // a slide far from the one in view
    for (const size of SIZES) {
      content.style.zoom = size;
      if (box.scrollHeight <= box.clientHeight + 1
        && box.scrollWidth <= box.clientWidth + 1) return;
    }
  }

  // Also when a figure arrives, an explorer grows or an answer unfolds.
  const watch = new ResizeObserver((entries) => {
    for (const { target } of entries) fit(target);
  });
  for (const content of document.querySelectorAll(".fit")) {
    watch.observe(content);
  }

  function changeTheme() {
    const { dataset } = document.documentElement;
    dataset.theme = dataset.theme === "dark" ? "light" : "dark";
  }

  // Sliders and buttons keep the arrow keys; a clicker has to go on.
  addEventListener("keydown", (event) => {
    const move = { PageDown: Reveal.next, PageUp: Reveal.prev }[event.key];
    if (!move || event.target.localName !== "input") return;
    event.preventDefault();
    event.target.blur();
    move();
  });

  Reveal.initialize({
    width: 1280,
    height: 720,
    margin: 0,
    center: false,
    hash: true,
    controlsTutorial: false,
    slideNumber: "c/t",
    transition: "none",
    backgroundTransition: "none",
    plugins: [RevealNotes],
    keyboard: { 68: changeTheme }, // D
  });
})();
