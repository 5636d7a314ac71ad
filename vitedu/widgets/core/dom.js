// What every explorer draws with: elements, and drafts of them.

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
export function freeId(wanted) {
  let [id, number] = [wanted, 1];
  while (document.getElementById(id)) id = `${wanted}-${(number += 1)}`;
  return id;
}
