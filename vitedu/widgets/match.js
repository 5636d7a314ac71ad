// A scene and a sentence, and how well two encoders match them.

import { decodeArray, inRows, rowsOf } from "./core/arrays.js";
import { check, choice, defineExplorer, slider } from "./core/explorer.js";
import { fixed, sentence, tidy } from "./core/texts.js";
import { networkNow, waiting } from "./digit_parts.js";
import WORDS from "./match.words.json" with { type: "json" };
import {
  RELATIONS, SCENE, batchOf, describes, dot, idsOf, makeEncoders, mirrored,
  painted, sentenceOf, swapped, textOf,
} from "./match_maths.js";
import {
  BARS_HEIGHT, matrixHeight, pairBars, sceneDrawing, squareOfPairs,
} from "./match_pictures.js";

const DIGITS = Array.from({ length: 10 }, (_, digit) => [digit, String(digit)]);
// What the encoders read is English in every language.
const asItIs = (relation) => relation;

// Both pairs of encoders; each remembers what it has encoded.
function bothEncoders(bytes, networks) {
  return Object.fromEntries(Object.entries(networks).map(
    ([name, { layout, config }]) => {
      const { encodeImage, encodeCaption, scale } =
        makeEncoders(bytes, layout, config);
      const known = new Map();
      const once = (encode, key, input) => {
        if (!known.has(key)) known.set(key, encode(input()));
        return known.get(key);
      };
      return [name, {
        scale,
        image: (key, input) => once(encodeImage, `image ${key}`, input),
        caption: (key, input) => once(encodeCaption, key, input),
      }];
    }));
}

export function read(model, redraw) {
  const { data, shape: [, drawings] } = decodeArray(model.get("samples"));
  const pictures = inRows(data, SCENE.digit ** 2);
  return {
    words: model.get("words"),
    samples: Array.from({ length: drawings }, (_, drawing) =>
      Array.from({ length: 10 }, (_, digit) =>
        pictures[digit * drawings + drawing])),
    corners: rowsOf(model.get("corners")).map((row) => inRows(row, 4)),
    others: model.get("others").map(([first, second, relation]) =>
      ({ first, second, relation })),
    unseen: new Set(model.get("unseen").map(String)),
    measured: model.get("measured"),
    network: networkNow(model, redraw, (bytes) =>
      bothEncoders(bytes, model.get("networks"))),
  };
}

const digitsOf = ({ first, second }) => [first, second].sort().join();

// The composed pair, its mirror image, and others of different digits.
function pairsOf(scene, said, others) {
  const more = others.filter((other) => digitsOf(other) !== digitsOf(scene));
  const rest = [mirrored(scene), ...more].slice(0, SCENE.pairs - 1);
  return {
    scenes: [scene, ...rest], sentences: [said, ...rest.map(sentenceOf)],
  };
}

export function compute(settings, given) {
  const { words, samples, corners, others, network } = given;
  const { first, second, drawing, weights, temperature, bias } = settings;
  const scene = { first, second,
    relation: RELATIONS.indexOf(settings.relation) / 2 };
  const composed = { first: settings.said_first, said: settings.said,
    second: settings.said_second };
  const said = settings.swap ? swapped(composed) : composed;
  const { scenes, sentences } = pairsOf(scene, said, others);
  const pixels = scenes.map((one) =>
    painted(one, samples[drawing], corners[drawing][one.relation]));
  const shown = { settings, scene, composed, scenes, sentences, pixels };
  if (!network.reader) return { ...shown, ...waiting(network) };
  const encoders = network.reader[weights];
  const images = scenes.map((one, i) => encoders.image(
    `${drawing} ${Object.values(one)}`, () => pixels[i]));
  const captionOf = (one) => encoders.caption(
    textOf(one, words), () => idsOf(one, words));
  const cosines = images.map((image) => sentences.map((one) =>
    dot(image, captionOf(one))));
  const [before, after] = [composed, swapped(composed)].map((one) =>
    ({ text: textOf(one, words), isTrue: describes(one, scene),
      cosine: dot(images[0], captionOf(one)) }));
  const batch = batchOf(cosines, temperature, bias);
  return {
    ...shown, before, after, cosines, ...batch, isBusy: false,
    learned: 1 / encoders.scale,
    published: { ...settings, before: before.cosine, after: after.cosine,
      cosines: cosines.flat(), clip: batch.clip, siglip: batch.siglip },
  };
}

function verdictOf(before, after) {
  if (before.isTrue === after.isTrue) return "open";
  const isOfTrue = before.cosine > after.cosine === before.isTrue;
  return isOfTrue ? "right" : "wrong";
}

const percent = (share) => `${(100 * share).toFixed(0)}%`;

export function say(found, { measured, unseen, words }) {
  const { settings, scene, before, after } = found;
  if (!before) return { reading: found.reading, scene: "" };
  const counts = measured.find(({ weights, relation }) =>
    weights === settings.weights && relation === scene.relation);
  const sizes = [scene.first, scene.second].sort();
  const numbers = {
    scene: textOf(sentenceOf(scene), words),
    before: before.text, after: after.text,
    own: fixed(before.cosine, 3), other: fixed(after.cosine, 3),
    ownShare: fixed(found.rows[0][0]), otherShare: fixed(found.rows[0][1]),
    choices: counts.choices, share: percent(counts.right / counts.choices),
    clip: fixed(found.clip), siglip: fixed(found.siglip),
    temperature: tidy(settings.temperature, 2),
    learned: tidy(found.learned, 2),
    blind: fixed(Math.log(SCENE.pairs)), pairs: SCENE.pairs,
  };
  const verdict = verdictOf(before, after);
  const met = unseen.has(String(sizes)) || scene.first === scene.second
    ? "unseen" : "seen";
  return {
    ...numbers, verdict: WORDS.verdicts[verdict],
    reading: [WORDS.cosines, WORDS.verdicts[verdict], WORDS.met[met],
      WORDS.measured[scene.relation], WORDS.row, WORDS.losses]
      .map((one) => sentence(one, numbers)).join(" "),
  };
}

export default defineExplorer("match", {
  words: WORDS,
  read,
  controls: {
    first: choice({ values: DIGITS }), relation: choice({ text: asItIs }),
    second: choice({ values: DIGITS }), drawing: slider({ format: (value) => value + 1 }),
    said_first: choice({ values: DIGITS }), said: choice({ text: asItIs }),
    said_second: choice({ values: DIGITS }), swap: check(),
    weights: choice(), show: choice(),
    temperature: slider({ log: true, step: 0.01,
      format: (value) => tidy(value, 2) }),
    bias: slider({ step: 0.5, format: (value) => fixed(value, 1) }),
  },
  compute, say,
  pictures: {
    scene: { viewBox: "0 0 20 20", draw: sceneDrawing },
    pair: { height: BARS_HEIGHT, draw: pairBars },
    matrix: { height: matrixHeight, draw: squareOfPairs },
  },
  layout: [
    { beside: [
      { box: "composed", rows: [
        { box: "threes", rows: [["first", "relation", "second"],
          ["said_first", "said", "said_second"]] },
        ["swap"], ["weights", "drawing"],
        { box: "pictures", rows: ["scene", "pair"] },
      ] },
      { box: "batch", rows: [["show", "temperature", "bias"], "matrix"] },
    ] },
    "reading",
  ],
  from: { first: 2, relation: "left of", second: 7, said_first: 2,
    said: "left of", said_second: 7, swap: false, weights: "plain",
    temperature: 0.07, bias: -10, show: "cosines", drawing: 0 },
});
