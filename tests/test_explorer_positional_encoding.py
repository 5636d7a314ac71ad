"""What the explorer PositionalEncoding draws and says, run by Node."""

import re

import numpy as np
import pytest
from javascript import run

from vitedu.widgets import PositionalEncoding

RADIUS = 42
LOOK = """(() => {
  const found = compute(settings);
  const [dials, drawn] = [clocks(found), stagePicture(found, 900)];
  const isOf = (kind) => ({ attributes }) => attributes.class === kind;
  return {
    ...found.published, said: say(found),
    tips: ["hand of-p", "hand of-q"].map((hand) =>
      dials.map(({ children: [face] }) =>
        face.children.find(isOf(hand)).children[1].attributes)),
    under: dials.map(({ children: [, ...lines] }) =>
      lines.map(({ attributes }) => attributes.text)),
    lines: ["curve of-p", "curve of-q", "squared-norms"].map((kind) =>
      drawn.find(isOf(kind)).attributes.d),
  };
})()"""


def look(**changes) -> dict:
    """Return what the page shows with these settings."""
    widget = PositionalEncoding(**changes)
    settings = {name: getattr(widget, name) for name in widget.remembers}
    return run(
        "positional_encoding positional_encoding_charts",
        LOOK,
        settings=settings,
    )


@pytest.mark.parametrize(
    ("formula", "wavelengths", "says", "squares"),
    [
        (
            "paper",
            ["λ6.28", "", "λ628", ""],
            "Offset 30: dot product 1.11; every pair this far apart has the "
            "same. p and q both have the norm 1.41.",
            "It is 2.00 everywhere",
        ),
        (
            "wrong exponent",
            ["λ6.28", "λ62.8", "λ628", "λ6283"],
            "pairs this far apart have −0.33 to 1.78. p has the norm 1.43, "
            "q 1.17.",
            "It lies between",
        ),
        # Twice as many tokens: a turn takes twice as many.
        (
            "rescaled",
            ["λ3.14", "", "λ314", ""],
            " With one more token in the sentence, the encoding of p moves "
            "by 0.39.",
            "It is 2.00 everywhere",
        ),
    ],
)
def test_clocks_curves_and_words_are_those_of_the_numbers(
    formula, wavelengths, says, squares
):
    shown = look(formula=formula, d_model=4)
    rows = np.array([shown["encoding"], shown["otherEncoding"]])
    tips = [
        [[tip["cx"], -tip["cy"]] for tip in hands] for hands in shown["tips"]
    ]
    np.testing.assert_allclose(np.array(tips) / RADIUS, rows.reshape(2, 2, 2))
    pairs, *lines = zip(*shown["under"], strict=True)
    assert pairs == ("pair 0", "pair 1")
    texts = [re.sub(r"\s", "", text) for text in np.ravel(lines, "F")]
    assert texts == wavelengths
    said = shown["said"]
    assert (said["sentence"] + said["moved"]).endswith(says)
    assert (said["moved"] == "") == (formula != "rescaled")
    assert said["squaredNorms"].startswith(squares)
    p, q, norms = (
        np.array(re.findall(r"[ML][\d.]+ ([\d.]+)", line), float)
        for line in shown["lines"]
    )
    slope, start = np.polyfit(shown["similarity"], p, 1)
    assert slope < 0
    for line, values in (
        (p, shown["similarity"]),
        (q, shown["otherSimilarity"]),
        (norms, np.square(shown["norms"])),
    ):
        np.testing.assert_allclose(
            line, slope * np.array(values) + start, atol=0.02
        )
