// What an explorer remembers. Python names its settings in `_schema`: of what
// kind each is, what it may be, and what it started with. An address of the
// page says in its fragment how they differ from that:
//
//     #explorer-softmax-scaling:head_dim=512&scale=none
//
// The browser keeps the same text, so that a reader who comes back finds the
// explorer as it was; an address that speaks of it wins.

import { decodeArray, encodeArray } from "./arrays.js";
import { button } from "./controls.js";
import { html, newId, put, write } from "./dom.js";
import { onTraits, onceAFrame, setTraits } from "./frame.js";
import { keepFragment, keptFragment } from "./kept.js";
import { sentence } from "./texts.js";
import TOOLS from "./tools.words.json" with { type: "json" };

const INTEGER = /^-?\d{1,15}$/;
const NUMBER = /^-?\d{1,15}(\.\d{1,20})?(e-?\d{1,2})?$/;

// How a setting is written in an address.
export function settingText({ kind, dtype }, value) {
  if (kind === "list" || kind === "words") return value.join("_");
  if (kind !== "array") return String(value);
  const { data } = decodeArray(value);
  return dtype === "bool" ? data.join("") : Array.from(data, short).join("_");
}

// A number of four bytes: 0.1, and not 0.10000000149.
function short(number) {
  const brief = Number(number.toPrecision(7));
  return Math.fround(brief) === number ? brief : number;
}

// The value that a text stands for, or undefined if the setting has no such.
export function settingValue(facts, text) {
  const { kind, options, low, high } = facts;
  switch (kind) {
    case "flag":
      return { true: true, false: false, __proto__: null }[text];
    case "choice":
      return options.includes(text) ? text : undefined;
    case "text": {
      const fits = text.length >= low && text.length <= high
        && [...text].every((letter) => facts.letters.includes(letter));
      return fits ? text : undefined;
    }
    case "list": {
      const found = text ? text.split("_").map((one) =>
        settingNumber(INTEGER, facts, one)) : [];
      const rises = found.every((one, at) => !at || one > found[at - 1]);
      return rises && !found.includes(undefined) ? found : undefined;
    }
    case "words": {
      const found = text ? text.split("_") : [];
      const fits = found.length <= (high ?? Infinity)
        && found.every((one, at) => options.includes(one)
          && (facts.repeats || found.indexOf(one) === at));
      return fits ? found : undefined;
    }
    case "array":
      return settingArray(facts, text);
    default:
      return settingNumber(kind === "integer" ? INTEGER : NUMBER, facts, text);
  }
}

function settingNumber(pattern, { low, high, step, options }, text) {
  const number = pattern.test(text) ? Number(text) : NaN;
  // Written so that NaN fails too.
  const fits = number >= low && number <= high
    && !(step && (number - low) % step)
    && (!options || options.includes(number));
  return fits ? number : undefined;
}

function settingArray({ dtype, shape, low = 0, high = 1 }, text) {
  const pattern = dtype === "float32" ? NUMBER : INTEGER;
  const found = (dtype === "bool" ? [...text] : text.split("_")).map((one) =>
    settingNumber(pattern, { low, high }, one));
  const size = shape.reduce((product, axis) => product * axis);
  const fits = found.length === size && !found.includes(undefined);
  return fits ? packed({ dtype, shape }, found) : undefined;
}

function packed({ dtype, shape }, numbers) {
  const typed = dtype === "float32" ? Float32Array : Uint8Array;
  return encodeArray({ data: typed.from(numbers), shape }, dtype);
}

export function startOf(facts) {
  return facts.kind === "array" ? packed(facts, facts.start) : facts.start;
}

// All settings as they are where these texts, [name, text], say nothing else;
// and which of the texts say nothing that could be.
function settingsFrom(schema, texts) {
  const values = Object.fromEntries(Object.entries(schema)
    .map(([name, facts]) => [name, startOf(facts)]));
  const ignored = new Set();
  for (const [name, text] of texts) {
    const known = Object.hasOwn(schema, name);
    const value = known ? settingValue(schema[name], text) : undefined;
    if (value !== undefined) values[name] = value;
    else ignored.add(known ? name : TOOLS.unknown);
  }
  return { values, ignored: [...ignored] };
}

