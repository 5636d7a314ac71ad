"""Who may import whom."""

import ast
from pathlib import Path

from vitedu_book.library import builds_on, index, modules

ROOT = Path(__file__).parent.parent
LIBRARY = ROOT / "vitedu"
# The rooms that a room may need; the flat modules need none.
ROOMS = {
    "data": "",
    "decoding": "",
    "training": "",
    "objectives": "",
    "pretrained": "data training",
    "analysis": "",
    "train": "data decoding training pretrained",
    "predict": "data training pretrained",
    "book": "data objectives pretrained training analysis widgets",
    "widgets": "",
}
LISTED = modules(LIBRARY)
FILES = sorted(LIBRARY.rglob("*.py"))
NEEDS = builds_on(LIBRARY)


def test_every_module_is_listed_once():
    exercises = LIBRARY / "book" / "exercises"
    found = {
        ".".join(path.relative_to(LIBRARY).with_suffix("").parts)
        for path in FILES
        if path.name != "__init__.py" and path.parent != exercises
    }
    assert sorted(LISTED) == sorted(found | {"widgets"})


def test_a_module_comes_after_what_it_builds_on():
    for place, name in enumerate(LISTED):
        # A package comes before its parts, though it passes their names on.
        needed = {n for n in NEEDS[name] if not n.startswith(name)}
        assert needed <= {*LISTED[:place]}, name


def test_a_room_needs_no_other_than_its_row_allows():
    for name in LISTED:
        room = name.split(".")[0]
        allowed = {room, *ROOMS.get(room, "").split()}
        needed = {other.split(".")[0] for other in NEEDS[name]}
        assert needed & ROOMS.keys() <= allowed, name


def test_widgets_know_neither_torch_nor_the_library():
    for path in LIBRARY.glob("widgets/*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [x.name for x in getattr(node, "names", [])]
            names.append(getattr(node, "module", None) or "")
            for name in names:
                assert not name.startswith("torch"), path
                assert not name.startswith("vitedu.") or ".widgets" in name


def test_every_group_has_a_page_that_shows_it():
    for group in index(LIBRARY):
        page = ROOT / "book/api" / f"{group.lower().replace(' ', '-')}.md"
        text = page.read_text(encoding="utf-8")
        assert f"\n.. library:: {group}\n" in text, group
