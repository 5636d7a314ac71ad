"""What the explorer HeadViewer finds, says and draws, against torch."""

import re

import numpy as np
import pytest
import torch
from explorers import head_viewer as make
from explorers import rows_of_weights
from javascript import run

from vitedu.widgets import HeadViewer

HEADS, KEYS = 3, 5
TOLERANCE = 1e-5
WEIGHTS = rows_of_weights(2, HEADS, KEYS, KEYS)
SCRIPTS = "head_viewer_maths head_viewer_lines head_viewer_maps head_viewer"
VIEWS = """(() => {
  const model = modelOf(sent);
  const given = readData(model);
  return views.map((view) => {
    const settings = Object.fromEntries(["layer", "query", "heads", "word"]
      .map((name) => [name, view[name] ?? model.get(name)]));
    const found = compute(settings, given);
    const draws = (drafts) => drafts.map(({ attributes: a }) => a);
    const { curves, bars } = linesOf(found);
    return {
      ...found.published, words: found.data.words, texts: headTexts(found),
      reading: say(found).reading, inWords: barsInWords(found),
      curves: draws(curves), bars: draws(bars),
      maps: found.data.all.map((head) =>
        mapPath(found.data, found.layer, head)),
    };
  });
})()"""


def shown(widget: HeadViewer, *views: dict) -> list[dict]:
    return run(SCRIPTS, VIEWS, sent=widget.get_state(), views=[*views])


def drawn(marks: list[dict], *names: str) -> np.ndarray:
    """Return numbers of each line or bar, (name, head, key)."""
    numbers = [[mark[name] for mark in marks] for name in names]
    return np.array(numbers, float).reshape(len(names), HEADS, -1)


def numbers_in(pattern: str, paths: list[str]) -> np.ndarray:
    return np.array([re.findall(pattern, path) for path in paths], float)


def test_lines_bars_and_squares_stand_for_the_weights():
    (found,) = shown(make(query=3, heads=[0, 2]), {})
    rows = WEIGHTS[0, :, 3].copy()
    rows[1] = 0
    width, opacity = drawn(found["curves"], "stroke-width", "stroke-opacity")
    np.testing.assert_allclose(width, 9 * rows, atol=TOLERANCE)
    assert (np.argsort(opacity, None) == np.argsort(rows, None)).all()
    bars, y, height = drawn(found["bars"], "width", "y", "height")
    np.testing.assert_allclose(bars, rows, atol=TOLERANCE)
    # Each line goes from the query to the middle of the bar of its key.
    paths = [line["d"] for line in found["curves"]]
    ends = numbers_in(r"^M0 (.*)C.* 100 (.*)$", paths)
    starts, ends = ends.reshape(HEADS, KEYS, 2).transpose(2, 0, 1)
    np.testing.assert_array_equal(np.floor(starts), 3)
    np.testing.assert_allclose(ends, y + height / 2, atol=1e-6)
    assert (np.floor(ends) == np.arange(KEYS)).all()
    areas = numbers_in(r"h([\d.]+)v", found["maps"]) ** 2 / 0.94**2
    squares = WEIGHTS[0].reshape(HEADS, -1)
    np.testing.assert_allclose(areas, squares, atol=TOLERANCE)


def test_it_says_what_each_head_does():
    widget = make(query=1, heads=[0, 2])
    found, hidden = shown(widget, {}, {"heads": []})
    rows = torch.tensor(WEIGHTS[0, :, 1])
    entropies = torch.special.entr(rows).sum(-1)
    most, offsets = rows.argmax(-1), rows @ (torch.arange(5.0) - 1)
    for head, texts in enumerate(found["texts"]):
        place = most[head]
        assert texts == {
            "most": f"{place + 1} “{widget.tokens[place]}”",
            "largest": f"{rows[head].max():.2f}",
            "entropy": f"{entropies[head]:.2f}",
            "offset": f"{offsets[head]:+.2f}".replace("-", "\N{MINUS SIGN}"),
        }
        numbers = zip("abcbe", rows[head], strict=True)
        bars = ", ".join(f"{word} {x:.2f}" for word, x in numbers)
        is_shown = head in widget.heads
        assert (f"Head {head + 1}: {bars}." in found["inWords"]) == is_shown
        look = f"{texts['most'].replace(' ', ', ')} ({texts['largest']})."
        says = f"Head {head + 1} looks most at token {look}"
        assert (says in found["reading"]) == is_shown
    assert hidden["reading"] == "Token 2, “b”. All heads are hidden."


def test_a_word_has_the_weights_of_its_letters_and_places():
    parts = np.random.default_rng(0).normal(0, 1.5, (2, HEADS, 3 + 6, 4))
    widget = HeadViewer.of_letters("abc", *parts, {"one": "abcab"}, query=4)
    views = [{"word": word} for word in ("abcab", "bbacca", "cab")]
    for view, found in zip(views, shown(widget, *views), strict=True):
        word, query = view["word"], min(4, len(view["word"]) - 1)
        assert (found["words"], found["query"]) == (list(word), query)
        ids = ["abc".index(letter) for letter in word]
        q, k = torch.tensor(parts[:, :, ids] + parts[:, :, 3 : 3 + len(word)])
        weights = (q @ k.mT / 2).softmax(-1)  # (head, query, key)
        (bars,) = drawn(found["bars"], "width")
        np.testing.assert_allclose(bars, weights[:, query], atol=TOLERANCE)


@pytest.mark.parametrize(
    ("letters", "parts", "word", "named"),
    [
        ("abc", 9, "abd", "word must be 2 to 6 letters of 'abc'"),
        ("aba", 9, "ab", "letters must be 2 to 64 different ones"),
        ("abc", 4, "ab", "asking and offering must have one shape"),
    ],
)
def test_letters_words_and_parts_must_fit(letters, parts, word, named):
    numbers = np.zeros((HEADS, parts, 4))
    with pytest.raises(ValueError, match=named):
        HeadViewer.of_letters(letters, numbers, numbers, {"one": word})
