"""Every example in a docstring of the library runs and prints what it says."""

import ast
import doctest
import importlib
import random
from pathlib import Path

import jaxtyping
import numpy as np
import pytest
import torch

LIBRARY = Path(__file__).parent.parent / "vitedu"


def module_name(path):
    parts = path.relative_to(LIBRARY.parent).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


def examples(path):
    """Yield a name, the text and the path of every docstring with examples.

    They are read from the source: `typechecked` wraps the functions, and what
    is wrapped counts as imported for doctest's own search.
    """
    kinds = ast.Module | ast.ClassDef | ast.FunctionDef
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        text = ast.get_docstring(node) if isinstance(node, kinds) else None
        if ">>>" in (text or ""):
            name = getattr(node, "name", "")
            yield f"{module_name(path)}:{name}", text, path


EXAMPLES = [
    example
    for path in sorted(LIBRARY.rglob("*.py"))
    for example in examples(path)
]


def complaints(name, text, path, seed=0):
    """Run the examples of a docstring; return what is not as it says."""
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    names = dict(vars(importlib.import_module(module_name(path))))
    test = doctest.DocTestParser().get_doctest(text, names, name, str(path), 0)
    said = []
    # As a reader has it: without the checks of the tests.
    jaxtyping.config.update("jaxtyping_disable", True)
    try:
        doctest.DocTestRunner(verbose=False).run(test, out=said.append)
    finally:
        jaxtyping.config.update("jaxtyping_disable", False)
    return "".join(said)


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize(
    ("name", "text", "path"), EXAMPLES, ids=[name for name, _, _ in EXAMPLES]
)
def test_example_prints_what_it_says(name, text, path, seed):
    assert complaints(name, text, path, seed) == ""
