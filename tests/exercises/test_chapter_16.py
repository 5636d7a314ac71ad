"""The exercises of chapter 16, looking inside."""

import math

import pytest
import torch
from judging import expect_thought, expect_unfinished

from vitedu.exercises import chapter_16 as check


def test_uniform_reach_accepts_the_number():
    assert check.uniform_reach(4)
    assert check.uniform_reach(4.0)


@pytest.mark.parametrize(
    ("answer", "thought"),
    [
        (8, "stays at home"),
        (0.5, "8 pixels wide"),
        (1, "at home is left out"),
        (16, "centre to centre"),
    ],
)
def test_uniform_reach_names_the_mistake(answer, thought):
    expect_thought(check.uniform_reach(answer), thought)


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
    assert check.head_distance(distance()).right


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
    expect_thought(check.head_distance(distance(**options)), thought)


def test_unfinished_answers():
    expect_unfinished(check.uniform_reach, check.head_distance)
