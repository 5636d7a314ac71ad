
import WORDS from "./attention_distance.words.json" with { type: "json" };
import { patchMap } from "./attention_distance_map.js";
import { pixelText, readData } from "./attention_distance_maths.js";
import { headPlot } from "./attention_distance_plot.js";
import { noted, panel, range, select, titled } from "./core/controls.js";
import { html, write } from "./core/dom.js";
import { explorer, followTraits, setTraits } from "./core/frame.js";
import { sentence, tidy } from "./core/texts.js";
import { makeTools } from "./core/tools.js";

const STATE = [
  "step", "image", "layer", "head", "row", "column", "query", "dots",
];
const CLASS = "class token";

function tourOf(data, hasAverage) {
  const { heads, layers, uniform } = data;
  const last = data.steps.length - 1;
  const all = Array.from({ length: layers * heads }, (_, at) =>
    [Math.floor(at / heads), at % heads]);
  const distances = all.map(([layer, head]) =>
    data.ofImage(last, 0, layer, head));
  const [near, far] = [Math.min, Math.max].map((most) =>
    all[distances.indexOf(most(...distances))]);
  function stop(words, step, [layer, head], others = {}) {
    return [sentence(words, {
      step: data.steps[step], layer: layer + 1, head: head + 1,
      distance: pixelText(data.ofImage(step, 0, layer, head)),
      average: hasAverage && pixelText(data.ofAverage(step, layer, head)),
      uniform: pixelText(uniform),
    }), { query: "patch", dots: "image", image: 0, step, layer, head,
      ...others }];
  }
  return [
    stop(WORDS.tour.before, 0, near),
    stop(WORDS.tour.nearest, last, near),
    stop(WORDS.tour.farthest, last, far),
    ...(data.prefix ? [stop(WORDS.tour.byClass, last, far, { query: CLASS })] : []),
    ...(hasAverage ? [stop(WORDS.tour.average, last, near, { dots: "average" })]
      : []),
  ];
}

function render({ model, el }) {
  const data = readData(model);
  const frame = explorer(el, "attention-distance", WORDS.label);
  const tools = makeTools(frame, model, {
    tour: tourOf(data, model.get("has_average")),
  });
  const get = (name) => model.get(name);
  const plot = headPlot(data, (layer, head) => setTraits(model, { layer, head }));
  const map = patchMap(
    data,
    (row, column) => setTraits(model, { query: "patch", row, column }),
    () => setTraits(model, { query: CLASS }),
  );
  const mapTitle = titled("");
  const mapNote = noted("");

  const controls = {
    image: select({
      label: WORDS.image, value: get("image"),
      options: get("image_names").map((name, index) => [index, name]),
      onInput: (value) => setTraits(model, { image: Number(value) }),
    }),
    step: range({
      label: WORDS.step, min: 0, max: data.steps.length - 1,
      value: get("step"), format: (index) => String(data.steps[index]),
      onInput: (step) => setTraits(model, { step }),
    }),
    query: select({
      label: WORDS.query, value: get("query"),
      options: [["patch", WORDS.aPatch], [CLASS, WORDS.theClassToken]],
      onInput: (query) => setTraits(model, { query }),
    }),
    dots: select({
      label: WORDS.dots, value: get("dots"),
      options: [["image", WORDS.thisImage], ["average", WORDS.average]],
      onInput: (dots) => setTraits(model, { dots }),
    }),
  };
  const offered = ["step", "image"];
  if (data.prefix) offered.push("query");
  if (get("has_average")) offered.push("dots");

  function update({ speak = true } = {}) {
    const { step, image, layer, head, row, column, query, dots } =
      Object.fromEntries(STATE.map((name) => [name, get(name)]));
    for (const name of offered) controls[name].set(get(name));
    const ofDots = dots === "average"
      ? data.ofAverage
      : (at, ...which) => data.ofImage(at, image, ...which);
    plot.update(
      (...which) => ofDots(step, ...which), (...which) => ofDots(0, ...which),
      layer * data.heads + head,
    );

    const byClass = query === CLASS;
    const patch = row * data.columns + column;
    const weights = data.weights(
      step, image, layer, head, byClass ? 0 : data.prefix + patch,
    );
    const reach = data.patchDistance(weights, patch);
    const uniform = data.uniformFrom(patch);
    const largest = map.update(weights, {
      head, image, query: patch, byClass, reach, uniform,
    });
    const most = weights.subarray(data.prefix).indexOf(largest);
    const place = byClass
      ? [Math.floor(most / data.columns), most % data.columns] : [row, column];
    const named = {
      layer: layer + 1, head: head + 1, row: place[0] + 1, column: place[1] + 1,
    };
    write(mapTitle, sentence(WORDS.mapTitle, named));
    write(mapNote, sentence(
      byClass ? WORDS.classNote : WORDS.patchNote, { largest: tidy(largest, 2) },
    ));

    const distance = data.ofImage(step, image, layer, head);
    const sentences = [
      byClass
        ? sentence(WORDS.readClass, { ...named, weight: tidy(largest, 2) })
        : sentence(WORDS.readPatch, {
          ...named, distance: pixelText(reach), uniform: pixelText(uniform),
        }),
      sentence(WORDS.readHead, {
        distance: pixelText(distance), uniform: pixelText(data.uniform),
      }),
    ];
    if (dots === "average") {
      const average = data.ofAverage(step, layer, head);
      sentences.push(sentence(WORDS.readAverage, { distance: pixelText(average) }));
    }
    frame.read(sentences.join(" "), { speak });
    frame.publish({
      step, image, layer, head, row, column, query, distance, most,
      uniform: data.uniform, patchUniform: uniform,
      patchDistance: byClass ? "" : reach,
    });
  }

  frame.root.append(
    html("div", { class: "vitedu-controls" },
      ...offered.map((name) => controls[name].root)),
    html("div", { class: "panels" },
      panel(
        "of-heads", titled(WORDS.plotTitle), plot.root,
        noted(sentence(WORDS.plotNote, { step: data.steps[0] }) +
          (plot.startsAtZero ? "" : WORDS.zoomNote)),
      ),
      panel("of-patches", mapTitle, map.root, mapNote)),
    ...frame.reading,
    ...tools.foot,
  );
  update({ speak: false });
  return followTraits(
    model, STATE, update, plot.dispose, tools.dispose, frame.dispose,
  );
}

export default { render };
