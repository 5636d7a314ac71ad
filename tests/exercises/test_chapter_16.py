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
    *,
    prefix=1,
    norm=math.hypot,
    unit=True,
    share_out=True,
    last=False,
    finish=lambda found: found,
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
        return finish(per_query.mean(dim=0))

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
        ({"finish": lambda found: found.mean(dim=1)}, "keep them apart"),
        ({"finish": lambda found: found.T}, "in this order"),
        ({"prefix": 0}, "your function stopped with RuntimeError"),
    ],
)
def test_head_distance_names_the_mistake(options, thought):
    expect_thought(check.head_distance(distance(**options)), thought)


def rollout(
    *,
    shares=lambda kept: kept,
    others=lambda kept: 1 - kept,
    fuse=torch.mean,
    upward=False,
    column=False,
    only_last=False,
    share_out=False,
):
    """Follow one token at a time, with one thing wrong if asked for."""

    def candidate(maps, kept):
        shares_kept = shares(kept)
        taken = others(shares_kept)
        layers = [
            (keep, take, fuse(layer, dim=1))
            for keep, take, layer in zip(shares_kept, taken, maps, strict=True)
        ]
        if only_last:
            return layers[-1][2][:, 0, 1:]
        if upward:
            layers.reverse()
        tokens = maps.shape[-1]
        made_of = torch.eye(tokens).to(maps).repeat(maps.shape[1], 1, 1)
        for keep, take, layer in layers:
            taken_in = torch.einsum("bqk,bkt->bqt", layer, made_of)
            made_of = keep * made_of + take * taken_in
        found = made_of[:, 1:, 0] if column else made_of[:, 0, 1:]
        return found / found.sum(-1, keepdim=True) if share_out else found

    return candidate


def test_class_token_rollout_accepts_a_solution():
    assert check.class_token_rollout(rollout()).right


@pytest.mark.parametrize(
    ("options", "thought"),
    [
        ({"shares": torch.zeros_like}, "keeps a share of itself"),
        ({"shares": lambda kept: 0 * kept + 0.5}, "not carry half"),
        ({"shares": lambda kept: 0 * kept + kept.mean()}, "their mean for"),
        ({"shares": lambda kept: 1 - kept}, "what the residual carries"),
        ({"shares": lambda kept: kept.flip(0)}, "opposite directions"),
        ({"upward": True}, "the other way"),
        ({"column": True}, "belongs to the token that asks"),
        ({"others": torch.ones_like}, "add up to more than 1"),
        ({"fuse": torch.sum}, "their mean, not their sum"),
        ({"only_last": True}, "follow it down"),
        ({"share_out": True}, "the class token is in itself"),
        ({"shares": lambda kept: 0 * kept + 0.9}, "a number is off"),
    ],
)
def test_class_token_rollout_names_the_mistake(options, thought):
    expect_thought(check.class_token_rollout(rollout(**options)), thought)


def test_an_unfinished_rollout():
    verdict = check.class_token_rollout(lambda maps, kept: None)
    expect_thought(verdict, "returned NoneType")


def test_unfinished_answers():
    expect_unfinished(check.uniform_reach, check.head_distance)
