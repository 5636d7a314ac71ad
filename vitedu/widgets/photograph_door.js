// How photographs come to an explorer, and how far it is with them.

import { button } from "./core/controls.js";
import { html, write } from "./core/dom.js";
import WORDS from "./photograph_door.words.json" with { type: "json" };

// A field for files that buttons open; `onFiles` gets what was chosen.
export function filePicker(attributes, onFiles) {
  return html("input", {
    type: "file", accept: "image/*", hidden: "", ...attributes,
    onchange: ({ target }) => {
      if (target.files.length) onFiles([...target.files]);
      target.value = ""; // so that the same one can be chosen again
    },
  });
}

// Buttons that let the reader choose photographs or, where a finger points,
// take one.
export function photographButtons(choose, onFiles, attributes = {}) {
  const files = filePicker(attributes, onFiles);
  const camera = filePicker({ capture: "environment" }, onFiles);
  const take = button(WORDS.take, () => camera.click());
  take.hidden = !matchMedia("(pointer: coarse)").matches;
  return [button(choose, () => files.click()), take, files, camera];
}

// How far something is.
export function progressLine() {
  let stop = null;
  const said = html("span");
  const bar = html("progress", { max: 1 });
  const cancel = button(WORDS.cancel, () => stop());
  const root = html(
    "div", { class: "progress" }, html("label", {}, said, bar), cancel,
  );
  // From 0 to 1, or null; `stopping` ends it.
  function go(words, share, stopping) {
    root.hidden = false;
    write(said, words);
    if (share === null) bar.removeAttribute("value");
    else bar.value = share;
    stop = stopping;
    cancel.hidden = !stop;
  }
  function rest() {
    root.hidden = true;
    write(said, "");
  }
  rest();
  return { root, go, rest };
}
