"""What the explorer HowManyImages reads off curves, against the chapter."""

import ast
import json
import re

import numpy as np
import pytest
import torch
from chapter_files import CHAPTERS, read
from explorers import how_many_images as make
from javascript import run

from experiments import amount_of_data as script
from experiments.runs import read_runs
from vitedu.widgets import HowManyImages, modules

WORDS = json.loads(
    (modules.FOLDER / "how_many_images.words.json").read_text("utf-8")
)
RUNS = read_runs(script.RESULT)


def in_file(model: str, size: int, remedy: str | None = None) -> list[float]:
    """Return the accuracies of all seeds in percent, from the long runs."""
    return [
        100 * run["test"]
        for run in RUNS
        if (run["model"], run["num_images"], run["seen"], run.get("help"))
        == (model, size, script.SEEN, remedy)
    ]


def cell_with(words: str) -> str:
    """Return the one cell of the chapter that has these words."""
    [path] = [path for path in CHAPTERS if path.stem.startswith("17-")]
    [cell] = [cell.source for cell in read(path).cells if words in cell.source]
    return cell


def of_chapter() -> HowManyImages:
    """Make the explorer by the cell of the chapter."""
    names = {
        "np": np,
        "script": script,
        "over_seeds": lambda model, size, help=None: np.array(
            in_file(model, size, help)
        ),
    }
    *statements, last = ast.parse(cell_with("HowManyImages(")).body
    exec(compile(ast.Module(statements, []), "cell", "exec"), names)
    return eval(compile(ast.Expression(last.value), "cell", "eval"), names)


def needed_by_solution():
    """Return the function that solves exercise 17.2."""
    cell = ast.parse(cell_with("def needed(sizes, accuracies, wanted"))
    [function] = [
        node for node in cell.body if isinstance(node, ast.FunctionDef)
    ]
    names = {"torch": torch}
    exec(compile(ast.Module([function], []), "cell", "exec"), names)
    return names["needed"]


def given(widget: HowManyImages) -> dict:
    """Return what the page reads once."""
    return {
        name: getattr(widget, name).tolist()
        for name in ("sizes", "vit", "cnn", "remedies")
    } | {"names": widget.remedy_names, "remedied": widget.remedy_images}


def readings(widget: HowManyImages) -> list[tuple[int, int, dict]]:
    """Return (size, remedy, what the page reads), for all that was measured.

    A remedy is its row, -1 is none.
    """
    looks = [(size, -1) for size in widget.sizes.tolist()]
    looks += [
        (widget.remedy_images, row) for row in range(len(widget.remedies))
    ]
    found = run(
        "how_many_images_maths",
        "looks.map(([size, row]) => readCurves(measured, size, row))",
        looks=looks,
        measured=given(widget),
    )
    return [(*look, one) for look, one in zip(looks, found, strict=True)]


def look(widget: HowManyImages) -> dict:
    """Return what the page shows of the curves it opens with."""
    return run(
        "how_many_images how_many_images_picture",
        """(() => {
          const found = compute(settings, given);
          const drawn = curvesPicture(given.sizes, found, 900);
          const [way, needed] = ["across", "needed"].map((kind) =>
            drawn.find(({ attributes }) =>
              attributes.class?.startsWith(kind)).attributes);
          return {
            reading: sentence(reading, say(found)), way: way.d,
            needed: needed.text, needs: found.published.cnnNeeds,
            rows: ["cnn", "plain", "helped"].map((name) => rowOf(found, name)),
            x: given.sizes.map(curveScales(given.sizes, 900).x),
          };
        })()""",
        settings={"num_images": widget.num_images, "remedy": widget.remedy},
        given=given(widget),
        reading=WORDS["reading"],
    )


