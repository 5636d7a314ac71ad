"""Every reader of text names a file that it cannot use, and runs nothing."""

import pickle
from pathlib import Path

import pytest
from vitedu_book.quizzes import BadQuiz, read_quiz
from vitedu_book.teaching import BadGuide, read_guide

from experiments.runs import read_runs
from tools import editions
from vitedu.book import progress

LEVELS = 3000


class Trap:
    """Leave a file behind when it is unpickled."""

    def __reduce__(self):
        return (Path.touch, (Path("executed"),))


# Nine lists of nine of the one before: a thousand million entries.
BOMB = "a: &a [x, x]\n" + "".join(
    f"{new}: &{new} [{', '.join([f'*{old}'] * 9)}]\n"
    for old, new in zip("abcdefghi", "bcdefghij", strict=True)
)
CONTENTS = {
    "empty": b"",
    "zeros": bytes(99),
    "pickle": pickle.dumps(Trap()),
    "Latin letters": b'"caf\xe9"',
    "deep JSON": b"[" * LEVELS,
    "deep YAML": b"- " * LEVELS + b"x",
    "long number": b"1" * 5000,
    "number": b"3",
    "list": b"[1]",
    "null": b"null",
    "other table": b'{"a": [1]}',
    "cut": b'{"runs": [{"a": 1',
    "code": b"!!python/object/apply:pathlib.Path.touch [executed]",
    "bomb": BOMB.encode(),
}


def read_progress(path):
    return progress.progress()


def read_notebooks(path):
    return editions.chapters()


READERS = {
    "quiz": (read_quiz, BadQuiz, "01-a.ipynb"),
    "guide": (read_guide, BadGuide, "01-a.ipynb"),
    "runs": (read_runs, ValueError, "01-a.ipynb"),
    "notebook": (read_notebooks, ValueError, "01-a.ipynb"),
    "progress": (read_progress, ValueError, progress.FILE),
}


@pytest.mark.parametrize("content", CONTENTS)
@pytest.mark.parametrize("reader", READERS)
def test_a_file_that_cannot_be_used_is_named(
    tmp_path, monkeypatch, reader, content
):
    read, error, name = READERS[reader]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(editions, "ROOT", tmp_path)
    path = tmp_path / "chapters" / name
    if reader == "progress":
        path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(CONTENTS[content])
    with pytest.raises(error, match=name):
        read(path)
    assert path.read_bytes() == CONTENTS[content]
    assert [p for p in tmp_path.rglob("*") if p.is_file()] == [path]
