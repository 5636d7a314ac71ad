"""Skeletons are complete: what is made new passes the tests as it is."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from chapter_files import CHAPTERS

from tools import new, time_boxes

NN = f"{int(CHAPTERS[-1].stem[:2]) + 1:02}"
# A title may hold what is a word of the templates.
CHAPTER, TITLE = f"{NN}-a-skeleton", 'An NN: "skeleton"'
EXPLORER = "skeleton_view"
MODULE, WORDS = "data.skeleton", 'bones: "some" and others'
NEW = {
    f"chapters/{CHAPTER}.ipynb",
    f"vitedu/book/exercises/chapter_{NN}.py",
    f"tests/solutions/chapter_{NN}.py",
    f"book/quizzes/{CHAPTER}.yml",
    f"book/teach/chapters/{CHAPTER}.yml",
    *(
        f"vitedu/widgets/{EXPLORER}{end}"
        for end in (".py", ".js", "_maths.js", ".css")
    ),
    f"tests/test_{EXPLORER}_maths.py",
    "vitedu/data/skeleton.py",
    "tests/test_skeleton.py",
}


@pytest.fixture
def copy(root: Path, tmp_path: Path, monkeypatch) -> Path:
    """A copy of the project, in which the tool works."""
    listed = ["git", "ls-files", "-z", "-co", "--exclude-standard"]
    done = subprocess.run(listed, cwd=root, capture_output=True, check=True)
    for name in filter(None, done.stdout.decode().split("\0")):
        if (root / name).is_file():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(root / name, tmp_path / name)
    monkeypatch.setattr(new, "ROOT", tmp_path)
    # Chapters run there, and import what is there.
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    return tmp_path


def content(folder: Path) -> dict[str, bytes]:
    """Return path -> bytes of every file, caches aside."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*.*")
        if path.is_file()
        and not {"__pycache__", ".ruff_cache"} & {*path.parts}
    }


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("chapter", "skeleton", TITLE), f"like {NN}-its-name, got 'skel"),
        (("chapter", f"{NN}-A", TITLE), f"like {NN}-its-name, got '{NN}-A'"),
        (("chapter", "19-a", TITLE), f"like {NN}-its-name, got '19-a'"),
        (("chapter", CHAPTER, ""), "TITLE must be like a line of text, got"),
        (("chapter", CHAPTER, "a\nb"), r"TITLE .* got 'a\\nb'"),
        (("explorer", "HeadViewer"), "NAME must be like its_name, got 'Head"),
        (("explorer", "head_viewer"), "NAME must be free, got that of head_v"),
        (("explorer", "number"), "NAME must be free, got that of base.py"),
        (("explorer", "common"), "free, got that of vitedu/widgets/common"),
        (("module", "skeleton", WORDS), "NAME must be like data.its_name"),
        (
            ("module", "widgets.skeleton", WORDS),
            "begin with one of .'analysis'",
        ),
        (("module", "data.letters", WORDS), "end in a free word"),
        (("module", "data.search", WORDS), "end in a free word"),
        (("module", "data.class", WORDS), "end in a free word"),
        (("module", MODULE, " "), "WORDS must be like a line of text, got"),
        (("module", MODULE), "python -m tools.new chapter"),
        ((), "python -m tools.new chapter"),
    ],
)
def test_what_is_no_name_or_taken_is_refused(words, message, monkeypatch):
    written = []
    monkeypatch.setattr(new, "write", written.append)
    with pytest.raises(SystemExit, match=message):
        new.main(*words)
    assert written == []


def test_after_an_error_all_is_as_it_was(copy, monkeypatch):
    def fail(path: Path, *, run: bool) -> None:
        assert path == copy / f"chapters/{CHAPTER}.ipynb"
        assert path.exists()
        raise KeyboardInterrupt

    before = content(copy)
    monkeypatch.setattr(time_boxes, "write", fail)
    with pytest.raises(KeyboardInterrupt):
        new.main("chapter", CHAPTER, TITLE)
    assert content(copy) == before


def run(copy: Path, *command: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=copy,
        env=os.environ,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def make_all(copy: Path) -> None:
    new.main("chapter", CHAPTER, TITLE)
    new.main("explorer", EXPLORER)
    new.main("module", MODULE, WORDS)
    run(copy, "ruff", "check")
    run(copy, "ruff", "format", "--check")


def test_all_files_are_written_and_say_what_to_do(copy):
    before = content(copy)
    make_all(copy)
    after = content(copy)
    assert after.keys() - before.keys() == NEW
    changed = [name for name in before if before[name] != after[name]]
    assert sorted(changed) == [
        "_toc.yml",
        "book/api/modules.yml",
        "book/index.md",
        "book/map.yml",
        "book/paths.md",
        "tests/explorers.py",
        "tests/site/test_explorers.py",
        "tests/valid_calls.py",
        "vitedu/widgets/__init__.py",
    ]
    left = {name for name in NEW if b"TODO" not in after[name]}
    assert left == {
        f"vitedu/widgets/{EXPLORER}_maths.js",
        f"vitedu/widgets/{EXPLORER}.css",
    }
    assert f"{int(NN)}. {TITLE}" in after["book/index.md"].decode()


@pytest.mark.soak
def test_skeletons_pass_the_tests(copy):
    make_all(copy)
    where = "grading widgets wrong_inputs doctests editions explorer_maths"
    for names, which in (
        ("notebooks architecture quizzes teaching time_boxes", ""),
        (f"{EXPLORER}_maths skeleton", ""),
        (where, f"{NN} or skeleton or listed or everything"),
        ("explorers", "all_explorers or skeleton and not lives_in"),
    ):
        folder = "tests/site" if names == "explorers" else "tests"
        files = [f"{folder}/test_{name}.py" for name in names.split()]
        run(copy, "pytest", "-q", "-x", *files, "-k", which)
