"""The explorers' Python side: their inputs, and the numbers they show."""

import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

from vitedu import widgets
from vitedu.widgets import AttentionPlane, SoftmaxScaling
from vitedu.widgets.attention_plane import attend
from vitedu.widgets.attention_plane import readings as plane_readings
from vitedu.widgets.base import DTYPES, Array, Explorer
from vitedu.widgets.softmax_scaling import (
    SCALES,
    draw,
    normal_numbers,
    readings,
    scale_factor,
)

FOLDER = Path(widgets.__file__).parent


class Carrier(SoftmaxScaling):
    """An explorer with an array of each kind."""

    grid = Array("row column", dtype="float16")
    pairs = Array("pair 2", default=((1, 2), (3, 4)))
    counts = Array("count", dtype="int32", default=(1,))


GRID = np.arange(6.0).reshape(2, 3)


@pytest.mark.parametrize("name", widgets.__all__)
def test_an_explorer_is_one_module_with_its_words_in_a_table(name):
    cls = getattr(widgets, name)
    assert cls._esm.count("export default { render };") == 1
    assert "import" not in cls._esm.split()
    assert (FOLDER / "common.js").read_text("utf-8") in cls._esm
    assert (FOLDER / "common.css").read_text("utf-8") in cls._css
    assert cls._esm.count("\nconst WORDS = {") == 1
    for part in cls.parts:
        assert (FOLDER / f"{part}.js").read_text("utf-8") in cls._esm


@pytest.mark.parametrize("name", widgets.__all__)
def test_no_script_asks_for_anything(name):
    script = getattr(widgets, name)._esm
    plain = script.replace("http://www.w3.org/2000/svg", "")
    for word in ("http", "fetch(", "import("):
        assert word not in plain


def test_widgets_work_without_torch():
    code = "import sys, vitedu.widgets; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_the_script_reaches_the_page():
    state = SoftmaxScaling().get_state()
    assert state["_esm"] == SoftmaxScaling._esm
    assert state["_css"] == SoftmaxScaling._css


def test_unknown_arguments_are_refused():
    with pytest.raises(TypeError, match="no argument 'headdim'"):
        SoftmaxScaling(headdim=3)


def test_an_array_without_default_is_needed():
    with pytest.raises(TypeError, match="Carrier needs the argument 'grid'"):
        Carrier()


@pytest.mark.parametrize(
    ("traits", "error", "message"),
    [
        ({"head_dim": 0}, ValueError, r"head_dim must lie in \[1, 1024\]"),
        ({"head_dim": 1025}, ValueError, "head_dim must lie in .*got 1025"),
        ({"head_dim": 8.0}, TypeError, "head_dim must be an integer"),
        ({"head_dim": True}, TypeError, "head_dim must be an integer"),
        ({"num_keys": 1}, ValueError, r"num_keys must lie in \[2, 256\]"),
        ({"seed": -1}, ValueError, "seed must lie in"),
        ({"scale": "half"}, ValueError, "scale must be one of .*got 'half'"),
        ({"temperature": 0}, ValueError, r"temperature must lie in \[0.25"),
        ({"temperature": math.nan}, ValueError, "temperature .*got nan"),
        ({"temperature": "1"}, TypeError, "temperature must be a number"),
        ({"temperature": True}, TypeError, "temperature must be a number"),
    ],
)
def test_wrong_settings_say_what_is_wrong(traits, error, message):
    with pytest.raises(error, match=message):
        SoftmaxScaling(**traits)
    explorer = SoftmaxScaling()
    before = {name: getattr(explorer, name) for name in traits}
    with pytest.raises(error, match=message):
        explorer.set_trait(*next(iter(traits.items())))
    assert {name: getattr(explorer, name) for name in traits} == before


