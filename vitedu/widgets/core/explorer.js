// An explorer, made of what is particular to it: its controls, what it
// computes from them, what it says, and what it draws.

import { noted, panel, range, select, settingButtons, titled } from
  "./controls.js";
import { html, put, renew, svg, write } from "./dom.js";
import { explorer, followTraits, followWidths, setTraits } from "./frame.js";
import { sentence } from "./texts.js";
import { makeTools } from "./tools.js";

const mapped = (things, make) => Object.fromEntries(
  Object.entries(things).map(([name, one]) => [name, make(one, name)]));

// Controls. Each is made with what the frame knows of its setting: its label,
// the facts that Python states of it, and the way to set it.

// `most`: the end, where that hangs on other settings. `shown`: whether there
// is a choice. Both get all settings. For the rest see `range`.
export function slider({ most, shown = () => true, ...more } = {}) {
  return ({ label, facts, set }) => {
    const { root, setMax, set: place } = range({
      label, min: facts.low, max: facts.high, value: facts.start,
      format: String, onInput: set, ...more,
    });
    function show(value, settings) {
      if (most) setMax(most(settings));
      place(most ? Math.min(value, most(settings)) : value);
      // Its place stays, so that nothing moves.
      root.style.visibility = shown(settings) ? "" : "hidden";
    }
    return { root, show };
  };
}

// One of the words that Python takes.
export function choice() {
  return ({ label, facts, options, set }) => {
    const { root, set: show } = select({
      label, options: facts.options.map((one) => [one, options[one]]),
      value: facts.start, onInput: set,
    });
    return { root, show };
  };
}

// A picture in a panel. `draw` gives the drafts for a width in pixels; `tap`
// says what a place, in pixels from the left, sets.
function makePicture({ height, draw, tap }, name, words, setAll) {
  const image = svg("svg", { role: "img", class: tap ? "tapped" : "" });
  const place = html("div", { class: "picture" }, image);
  const lines = Object.fromEntries(["note", "foot"]
    .filter((kind) => kind in words).map((kind) => [kind, noted("")]));
  const root = panel(`of-${name}`, titled(words.title),
    ...[lines.note, place, lines.foot].filter(Boolean));
  let drawn = [];
  if (tap) {
    image.addEventListener("pointerdown", (event) => setAll(tap(
      event.clientX - image.getBoundingClientRect().x, ...drawn)));
  }
  function show(found, said, width) {
    drawn = [width, found];
    for (const [kind, line] of Object.entries(lines)) {
      write(line, sentence(words[kind], said));
    }
    put(image, "aria-label", sentence(words.label, said));
    put(image, "width", String(width));
    put(image, "height",
      String(typeof height === "number" ? height : height(width)));
    renew(image, draw(found, width));
  }
  return { root, place, show };
}

// Args:
//   words: `label`; `controls`, a label each; `options`, the words of choices;
//     `pictures`, each with `title`, `label` and, where wanted, `note` and
//     `foot`; `reading`; `tour`, steps of [sentence, {setting: value}, part],
//     see `makeTour`. Where they have {names}, `say` fills them in.
//   controls: {setting: slider() or choice()}.
//   compute: What settings give; it draws nothing and asks for nothing.
//   say: What {names} stand for, of what was computed.
//   pictures: {name: {height, draw, tap}}, see above. `height` is a number, or
//     a function of the width.
//   parts: {name: make}: what is neither. `make({ model, set })` returns
//     {root, show, dispose}; the last two may be missing.
//   starts: Named settings, {name: {setting: value}}, as buttons.
//   layout: Rows, from the top. A list has controls, {beside: [...]} pictures
//     side by side, {more: [...], title} rows behind a line that opens; a name
//     is that of a picture, of a part, "starts" or "reading".
//   from: What a tour sets where a step says nothing else.
export function defineExplorer(name, {
  words, controls, compute, say, pictures = {}, parts = {}, starts, layout,
  from = {},
}) {
  function render({ model, el }) {
    const schema = model.get("_schema");
    const frame = explorer(el, name, words.label);
    const setAll = (values) => setTraits(model, values);
    const opening = { ...mapped(schema, ({ start }) => start), ...from };
    const tools = makeTools(frame, model, {
      tour: words.tour.map(([step, changes, part]) => {
        const settings = { ...opening, ...changes };
        return [() => sentence(step, say(compute(settings))), settings, part];
      }),
    });
    const made = {
      controls: mapped(controls, (make, setting) => make({
        label: words.controls[setting], options: words.options?.[setting],
        facts: schema[setting], set: (value) => setAll({ [setting]: value }),
      })),
      pictures: mapped(pictures, (one, picture) =>
        makePicture(one, picture, words.pictures[picture], setAll)),
      parts: mapped(parts, (make) => make({ model, set: setAll })),
    };
    const buttons = starts && settingButtons(model, words.starts, starts);

    function update({ speak = true } = {}) {
      const settings = mapped(schema, (_, setting) => model.get(setting));
      for (const [setting, one] of Object.entries(made.controls)) {
        one.show(settings[setting], settings);
      }
      buttons?.update();
      const found = compute(settings);
      const said = say(found);
      for (const one of Object.values(made.pictures)) {
        one.show(found, said, widths.of(one.place));
      }
      for (const one of Object.values(made.parts)) one.show?.(found, said);
      frame.read(sentence(words.reading, said), { speak });
      frame.publish(found.published ?? found);
    }

    function placed(row) {
      if (Array.isArray(row)) {
        return [html("div", { class: "vitedu-controls" },
          ...row.map((one) => (made.controls[one] ?? made.parts[one]).root))];
      }
      if (row.beside) {
        return [html("div", { class: "vitedu-beside" },
          ...row.beside.flatMap(placed))];
      }
      if (row.more) {
        return [html("details", { class: "more" },
          html("summary", { text: row.title }), ...row.more.flatMap(placed))];
      }
      if (row === "reading") return frame.reading;
      if (row === "starts") return [buttons.root];
      return [(made.pictures[row] ?? made.parts[row]).root];
    }

    frame.root.append(...layout.flatMap(placed), ...tools.foot);
    const widths = followWidths(
      Object.values(made.pictures).map(({ place }) => place),
      () => update({ speak: false }),
    );
    update({ speak: false });
    return followTraits(model, Object.keys(schema), update, widths.dispose,
      ...Object.values(made.parts).map(({ dispose }) => () => dispose?.()),
      tools.dispose, frame.dispose);
  }

  return { render };
}
