"""The package's docstring lists every module, in an order one can read."""

import importlib
import pydoc

import pytest
from test_architecture import LIBRARY, MODULES, ROOT, WIDGETS
from vitedu_book.library import builds_on, index, layers, modules

LISTED = modules(LIBRARY)


def test_every_module_is_listed_once():
    found = {
        ".".join(path.relative_to(LIBRARY).with_suffix("").parts)
        for path in [*MODULES, *WIDGETS]
    } - {"__init__", "widgets.__init__"}
    assert sorted(LISTED) == sorted(found | {"widgets"})


@pytest.mark.parametrize("name", LISTED)
def test_a_module_comes_after_what_it_builds_on(name):
    before = LISTED[: LISTED.index(name)]
    # A package comes before its parts, though it passes their names on.
    needed = [n for n in builds_on(LIBRARY)[name] if not n.startswith(name)]
    assert set(needed) <= set(before)


def test_every_group_has_a_page_that_shows_it():
    for group in index(LIBRARY):
        page = ROOT / "book/api" / f"{group.lower().replace(' ', '-')}.md"
        text = page.read_text(encoding="utf-8")
        assert f"\n.. library:: {group}\n" in text, group


def test_a_line_of_the_index_has_no_full_stop_and_is_short():
    words = [w for group in index(LIBRARY).values() for w in group.values()]
    assert [w for w in words if w.endswith(".") or len(w) > 56] == []


def test_imports_of_all_kinds_are_seen(tmp_path):
    library = tmp_path / "vitedu"
    (library / "parts").mkdir(parents=True)
    names = "\n    ".join(["a    one", "b    two", "parts    three"])
    (library / "__init__.py").write_text(f'"""L.\n\nGroup\n    {names}\n"""')
    (library / "a.py").write_text("import vitedu.b\nimport torch")
    (library / "b.py").write_text("from vitedu.parts.x import Y")
    (library / "parts" / "__init__.py").write_text("from os import path")
    needs = builds_on(library)
    assert needs == {"a": ["b"], "b": ["parts"], "parts": []}
    assert layers(needs) == [["parts"], ["b"], ["a"]]
    with pytest.raises(ValueError, match="circle: \\['a', 'b'\\]"):
        layers({"a": ["b"], "b": ["a"]})


def test_help_on_the_package_shows_the_index():
    text = pydoc.plain(pydoc.render_doc(importlib.import_module("vitedu")))
    for group in index(LIBRARY):
        assert f"    {group}\n" in text
