// How many training images a ViT needs, beside a CNN, as it was measured.

import { decodeArray, inRows } from "./core/arrays.js";
import { noted, panel, titled } from "./core/controls.js";
import { write } from "./core/dom.js";
import { choice, defineExplorer, slider } from "./core/explorer.js";
import { numberTable } from "./core/number_table.js";
import { commas, sentence } from "./core/texts.js";
import WORDS from "./how_many_images.words.json" with { type: "json" };
import { nearestSize, readCurves } from "./how_many_images_maths.js";
import {
  CURVES, curveScales, curvesPicture, neededText, roughly,
} from "./how_many_images_picture.js";

// A tour of the curves of chapter 17, which one knows by their means.
const KNOWN = "97.30 49.68";

const tenths = (number) => number.toFixed(1).replace("-", "−");
const remedyText = (name) => WORDS.options.remedy[name]
  ?? sentence(WORDS.otherRemedy, { name });

// The rows of an array that Python sent, as plain lists.
function runsIn(array) {
  const { data, shape } = decodeArray(array);
  return inRows(data, shape[1]).map((row) => Array.from(row));
}

const read = (model) => ({
  sizes: Array.from(decodeArray(model.get("sizes")).data),
  vit: runsIn(model.get("vit")), cnn: runsIn(model.get("cnn")),
  remedies: runsIn(model.get("remedies")),
  names: model.get("remedy_names"), remedied: model.get("remedy_images"),
});

// Help that was not measured with so many images cannot stay.
function lookAt(images, { remedy }, { remedied }) {
  return { num_images: images, remedy: images === remedied ? remedy : "none" };
}

export function compute({ num_images: images, remedy }, given) {
  const found = readCurves(given, images, given.names.indexOf(remedy));
  return {
    ...found, images, remedy, given, published: {
      numImages: images, remedy, cnn: Object.values(found.cnn),
      plain: Object.values(found.plain),
      helped: Object.values(found.helped ?? {}),
      lead: found.lead.points, clear: found.lead.clear,
      cnnNeeds: found.needs.cnn.images,
      helpedNeeds: found.needs.helped?.images ?? "",
    },
  };
}

function leadText({ points, clear }) {
  if (tenths(Math.abs(points)) === tenths(0)) return WORDS.leads.level;
  const { cnn, vit } = WORDS.networks;
  const [leader, other] = points > 0 ? [cnn, vit] : [vit, cnn];
  return sentence(clear > 0 ? WORDS.leads.clear : WORDS.leads.mixed, {
    leader, other, points: tenths(Math.abs(points)),
  });
}

function needsText({ cnn, helped, needs, images }) {
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

export function say(found) {
  return {
    images: commas(found.images), cnn: tenths(found.cnn.mean),
    vit: tenths((found.helped ?? found.plain).mean),
    remedy: found.helped ? ` ${remedyText(found.remedy)}` : "",
    lead: leadText(found.lead), needs: needsText(found),
  };
}

export function rowOf(found, name) {
  const summary = found[name];
  if (!summary) return Array(4).fill(WORDS.table.empty);
  return [
    ...["mean", "worst", "best"].map((part) => tenths(summary[part])),
    name === "plain" ? commas(found.images) : neededText(found.needs[name]),
  ];
}

function networksTable({ given }) {
  const { head, rows, title, note } = WORDS.table;
  const table = numberTable({
    caption: WORDS.pictures.curves.title, head: Object.values(head), rows,
  });
  const top = titled("");
  const seeds = given.vit[0].length;
  function show(found, said) {
    write(top, sentence(title, said));
    for (const name of Object.keys(rows)) {
      table.update(name, rowOf(found, name));
    }
  }
  return { show, root: panel("of-table", top, table.root,
    noted(sentence(note, { seeds }))) };
}

export default defineExplorer("how-many-images", {
  words: WORDS,
  read,
  // An address may ask for help with another number of images.
  fit: (settings, given) => lookAt(settings.num_images, settings, given),
  controls: {
    num_images: slider({ format: commas, sets: lookAt }),
    remedy: choice({
      text: remedyText,
      sets: (remedy, { num_images: images }, { remedied }) =>
        ({ remedy, num_images: remedy === "none" ? images : remedied }),
    }),
  },
  compute, say,
  pictures: {
    curves: {
      height: CURVES.height,
      draw: (found, width) => curvesPicture(found.given.sizes, found, width),
      say: ({ given }) => ({ images: commas(given.remedied) }),
      tap(x, width, { given }, settings) {
        const { imagesAt } = curveScales(given.sizes, width);
        return lookAt(nearestSize(given.sizes, imagesAt(x)), settings, given);
      },
    },
  },
  parts: { table: networksTable },
  layout: [["num_images", "remedy"], "curves", "reading", "table"],
  tour(steps, given) {
    const { cnn, plain } = readCurves(given, given.remedied, -1);
    const means = [cnn, plain].map(({ mean }) => mean.toFixed(2)).join(" ");
    return means === KNOWN ? steps : [];
  },
});
