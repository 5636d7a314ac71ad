// TODO: what it shows, in a line.

const WORDS = {
  label: "TODO explorer",
  number: "TODO: number",
  title: "TODO: its square",
  reading: "TODO: The square of {number} is {square}.",
};

function render({ model, el }) {
  const frame = explorer(el, "KEBAB", WORDS.label);
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
  );
  update({ speak: false });
  return followTraits(model, ["number"], update, frame.dispose);
}

export default { render };