def test_the_chapter_shows_all_of_the_file_and_nothing_else():
    widget = of_chapter()
    np.testing.assert_array_equal(widget.sizes, script.SIZES)
    assert widget.remedy_names == list(script.HELP)
    for name, model in (("vit", "ViT"), ("cnn", "CNN")):
        expected = [in_file(model, size) for size in script.SIZES]
        np.testing.assert_array_equal(getattr(widget, name), expected)
    expected = [in_file("ViT", script.FEW, name) for name in script.HELP]
    np.testing.assert_array_equal(widget.remedies, expected)
    # Where only some sizes have a remedy, no other size may offer it.
    sizes = {run["num_images"] for run in RUNS if run.get("help")}
    assert sizes == {widget.remedy_images} == {widget.num_images}


def test_who_leads_and_images_needed_are_those_of_the_exercise():
    widget = of_chapter()
    needed = needed_by_solution()
    sizes = widget.sizes.tolist()
    curve = torch.tensor(widget.vit.mean(axis=1))
    mixed = 0
    for size, row, found in readings(widget):
        cnn = widget.cnn[sizes.index(size)]
        vit = widget.vit[sizes.index(size)]
        names = {"cnn": cnn}
        if row >= 0:
            vit = names["helped"] = widget.remedies[row]
        lead = found["lead"]
        assert lead["points"] == pytest.approx(cnn.mean() - vit.mean())
        first, second = (cnn, vit) if lead["points"] >= 0 else (vit, cnn)
        apart = np.subtract.outer(first, second)
        assert lead["clear"] == pytest.approx(apart.min())
        mixed += lead["clear"] < 0
        for name, runs in names.items():
            expected = needed(
                torch.tensor(sizes).double(), curve, torch.tensor(runs.mean())
            ).item()
            found_images = float(found["needs"][name]["images"])
            assert found_images == pytest.approx(expected)
    assert mixed


def test_a_curve_that_falls_counts_where_it_first_reaches():
    sizes, curve = [10, 1000, 4000, 8000], [20, 40, 50, 46]
    wanted = [5, 20, 30, 40, 45, 51]
    found = run(
        "how_many_images_maths",
        "all.map((wanted) => imagesNeeded(sizes, curve, wanted).images)",
        all=wanted,
        sizes=sizes,
        curve=curve,
    )
    expected = [10, 10, 100, 1000, 2000, np.inf]
    assert [*map(float, found)] == pytest.approx(expected)


def test_the_table_the_sentence_and_the_dashed_line_have_the_numbers():
    shown = look(make())
    assert shown["rows"] == [
        ["69.8", "68.0", "71.0", "about 480"],
        ["44.9", "44.0", "45.5", "100"],
        ["\N{EN DASH}"] * 4,
    ]
    assert shown["reading"] == (
        "With 100 images the CNN classifies 69.8% of new canvases correctly, "
        "the ViT 44.9%."
        " The CNN is 24.9 points ahead, and each CNN beats every ViT. Without "
        "help, the ViT needs about 480 images for 69.8%, 4.8 times as many, "
        "between the measured 100 and 900."
    )
    first, *_, last = shown["x"]
    share = (float(re.search(r"H([\d.]+)V", shown["way"])[1]) - first) / (
        last - first
    )
    assert 20 * 250**share == pytest.approx(shown["needs"], rel=0.002)


def test_it_says_when_ranges_overlap_and_when_the_vit_leads():
    shown = look(make(remedy="shifts"))
    assert shown["rows"][2] == ["68.9", "68.0", "69.5", "about 450"]
    assert "the ViT with shifts 68.9%" in shown["reading"]
    assert "the ranges overlap: that settles nothing." in shown["reading"]
    reading = look(make(num_images=5000))["reading"]
    assert "The ViT is 3.1 points ahead, and each ViT beats every" in reading


def test_beyond_what_was_measured_no_number_is_made_up():
    shown = look(make(cnn=make().cnn + 4, num_images=5000))
    assert shown["rows"][0][-1] == "over 5,000"
    assert "does not get there with 5,000 images" in shown["reading"]
    assert "V" not in shown["way"]
    assert shown["needed"] == "not reached"
    shown = look(make(cnn=make().cnn * 0.2, num_images=20))
    assert shown["rows"][0][-1] == "at most 20"
    assert "with 20 images, the fewest measured" in shown["reading"]