@pytest.mark.parametrize(
    ("traits", "error", "message"),
    [
        ({"playing": 1}, TypeError, "playing must be True or False, got 1"),
        ({"angle": 361.0}, ValueError, r"angle must lie in \[0.0, 360.0\]"),
        ({"length": 4.1}, ValueError, "length must lie in"),
        (
            {"key_points": np.zeros((3, 2))},
            ValueError,
            "as many rows, got 3 and 7",
        ),
        (
            {"key_points": np.full((7, 2), 5)},
            ValueError,
            r"key_points must lie in \[-4, 4\]",
        ),
        (
            {"value_points": np.full((7, 2), -4.5)},
            ValueError,
            r"value_points must lie in \[-4, 4\]",
        ),
    ],
)
def test_wrong_planes_say_what_is_wrong(traits, error, message):
    with pytest.raises(error, match=message):
        AttentionPlane(**traits)


@pytest.mark.parametrize(
    ("traits", "error", "message"),
    [
        ({"grid": [[1.0]]}, TypeError, "grid must be a numpy array, got list"),
        ({"grid": np.zeros(3)}, ValueError, r"\(row column\).*shape \(3,\)"),
        ({"grid": np.zeros((0, 3))}, ValueError, r"none empty.*\(0, 3\)"),
        ({"grid": np.full((1, 1), np.nan)}, ValueError, "grid must be finite"),
        ({"grid": np.full((1, 1), 1e6)}, ValueError, "within float16"),
        ({"grid": np.zeros((1, 1), complex)}, TypeError, "got complex128"),
        ({"pairs": np.zeros((4, 3))}, ValueError, r"\(pair 2\)"),
        ({"counts": np.array([1.5])}, TypeError, "int32, got float64"),
        ({"counts": np.array([2**40])}, ValueError, "counts must be finite"),
    ],
)
def test_wrong_arrays_say_what_is_wrong(traits, error, message):
    with pytest.raises(error, match=message):
        Carrier(**{"grid": GRID} | traits)


def test_an_unknown_dtype_is_refused():
    with pytest.raises(ValueError, match="dtype must be one of"):
        Array("row", dtype="int64")


@pytest.mark.parametrize("dtype", DTYPES)
def test_an_array_travels_as_its_bytes(dtype):
    class One(SoftmaxScaling):
        grid = Array("row column", dtype=dtype)

    wire = One(grid=GRID.astype(dtype)).get_state()["grid"]
    assert wire["shape"] == [2, 3]
    back = np.frombuffer(wire["data"], wire["dtype"]).reshape(wire["shape"])
    assert back.dtype == dtype
    np.testing.assert_array_equal(back, GRID.astype(dtype))


def test_an_array_cannot_change_unseen():
    source = GRID.astype("float16")
    carrier = Carrier(grid=source)
    source[:] = 9
    np.testing.assert_array_equal(carrier.grid, GRID)
    with pytest.raises(ValueError, match="read-only"):
        carrier.grid[0, 0] = 1


def test_a_new_array_is_sent():
    carrier = Carrier(grid=GRID)
    seen = []
    carrier.observe(lambda change: seen.append(change["new"].shape), "grid")
    carrier.grid = np.zeros((4, 5))
    assert seen == [(4, 5)]


def reference_normals(seed: int, count: int) -> list[float]:
    """Mulberry32 and Box-Muller, one step after the other."""
    mask = 2**32 - 1

    def uniform() -> float:
        nonlocal seed
        seed = (seed + 0x6D2B79F5) & mask
        t = ((seed ^ seed >> 15) * (seed | 1)) & mask
        t ^= (t + (t ^ t >> 7) * (t | 61)) & mask
        return (t ^ t >> 14) / 2**32

    numbers: list[float] = []
    while len(numbers) < count:
        radius = math.sqrt(-2 * math.log(1 - uniform()))
        angle = 2 * math.pi * uniform()
        numbers += [radius * math.cos(angle), radius * math.sin(angle)]
    return numbers[:count]


@given(st.integers(0, 2**32 - 1), st.integers(1, 50))
def test_normal_numbers_are_those_of_the_recurrence(seed, count):
    np.testing.assert_allclose(
        normal_numbers(seed, count), reference_normals(seed, count), rtol=1e-12
    )


def test_normal_numbers_are_normal():
    numbers = normal_numbers(1, 200_000)
    assert abs(numbers.mean()) < 0.01
    assert abs(numbers.var() - 1) < 0.01
    assert abs((numbers**4).mean() - 3) < 0.05
    assert abs(np.corrcoef(numbers[:-1], numbers[1:])[0, 1]) < 0.01