// What the fragment of an address says of the explorer `id`, or null.
export function readFragment(fragment, id, schema) {
  const [, name, query] = /^#([^:]*):?(.*)$/s.exec(fragment) ?? [];
  return name === id
    ? settingsFrom(schema, new URLSearchParams(query)) : null;
}

// What is as at the start, or as `usual` has it, goes without saying.
export function writeFragment(id, schema, get, usual = {}) {
  const texts = Object.entries(schema).map(([name, facts]) =>
    [name, settingText(facts, get(name)),
      settingText(facts, usual[name] ?? startOf(facts))]);
  const query = new URLSearchParams(texts.filter(([, now, start]) =>
    now !== start).map(([name, now]) => [name, now]));
  return `#${id}${String(query) && `:${query}`}`;
}

function unfold(root) {
  for (let node = root; node; node = node.parentElement) {
    if (node.matches("details:not([open])")) node.open = true;
  }
}

// Brings into sight what lies in folds, and goes on from there.
function goTo(root) {
  unfold(root);
  put(root, "tabindex", "-1");
  root.scrollIntoView();
  root.focus({ preventScroll: true });
}

// A tour: steps of [sentence, {setting: value}, part]. What a step does not
// name is as at the start. A sentence may be a function, called once that is
// drawn. `part`, which may be missing, is the class of what a step speaks of:
// it is outlined, unfolded, and comes into sight between the bar and the tour.
// `reveal` is called with its node once that is drawn.
function makeTour(frame, go, steps, { onStart, onEnd, reveal }) {
  let at = 0;
  let lit;
  const text = html("p", {
    role: "status", id: newId(),
  });
  const buttons = {
    back: button(TOOLS.back, () => show(at - 1)),
    next: button(TOOLS.next, () => show(at + 1)),
    end: button(TOOLS.end, () => {
      end();
      onEnd();
    }),
  };
  const root = html("div", {
    class: "vitedu-tour", role: "group", "aria-label": TOOLS.tour, hidden: "",
  }, text, html("div", {}, ...Object.values(buttons)));
  for (const one of [buttons.next, buttons.end]) {
    put(one, "aria-describedby", text.id);
  }
  function light(node) {
    lit?.classList.remove("vitedu-lit");
    lit = node;
    if (!lit) return;
    unfold(lit);
    lit.classList.add("vitedu-lit");
    lit.style.scrollMarginBottom = `${root.offsetHeight + 24}px`;
    lit.scrollIntoView({ block: "nearest" });
  }
  function show(step) {
    at = step;
    const [said, settings, part] = steps[at];
    const count = { step: at + 1, steps: steps.length };
    go(Object.entries(settings).map(([name, value]) =>
      [name, Array.isArray(value) ? value.join("_") : String(value)]));
    const words = (it) => sentence(TOOLS.step, count) + it;
    if (typeof said === "string") write(text, words(said));
    // The explorer has asked for this frame before.
    requestAnimationFrame(() => {
      if (typeof said === "function") write(text, words(said()));
      const node = part && frame.root.querySelector(`.${part}`);
      reveal(node);
      light(node);
    });
    buttons.back.disabled = at === 0;
    buttons.next.disabled = at === steps.length - 1;
    if (buttons.next.disabled) buttons.end.focus();
    else if (buttons.back.disabled) buttons.next.focus();
  }
  function start() {
    onStart();
    root.hidden = false;
    frame.root.scrollIntoView();
    show(0);
  }
  function end() {
    root.hidden = true;
    light();
  }
  return { root, start, end };
}

