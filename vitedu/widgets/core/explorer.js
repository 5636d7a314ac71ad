// An explorer, made of what is particular to it: its controls, what it
// computes from them, what it says, and what it draws.

import {
  checkbox, noted, panel, range, select, settingButtons, titled,
} from "./controls.js";
import { html, put, renew, svg, write } from "./dom.js";
import {
  explorer, followWidths, onTraits, onceAFrame, setTraits, whenIdle,
} from "./frame.js";
import { sentence } from "./texts.js";
import { makeTools } from "./tools.js";

const mapped = (things, make) => Object.fromEntries(
  Object.entries(things).map(([name, one]) => [name, make(one, name)]));

// Controls. Each is made with what the frame knows: the label and the words of
// its setting, the `facts` that Python states of it, all `settings()`, what
// was read (`given`), and `set(value, sets)`. Where a value sets others, too,
// `sets` says all that it sets: (value, settings, given) => {setting: value}.

// `most`: the end, where that hangs on other settings. `shown`: whether there
// is a choice. Both get all settings; `format` gets the value, then those.
// `unit`: what the slider counts in, of (settings, facts); `min`, `max` and
// `step` then count units. Where Python lists the numbers that there are, it
// goes from one to the next. For the rest see `range`.
export function slider({
  most, shown = () => true, sets, unit = () => 1, format = String, ...more
} = {}) {
  return ({ label, facts, settings, set }) => {
    const { options, low, high, start, step, kind } = facts;
    const rounded = kind === "integer" ? Math.round : Number;
    const valueAt = (at) => (options ? options[at]
      : rounded(at * unit(settings(), facts)));
    const placeOf = (value) => (options ? options.indexOf(value)
      : value / unit(settings(), facts));
    const { root, setMax, set: place } = range({
      label, step, value: placeOf(start), min: options ? 0 : low,
      max: options ? options.length - 1 : high,
      format: (at) => format(valueAt(at), settings()),
      onInput: (at) => set(valueAt(at), sets), ...more,
    });
    function show(value, all) {
      if (most) setMax(most(all));
      place(placeOf(most ? Math.min(value, most(all)) : value));
      // Its place stays, so that nothing moves.
      root.style.visibility = shown(all) ? "" : "hidden";
    }
    return { root, show };
  };
}

// One of what Python takes, or of `values`, [value, text] each. `text`: what a
// reader sees of a value, where that is not among the words of the explorer.
export function choice({ values, text, sets } = {}) {
  return ({ label, facts, options, set }) => {
    const all = values ?? (facts.options ?? [false, true]).map((one) =>
      [one, text ? text(one) : options[one]]);
    const { root, set: show } = select({
      label, options: all, value: facts.start,
      onInput: (chosen) =>
        set(all.find(([one]) => String(one) === chosen)[0], sets),
    });
    return { root, show };
  };
}

export function check() {
  return ({ label, set }) => {
    const { root, set: show } = checkbox(label, (value) => set(value));
    return { root, show };
  };
}

// A picture in a panel. `draw` gives the drafts for a width in pixels. `tap`
// says what a place, in pixels from the left, sets; `drag`, that it does so
// while a pointer moves, too. One with a `viewBox` has units of its own, and
// the style sheet says how large it is. `node` makes what drafts are put into,
// where that is no svg. `say`: what {names} stand for here alone.
function makePicture(
  { height, viewBox, draw, tap, drag, node, say = () => ({}) },
  name, words, setAll, settings,
) {
  const image = node?.() ?? svg("svg", {
    role: "img", class: tap ? (drag ? "dragged" : "tapped") : "",
  });
  if (viewBox) put(image, "viewBox", viewBox);
  const place = html("div", { class: "picture" }, image);
  const title = titled("");
  const lines = Object.fromEntries(["note", "foot"]
    .filter((kind) => kind in words).map((kind) => [kind, noted("")]));
  const root = panel(`of-${name}`, title,
    ...[lines.note, place, lines.foot].filter(Boolean));
  let drawn = [];
  function follow({ clientX }) {
    const { x, width } = image.getBoundingClientRect();
    // The page may be enlarged; pixels of the picture are not.
    const at = (clientX - x) * image.clientWidth / width;
    setAll(tap(at, ...drawn, settings()));
  }
  if (tap) {
    image.addEventListener("pointerdown", (event) => {
      if (drag) image.setPointerCapture(event.pointerId);
      follow(event);
    });
    image.addEventListener("pointermove", (event) => {
      if (drag && event.buttons) follow(event);
    });
  }
  function show(found, said, width) {
    drawn = [width, found];
    const own = { ...said, ...say(found) };
    own.title = sentence(words.title, own);
    write(title, own.title);
    for (const [kind, line] of Object.entries(lines)) {
      write(line, sentence(words[kind], own));
    }
    if (!node) put(image, "aria-label", sentence(words.label, own));
    if (!node && !viewBox) {
      put(image, "width", String(width));
      put(image, "height",
        String(typeof height === "number" ? height : height(width)));
    }
    renew(image, draw(found, width));
  }
  return { root, place, show };
}

