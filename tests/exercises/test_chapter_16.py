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


def rollout(
    *,
    kept=0.5,
    taken=0.5,
    fuse=torch.mean,
    upward=False,
    column=False,
    only_last=False,
    share_out=False,
):
    """Follow one token at a time, with one thing wrong if asked for."""

    def candidate(maps):
        layers = [fuse(layer, dim=1) for layer in maps]
        if only_last:
            return layers[-1][:, 0, 1:]
        if upward:
            layers.reverse()
        tokens = maps.shape[-1]
        made_of = torch.eye(tokens).to(maps).repeat(maps.shape[1], 1, 1)
        for layer in layers:
            taken_in = torch.einsum("bqk,bkt->bqt", layer, made_of)
            made_of = kept * made_of + taken * taken_in
        found = made_of[:, 1:, 0] if column else made_of[:, 0, 1:]
        return found / found.sum(-1, keepdim=True) if share_out else found

    return candidate


def test_class_token_rollout_accepts_a_solution():
    assert check.class_token_rollout(rollout()).right


@pytest.mark.parametrize(
    ("options", "thought"),
    [
        ({"kept": 0, "taken": 1}, "keeps half of itself"),
        ({"upward": True}, "the other way"),
        ({"column": True}, "belongs to the token that asks"),
        ({"kept": 1, "taken": 1}, "add up to more than 1"),
        ({"fuse": torch.sum}, "their mean, not their sum"),
        ({"only_last": True}, "follow it down"),
        ({"share_out": True}, "the class token is in itself"),
        ({"kept": 0.9, "taken": 0.1}, "a number is off"),
    ],
)
def test_class_token_rollout_names_the_mistake(options, thought):
    expect_thought(check.class_token_rollout(rollout(**options)), thought)


def test_an_unfinished_rollout():
    verdict = check.class_token_rollout(lambda maps: None)
    expect_thought(verdict, "returned NoneType")


def test_unfinished_answers():
    expect_unfinished(check.uniform_reach, check.head_distance)
