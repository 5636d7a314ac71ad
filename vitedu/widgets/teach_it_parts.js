// What is neither a setting nor a chart in the explorer TeachIt: classes and
// their photographs, a photograph that is classified, files.

import { button, noted, panel, textField, titled } from "./core/controls.js";
import { draft, html, put, renew, write } from "./core/dom.js";
import { sentence, tidy } from "./core/texts.js";
import {
  filePicker, photographButtons, progressLine,
} from "./photograph_door.js";
import WORDS from "./teach_it.words.json" with { type: "json" };
import { MOST_BYTES, readHead, writeHead } from "./teach_it_file.js";
import { patchMap } from "./teach_it_pictures.js";
import { MOST } from "./teach_it_studio.js";

const FILE = "head.safetensors";
export const percent = (share) => `${tidy(100 * share, 2)}%`;

// Children that are there already stay as they are.
function place(root, nodes) {
  const same = nodes.length === root.childNodes.length
    && nodes.every((node, i) => node === root.childNodes[i]);
  if (!same) root.replaceChildren(...nodes);
}

// What begins and goes on, how far it is, and what went wrong.
export function door({ given: { studio } }) {
  const start = button("", studio.open);
  const again = button("", studio.goOn);
  const line = progressLine();
  const fault = html("p", { class: "fault", role: "status" });
  const about = html("p", {
    class: "about", text: studio.canLoad ? WORDS.about : WORDS.absent,
  });
  const root = html("div", { class: "door" }, about, start, again, line.root,
    fault);
  function show() {
    const { busy, opened, isPaused, set } = studio;
    start.hidden = !studio.canLoad || Boolean(opened || busy);
    write(start, WORDS.start[set]);
    const left = studio.pending().length;
    again.hidden = !(isPaused && left && !busy);
    write(again, sentence(WORDS.goOn, { left }));
    if (busy) line.go(busy.words, busy.share, busy.stop);
    else line.rest();
    write(fault, studio.fault);
  }
  return { root, show };
}

// The photographs of a class, small. Those of a reader can be removed.
function thumbnails(studio, one, isOwn) {
  const root = html("div", { class: "thumbnails" });
  const made = new Map();
  function nodeOf(photograph) {
    if (!made.has(photograph)) {
      const how = { class: "thumbnail" };
      made.set(photograph, isOwn ? html("button", {
        ...how, type: "button", onclick: () => studio.forget(photograph),
      }, photograph.thumbnail) : html("span", how, photograph.thumbnail));
    }
    return made.get(photograph);
  }
  function show(mistakes) {
    place(root, one.photographs.map(nodeOf));
    one.photographs.forEach((photograph, at) => {
      const node = nodeOf(photograph);
      const wrong = mistakes.get(photograph);
      node.classList.toggle("pending", !photograph.means);
      node.classList.toggle("mistaken", wrong !== undefined);
      const words = wrong === undefined ? "" : sentence(WORDS.mistaken,
        { name: one.name, wrong });
      put(node, "title", words);
      if (isOwn) {
        put(node, "aria-label", sentence(WORDS.remove,
          { number: at + 1, name: one.name }) + (words && ` ${words}`));
      }
    });
  }
  return { root, show };
}

function dropZone(root, onFiles) {
  root.addEventListener("dragover", (event) => event.preventDefault());
  root.addEventListener("drop", (event) => {
    const files = [...event.dataTransfer.files];
    if (!files.length) return;
    event.preventDefault();
    event.stopPropagation();
    onFiles(files);
  });
}

function nameField(studio, one) {
  function read(text) {
    const value = text.trim();
    if (!value) return { fault: WORDS.noName };
    const others = studio.classes().filter((it) => it !== one);
    return others.some(({ name }) => name === value)
      ? { fault: WORDS.sameName } : { value };
  }
  const field = textField({
    label: WORDS.name, read, maxlength: 60,
    onValue: (name) => {
      one.name = name;
      studio.changed();
    },
  });
  field.set(one.name);
  return html("div", { class: "name" }, field.root, field.fault);
}

function classRow(studio, one, isOwn) {
  const small = thumbnails(studio, one, isOwn);
  const count = html("span", { class: "count" });
  const away = button(WORDS.removeClass, () => studio.removeClass(one));
  const add = (files) => studio.add(one, files);
  const head = isOwn ? [nameField(studio, one), html("div", { class: "offer" },
    ...photographButtons(WORDS.add, add, { multiple: "" }), away, count)]
    : [html("p", { class: "name" }, html("strong", { text: one.name }),
      " ", count)];
  const root = html("div", { class: "class" }, ...head, small.root);
  if (isOwn) dropZone(root, add);
  function show(mistakes) {
    small.show(mistakes);
    write(count, sentence(isOwn ? WORDS.countOf : WORDS.count,
      { count: one.photographs.length, most: MOST.photographs }));
    away.hidden = studio.classes().length <= 2;
  }
  return { root, show };
}

