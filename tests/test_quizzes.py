"""The five questions of each chapter, and their files for platforms."""

import re
from collections import Counter

import pytest
from chapter_files import CHAPTERS, ROOT, read
from vitedu_book.quizzes import BadQuiz, Question, gift, plain, read_quiz

NAMES = [path.stem for path in CHAPTERS]
HEADING = re.compile(r"^#{2,3} (.+)$", re.MULTILINE)


def questions(name):
    return read_quiz(ROOT / "book" / "quizzes" / f"{name}.yml")


@pytest.mark.parametrize("name", NAMES)
def test_there_are_five_that_the_chapter_answers(name):
    found = questions(name)
    assert len(found) == 5
    [path] = [path for path in CHAPTERS if path.stem == name]
    text = "\n".join(
        cell.source for cell in read(path).cells if cell.cell_type != "code"
    )
    headings = HEADING.findall(text)
    for question in found:
        assert question.where in headings
        assert 3 <= len(question.options) <= 4
        assert question.ask.rstrip().endswith(("?", "."))
    assert len({question.ask for question in found}) == 5


def test_the_right_answer_cannot_be_told_by_its_place_or_length():
    places, longest, total = Counter(), 0, 0
    for name in NAMES:
        found = questions(name)
        here = [[*q.options].index(q.right) for q in found]
        assert len(set(here)) >= 3, name
        places.update(here)
        longest += sum(q.right == max(q.options, key=len) for q in found)
        total += len(found)
    assert max(places.values()) <= 0.5 * total
    # Of three or four options one is the longest: a third of the questions.
    assert longest <= 0.5 * total


def parse_gift(text):
    """Read GIFT back: (ask, [(is right, text, feedback)])."""

    def plain(part):
        return re.sub(r"\\(.)", r"\1", part)

    found = []
    for block in re.split(r"\n\n", text.strip()):
        head, *lines, last = block.splitlines()
        assert last == "}"
        ask = re.fullmatch(r"::.+? \d::\[plain\](.*) \{", head)[1]
        answers = []
        for line in lines:
            answer, why = re.split(r"(?<!\\)#", line[1:])
            answers.append((line[0] == "=", plain(answer), plain(why)))
            assert line[0] in "=~"
        found.append((plain(ask), answers))
    return found


TRICKY = Question(
    ask="Is {a} = b: or ~c # d? A \\ backslash",
    where="Nowhere",
    options={"x = 1": "50% {no}", "y ~ 2": "#1", "plain": 'so, "it" is'},
    right="y ~ 2",
)


@pytest.mark.parametrize("name", [*NAMES, None])
def test_gift_holds_every_word(name):
    found = [TRICKY] if name is None else questions(name)
    assert parse_gift(gift("01-x", found)) == [
        (
            " ".join(question.ask.split()),
            [
                (text == question.right, text, " ".join(plain(why).split()))
                for text, why in question.options.items()
            ],
        )
        for question in found
    ]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("ask: x", "has to be a list"),
        ("- [", "while parsing"),
        ("- {ask: a}", "question 1: .*not ask, where, options"),
        (
            "- {ask: a, where: b, options: [{text: a, why: b}]}",
            "one option is right",
        ),
        (
            "- {ask: a, where: b, options: [{text: a, why: b, right: true}]}",
            "2 to 6 answers, got 1",
        ),
        (
            "- {ask: a, where: b, options: [{text: a, why: b, right: true},"
            " {text: a, why: c}]}",
            "no two are alike",
        ),
        (
            "- {ask: a, where: b, options: [{text: a, because: b}]}",
            "an option has",
        ),
        (
            "- {ask: a, where: b, options: [{text: a, why: b, right: true},"
            " {text: c, why: 3}]}",
            "must be",
        ),
    ],
)
def test_a_file_that_is_no_quiz_is_named(tmp_path, text, why):
    file = tmp_path / "05-x.yml"
    file.write_text(text)
    with pytest.raises(BadQuiz, match=why) as caught:
        read_quiz(file)
    assert "05-x.yml" in str(caught.value)


def test_every_chapter_has_its_questions():
    files = sorted((ROOT / "book" / "quizzes").iterdir())
    assert [file.name for file in files] == [f"{name}.yml" for name in NAMES]
