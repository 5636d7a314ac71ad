// Helpers that every explorer uses. This text stands before an explorer's own
// script, in the same module.

const SVG = "http://www.w3.org/2000/svg";
// What an edition in another language shows in the place of a word that is
// the name of something, too; its build fills this in.
const PHRASES = new Map();
const SPOKEN = new Set(["alt", "aria-label", "title"]);
// Each explorer has a script of its own, and a page may show several.
export function newId() {
  globalThis.viteduIds = (globalThis.viteduIds ?? 0) + 1;
  return `vitedu-${globalThis.viteduIds}`;
}

export function phrased(text) {
  return PHRASES.get(text) ?? text;
}

export function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "text") node.textContent = phrased(value);
    else node.setAttribute(name, SPOKEN.has(name) ? phrased(value) : value);
  }
  node.append(...children.map(phrased));
  return node;
}

export function html(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

// A text that stays as it is costs the browser nothing.
export function write(node, text) {
  const words = phrased(text);
  if (node.textContent !== String(words)) node.textContent = words;
}

// Nor does an attribute.
export function put(node, name, value) {
  if (node.getAttribute(name) !== value) node.setAttribute(name, value);
}

// The path of a map of weights, a row for each query: in each place of side
// `cell` a square whose area is the weight. One path with many squares is drawn
// much sooner than many squares of their own.
export function weightSquares(rows, cell = 1) {
  let path = "";
  rows.forEach((weights, down) => weights.forEach((weight, right) => {
    const side = 0.94 * Math.sqrt(weight);
    const [x, y, s] = [right + (1 - side) / 2, down + (1 - side) / 2, side]
      .map((size) => Number((cell * size).toFixed(5)));
    path += `M${x} ${y}h${s}v${s}h-${s}z`;
  }));
  return path;
}

// A typed array in rows.
export function inRows(data, columns) {
  return Array.from({ length: data.length / columns }, (_, row) =>
    data.subarray(row * columns, (row + 1) * columns));
}

// What `svg` or `html` would make, written down only. It takes much less time
// to compare two of these than to make and compare nodes.
export function draft(tag, attributes = {}, ...children) {
  return { tag, attributes, children };
}

const drafted = new WeakMap();

// Gives `node` the children that drafts describe. Of those that it got the
// last time, the ones of the same kind stay and take over what differs, as the
// browser lays out and draws again only that. `node` has no other children.
export function renew(node, drafts) {
  const before = drafted.get(node) ?? [];
  drafted.set(node, drafts);
  drafts.forEach((now, i) => {
    const old = before[i];
    const stays = old?.tag === now.tag
      && ("text" in old.attributes) === ("text" in now.attributes);
    const child = stays ? node.childNodes[i] : elementIn(node, now.tag);
    if (!stays && old) node.childNodes[i].replaceWith(child);
    else if (!stays) node.append(child);
    change(child, stays ? old.attributes : {}, now.attributes);
    if (now.children.length || drafted.has(child)) {
      renew(child, now.children);
    }
  });
  for (let i = drafts.length; i < before.length; i += 1) {
    node.lastChild.remove();
  }
}

function elementIn(parent, tag) {
  const space = tag === "svg" ? SVG : parent.namespaceURI;
  return document.createElementNS(space, tag);
}

function change(node, before, now) {
  for (const name of Object.keys(before)) {
    if (!(name in now)) node.removeAttribute(name);
  }
  for (const name of Object.keys(now)) {
    if (now[name] === before[name]) continue;
    if (name === "text") node.textContent = phrased(now.text);
    else node.setAttribute(name, now[name]);
  }
}

// An address leads to the first explorer of its kind on a page.
function freeId(wanted) {
  let [id, number] = [wanted, 1];
  while (document.getElementById(id)) id = `${wanted}-${(number += 1)}`;
  return id;
}

// The frame of an explorer, with the line that says its current reading. The
// visible line follows every movement; screen readers get the sentence once
// the reader has stopped moving.
export function explorer(el, name, label) {
  const visible = html("p", {
    class: "vitedu-reading", "aria-hidden": "true",
  });
  const spoken = html("p", { class: "vitedu-hidden", "aria-live": "polite" });
  // No <section>: a deck of slides takes each for a slide.
  const root = html("div", {
    role: "region", id: freeId(`explorer-${name}`),
    class: `vitedu-explorer vitedu-${name}`, "aria-label": label,
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

function control(label, input, output) {
  input.id = newId();
  const head = html(
    "div", { class: "vitedu-control-head" },
    html("label", { for: input.id, text: label }), ...(output ? [output] : []),
  );
  return html("div", { class: "vitedu-control" }, head, input);
}

// A slider. `log: true` gives every doubling the same length; the arrow keys
// then still move by `step`, and Page Up and Page Down double and halve.
export function range({ label, min, max, step = 1, value, log, format, onInput }) {
  const output = html("output", { "aria-hidden": "true" });
  const input = html("input", {
    type: "range",
    min: log ? 0 : min, max: log ? 1 : max, step: log ? "any" : step,
    oninput: () => move(fromSlider(Number(input.value))),
    onkeydown: log ? onKey : () => {},
  });
  const root = control(label, input, output);
  let current = value;

  function fromSlider(position) {
    return log ? min * (max / min) ** position : position;
  }
  function rounded(number) {
    const steps = Math.round((number - min) / step);
    const tidy = Number((min + steps * step).toFixed(6));
    return Math.min(max, Math.max(min, tidy));
  }
  function set(number) {
    current = number;
    input.value = log ? Math.log(number / min) / Math.log(max / min) : number;
    const said = String(format(number));
    write(output, said);
    put(input, "aria-valuetext", said);
  }
  function move(number) {
    set(rounded(number));
    onInput(current);
  }
  function onKey(event) {
    const moved = {
      ArrowRight: current + step, ArrowUp: current + step,
      ArrowLeft: current - step, ArrowDown: current - step,
      PageUp: current * 2, PageDown: current / 2, Home: min, End: max,
    }[event.key];
    if (moved === undefined) return;
    event.preventDefault();
    move(moved);
  }
  // For a slider whose end depends on another; not for one with `log`.
  function setMax(number) {
    if (number !== max) input.max = number;
    max = number;
  }
  set(value);
  return { root, input, set, setMax };
}

// `options` is a list of [value, text].
export function select({ label, options, value, onInput }) {
  const input = html(
    "select", { onchange: () => onInput(input.value) },
    ...options.map(([key, text]) => html("option", { value: key, text })),
  );
  const root = control(label, input);
  input.value = value;
  return { root, input, set: (key) => (input.value = key) };
}

// A line to type in. `read` turns its text into {value} or into {fault}, which
// is said below; `onFault` hears of it, and "" when there is none any more.
export function textField({
  label, read, onValue, onFault = () => {}, ...attributes
}) {
  const fault = html("p", {
    class: "vitedu-fault", id: newId(), role: "status",
  });
  const input = html("input", {
    type: "text", autocomplete: "off", "aria-describedby": fault.id,
    oninput: () => {
      const found = read(input.value);
      complain(found.fault);
      if (!found.fault) onValue(found.value);
    }, ...attributes,
  });
  function complain(text = "") {
    write(fault, text);
    input.setAttribute("aria-invalid", text !== "");
    onFault(text);
  }
  // Shows what did not come from the reader.
  function set(text) {
    input.value = text;
    complain();
  }
  return { root: control(label, input), input, fault, set };
}

export function button(label, onClick) {
  return html("button", {
    type: "button", class: "vitedu-button", text: label, onclick: onClick,
  });
}

// Buttons for named settings, {name: {trait: value}}; those that hold are
// pressed.
export function settingButtons(model, label, settings) {
  const buttons = Object.entries(settings).map(([name, traits]) => ({
    traits, root: button(name, () => setTraits(model, traits)),
  }));
  const root = html(
    "div", { class: "vitedu-settings", role: "group", "aria-label": label },
    ...buttons.map((one) => one.root),
  );
  function update() {
    for (const { traits, root: pressed } of buttons) {
      const holds = Object.entries(traits).every(([name, value]) =>
        model.get(name) === value);
      put(pressed, "aria-pressed", String(holds));
    }
  }
  return { root, update };
}

export function checkbox(label, onInput) {
  const input = html("input", {
    type: "checkbox", onchange: () => onInput(input.checked),
  });
  const root = html("label", { class: "check" }, input, label);
  return { root, set: (value) => (input.checked = value) };
}

// A box for a part of an explorer, and the lines that explain it.
export function panel(name, ...children) {
  return html("div", { class: `vitedu-panel ${name}` }, ...children);
}

export function titled(text) {
  return html("p", { class: "vitedu-panel-title", text });
}

export function noted(text) {
  return html("p", { class: "vitedu-panel-note", text });
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

// For places in a drawing; much quicker than toFixed().
export function hundredths(number) {
  return Math.round(100 * number) / 100;
}

// Calls `work`, which does a bit of a few milliseconds at most and tells
// whether more is left, while the page has nothing else to do. A browser that
// does not know when that is does a bit now and then.
export function whenIdle(work) {
  const [ask, cancel] = globalThis.requestIdleCallback
    ? [requestIdleCallback, cancelIdleCallback]
    : [(go) => setTimeout(go, 50), clearTimeout];
  let asked;
  function go(deadline) {
    let more = work();
    while (more && deadline?.timeRemaining() > 5) more = work();
    if (more) start();
  }
  function start() {
    cancel(asked);
    asked = ask(go);
  }
  return { start, stop: () => cancel(asked) };
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

// A number in about `digits` significant digits, as a person would write it.
export function tidy(number, digits = 3) {
  if (number === 0) return "0";
  if (number === -Infinity) return "−∞";
  const size = Math.abs(number);
  if (size < 1e-3 || size >= 1e5) {
    const [mantissa, power] = number.toExponential(1).split("e");
    return `${mantissa} × 10${superscript(Number(power))}`;
  }
  const decimals = Math.max(0, digits - 1 - Math.floor(Math.log10(size)));
  return number.toFixed(decimals).replace("-", "−");
}

export function superscript(integer) {
  const signs = { "-": "⁻", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴",
    5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" };
  return [...String(integer)].map((sign) => signs[sign]).join("");
}

// The words of a sentence around its numbers: "{n} keys", {n: 4} -> "4 keys".
// Of the digits, 8 alone begins like a vowel.
export function sentence(template, values) {
  return phrased(template)
    .replace(/\{(\w+)\}/g, (_, key) => phrased(values[key]))
    .replace(/\b([aA]) (?=8\b)/g, "$1n ");
}

// {data: DataView, shape, dtype} as Python sent it -> {data: typed, shape}.
export function decodeArray({ data, shape, dtype }) {
  const bytes = data.buffer.slice(
    data.byteOffset, data.byteOffset + data.byteLength,
  );
  const typed = {
    float64: Float64Array, float32: Float32Array, int32: Int32Array,
    uint8: Uint8Array, float16: Uint16Array, bool: Uint8Array,
  }[dtype];
  if (!typed) throw new TypeError(`cannot decode an array of ${dtype}`);
  const raw = new typed(bytes);
  return { data: dtype === "float16" ? fromHalf(raw) : raw, shape };
}

// The way back, for an array that the page changed: `data` is typed as Python
// had sent it (not float16).
export function encodeArray({ data, shape }, dtype) {
  const { buffer, byteOffset, byteLength } = data;
  return { data: new DataView(buffer, byteOffset, byteLength), shape, dtype };
}

// IEEE 754 half precision: 1 bit sign, 5 bits exponent, 10 bits fraction.
export function fromHalf(halves) {
  return Float32Array.from(halves, (half) => {
    const sign = half & 0x8000 ? -1 : 1;
    const exponent = (half >> 10) & 0x1f;
    const fraction = half & 0x3ff;
    if (exponent === 0) return sign * fraction * 2 ** -24;
    return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
  });
}

// Numbers in [0, 1) from a seed: mulberry32.
export function uniformNumbers(seed) {
  let state = seed >>> 0;
  return function next() {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

// Standard normal numbers from a seed, by Box and Muller.
export function normalNumbers(seed, uniform = uniformNumbers(seed)) {
  let spare = null;
  return function next() {
    if (spare !== null) {
      const kept = spare;
      spare = null;
      return kept;
    }
    const radius = Math.sqrt(-2 * Math.log(1 - uniform()));
    const angle = 2 * Math.PI * uniform();
    spare = radius * Math.sin(angle);
    return radius * Math.cos(angle);
  };
}

export function softmax(scores) {
  let largest = -Infinity;
  for (const score of scores) largest = Math.max(largest, score);
  // Not from() and map(): they take five times as long.
  const weights = new Float64Array(scores.length);
  let total = 0;
  for (let i = 0; i < weights.length; i++) {
    weights[i] = Math.exp(scores[i] - largest);
    total += weights[i];
  }
  for (let i = 0; i < weights.length; i++) weights[i] /= total;
  return weights;
}

// In nats; a weight of zero adds nothing.
export function entropy(weights) {
  let sum = 0;
  for (const weight of weights) {
    if (weight > 0) sum -= weight * Math.log(weight);
  }
  return sum;
}

export function erf(x) {
  if (Math.abs(x) > 6) return Math.sign(x);
  let [sum, term] = [x, x];
  for (let n = 1; Math.abs(term) > 1e-17 * Math.abs(sum); n += 1) {
    term *= (2 * x * x) / (2 * n + 1);
    sum += term;
  }
  return (2 / Math.sqrt(Math.PI)) * Math.exp(-x * x) * sum;
}

export function gelu(x) {
  return (x * (1 + erf(x * Math.SQRT1_2))) / 2;
}
