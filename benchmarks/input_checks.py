"""Time of forward passes with the checks of their inputs, and without.

Without means: the code that runs has lost every check, ``require...(...)``,
``check...(...)`` and ``if ...: raise ...``. Both codes run in turn, in one
process and one thread, on models so small that checks weigh most.
"""

import ast
import inspect
import operator
import statistics
import time
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType, ModuleType

import torch

from benchmarks.table import Row
from vitedu import attention, layers, masks, patches, positions, vit
from vitedu import transformer as seq2seq
from vitedu.config import TransformerConfig, ViTConfig

MODULES = (attention, layers, masks, patches, positions, seq2seq, vit)
ROUNDS = 300
# Passes of one kind in a row; a single one is too short for the clock.
PASSES = 4
LIMIT = 1.03


def rows() -> Iterator[Row]:
    """Yield one row per model."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    images = torch.randn(32, 1, 8, 8)
    src, tgt = torch.randint(3, 18, (1, 7)), torch.randint(3, 18, (1, 6))
    digits = vit.VisionTransformer(ViTConfig.digits()).eval()
    translator = seq2seq.Transformer(TransformerConfig.numerals()).eval()
    with torch.no_grad():
        yield row("ViT of digits, batch 32", lambda: digits(images))
        yield row("translator, batch 1", lambda: translator(src, tgt))


def row(what: str, run: Callable[[], object]) -> Row:
    """Time a pass with and without checks; the peer is the limit."""
    checked, bare = seconds(run)
    medians = [f"{1e6 * statistics.median(x):.0f} us" for x in (checked, bare)]
    return Row(
        what=what,
        ours=statistics.median(map(operator.truediv, checked, bare)),
        peer="limit",
        theirs=LIMIT,
        unit="",
        note=f"{medians[0]} with checks, {medians[1]} without",
    )


def seconds(run: Callable[[], object]) -> tuple[list[float], list[float]]:
    """Return what a pass takes with its checks and without, round by round."""
    codes = {}
    for module in MODULES:
        bare = bare_codes(module)
        for function in functions(module):
            name = function.__qualname__
            codes[function] = (function.__code__, bare[name])
    times: tuple[list[float], list[float]] = [], []
    try:
        for number in range(2 * ROUNDS):
            which = number % 2
            for function, pair in codes.items():
                function.__code__ = pair[which]
            run()  # Python adapts to the code that it runs
            start = time.process_time()
            for _ in range(PASSES):
                run()
            times[which].append((time.process_time() - start) / PASSES)
    finally:
        for function, (checked, _) in codes.items():
            function.__code__ = checked
    return times


def functions(module: ModuleType) -> Iterator[FunctionType]:
    """Yield the functions and methods that a module defines."""
    for thing in vars(module).values():
        if getattr(thing, "__module__", "") != module.__name__:
            continue
        inside = vars(thing).values() if inspect.isclass(thing) else [thing]
        # What stands around a function while tests run is no check of ours.
        yield from map(inspect.unwrap, filter(inspect.isfunction, inside))


def bare_codes(module: ModuleType) -> dict[str, CodeType]:
    """Compile a module without checks; return its codes by their names."""
    tree = WithoutChecks().visit(ast.parse(inspect.getsource(module)))
    code = compile(ast.fix_missing_locations(tree), module.__file__, "exec")
    found, left = {}, [code]
    while left:
        code = left.pop()
        found[code.co_qualname] = code
        left += [x for x in code.co_consts if isinstance(x, CodeType)]
    return found


class WithoutChecks(ast.NodeTransformer):
    """Takes the checks out of a module."""

    def visit_Expr(self, node: ast.Expr) -> ast.stmt:
        called = isinstance(node.value, ast.Call) and ast.unparse(node.value)
        if called and called.lstrip("_").startswith(("require", "check")):
            return ast.Pass()
        return node

    def visit_If(self, node: ast.If) -> ast.stmt:
        self.generic_visit(node)
        only = {type(inner) for inner in node.body} <= {ast.Pass, ast.Raise}
        return ast.Pass() if only and not node.orelse else node

    def visit_With(self, node: ast.With) -> ast.stmt | list[ast.stmt]:
        self.generic_visit(node)
        trusts = ast.unparse(node.items[0]) == "require.inputs.checked()"
        return node.body if trusts else node