// Args:
//   words: `label`; how many `letters` the longest reading has, so that
//     nothing moves when it comes; `controls`, a label each; `options`, the
//     words of choices; `pictures`, each with `title`, `label` and, where
//     wanted, `note` and `foot`; `reading`; `tour`, steps of [sentence,
//     {setting: value}, part], see `makeTour`. Where they have {names}, `say`
//     fills them in; a picture knows {title} and {reading}, too.
//   read: What does not change, such as arrays, (model, redraw) => given.
//     `redraw` draws again, for what is loaded later.
//   fit: Settings as they are shown, where an address may ask for some that do
//     not go together, (settings, given) => settings.
//   controls: {setting: slider(), choice() or check()}, or a function of
//     `given` that returns them.
//   compute: What settings give, (settings, given, { whole }) => found; it
//     draws nothing and asks for nothing. `found.published`, or all of it, is
//     put on the page. It may say that more `isBusy` coming, unless it is to
//     be `whole`, as for the sentence of a tour, and that its reading
//     `isQuiet`, which no screen reader speaks. `found.goOn()` does a bit of
//     what is missing and tells whether more is; it is called while the page
//     has nothing else to do, and then all is drawn again.
//   say: What {names} stand for, (found, given) => said; nothing, where the
//     reading is to stay as it is.
//   pictures: {name: {height, draw, ...}}, see above. `height` is a number, or
//     a function of the width.
//   parts: {name: make}: what is neither. `make({ model, set, settings, given,
//     redraw, keep, move, frame })` returns {root, show(found, said, width),
//     place, quiet, dispose}, each of which may be missing. `place` is what
//     has that width. `keep({name: value})` is for what only this page knows:
//     `compute` finds it among the settings. `move({setting: value})` shows
//     settings that nobody else hears of, until one is set. Nothing is spoken
//     while `quiet()`: the explorer moves by itself.
//   starts: Named settings, {name: {setting: value}}, as buttons.
//   layout: Rows, from the top. A list has controls, {beside: [...]} what is
//     side by side, {more: [...], title} rows behind a line that opens,
//     {box: name, rows: [...]} those in a box with a class; a name is that of
//     a control, a picture, a part, "starts" or "reading". What has no root,
//     or is not offered, is left out.
//   from: What a tour sets where a step says nothing else.
//   tour: The steps that are true of what is given, (steps, given) => steps.
//   usual: Settings that this reader's browser starts with in place of what
//     the page gives, () => values.
//   styles: Names of classes, where style sheets are shared.
//   alone: Whether the site has a page with this explorer alone.
export function defineExplorer(name, {
  words, read = () => ({}), fit = (settings) => settings, controls = {},
  compute, say, pictures = {}, parts = {}, starts, layout, from = {},
  tour = (steps) => steps, usual = () => ({}), styles = [], alone = true,
}) {
  function render({ model, el }) {
    const schema = model.get("_schema");
    const frame = explorer(el, name, words);
    frame.root.classList.add(...styles);
    const setAll = (values) => setTraits(model, values);
    const redraw = onceAFrame(update);
    let goOn;
    const background = whenIdle(() => {
      const isMore = goOn();
      redraw();
      return isMore;
    });
    const given = read(model, redraw);
    let [kept, moved] = [{}, {}];
    const settings = () => fit({
      ...mapped(schema, (_, setting) => model.get(setting)), ...kept, ...moved,
    }, given);
    const wanted = usual();
    const tools = makeTools(frame, model, {
      usual: wanted, alone,
      // A step is in force when its sentence is asked for.
      tour: tour(words.tour ?? [], given).map(([step, changes, part]) => [
        () => sentence(step, say(
          compute(settings(), given, { whole: true }), given)),
        { ...from, ...changes }, part,
      ]),
    });
    setAll(wanted);
    const handed = {
      model, set: setAll, settings, given, redraw, frame: frame.root,
      keep(values) {
        kept = { ...kept, ...values };
        redraw();
      },
      move(values) {
        moved = values;
        update({ speak: false });
      },
    };
    const offered = typeof controls === "function"
      ? controls(given) : controls;
    const made = {
      controls: mapped(offered, (make, setting) => make({
        label: words.controls[setting], options: words.options?.[setting],
        facts: schema[setting], settings, given,
        set(value, sets) {
          setAll(sets?.(value, settings(), given) ?? { [setting]: value });
          // The reader may have moved it further than it goes.
          if (sets) showControls(settings());
        },
      })),
      pictures: mapped(pictures, (one, picture) => makePicture(
        one, picture, words.pictures[picture], setAll, settings)),
      parts: mapped(parts, (make) => make(handed)),
    };
    const others = Object.values(made.parts);
    const shown = [...Object.values(made.pictures), ...others];
    const buttons = starts && settingButtons(model, words.starts, starts);

    function showControls(now) {
      for (const [setting, one] of Object.entries(made.controls)) {
        one.show(now[setting], now);
      }
    }

    function update({ speak = true } = {}) {
      const now = settings();
      showControls(now);
      buttons?.update();
      const found = compute(now, given, { whole: false });
      const said = say(found, given);
      const reading = said && sentence(words.reading, said);
      for (const one of shown) {
        one.show?.(found, said && { ...said, reading },
          one.place && widths.of(one.place));
      }
      if ("isBusy" in found) {
        put(frame.root, "aria-busy", String(found.isBusy));
      }
      const isQuiet = found.isQuiet || others.some((one) => one.quiet?.());
      if (said) frame.read(reading, { speak: speak && !isQuiet });
      frame.publish(found.published ?? found);
      ({ goOn } = found);
      if (goOn) background.start();
      else background.stop();
    }

    const nodeOf = (one) =>
      (made.parts[one] ?? made.pictures[one] ?? made.controls[one])?.root ?? [];
    function placed(row) {
      if (Array.isArray(row)) {
        const nodes = row.flatMap(nodeOf);
        return nodes.length
          ? [html("div", { class: "vitedu-controls" }, ...nodes)] : [];
      }
      if (row === "reading") return frame.reading;
      if (row === "starts") return [buttons.root];
      if (row.more) {
        return [html("details", { class: "more" },
          html("summary", { text: row.title }), ...row.more.flatMap(placed))];
      }
      if (row.beside || row.box) {
        return [html("div", { class: row.box ?? "vitedu-beside" },
          ...(row.rows ?? row.beside).flatMap(placed))];
      }
      return [nodeOf(row)].flat();
    }

    frame.root.append(...layout.flatMap(placed), ...tools.foot);
    const widths = followWidths(
      shown.map(({ place }) => place).filter(Boolean),
      () => update({ speak: false }),
    );
    update({ speak: false });
    const ignore = onTraits(model, Object.keys(schema), () => {
      moved = {};
      redraw();
    });
    return () => {
      ignore();
      redraw.cancel();
      background.stop();
      widths.dispose();
      for (const { dispose } of others) dispose?.();
      tools.dispose();
      frame.dispose();
    };
  }

  return { render };
}
