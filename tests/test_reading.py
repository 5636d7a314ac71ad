"""The model of reading times: what counts, and what does not."""

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from tools.reading import ALLOWANCES, Section, is_exercises, sections

START = new_markdown_cell("# 3. Title\n\none two three")


def seconds(*cells):
    """Return the seconds of a section made of cells."""
    book = new_notebook(
        cells=[START, new_markdown_cell("## Next `one`"), *cells]
    )
    _, section = sections(book)
    heading = 2 * ALLOWANCES["word of prose"]
    return pytest.approx(60 * section.minutes - heading)


@pytest.mark.parametrize(
    ("text", "counted"),
    [
        ("four words of prose", {"word of prose": 4}),
        ("| a | b |\n|---|---|\n| c | d e |", {"word of prose": 5}),
        ("{term}`a query <query>`", {"word of prose": 2}),
        ("(e-05)=\n\n[this](03-x.ipynb#y) one", {"word of prose": 2}),
        ('<p class="a b">one</p>', {"word of prose": 1}),
        (
            "*52 minutes* · 9 for exercises · runs in 8 s · needs it\n\none",
            {"word of prose": 1},
        ),
        ("if a < b and c > d", {"word of prose": 6}),
        (
            "here $a + b$ is\n\n$$\nc = d\n$$",
            {
                "word of prose": 2,
                "formula in a sentence": 1,
                "formula on a line of its own": 1,
            },
        ),
        (
            "```{admonition} Not counted\n:class: note\none\n```",
            {"word of prose": 1},
        ),
        ("```{admonition} Solution\n:class: dropdown solution\nno\n```", {}),
    ],
)
def test_prose(text, counted):
    wanted = sum(ALLOWANCES[kind] * n for kind, n in counted.items())
    assert seconds(new_markdown_cell(text)) == wanted


@pytest.mark.parametrize(
    ("code", "metadata", "counted"),
    [
        ("a = f(\n\n    1\n)", {}, {"line of code": 2}),
        ("a = 1\nb = 2", {"tags": ["hide-input"]}, {}),
        ("notebook.claim()", {"tags": ["hide-cell"]}, {}),
        (
            "notebook.claim()\nnotebook.rung()",
            {"tags": ["hide-input"]},
            {"checked statement": 2},
        ),
        ("notebook.predict()", {"tags": ["remove-input"]}, {"guess": 1}),
        (
            "draw()",
            {"tags": ["hide-input"], "mystnb": {"image": {"alt": "x"}}},
            {"figure": 1},
        ),
        (
            "notebook.source(f)",
            {},
            {"line of code": 1, "source of the library": 1},
        ),
        (
            "from vitedu.widgets import X",
            {},
            {"line of code": 1, "explorer": 1},
        ),
    ],
)
def test_code(code, metadata, counted):
    wanted = sum(ALLOWANCES[kind] * n for kind, n in counted.items())
    assert seconds(new_code_cell(code, metadata=metadata)) == wanted


def test_sections_have_the_names_that_the_site_gives_them():
    titles = ["Why `x`?", 'Explore: "so" it\'s', "Exercises"]
    book = new_notebook(
        cells=[
            START,
            new_markdown_cell(f"## {titles[0]}\n\na\n\n## {titles[1]}"),
            new_markdown_cell("## Deeper: so?"),
            new_markdown_cell(f"## {titles[2]}"),
        ]
    )
    found = sections(book)
    assert [(s.title, s.anchor) for s in found] == [
        ("3. Title", "title"),
        (titles[0], "why-x"),
        (titles[1], "explore-so-it-s"),
        ("Deeper: so?", "deeper-so"),
        (titles[2], "exercises"),
    ]
    assert [s.title for s in found if s.deeper] == ["Deeper: so?"]
    assert found[0].minutes == pytest.approx(5 / 175)


def test_exercises_take_the_time_to_solve_them():
    book = new_notebook(
        cells=[
            START,
            new_markdown_cell("## Exercises\n\nHow to do them."),
            new_markdown_cell("**Exercise 3.1: predict.** How many?"),
            new_code_cell("answer = None"),
            new_markdown_cell("**Exercise 3.2: something else.** Do it."),
        ]
    )
    exercises = sections(book)[-1]
    assert is_exercises(exercises)
    assert not is_exercises(Section("Exercise", "exercise", 1))
    assert exercises.minutes == 4 + 12


def test_a_notebook_without_a_title_is_refused():
    book = new_notebook(cells=[new_markdown_cell("## Next")])
    with pytest.raises(ValueError, match="notebook must begin with a title"):
        sections(book)
    with pytest.raises(ValueError, match="notebook must begin with a title"):
        sections(new_notebook())
