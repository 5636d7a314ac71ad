"""Who may import whom, and what every module owes its reader."""

import ast
import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
LIBRARY = ROOT / "vitedu"
CHAPTERS = {
    path.stem: path for path in sorted(ROOT.glob("chapters/[0-9]*.ipynb"))
}

# The complete list of allowed imports inside the library; `require` may be
# imported everywhere. A new module needs a row here.
MAY_IMPORT = {
    "__init__": "",
    "require": "",
    "fields": "",
    "config": "fields",
    "masks": "",
    "sinusoids": "",
    "positional": "sinusoids",
    "patches": "",
    "data": "",
    "canvases": "data fields",
    "photographs": "",
    "image_folder": "photographs",
    "sequences": "",
    "letters": "sequences",
    "numerals": "sequences",
    "whole_files": "",
    "checkpoints": "whole_files",
    "plots": "",
    "baselines": "",
    "cache": "",
    "attention": "masks cache",
    "layers": "attention cache",
    "transformer": "config masks positional attention cache layers",
    "hypotheses": "",
    "prefixes": "cache transformer",
    "decoding": "hypotheses prefixes transformer",
    "page_weights": "transformer",
    "counting": "config",
    "flops": "config counting",
    "memory": "config counting",
    "layer_table": "config counting",
    "complexity": "",
    "initialisation": "config",
    "vit": "config masks patches positional attention layers initialisation",
    "distributed": "",
    "randomness": "",
    "train_state": "config checkpoints distributed randomness whole_files",
    "evaluation": "",
    "training": "config distributed evaluation train_state",
    "recomputation": "layers",
    "devices": "",
    "train": "config data decoding devices distributed evaluation "
    "image_folder numerals pretrained recomputation sequences training "
    "transformer vit",
    "predict": "devices photographs pretrained vit",
    "weight_files": "checkpoints whole_files",
    "weight_formats": "weight_files",
    "pretrained_config": "config weight_files weight_formats",
    "pretrained": "config vit transformer sequences positional checkpoints "
    "weight_files weight_formats pretrained_config whole_files",
    "analysis": "attention",
    "attribution": "",
    "leaks": "",
    "mask_formats": "masks",
    "choices": "",
    "notebook": "plots choices devices",
    "progress": "whole_files",
    "grading": "progress",
    "checks": "masks attention progress",
}
MODULES = sorted(LIBRARY.glob("*.py"))
# Each may import everything but the others.
EXERCISES = sorted(LIBRARY.glob("exercises/*.py"))
WIDGETS = sorted(LIBRARY.glob("widgets/*.py"))
each_module = pytest.mark.parametrize(
    "path", MODULES, ids=[path.stem for path in MODULES]
)
each_file = pytest.mark.parametrize(
    "path",
    MODULES + EXERCISES + WIDGETS,
    ids=lambda path: str(path.relative_to(LIBRARY)),
)


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


def internal(tree):
    """Return the modules of the library that are imported."""
    return {
        name.split(".")[1]
        for name in imports(tree)
        if name.split(".")[0] == "vitedu"
    }


def public(tree):
    """Return the public functions and classes of a module."""
    kinds = ast.FunctionDef | ast.ClassDef
    return [
        node
        for node in tree.body
        if isinstance(node, kinds) and not node.name.startswith("_")
    ]


def test_every_module_has_a_row_and_every_row_a_module():
    assert {path.stem for path in MODULES} == set(MAY_IMPORT)


@each_module
def test_modules_import_what_their_row_allows(path):
    allowed = {*MAY_IMPORT[path.stem].split(), "require"} - {path.stem}
    assert internal(parse(path)) <= allowed


@each_module
def test_no_module_needs_the_exercises(path):
    assert "exercises" not in internal(parse(path))


@pytest.mark.parametrize("path", EXERCISES, ids=lambda path: path.stem)
def test_the_exercises_of_a_chapter_need_no_others(path):
    assert not internal(parse(path)) & {"exercises", "widgets"}


@pytest.mark.parametrize("path", WIDGETS, ids=lambda path: path.stem)
def test_widgets_know_neither_torch_nor_the_library(path):
    tree = parse(path)
    assert internal(tree) <= {"widgets"}
    assert not {name for name in imports(tree) if name.startswith("torch")}


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


@each_module
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
    (f"{path.stem}.{node.name}", chapter)
    for path in MODULES
    for node in public(parse(path))
    for chapters in re.findall(
        r"^Derived in: *(.*)$", ast.get_docstring(node) or "", re.MULTILINE
    )
    for chapter in chapters.split(", ")
]


def test_the_layers_say_where_they_are_derived():
    modules = {name.split(".")[0] for name, _ in DERIVED}
    assert modules >= {
        "analysis",
        "attention",
        "config",
        "data",
        "layers",
        "masks",
        "patches",
        "positional",
        "vit",
    }


@pytest.mark.parametrize(("name", "chapter"), DERIVED)
def test_the_chapter_that_derives_an_object_names_it(name, chapter):
    assert chapter in CHAPTERS
    text = "\n".join(cells(chapter, "code") + cells(chapter, "markdown"))
    assert re.search(rf"\b{name.split('.')[1]}\b", text)


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
    # `require` is for the library alone.
    names = {
        node.name
        for path in MODULES
        if path.stem != "require"
        for node in public(parse(path))
    }
    for code in cells(chapter, "code"):
        assert not defined(code) & names
