"""What the explorer HowManyImages reads off curves, against the chapter."""

import ast

import numpy as np
import pytest
import torch
from chapter_files import CHAPTERS, read
from explorers import how_many_images as make
from javascript import run

from experiments import amount_of_data as script
from experiments.runs import read_runs
from vitedu.widgets import HowManyImages

RUNS = read_runs(script.RESULT)


def in_file(model: str, size: int, remedy: str | None = None) -> list[float]:
    """Return the accuracies of all seeds in percent, from the long runs."""
    return [
        100 * run["test"]
        for run in RUNS
        if (run["model"], run["num_images"], run["seen"], run.get("help"))
        == (model, size, script.SEEN, remedy)
    ]


def chapter() -> list:
    [path] = [path for path in CHAPTERS if path.stem.startswith("17-")]
    return read(path).cells


def of_chapter() -> HowManyImages:
    """Make the explorer by the cell of the chapter."""
    [cell] = [cell for cell in chapter() if "HowManyImages(" in cell.source]
    names = {
        "np": np,
        "script": script,
        "over_seeds": lambda model, size, help=None: np.array(
            in_file(model, size, help)
        ),
    }
    *statements, last = ast.parse(cell.source).body
    exec(compile(ast.Module(statements, []), "cell", "exec"), names)
    return eval(compile(ast.Expression(last.value), "cell", "eval"), names)


def needed_by_solution():
    """Return the function that solves exercise 17.2."""
    [cell] = [
        cell
        for cell in chapter()
        if cell.id == "def-needed-sizes-accuracies-wanted-enough"
    ]
    [function] = [
        node
        for node in ast.parse(cell.source).body
        if isinstance(node, ast.FunctionDef)
    ]
    names = {"torch": torch}
    exec(compile(ast.Module([function], []), "cell", "exec"), names)
    return names["needed"]


def readings(widget: HowManyImages) -> list[tuple[int, int, dict]]:
    """Return (size, remedy, what the page reads), for all that was measured.

    A remedy is its row, -1 is none.
    """
    looks = [(size, -1) for size in widget.sizes.tolist()]
    looks += [
        (widget.remedy_images, row) for row in range(len(widget.remedies))
    ]
    measured = {
        name: getattr(widget, name).tolist()
        for name in ("sizes", "vit", "cnn", "remedies")
    }
    found = run(
        "how_many_images_maths",
        "looks.map(([size, row]) => readCurves(measured, size, row))",
        looks=looks,
        measured=measured,
    )
    return [(*look, one) for look, one in zip(looks, found, strict=True)]


@pytest.fixture(scope="module", params=[make, of_chapter])
def widget(request) -> HowManyImages:
    return request.param()


def test_the_chapter_shows_all_of_the_file_and_nothing_else():
    widget = of_chapter()
    np.testing.assert_array_equal(widget.sizes, script.SIZES)
    assert widget.remedy_names == list(script.HELP)
    for name, model in (("vit", "ViT"), ("cnn", "CNN")):
        expected = [in_file(model, size) for size in script.SIZES]
        np.testing.assert_array_equal(getattr(widget, name), expected)
    expected = [in_file("ViT", script.FEW, name) for name in script.HELP]
    np.testing.assert_array_equal(widget.remedies, expected)
    assert (widget.remedy_images, widget.num_images) == (script.FEW,) * 2
    # Where only some sizes have a remedy, no other size may offer it.
    sizes = {run["num_images"] for run in RUNS if run.get("help")}
    assert sizes == {widget.remedy_images}


def test_who_leads_and_whether_all_of_them_do(widget):
    mixed = 0
    for size, row, found in readings(widget):
        at = widget.sizes.tolist().index(size)
        cnn = widget.cnn[at]
        vit = widget.vit[at] if row < 0 else widget.remedies[row]
        lead = found["lead"]
        assert lead["points"] == pytest.approx(cnn.mean() - vit.mean())
        first, second = (cnn, vit) if lead["points"] >= 0 else (vit, cnn)
        apart = np.subtract.outer(first, second)
        assert lead["clear"] == pytest.approx(apart.min())
        mixed += lead["clear"] < 0
    assert mixed > 0


def test_images_needed_are_those_of_the_exercise(widget):
    needed = needed_by_solution()
    sizes = torch.tensor(widget.sizes).double()
    curve = torch.tensor(widget.vit.mean(axis=1))
    kinds = set()
    for _, row, found in readings(widget):
        names = ("cnn", "helped") if row >= 0 else ("cnn",)
        for name in names:
            need = found["needs"][name]
            wanted = torch.tensor(found[name]["mean"], dtype=torch.float64)
            expected = needed(sizes, curve, wanted).item()
            assert float(need["images"]) == pytest.approx(expected)
            if np.isinf(expected):
                kinds.add("beyond")
                assert need["low"] == widget.sizes[-1]
                continue
            kinds.add("between")
            assert need["low"] < expected <= need["high"]
            place = widget.sizes.tolist().index(need["low"])
            assert widget.sizes[place + 1] == need["high"]
    assert "between" in kinds


def test_a_place_on_the_line_at_its_ends_and_beyond():
    places = {
        5: (10, 10, 10),
        20: (10, 10, 10),
        30: (100, 10, 1000),
        40: (1000, 10, 1000),
        # The curve falls after that, and what counts is the first time.
        45: (2000, 1000, 4000),
        51: (np.inf, 8000, np.inf),
    }
    found = run(
        "how_many_images_maths",
        "all.map((wanted) =>"
        " imagesNeeded([10, 1000, 4000, 8000], [20, 40, 50, 46], wanted))",
        all=[*places],
    )
    for shown, expected in zip(found, places.values(), strict=True):
        values = (float(shown[name]) for name in ("images", "low", "high"))
        assert tuple(values) == pytest.approx(expected)