def test_more_dimensions_and_keys_are_appended():
    small, large = draw(5, 7, 3), draw(5, 11, 13)
    for few, many in zip(small, large, strict=True):
        np.testing.assert_array_equal(few, many[: len(few), :7])
    assert [part.shape for part in large] == [
        (64, 11),
        (13, 11),
        (13, 11),
        (64, 11),
    ]


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize(
    ("head_dim", "num_keys"), [(1, 2), (5, 256), (64, 16), (300, 97)]
)
def test_readings_equal_automatic_differentiation(scale, head_dim, num_keys):
    explorer = SoftmaxScaling(
        head_dim=head_dim, num_keys=num_keys, scale=scale, temperature=3.0
    )
    q, k, v, u = (torch.tensor(part) for part in draw(0, head_dim, num_keys))
    factor = scale_factor(scale, head_dim, 3.0)
    q.requires_grad_()
    out = F.scaled_dot_product_attention(q, k, v, scale=factor)
    (u * out).sum().backward()
    norms = q.grad.norm(dim=-1)
    scores = (q @ k.T * factor).detach()
    weights = scores.softmax(dim=-1)
    expected = {
        "scale": factor,
        "scores": scores[0],
        "weights": weights[0],
        "score_std": scores[0].std(correction=0),
        "score_std_all": scores.std(correction=0),
        "theory_std": math.sqrt(head_dim) * factor,
        "entropy": torch.special.entr(weights).sum(-1).mean(),
        "max_entropy": math.log(num_keys),
        "grad_norms": norms,
        "grad_p10": norms.quantile(0.1),
        "grad_median": norms.quantile(0.5),
        "dead_share": (norms < 1e-3).double().mean(),
    }
    shown = readings(explorer)
    assert shown.keys() == expected.keys()
    for name, value in expected.items():
        np.testing.assert_allclose(
            shown[name], value, rtol=1e-9, atol=1e-9, err_msg=name
        )


@pytest.mark.parametrize(
    ("scale", "expected"),
    [
        ("1/sqrt(head_dim)", 1 / 5),
        ("none", 1.0),
        ("1/sqrt(d_model)", 1 / math.sqrt(300)),
        ("temperature", 1 / 7),
    ],
)
def test_scale_factor(scale, expected):
    assert scale_factor(scale, 25, 7.0) == pytest.approx(expected)


def test_queries_die_without_scaling_and_live_with_it():
    def dead(scale: str) -> float:
        return np.mean(
            [
                readings(
                    SoftmaxScaling(
                        head_dim=512, num_keys=197, scale=scale, seed=seed
                    )
                )["dead_share"]
                for seed in range(5)
            ]
        )

    assert dead("1/sqrt(head_dim)") == 0
    assert 0.1 < dead("none") < 0.3


def test_attend_is_attention_in_the_plane():
    rng = np.random.default_rng(0)
    query, keys, values = (rng.normal(size=(n, 2)) for n in (1, 7, 7))
    weights, output = attend(query[0], keys, values)
    expected = F.scaled_dot_product_attention(
        *map(torch.tensor, (query, keys, values))
    )
    assert weights.sum() == pytest.approx(1)
    np.testing.assert_allclose(output, expected[0], rtol=1e-12)


def test_plane_readings_follow_angle_and_length():
    shown = plane_readings(AttentionPlane(angle=90.0, length=2.0))
    np.testing.assert_allclose(shown["query"], [0, 2], atol=1e-12)
    weights, output = attend(
        np.array([0.0, 2.0]),
        np.asarray(AttentionPlane().key_points, dtype=float),
        np.asarray(AttentionPlane().value_points, dtype=float),
    )
    np.testing.assert_allclose(shown["weights"], weights)
    np.testing.assert_allclose(shown["output"], output)
    assert weights.argmax() == 2


def test_every_public_explorer_is_an_explorer():
    for name in widgets.__all__:
        assert issubclass(getattr(widgets, name), Explorer)
