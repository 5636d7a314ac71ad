"""The checks of the exercises: solutions pass, foreseen mistakes are named."""

import math

import pytest
import torch
from helpers import draw

from vitedu import exercises


@pytest.mark.parametrize(
    ("check", "solution"),
    [
        (exercises.score_spread, 40),
        (exercises.num_tokens, 197),
        (exercises.uniform_reach, 4),
    ],
)
def test_right_numbers(check, solution):
    assert check(solution).right
    assert check(float(solution)).right
    assert not check(None)
    assert not check(solution * 1.5 + 1)


def test_a_count_has_no_tolerance():
    assert not exercises.num_tokens(198)


@pytest.mark.parametrize(
    ("check", "answer", "thought"),
    [
        (exercises.score_spread, 1600, "variance"),
        (exercises.score_spread, 10, "components of variance 1"),
        (exercises.score_spread, 20, "has variance 16"),
        (exercises.score_spread, 4, "after scaling"),
        (exercises.score_spread, 400, "100 * 4"),
        (exercises.num_tokens, 196, "who else"),
        (exercises.num_tokens, 256, "in pixels"),
        (exercises.num_tokens, 14, "one side"),
        (exercises.num_tokens, 15, "and a token"),
        (exercises.num_tokens, 768, "width of a token"),
        (exercises.uniform_reach, 8, "stays at home"),
        (exercises.uniform_reach, 0.5, "8 pixels wide"),
        (exercises.uniform_reach, 1, "at home is left out"),
        (exercises.uniform_reach, 16, "centre to centre"),
    ],
)
def test_wrong_numbers_are_explained(check, answer, thought):
    verdict = check(answer)
    assert not verdict
    assert thought in verdict.message


def test_the_right_numbers_are_right():
    torch.manual_seed(0)
    q, k = 2 * torch.randn(2, 20_000, 100)
    assert (q * k).sum(dim=-1).std().item() == pytest.approx(40, rel=0.02)
    assert (224 // 16) ** 2 + 1 == 197


def attention(
    *, scale=lambda q, k: q.shape[-1] ** -0.5, axis=-1, hide=None, zeros=True
):
    """Write attention out, with one thing wrong if asked for."""

    def candidate(q, k, v, mask):
        scores = torch.einsum("bhqd,bhkd->bhqk", q, k) * scale(q, k)
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
            if hide is not None:
                scores = hide(q @ k.transpose(-2, -1) * scale(q, k), mask)
        weights = scores.softmax(dim=axis)
        return (weights.nan_to_num(0.0) if zeros else weights) @ v

    return candidate


def test_attention_accepts_a_solution():
    assert exercises.attention(attention()).right


@pytest.mark.parametrize(
    ("options", "thought"),
    [
        ({"scale": lambda q, k: 1.0}, "left out the scale"),
        ({"scale": lambda q, k: 1 / q.shape[-1]}, "its square root is right"),
        (
            {"scale": lambda q, k: k.shape[-2] ** -0.5},
            "the root of the number of keys",
        ),
        ({"axis": -2}, "softmax runs over the queries"),
        (
            {"hide": lambda s, m: s.masked_fill(m, -1e9)},
            "mask the wrong way round",
        ),
        ({"hide": lambda s, m: s * m}, "a score of 0 hides nothing"),
        ({"hide": lambda s, m: s}, "ignore the mask"),
        (
            {"hide": lambda s, m: s.masked_fill(~m, -1e9)},
            "gets the mean of all values",
        ),
        ({"zeros": False}, "not finite"),
    ],
)
def test_attention_names_the_mistake(options, thought):
    verdict = exercises.attention(attention(**options))
    assert not verdict
    assert thought in verdict.message


def cut(order, *, columns_first=False, strided=False):
    """Cut patches by loops, with one thing wrong if asked for."""

    def candidate(images, p):
        rows, columns = images.shape[2] // p, images.shape[3] // p
        if strided:
            squares = [
                images[:, :, r::rows, c::columns]
                for r in range(rows)
                for c in range(columns)
            ]
        else:
            places = [(r, c) for r in range(rows) for c in range(columns)]
            if columns_first:
                places.sort(key=lambda place: place[::-1])
            squares = [
                images[:, :, r * p : r * p + p, c * p : c * p + p]
                for r, c in places
            ]
        return torch.stack(
            [x.permute(0, *order).flatten(1) for x in squares], dim=1
        )

    return candidate


def test_cut_patches_accepts_a_solution():
    assert exercises.cut_patches(cut((1, 2, 3))).right


@pytest.mark.parametrize(
    ("candidate", "thought"),
    [
        (
            lambda images, p: images.reshape(
                len(images), -1, images.shape[1] * p * p
            ),
            "reshaped without moving axes",
        ),
        (cut((1, 2, 3), columns_first=True), "run down the columns"),
        (cut((2, 3, 1)), "(row, column, channel)"),
        (cut((1, 2, 3), strided=True), "takes every n-th pixel"),
        (lambda images, p: images[:, :, ::p, ::p], "the shape is"),
    ],
)
def test_cut_patches_names_the_mistake(candidate, thought):
    verdict = exercises.cut_patches(candidate)
    assert not verdict
    assert thought in verdict.message


def distance(
    *, prefix=1, norm=math.hypot, unit=True, share_out=True, last=False
):
    """Measure by loops, with one thing wrong if asked for."""

    def candidate(weights, grid_size, patch_size):
        rows, columns = grid_size
        places = [(r, c) for r in range(rows) for c in range(columns)]
        steps = torch.tensor(
            [[norm(a - c, b - d) for c, d in places] for a, b in places]
        ).to(weights)
        if last:
            among = weights[..., :-1, :-1]
        else:
            among = weights[..., prefix:, prefix:]
        if share_out:
            among = among / among.sum(dim=-1, keepdim=True)
        per_query = (among * steps).sum(dim=-1) * (patch_size if unit else 1)
        return per_query.mean(dim=(0, 2))

    return candidate


def test_head_distance_accepts_a_solution():
    assert exercises.head_distance(distance()).right


@pytest.mark.parametrize(
    ("options", "thought"),
    [
        ({"unit": False}, "count patches"),
        ({"share_out": False}, "divide by their sum"),
        ({"norm": lambda a, b: abs(a) + abs(b)}, "the straight line"),
        ({"last": True}, "dropped the last token"),
        ({"prefix": 0}, "your function stopped with RuntimeError"),
    ],
)
def test_head_distance_names_the_mistake(options, thought):
    verdict = exercises.head_distance(distance(**options))
    assert not verdict
    assert thought in verdict.message


def test_unfinished_answers():
    checks = (
        exercises.attention,
        exercises.cut_patches,
        exercises.head_distance,
    )
    for check in checks:
        assert "returned NoneType" in check(lambda *inputs: None).message
        assert not check(lambda *inputs: draw(2, 3))
