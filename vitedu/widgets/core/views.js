// Views of an explorer, each in the place of the others.

import { button } from "./controls.js";
import { html, put } from "./dom.js";

// A button for each of `views`, {title, nodes}. The second is the one that
// shows the settings `names`.
export function viewButtons(label, model, views, names) {
  const buttons = views.map(({ title }, at) => button(title, () => show(at)));
  const root = html("div", {
    class: "vitedu-settings", role: "group", "aria-label": label,
  }, ...buttons);
  function show(shown) {
    views.forEach(({ nodes }, at) => {
      put(buttons[at], "aria-pressed", String(at === shown));
      for (const node of nodes) node.hidden = at !== shown;
    });
  }
  // What an address, or a step of a tour, asks for: the view with `part`,
  // where there is one, or that of the settings that differ from the start.
  function showAsked(part) {
    const schema = model.get("_schema");
    const at = views.findIndex(({ nodes }) =>
      nodes.some((node) => part && node.contains(part)));
    const differs = names.some((name) =>
      model.get(name) !== schema[name].start);
    show(at < 0 ? Number(differs) : at);
  }
  show(0);
  return { root, show, showAsked };
}