// The tools at the foot of an explorer. They set what an address asks for, so
// they are made before the explorer looks at its settings. `usual` has what
// this reader's browser starts with in place of what the page gives; `alone`
// says whether the site has a page with this explorer alone. `reveal` brings
// into sight what an address or a tour has asked for, a node or nothing, and
// `onTour` hears that the tour begins.
export function makeTools(frame, model, {
  tour = [], usual = {}, alone = true, reveal = () => {}, onTour = () => {},
} = {}) {
  const schema = model.get("_schema");
  const { root: place } = frame;
  const { id } = place;
  // In a notebook the address is that of JupyterLab, in a deck that of a slide.
  const onPage = globalThis.viteduWidgetState && !place.closest(".reveal");
  // What another site frames starts as that site wants it.
  const keeps = onPage && !place.closest(".embed");
  const said = html("span", { class: "vitedu-said", role: "status" });
  const buttons = [button(TOOLS.again, () => {
    setTraits(model, { ...settingsFrom(schema, []).values, ...usual });
    reveal();
    write(said, TOOLS.restarted);
  })];
  const steps = makeTour(
    frame, (texts) => setTraits(model, settingsFrom(schema, texts).values),
    tour, { onStart: onTour, onEnd: () => start.focus(), reveal },
  );
  const start = button(TOOLS.take, steps.start);
  if (tour.length) buttons.unshift(start);
  if (onPage) buttons.push(button(TOOLS.copy, copy));
  // Other sites can frame what stands on one.
  if (onPage && alone && location.protocol !== "file:") {
    buttons.push(button(TOOLS.embed, embed));
  }
  // For a projector: a frame in a page of another site cannot fill the screen.
  const large = new URLSearchParams(location.search).has("large");
  function enlarge(full) {
    place.classList.toggle("vitedu-large", full || large);
  }
  enlarge(false);
  if (document.fullscreenEnabled) buttons.push(fullScreen(place, enlarge));

  const fragment = () => writeFragment(id, schema, (name) => model.get(name));
  async function embed() {
    const { content_root: top = "./" } = document.documentElement.dataset;
    const name = id.replace("explorer-", "");
    const { href } = new URL(`${top}embed/${name}.html${fragment()}`, location);
    const code = `<iframe src="${href.replaceAll("&", "&amp;")}" `
      + `title="${place.ariaLabel}" width="100%" `
      + `height="${place.offsetHeight + 90}" loading="lazy"></iframe>`;
    write(said, await isCopied(code) ? TOOLS.embedded
      : sentence(TOOLS.notEmbedded, { code }));
  }
  async function copy() {
    const link = location.href.replace(/(#.*)?$/s, "") + fragment();
    if (await isCopied(link)) {
      write(said, TOOLS.copied);
    } else {
      history.replaceState(null, "", link);
      write(said, TOOLS.inBar);
    }
  }
  function arrive() {
    const asked = readFragment(location.hash, id, schema);
    if (!asked) return false;
    setTraits(model, asked.values);
    requestAnimationFrame(() => {
      reveal();
      goTo(place);
      const names = asked.ignored.join(", ");
      write(said, names && sentence(TOOLS.ignored, { names }));
    });
    return true;
  }
  function comeBack() {
    const kept = readFragment(keptFragment(id), id, schema);
    if (!kept) return;
    setTraits(model, kept.values);
    requestAnimationFrame(() => reveal());
  }
  // A link to where the address leads already changes no address.
  function onClick({ target }) {
    if (target.closest?.("a[href]")?.href === location.href) arrive();
  }
  // What was said holds until something changes.
  const keep = onceAFrame(() => keepFragment(id,
    writeFragment(id, schema, (name) => model.get(name), usual)));
  const ignore = onTraits(model, Object.keys(schema), () => {
    write(said, "");
    if (keeps) keep();
  });
  if (onPage) {
    if (!arrive() && keeps) comeBack();
    addEventListener("hashchange", arrive);
    addEventListener("click", onClick);
  }
  function dispose() {
    ignore();
    keep.cancel();
    removeEventListener("hashchange", arrive);
    removeEventListener("click", onClick);
  }
  const row = html("div", { class: "vitedu-tools" }, ...buttons, said);
  return { foot: [steps.root, row], endTour: steps.end, dispose };
}

// Puts a text where the reader can paste it from; not every browser lets it.
async function isCopied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

function fullScreen(place, onChange) {
  const isFull = () => document.fullscreenElement === place;
  const toggle = button(TOOLS.full, () =>
    (isFull() ? document.exitFullscreen() : place.requestFullscreen()));
  // The browser leaves it by keys and gestures of its own, too.
  place.addEventListener("fullscreenchange", () => {
    write(toggle, isFull() ? TOOLS.notFull : TOOLS.full);
    onChange(isFull());
  });
  return toggle;
}
