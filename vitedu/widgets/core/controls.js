// Sliders, choices, fields, buttons and boxes.

import { html, newId, put, write } from "./dom.js";
import { setTraits } from "./frame.js";

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
