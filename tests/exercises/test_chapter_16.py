"""The exercises of chapter 16, looking inside."""

import math
from functools import reduce

import pytest
import torch
import torch.nn.functional as F
from judging import expect_thought, expect_unfinished

from vitedu.analysis import patch_distances
from vitedu.exercises import chapter_16 as check


def test_uniform_reach_accepts_the_number():
    assert check.uniform_reach(4)
    weights = torch.full((1, 1, 2, 2), 0.5)
    far = patch_distances((1, 2), 8)
    assert check.uniform_reach((weights * far).sum(dim=-1).mean().item())


@pytest.mark.parametrize(
    ("answer", "thought"),
    [
        (8, "stays at home"),
        (0.5, "8 pixels wide"),
        (1, "at home is left out"),
        (16, "centre to centre"),
        (0, "the other half travels"),
        (2, "you halve twice"),
        (3, "is not it"),
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


def without_loops(weights, grid_size, patch_size):
    """Take the distances from coordinates, all pairs at once."""
    centres = torch.stack(
        torch.meshgrid(*map(torch.arange, grid_size), indexing="ij"), dim=-1
    )
    centres = patch_size * centres.flatten(0, 1).to(weights)
    far = (centres[:, None] - centres).norm(dim=-1)
    among = weights[:, :, 1:, 1:]
    return ((among * far).sum(-1) / among.sum(-1)).mean(0)


@pytest.mark.parametrize("solution", [distance(), without_loops])
def test_head_distance_accepts_a_solution(solution):
    assert check.head_distance(solution).right


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


def as_matrices(maps, kept):
    """Multiply whole layers, the last one first."""
    mixed = (1 - kept[:, None, None, None]) * maps.mean(dim=2)
    mixed.diagonal(dim1=-2, dim2=-1).add_(kept[:, None, None])
    return reduce(torch.matmul, mixed.flip(0))[:, 0, 1:]


@pytest.mark.parametrize("solution", [rollout(), as_matrices])
def test_class_token_rollout_accepts_a_solution(solution):
    assert check.class_token_rollout(solution).right


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


def thinned(
    *,
    axis=1,
    divide=True,
    finish=False,
    halve=False,
    thin=True,
    itself=1,
    early=False,
    downward=False,
):
    """Follow the layers row by row, with one thing wrong if asked for."""

    def candidate(maps, dropped):
        product = torch.eye(maps.shape[-1]).to(maps)
        layers = [layer.mean(dim=0) for layer in maps]
        for layer in reversed(layers) if downward else layers:
            least = layer.flatten().quantile(dropped) if thin else -1
            layer = torch.where(layer < least, 0, layer)
            if early:
                layer = F.normalize(layer, p=1, dim=1)
            layer = layer + itself * torch.eye(len(layer)).to(maps)
            if halve:
                layer = layer / 2
            elif divide and axis is None:
                layer = layer / layer.sum(dim=1)
            elif divide:
                layer = F.normalize(layer, p=1, dim=axis)
            product = torch.einsum("qk,kt->qt", layer, product)
        return F.normalize(product, p=1, dim=1) if finish else product

    return candidate


def row_by_row(maps, dropped):
    """Share out one row at a time, the last layer first."""
    product = torch.eye(maps.shape[-1]).to(maps)
    for layer in maps.mean(dim=1).flip(0):
        rows = layer.clone()
        rows[layer < torch.quantile(layer, dropped)] = 0
        rows.diagonal().add_(1)
        for row in rows:
            row /= row.sum()
        product = product @ rows
    return product


@pytest.mark.parametrize("solution", [thinned(), row_by_row])
def test_thinned_rollout_accepts_a_solution(solution):
    assert check.thinned_rollout(solution).right


@pytest.mark.parametrize(
    ("options", "thought"),
    [
        ({"axis": None}, "yours add up to 0."),
        ({"axis": 0}, "your columns add up to 1"),
        ({"axis": None, "finish": True}, "but not in the layers"),
        ({"divide": False, "finish": True}, "you divide once, at the end"),
        ({"halve": True}, "have lost their weak weights"),
        ({"divide": False}, "nothing is divided any more"),
        ({"early": True}, "before the identity is added"),
        ({"thin": False}, "because you drop no weights"),
        ({"itself": 0}, "keep nothing of themselves"),
        ({"downward": True}, "the other way"),
        ({"itself": 2}, "a number is off"),
    ],
)
def test_thinned_rollout_names_the_mistake(options, thought):
    expect_thought(check.thinned_rollout(thinned(**options)), thought)


def test_the_first_verdict_on_the_thinned_rollout_does_not_name_the_bug():
    message = check.thinned_rollout(thinned(axis=None)).message
    assert "keepdim" not in message
    assert "divi" not in message
