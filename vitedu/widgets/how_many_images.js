// How many training images a ViT needs, beside a CNN, as it was measured.

import { decodeArray, inRows } from "./core/arrays.js";
import { noted, panel, range, select, titled } from "./core/controls.js";
import { html, put, renew, svg, write } from "./core/dom.js";
import {
  explorer, followTraits, followWidths, setTraits,
} from "./core/frame.js";
import { numberTable } from "./core/number_table.js";
import { commas, sentence } from "./core/texts.js";
import { makeTools } from "./core/tools.js";
import WORDS from "./how_many_images.words.json" with { type: "json" };
import { nearestSize, readCurves } from "./how_many_images_maths.js";
import {
  CURVES, curveScales, curvesPicture, neededText, roughly,
} from "./how_many_images_picture.js";

// A tour of the curves of chapter 17, which one knows by their means.
const KNOWN = "97.30 49.68";

const IMAGES_TRAITS = ["num_images", "remedy"];

const tenths = (number) => number.toFixed(1).replace("-", "−");
function remedyText(name) {
  return WORDS.remedies[name] ?? sentence(WORDS.otherRemedy, { name });
}

function networksTable() {
  const table = numberTable({
    caption: WORDS.title, head: Object.values(WORDS.head), rows: WORDS.rows,
  });
  function update(found, images) {
    for (const name of Object.keys(WORDS.rows)) {
      const summary = found[name];
      const needs = name === "plain" ? commas(images)
        : summary && neededText(found.needs[name]);
      table.update(name, summary ? [
        ...["mean", "worst", "best"].map((part) => tenths(summary[part])),
        needs,
      ] : Array(4).fill(WORDS.empty));
    }
  }
  return { root: table.root, update };
}

function leadText({ points, clear }) {
  if (tenths(Math.abs(points)) === tenths(0)) return WORDS.leads.level;
  const { cnn, vit } = WORDS.networks;
  const [leader, other] = points > 0 ? [cnn, vit] : [vit, cnn];
  return sentence(clear > 0 ? WORDS.leads.clear : WORDS.leads.mixed, {
    leader, other, points: tenths(Math.abs(points)),
  });
}

function needsText({ cnn, helped, needs }, images) {
  const need = helped ? needs.helped : needs.cnn;
  const { low, high } = need;
  const kind = !Number.isFinite(need.images) ? "beyond"
    : low === high ? "first" : "between";
  return sentence(WORDS.needs[kind], {
    images: kind === "between" ? roughly(need.images) : commas(low),
    percent: tenths((helped ?? cnn).mean), low: commas(low),
    high: commas(high), times: roughly(need.images / images),
  });
}

// The rows of an array that Python sent, as plain lists.
function runsIn(array) {
  const { data, shape } = decodeArray(array);
  return inRows(data, shape[1]).map((row) => Array.from(row));
}

function render({ model, el }) {
  const frame = explorer(el, "how-many-images", WORDS.label);
  const sizes = Array.from(decodeArray(model.get("sizes")).data);
  const names = model.get("remedy_names");
  const measured = {
    sizes, vit: runsIn(model.get("vit")), cnn: runsIn(model.get("cnn")),
    remedies: runsIn(model.get("remedies")),
  };
  const seeds = measured.vit[0].length;
  const remedied = model.get("remedy_images");
  const start = readCurves(measured, remedied, -1);
  const isKnown = KNOWN === [start.cnn, start.plain]
    .map(({ mean }) => mean.toFixed(2)).join(" ");
  const tools = makeTools(frame, model, { tour: isKnown ? WORDS.tour : [] });

  // Help that was not measured with so many images cannot stay.
  const lookAt = (images) => setTraits(model, {
    num_images: images,
    remedy: images === remedied ? model.get("remedy") : "none",
  });
  const images = range({
    label: WORDS.num_images, min: 0, max: sizes.length - 1,
    value: sizes.indexOf(model.get("num_images")),
    format: (i) => commas(sizes[i]), onInput: (i) => lookAt(sizes[i]),
  });
  const remedy = select({
    label: WORDS.remedy,
    options: [["none", WORDS.none],
      ...names.map((name) => [name, remedyText(name)])],
    value: model.get("remedy"),
    onInput: (name) => setTraits(model, {
      remedy: name,
      num_images: name === "none" ? model.get("num_images") : remedied,
    }),
  });
  const picture = svg("svg", {
    role: "img", height: CURVES.height,
    onpointerdown: (event) => {
      const { x } = picture.getBoundingClientRect();
      const { imagesAt } = curveScales(sizes, widths.of(place));
      lookAt(nearestSize(sizes, imagesAt(event.clientX - x)));
    },
  });
  const place = html("div", { class: "picture" }, picture);
  const table = networksTable();
  const tableTitle = titled("");

  function update({ speak = true } = {}) {
    const count = model.get("num_images");
    // An address may ask for help with another number of images.
    const row = count === remedied ? names.indexOf(model.get("remedy")) : -1;
    const found = readCurves(measured, count, row);
    images.set(found.at);
    remedy.set(row < 0 ? "none" : names[row]);
    const width = widths.of(place);
    put(picture, "viewBox", `0 0 ${width} ${CURVES.height}`);
    renew(picture, curvesPicture(sizes, found, width));
    write(tableTitle, sentence(WORDS.table, { images: commas(count) }));
    table.update(found, count);
    const said = sentence(WORDS.reading, {
      images: commas(count), cnn: tenths(found.cnn.mean),
      vit: tenths((found.helped ?? found.plain).mean),
      remedy: row < 0 ? "" : ` ${remedyText(names[row])}`,
      lead: leadText(found.lead), needs: needsText(found, count),
    });
    put(picture, "aria-label", `${WORDS.title}. ${said}`);
    frame.read(said, { speak });
    frame.publish({
      numImages: count, remedy: row < 0 ? "none" : names[row],
      cnn: Object.values(found.cnn), plain: Object.values(found.plain),
      helped: Object.values(found.helped ?? {}),
      lead: found.lead.points, clear: found.lead.clear,
      cnnNeeds: found.needs.cnn.images,
      helpedNeeds: found.needs.helped?.images ?? "",
    });
  }

  frame.root.append(
    html("div", { class: "vitedu-controls" }, images.root, remedy.root),
    panel("of-picture", titled(WORDS.title), place,
      noted(sentence(WORDS.note, { images: commas(remedied) }))),
    ...frame.reading,
    panel("of-table", tableTitle, table.root,
      noted(sentence(WORDS.tableNote, { seeds }))),
    ...tools.foot,
  );
  const widths = followWidths([place], () => update({ speak: false }));
  update({ speak: false });
  return followTraits(
    model, IMAGES_TRAITS, update, widths.dispose, tools.dispose,
    frame.dispose,
  );
}

export default { render };
