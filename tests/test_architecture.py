"""Who may import whom, and what every module owes its reader."""

import ast
import json
import re
from pathlib import Path

import pytest
from vitedu_book.library import builds_on, index, layers, modules

ROOT = Path(__file__).parent.parent
LIBRARY = ROOT / "vitedu"
CHAPTERS = {
    path.stem: path for path in sorted(ROOT.glob("chapters/[0-9]*.ipynb"))
}
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
    "book": "data objectives pretrained training analysis",
    "widgets": "",
}
LISTED = modules(LIBRARY)
FILES = sorted(LIBRARY.rglob("*.py"))
each_file = pytest.mark.parametrize(
    "path", FILES, ids=[str(path.relative_to(LIBRARY)) for path in FILES]
)
each_name = pytest.mark.parametrize("name", LISTED)


def name_of(path):
    """Return the name of a module inside the library."""
    return ".".join(path.relative_to(LIBRARY).with_suffix("").parts)


def parse(path):
    return ast.parse(path.read_text(encoding="utf-8"))


def imports(tree):
    """Return every imported module, ``from a import b`` as ``a.b``."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports hide where code lives"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def public(tree):
    """Return the public functions and classes of a module."""
    kinds = ast.FunctionDef | ast.ClassDef
    return [
        node
        for node in tree.body
        if isinstance(node, kinds) and not node.name.startswith("_")
    ]


def test_every_module_is_listed_once():
    exercises = LIBRARY / "book" / "exercises"
    found = {
        name_of(path)
        for path in FILES
        if path.name != "__init__.py" and path.parent != exercises
    }
    assert sorted(LISTED) == sorted(found | {"widgets"})


@each_name
def test_a_module_comes_after_what_it_builds_on(name):
    before = LISTED[: LISTED.index(name)]
    # A package comes before its parts, though it passes their names on.
    needed = [n for n in builds_on(LIBRARY)[name] if not n.startswith(name)]
    assert set(needed) <= set(before)


@each_name
def test_a_room_needs_no_other_than_its_row_allows(name):
    room = name.split(".")[0]
    allowed = {room, *ROOMS.get(room, "").split()}
    needed = {other.split(".")[0] for other in builds_on(LIBRARY)[name]}
    assert needed & ROOMS.keys() <= allowed


def test_the_top_floor_is_small():
    top = [path for path in LIBRARY.iterdir() if path.name != "__pycache__"]
    assert len(top) <= 25


@pytest.mark.parametrize(
    "path", sorted(LIBRARY.glob("widgets/*.py")), ids=lambda path: path.stem
)
def test_widgets_know_neither_torch_nor_the_library(path):
    for name in imports(parse(path)):
        assert not name.startswith("torch")
        assert not name.startswith("vitedu.") or ".widgets." in name


def test_every_group_has_a_page_that_shows_it():
    for group in index(LIBRARY):
        page = ROOT / "book/api" / f"{group.lower().replace(' ', '-')}.md"
        text = page.read_text(encoding="utf-8")
        assert f"\n.. library:: {group}\n" in text, group


def test_imports_of_all_kinds_are_seen(tmp_path):
    library = tmp_path / "vitedu"
    (library / "parts").mkdir(parents=True)
    (tmp_path / "book/api").mkdir(parents=True)
    listed = "Group: {a: one, b: two, parts: three}"
    (tmp_path / "book/api/modules.yml").write_text(listed)
    (library / "a.py").write_text("import vitedu.b\nimport torch")
    (library / "b.py").write_text("from vitedu.parts.x import Y")
    (library / "parts" / "__init__.py").write_text("from os import path")
    needs = builds_on(library)
    assert needs == {"a": ["b"], "b": ["parts"], "parts": []}
    assert layers(needs) == [["parts"], ["b"], ["a"]]
    with pytest.raises(ValueError, match="circle: \\['a', 'b'\\]"):
        layers({"a": ["b"], "b": ["a"]})


@each_file
def test_modules_start_with_a_docstring(path):
    assert ast.get_docstring(parse(path))


@each_file
def test_what_is_public_has_a_docstring(path):
    # What a base class defines is described there or with the class.
    described_above = {"forward", "extra_repr", "validate"}
    for node in public(parse(path)):
        assert ast.get_docstring(node), node.name
        for inner in node.body if isinstance(node, ast.ClassDef) else ():
            if (
                isinstance(inner, ast.FunctionDef)
                and not inner.name.startswith("_")
                and inner.name not in described_above
            ):
                assert ast.get_docstring(inner), f"{node.name}.{inner.name}"


@each_file
def test_shapes_are_no_strings_of_the_future(path):
    """jaxtyping reads annotations when a module is imported."""
    assert "__future__.annotations" not in imports(parse(path))


def cells(chapter, kind):
    notebook = json.loads(CHAPTERS[chapter].read_text(encoding="utf-8"))
    return [
        "".join(cell["source"])
        for cell in notebook["cells"]
        if cell["cell_type"] == kind
    ]


DERIVED = [
    (f"{name_of(path)}.{node.name}", chapter)
    for path in FILES
    for node in public(parse(path))
    for chapters in re.findall(
        r"^Derived in: *(.*)$", ast.get_docstring(node) or "", re.MULTILINE
    )
    for chapter in chapters.split(", ")
]


def test_the_layers_say_where_they_are_derived():
    modules = {name.rpartition(".")[0] for name, _ in DERIVED}
    assert modules >= {
        "analysis.attention_maps",
        "attention",
        "config",
        "data.digits",
        "layers",
        "masks",
        "patches",
        "positions",
        "vit",
    }


@pytest.mark.parametrize(("name", "chapter"), DERIVED)
def test_the_chapter_that_derives_an_object_names_it(name, chapter):
    assert chapter in CHAPTERS
    text = "\n".join(cells(chapter, "code") + cells(chapter, "markdown"))
    assert re.search(rf"\b{name.rpartition('.')[2]}\b", text)


def defined(code):
    """Return the names that a cell defines, the imported ones aside."""
    lines = [x for x in code.splitlines() if not x.startswith(("%", "!"))]
    names = set()
    for node in ast.walk(ast.parse("\n".join(lines))):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
    return names


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_chapters_define_no_name_of_the_library(chapter):
    # An exercise asks for a function under the name of what it checks;
    # `require` is for the library alone; what stands in `notebook` is called
    # by the name of its module, so a chapter's own `table` does not hide it.
    names = {
        node.name
        for name in LISTED
        if name not in ("require", "book.notebook")
        and not name.startswith("widgets")
        for node in public(parse(LIBRARY / f"{name.replace('.', '/')}.py"))
    }
    for code in cells(chapter, "code"):
        assert not defined(code) & names
