"""Checks of the exercises of chapter 16, looking inside."""

from collections.abc import Callable

import torch
from torch import Tensor

from vitedu.analysis import (
    attention_distance,
    attention_rollout,
    patch_distances,
)
from vitedu.checks import Verdict, judge_function, judge_number


def uniform_reach(answer: float | None) -> Verdict:
    """Check exercise 16.1: the distance of a head that looks at 2 x 1."""
    return judge_number(
        answer,
        4,
        "half of the weight stays at distance 0, half goes 8 pixels away.",
        {
            8: "that is the distance of the other patch; half of the weight "
            "stays at home.",
            0.5: "that counts patches; a patch is 8 pixels wide.",
            1: "that counts patches, and the half at home is left out.",
            16: "the distance runs from centre to centre, not edge to edge.",
        },
    )


def head_distance(candidate: Callable[..., Tensor]) -> Verdict:
    """Check exercise 16.2: ``candidate(weights, grid_size, patch_size)``."""

    def right(weights, grid_size, patch_size):
        return attention_distance(
            weights, grid_size=grid_size, patch_size=patch_size
        )

    def in_patches(weights, grid_size, patch_size):
        return right(weights, grid_size, 1)

    def not_renormalised(weights, grid_size, patch_size):
        distances = patch_distances(grid_size, patch_size).to(weights)
        n = len(distances)
        among = weights[..., -n:, -n:]
        return (among * distances).sum(-1).mean(-1).mean(0)

    def city_blocks(weights, grid_size, patch_size):
        rows, columns = grid_size
        centres = torch.cartesian_prod(
            torch.arange(rows), torch.arange(columns)
        ).to(weights)
        distances = torch.cdist(centres, centres, p=1) * patch_size
        n = len(distances)
        among = weights[..., -n:, -n:]
        among = among / among.sum(-1, keepdim=True)
        return (among * distances).sum(-1).mean(-1).mean(0)

    def last_token_dropped(weights, grid_size, patch_size):
        return right(weights[..., :-1, :-1], grid_size, patch_size)

    wrong = {
        "your distances count patches; multiply by patch_size to get "
        "pixels.": in_patches,
        "after dropping the class token the weights of a row no longer add "
        "up to 1: divide by their sum.": not_renormalised,
        "you add steps along rows and columns; the straight line is asked "
        "for.": city_blocks,
        "you dropped the last token; the class token is the first.": (
            last_token_dropped
        ),
    }
    generator = torch.Generator().manual_seed(0)
    cases = {}
    for rows, columns, patch_size in ((4, 4, 2), (3, 5, 7)):
        tokens = 1 + rows * columns
        scores = torch.randn(2, 3, tokens, tokens, generator=generator)
        cases[f"grid {rows} x {columns}"] = (
            scores.double().softmax(dim=-1),
            (rows, columns),
            patch_size,
        )
    return judge_function(candidate, right, wrong, cases)


def class_token_rollout(candidate: Callable[..., Tensor]) -> Verdict:
    """Check exercise 16.3: ``candidate(maps)``, maps of all layers."""

    def right(maps):
        return attention_rollout(list(maps))[:, 0, 1:]

    def no_residual(maps):
        return attention_rollout(list(maps), residual=0)[:, 0, 1:]

    def upside_down(maps):
        return right(maps.flip(0))

    def asked_by_patches(maps):
        return attention_rollout(list(maps))[:, 1:, 0]

    def not_halved(maps):
        return 2 ** len(maps) * right(maps)

    def heads_added(maps):
        itself = torch.eye(maps.shape[-1]).to(maps)
        row = itself[:1].expand(maps.shape[1], 1, -1)
        for layer in reversed(maps.sum(dim=2)):
            row = row @ (0.5 * itself + 0.5 * layer)
        return row[:, 0, 1:]

    def last_layer_only(maps):
        return maps[-1].mean(dim=1)[:, 0, 1:]

    def patches_share_out(maps):
        found = right(maps)
        return found / found.sum(dim=-1, keepdim=True)

    wrong = {
        "a token also keeps half of itself in each layer.": no_residual,
        "what the last layer takes is made of what the layers below took; "
        "yours goes through the layers the other way.": upside_down,
        "you ask how much of the class token is in each patch; a row "
        "belongs to the token that asks.": asked_by_patches,
        "your shares of a token add up to more than 1: a half stays, and "
        "only a half comes from attention.": not_halved,
        "the heads share one token: take their mean, not their sum.": (
            heads_added
        ),
        "that is where the last layer looks; follow it down to the "
        "image.": last_layer_only,
        "the class token is in itself, too: the patches alone do not add "
        "up to 1.": patches_share_out,
    }
    generator = torch.Generator().manual_seed(0)
    cases = {}
    for layers, tokens in ((2, 5), (3, 7)):
        scores = torch.randn(layers, 2, 3, tokens, tokens, generator=generator)
        maps = scores.double().softmax(dim=-1)
        cases[f"{layers} layers of {tokens} tokens"] = (maps,)
    return judge_function(candidate, right, wrong, cases)
