"""What has been tried and got right, and the file that keeps it."""

import json

import pytest

from vitedu.book import progress as module
from vitedu.book.grading import NumberExercise
from vitedu.book.progress import progress


@pytest.fixture(autouse=True)
def own_memory(monkeypatch, tmp_path):
    """Begin with nothing, in a folder of one's own."""
    for name in ("_known", "_tried"):
        monkeypatch.setattr(module, name, {})
    monkeypatch.chdir(tmp_path)


def a_check(number, task="half"):
    return NumberExercise(
        number,
        task,
        hints=("A hint.", "Another."),
        right=0.5,
        why="a half.",
        wrong={},
    )


def rows():
    return {number: (state, tries) for number, _, state, tries in table().rows}


def table():
    return progress()


def test_tries_are_counted_and_right_stays_right():
    check, other = a_check("2.1"), a_check("10.2", "other half")
    assert table().rows == [
        ("2.1", "half", "not tried", 0),
        ("10.2", "other half", "not tried", 0),
    ]
    check(3)
    assert rows() == {"2.1": ("not yet", 1), "10.2": ("not tried", 0)}
    check(0.5)
    check(4)
    other(1)
    assert rows() == {"2.1": ("right", 3), "10.2": ("not yet", 1)}
    assert "1 of 2 right" in repr(table())


def test_a_solution_of_the_book_does_not_count():
    check = a_check("1.1")
    check.must_accept(0.5)
    assert rows() == {"1.1": ("not tried", 0)}
    check(7)
    check.must_accept(0.5)
    with pytest.raises(AssertionError):
        check.must_accept(8)
    assert rows() == {"1.1": ("not yet", 1)}


def test_the_file_is_kept_up_to_date(tmp_path, monkeypatch):
    check = a_check("1.1")
    check(3)
    shown = progress(keep=True)
    assert shown.file == tmp_path / module.FILE
    check(0.5)
    a_check("1.2").must_accept(0.5)
    entries = json.loads((tmp_path / module.FILE).read_text())
    assert entries == {"1.1": {"name": "half", "right": True, "tries": 2}}
    # The next day: another kernel, which knows another chapter.
    for name in ("_known", "_tried"):
        monkeypatch.setattr(module, name, {})
    a_check("2.1")(0)
    assert rows() == {"1.1": ("right", 2), "2.1": ("not yet", 1)}
    assert [path.name for path in tmp_path.iterdir()] == [module.FILE]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"1.1": {"name"', "Expecting"),
        ("[]", "it holds no table"),
        ('{"../x": {}}', "'../x' is no exercise"),
        ('{"1.1": {"name": "a", "right": 1, "tries": 2}}', "entry of 1.1"),
        ('{"1.1": 3}', "entry of 1.1"),
    ],
)
def test_a_damaged_file_is_left_as_it_is(tmp_path, text, why):
    file = tmp_path / module.FILE
    file.write_text(text)
    with pytest.raises(ValueError, match=why):
        progress(keep=True)
    with pytest.warns(UserWarning, match="not kept"):
        verdict = a_check("1.1")(0.5)
    assert verdict.right
    assert file.read_text() == text
    assert len(list(tmp_path.iterdir())) == 1


def test_the_table_of_a_notebook_is_escaped():
    a_check("1.1", "<b>")(0.5)
    assert "&lt;b&gt;" in table()._repr_html_()
