// What the explorers share that show a handwritten digit and what a network
// reads in it.

import { noted, panel, titled } from "./core/controls.js";
import { html, put, renew, svg, write } from "./core/dom.js";
import { later } from "./core/later.js";
import { sentence } from "./core/texts.js";
import READS from "./digit_parts.words.json" with { type: "json" };
import { inkSquares } from "./digit_picture.js";
import { makeReader } from "./follow_digit_maths.js";
import { likeliest } from "./matrices.js";

// The ten chances. Where parts are off, a line marks what the whole network
// gives.
export function chanceBars() {
  const bars = Array.from({ length: 10 }, (_, digit) => {
    const level = html("span", { class: "level" });
    const mark = html("span", { class: "whole" });
    const number = html("span", { class: "number" });
    return { level, mark, number, root: html("li", {},
      html("span", { class: "digit", text: digit }),
      html("span", { class: "track" }, level, mark), number) };
  });
  const root = html("ol", { class: "bars" }, ...bars.map((bar) => bar.root));
  function update(chances, whole) {
    bars.forEach((bar, digit) => {
      const chance = chances?.[digit];
      const isFirst = chances && digit === likeliest(chances);
      put(bar.root, "class", isFirst ? "bar first" : "bar");
      bar.level.style.transform = `scaleX(${chance ?? 0})`;
      bar.mark.hidden = !whole;
      if (whole) bar.mark.style.left = `${100 * whole[digit]}%`;
      write(bar.number, chances ? percent(chance) : "");
    });
  }
  return { root, update };
}

// The same as a part of an explorer that has `answer` and `answerNote` among
// its words, and computes `chances` and `whole`.
export const answerPanel = ({ answer, answerNote }) => () => {
  const bars = chanceBars();
  const root = panel("of-answer", titled(answer), bars.root,
    noted(answerNote));
  return { root, show: ({ chances, whole }) => bars.update(chances, whole) };
};

export function percent(chance) {
  return `${(100 * chance).toFixed(chance > 0.0995 || chance < 5e-4 ? 0 : 1)}%`;
}

// Buttons for images; `names` says what each shows, `marked` which of them get
// a red frame. `picture` draws what is on a button.
export function sampleButtons({
  label, images, names, marked, pick, picture = digitPicture,
}) {
  const buttons = images.map((ink, i) => html("button", {
    type: "button", class: marked[i] ? "sample misread" : "sample",
    "aria-label": names[i], title: names[i], onclick: () => pick(i),
  }));
  buttons.forEach((root, i) => root.append(picture(images[i])));
  const root = html("div", {
    class: "samples", role: "group", "aria-label": label,
  }, ...buttons);
  function update(chosen) {
    buttons.forEach((one, i) =>
      put(one, "aria-pressed", String(i === chosen)));
  }
  return { root, update };
}

function digitPicture(ink) {
  const root = svg("svg", { viewBox: "0 0 8 8", "aria-hidden": "true" });
  renew(root, inkSquares(ink));
  return root;
}

// The same, where one network misreads some of them.
export function answeredButtons(images, labels, answers, pick) {
  const marked = labels.map((label, i) => likeliest(answers[i]) !== label);
  const names = labels.map((label, i) =>
    sentence(marked[i] ? READS.misread : READS.sample, { label }));
  return sampleButtons({ label: READS.samples, images, names, marked, pick });
}

// Loads the weights once somebody asks for them, and makes of their bytes what
// reads a digit.
export function networkOf(model, ready, failed, make = (bytes) =>
  makeReader(bytes, model.get("layout"), model.get("config"))) {
  let asked = false;
  const network = { reader: null, ask };
  function ask() {
    if (asked) return;
    asked = true;
    later(model, "weights").then((bytes) => {
      network.reader = make(bytes);
      ready();
    }).catch((error) => {
      asked = false;
      failed(error);
    });
  }
  return network;
}

// The same, asked for at once. It tells by `redraw` that it is here, or that it
// has a `fault`.
export function networkNow(model, redraw, make) {
  const network = networkOf(model, redraw, (error) => {
    network.fault = sentence(READS.failed, { error: error.message });
    redraw();
  }, make);
  network.ask();
  return network;
}

// What an explorer computes as long as its network is not here.
export function waiting({ fault }) {
  return { isBusy: !fault, reading: fault ?? READS.loading, published: {} };
}
