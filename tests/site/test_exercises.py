"""Exercises on the page say what their checks say in a notebook."""

import math
import random
from importlib import import_module

import pytest
from pages import ROOT
from playwright.sync_api import Page, expect
from vitedu_book.exercises import form

from vitedu.book.grading import Exercise, LettersExercise, NumberExercise

CHAPTERS = [
    import_module(f"vitedu.book.exercises.{path.stem}")
    for path in sorted(ROOT.glob("vitedu/book/exercises/chapter_*.py"))
]
ASKED = {
    exercise.number: exercise
    for chapter in CHAPTERS
    for exercise in vars(chapter).values()
    if isinstance(exercise, NumberExercise | LettersExercise)
}
TYPED = {
    "3/4": 0.75,
    "2**10": 1024,
    "-2**2": -4,
    "2**-1": 0.5,
    "2^3 × 4": 32,
    "1e-3": 0.001,
    "33_472": 33472,
    "8,080,384": 8080384,
    "2 * math.pi": 2 * math.pi,
    "(24**2 - 14**2) * 384": 145920,
    "sqrt(2)/-.5": -(2**1.5),
}
EXACT = {
    typed: NumberExercise(
        f"99.{number}",
        "a number typed in another way",
        hints=("Count.", "Count again."),
        right=value,
        why="it is.",
        wrong={},
        tolerance=1e-12,
    )
    for number, (typed, value) in enumerate(TYPED.items())
}
# In one go: thousands of answers.
TELL = """(form, answers) => answers.map((given) => {
  for (const field of form.querySelectorAll("input, select")) {
    field.value = field.name ? given[field.name] ?? "" : given;
  }
  form.requestSubmit();
  return form.querySelector("[role=status]").textContent;
})"""


@pytest.fixture(scope="module")
def forms(browser):
    """Show the forms of all exercises, with the script of the site."""
    page = browser.new_page()
    exercises = [*ASKED.values(), *EXACT.values()]
    page.set_content("".join(map(form, exercises)))
    page.add_script_tag(path=ROOT / "book/web/exercises.js")
    yield page
    page.close()


def told(page: Page, exercise: Exercise, answers: list) -> list[str]:
    """Return what the page says to several answers."""
    shown = page.get_by_role(
        "form", name=f"Exercise {exercise.number}", exact=True
    )
    return shown.evaluate(TELL, answers)


def test_there_are_exercises_of_both_kinds():
    kinds = [type(exercise) for exercise in ASKED.values()]
    assert kinds.count(NumberExercise) > 20
    assert kinds.count(LettersExercise) == 4


@pytest.mark.parametrize(
    "number", [n for n, x in ASKED.items() if isinstance(x, NumberExercise)]
)
def test_a_number_gets_the_verdict_of_python(forms, number):
    exercise = ASKED[number]
    draw = random.Random(number)
    known = [exercise.right, *exercise.wrong]
    edge = max(exercise.tolerance, 1e-9)
    answers = [
        *known,
        *(x * (1 + way * edge) for x in known for way in (0.99, 1.01)),
        *(x * (1 - way * edge) for x in known for way in (0.99, 1.01)),
        *(x + step for x in known for step in (-0.5, 0.5)),
        *(exercise.right * 10 ** draw.uniform(-2, 2) for _ in range(80)),
        *(draw.randint(-10, 10_000) for _ in range(20)),
    ]
    shown = told(forms, exercise, [repr(x) for x in answers])
    # Its judge alone: putting PyTorch back as it was takes most of the time.
    assert shown == [repr(exercise._judge(x)) for x in answers]


@pytest.mark.parametrize("typed", TYPED)
def test_what_is_typed_is_read_as_python_reads_it(forms, typed):
    exercise = EXACT[typed]
    assert told(forms, exercise, [typed]) == ["Right: it is."]


@pytest.mark.parametrize(
    "typed", ["", "four", "3 4", "0,25", "1,02", "2**", "(1", "1/0", "1e", "."]
)
def test_what_is_no_number_is_refused(forms, typed):
    said = told(forms, ASKED["3.1"], [typed])
    assert said == [f"Not yet: the answer should be a number, not {typed}."]


@pytest.mark.parametrize(
    "number", [n for n, x in ASKED.items() if isinstance(x, LettersExercise)]
)
def test_names_get_the_verdict_of_python(forms, number):
    exercise = ASKED[number]
    right, draw = dict(exercise.right), random.Random(number)
    names = sorted({*right.values()})
    answers = [
        {},
        right,
        *({letter: name} for letter, name in right.items()),
        *(right | {letter: name} for letter in right for name in names),
        *({letter: draw.choice(names) for letter in right} for _ in range(50)),
    ]
    shown = told(forms, exercise, answers)
    assert shown == [repr(exercise._judge(x)) for x in answers]


def test_a_reader_answers_by_keyboard_and_thinks_again(forms):
    shown = forms.get_by_role("form", name="Exercise 3.1")
    field = shown.get_by_label("Your answer")
    field.fill("1600")
    field.press("Enter")
    said = shown.get_by_role("status")
    expect(said).to_contain_text("Not yet: that is the variance")
    field.press("End")
    field.press("Backspace")
    expect(said).to_be_empty()
    field.fill("40")
    shown.get_by_role("button", name="Check").click()
    expect(said).to_contain_text("Right: the variance is 100")


@pytest.mark.parametrize(
    ("folder", "label", "said"),
    [
        ("", "Your answer", "Not yet: that is the variance"),
        ("zh/", "你的答案", "还不对：那是方差"),
    ],
)
def test_a_chapter_asks_and_runs_nothing(open_page, folder, label, said):
    page = open_page(f"{folder}chapters/03-scaled-dot-product-attention.html")
    asked = page.locator("#exercises")
    field = asked.get_by_label(label)
    field.fill("1600")
    field.press("Enter")
    expect(asked.get_by_role("status")).to_contain_text(said)
    solution = asked.locator("details.solution").last
    code = solution.get_by_text("def attention_solution")
    expect(code).to_be_hidden()
    solution.locator("summary").click()
    expect(code).to_be_visible()
    # What only a notebook can run is not there to be tried.
    shown = asked.inner_text()
    assert "def attention(q, k, v, mask=None): ..." in shown
    for of_the_notebook in ("my_answer", "check.attention(", ".hints"):
        assert of_the_notebook not in shown


@pytest.mark.parametrize(
    ("folder", "line"),
    [
        ("", "Without Python: find the mistake"),
        ("zh/", "不用 Python：找出错误"),
    ],
)
def test_a_reader_finds_a_mistake_without_python(open_page, folder, line):
    page = open_page(f"{folder}chapters/05-multi-head-attention.html")
    attempt = page.locator("details.attempt")
    attempt.get_by_text(line).click()
    expect(attempt.locator("pre")).to_contain_text("softmax")
    said = attempt.get_by_role("status").locator("p:visible")
    right = attempt.locator("label[data-right]")
    wrong = attempt.locator("label:not([data-right])").first
    # After a wrong answer the right one waits for a second.
    wrong.click()
    expect(said).to_have_count(1)
    mark = "label => getComputedStyle(label, '::after').content"
    assert "✓" not in right.evaluate(mark)
    right.click()
    expect(said).to_have_count(1)
    assert "✓" in right.evaluate(mark)
