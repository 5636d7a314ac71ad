// TODO: what it shows, in a line.

const WORDS = {
  label: "TODO explorer",
  number: "TODO: number",
  title: "TODO: its square",
  reading: "TODO: The square of {number} is {square}.",
};

// TODO: four to six steps: what one sees, and the settings that show it.
const TOUR = [
  ["TODO: The square of 3 is 9.", { number: 3 }],
  ["TODO: The square of 10 is 100.", { number: 10 }],
];

function render({ model, el }) {
  const frame = explorer(el, "KEBAB", WORDS.label);
  const tools = makeTools(frame, model, { tour: TOUR });
  const number = range({
    label: WORDS.number, min: 0, max: MAX_NUMBER, format: String,
    value: model.get("number"),
    onInput: (value) => setTraits(model, { number: value }),
  });
  // The sentence below says what the picture shows.
  const picture = svg("svg", {
    class: "picture", viewBox: `0 0 ${MAX_NUMBER ** 2} 10`,
    "aria-hidden": "true",
  });

  function update({ speak = true } = {}) {
    const values = readings(model.get("number"));
    number.set(values.number);
    renew(picture, [
      draft("rect", { class: "bar", width: values.square, height: 10 }),
    ]);
    frame.read(sentence(WORDS.reading, values), { speak });
    frame.publish(values);
  }

  frame.root.append(
    html("div", { class: "vitedu-controls" }, number.root),
    panel("square", titled(WORDS.title), picture),
    ...frame.reading,
    ...tools.foot,
  );
  update({ speak: false });
  return followTraits(model, ["number"], update, tools.dispose, frame.dispose);
}

export default { render };