// The classes with their photographs.
export function classes({ given: { studio } }) {
  const sets = Object.keys(studio.sets).map((set) => {
    const root = button(WORDS.sets[set], () => studio.choose(set));
    return { set, root };
  });
  const rows = new Map();
  const list = html("div", { class: "classes" });
  const more = button(WORDS.addClass, studio.addClass);
  const note = noted("");
  const root = panel("of-classes", titled(WORDS.classes),
    html("div", { class: "vitedu-settings", role: "group",
      "aria-label": WORDS.classes }, ...sets.map((one) => one.root)),
    list, more, note);
  function rowOf(one) {
    if (!rows.has(one)) {
      rows.set(one, classRow(studio, one, studio.set === "own"));
    }
    return rows.get(one);
  }
  function show({ mistakes, evidence }) {
    const isOwn = studio.set === "own";
    root.hidden = !studio.canLoad;
    for (const { set, root: one } of sets) {
      put(one, "aria-pressed", String(set === studio.set));
    }
    place(list, studio.classes().map((one) => rowOf(one).root));
    for (const one of studio.classes()) rowOf(one).show(mistakes);
    more.hidden = !isOwn || studio.classes().length >= MOST.classes;
    write(note, (isOwn ? WORDS.ownNote : WORDS.builtInNote)
      + (evidence ? ` ${WORDS.mistakenNote}` : ""));
  }
  return { root, show };
}

// A photograph to be classified, and the probabilities of its classes.
export function asked({ given: { studio }, set }) {
  const list = html("div", { class: "thumbnails" },
    ...studio.unseen.map((one, at) => html("button", {
      type: "button", class: "thumbnail",
      "aria-label": sentence(WORDS.unseen, { number: at + 1 }),
      onclick: () => studio.ask(one),
    }, one.thumbnail)));
  const offer = html("div", { class: "offer" },
    ...photographButtons(WORDS.choose, ([file]) => studio.ask(file)));
  const rows = html("div", {
    class: "chances", role: "group", "aria-label": WORDS.chances,
    onclick: ({ target }) => {
      const at = target.closest("[data-at]")?.getAttribute("data-at");
      if (at) set({ shown: Number(at) });
    },
  });
  const root = panel("of-asked", titled(WORDS.asked), list, offer,
    noted(WORDS.drop), rows);
  function show({ answer, names, shown }) {
    root.hidden = !studio.opened;
    list.hidden = studio.set !== "builtIn";
    [...list.children].forEach((node, at) =>
      put(node, "aria-pressed", String(studio.unseen[at] === studio.asked)));
    renew(rows, (answer?.chances ?? []).map((chance, at) => draft("button", {
      type: "button", class: "chance", "data-at": at + 1,
      "aria-pressed": String(at === shown),
    }, draft("span", { class: "who", text: names[at] }),
    draft("span", { class: "level",
      style: `--share:${(100 * chance).toFixed(2)}%` }),
    draft("span", { class: "number", text: percent(chance) }))));
  }
  return { root, show };
}

// What each patch adds to the score of a class.
export function map() {
  const drawn = patchMap();
  const [title, note] = [titled(""), noted("")];
  const root = panel("of-map", title, drawn.root, note);
  function show({ parts, square }, said) {
    root.hidden = !parts;
    if (!parts) return;
    write(title, sentence(WORDS.mapTitle, said));
    write(note, sentence(WORDS.mapNote, said));
    drawn.show(square, parts, sentence(WORDS.mapLabel, said));
  }
  return { root, show };
}

function download(bytes) {
  const address = URL.createObjectURL(
    new Blob([bytes], { type: "application/octet-stream" }));
  html("a", { href: address, download: FILE }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

// Saves the head, and takes one that was saved.
export function file({ given: { studio } }) {
  let head = null;
  async function read([chosen]) {
    studio.fault = "";
    try {
      const bytes = chosen.size > MOST_BYTES ? new Uint8Array(MOST_BYTES + 1)
        : new Uint8Array(await chosen.arrayBuffer());
      studio.loaded = readHead(bytes, studio.sizes());
      studio.changed();
    } catch (error) {
      studio.complain(sentence(WORDS.fileFaults[error.kind] ?? error.message,
        error.values ?? {}));
    }
  }
  const picker = filePicker({ accept: ".safetensors" }, read);
  const save = button(WORDS.save, () =>
    download(writeHead(head, studio.sizes().imageSize)));
  const back = button(WORDS.back, () => {
    studio.loaded = null;
    studio.changed();
  });
  const note = noted("");
  const root = panel("of-file", html("div", { class: "offer" }, save,
    button(WORDS.load, () => picker.click()), back, picker), note);
  function show(found) {
    head = found.head;
    root.hidden = !studio.opened;
    save.disabled = !head;
    back.hidden = !studio.loaded;
    write(note, studio.loaded ? sentence(WORDS.loaded, {
      names: head.names.join(", "), block: head.block,
    }) : WORDS.fileNote);
  }
  return { root, show };
}
