"""The exercises of chapter 16, looking inside."""

from collections.abc import Callable

import torch
from torch import Tensor

from vitedu.analysis.attention_maps import attention_distance, patch_distances
from vitedu.book.grading import FunctionExercise, NumberExercise


def _thinned(
    share_out: Callable[[Tensor], Tensor],
    *,
    thin: bool = True,
    itself: float = 1.0,
    before: Callable[[Tensor], Tensor] = lambda layer: layer,
    downward: bool = False,
    last: Callable[[Tensor], Tensor] = lambda product: product,
    strongest: bool = False,
    each_row: bool = False,
) -> Callable[[Tensor, float], Tensor]:
    """Return the rollout of exercise 16.4, with one thing done otherwise."""

    def rollout(maps: Tensor, dropped: float) -> Tensor:
        identity = torch.eye(maps.shape[-1]).to(maps)
        product = identity
        for layer in maps.mean(dim=1).flip(0 if downward else ()):
            if thin:
                ranks = -layer if strongest else layer
                least = ranks.quantile(
                    dropped, dim=-1 if each_row else None, keepdim=True
                )
                weak = ranks < least
                layer = layer.masked_fill(weak, 0)
            layer = share_out(before(layer) + itself * identity)
            product = layer @ product
        return last(product)

    return rollout


def _of_rows(layer: Tensor) -> Tensor:
    return layer / layer.sum(dim=-1, keepdim=True)


# the distance of a head that looks at 2 x 1.
uniform_reach = NumberExercise(
    "16.1",
    "uniform reach",
    hints=(
        "How far is a patch from itself, and how far from the other one?",
        "The distance runs from centre to centre, in pixels. The weights "
        "say how much each of the two distances counts.",
    ),
    right=4,
    why="half of the weight stays at distance 0, half goes 8 pixels away.",
    wrong={
        8: "that is the distance of the other patch; half of the weight stays "
        "on the patch itself.",
        0.5: "that counts patches; a patch is 8 pixels wide.",
        1: "that counts patches, and the half on the patch itself is left "
        "out.",
        16: "the distance runs from centre to centre, not edge to edge.",
        0: "that is only the half on the patch itself; the other half goes "
        "further.",
        2: "you halve twice: the weights already say how much each of the two "
        "distances counts.",
    },
)


def _make_head_distance() -> FunctionExercise:
    def measure(weights, distances, share_out=True):
        n = len(distances)
        among = weights[..., -n:, -n:]
        if share_out:
            among = among / among.sum(-1, keepdim=True)
        return (among * distances.to(weights)).sum(-1).mean(0)

    def right(weights, grid_size, patch_size):
        return measure(weights, patch_distances(grid_size, patch_size))

    def in_patches(weights, grid_size, patch_size):
        return right(weights, grid_size, 1)

    def not_renormalised(weights, grid_size, patch_size):
        distances = patch_distances(grid_size, patch_size)
        return measure(weights, distances, share_out=False)

    def city_blocks(weights, grid_size, patch_size):
        rows, columns = grid_size
        centres = torch.cartesian_prod(
            torch.arange(rows), torch.arange(columns)
        ).to(weights)
        distances = torch.cdist(centres, centres, p=1) * patch_size
        return measure(weights, distances)

    def over_queries(weights, grid_size, patch_size):
        distances = patch_distances(grid_size, patch_size).to(weights)
        among = weights[..., 1:, 1:]
        among = among / among.sum(-1, keepdim=True)
        return (among * distances).sum(-2).mean(0)

    def last_token_dropped(weights, grid_size, patch_size):
        return right(weights[..., :-1, :-1], grid_size, patch_size)

    def one_per_head(weights, grid_size, patch_size):
        return attention_distance(
            weights, grid_size=grid_size, patch_size=patch_size
        )

    def patches_first(weights, grid_size, patch_size):
        return right(weights, grid_size, patch_size).T

    wrong = {
        "your distances count patches; multiply by patch_size to get "
        "pixels.": in_patches,
        "after dropping the class token the weights of a row no longer add "
        "up to 1: divide by their sum.": not_renormalised,
        "you add steps along rows and columns; measure along the straight "
        "line.": city_blocks,
        "you weight squares of distances; take the root of each first.": (
            lambda weights, grid_size, patch_size: measure(
                weights, patch_distances(grid_size, patch_size).square()
            )
        ),
        "you add up over the query patches; each row has its own distance.": (
            over_queries
        ),
        "you dropped the last token; the class token is the first.": (
            last_token_dropped
        ),
        "you averaged over the query patches; keep them separate.": (
            one_per_head
        ),
        "the axes are (head, query patch), in this order.": patches_first,
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
    return FunctionExercise(
        "16.2",
        "head distance",
        hints=(
            "How far is each patch from each other one? This does not "
            "depend on the weights.",
            "Make a table of these distances, in pixels. Which row and "
            "which column of the weights have no place in it?",
            "Three steps: leave the class token out, make each row add up to "
            "1 again, weight the table. Then take the mean over one axis "
            "only.",
        ),
        right=right,
        wrong=wrong,
        cases=cases,
    )


# ``candidate(weights, grid_size, patch_size)``.
head_distance = _make_head_distance()


def _make_class_token_rollout() -> FunctionExercise:
    def follow(maps, kept, taken):
        """Return the whole product, for shares of one's own."""
        itself = torch.eye(maps.shape[-1]).to(maps)
        product = itself
        for share, other, layer in zip(kept, taken, maps, strict=True):
            product = (share * itself + other * layer) @ product
        return product

    def right(maps, kept):
        return follow(maps.mean(dim=2), kept, 1 - kept)[:, 0, 1:]

    def no_residual(maps, kept):
        return right(maps, torch.zeros_like(kept))

    def half_everywhere(maps, kept):
        return right(maps, torch.full_like(kept, 0.5))

    def one_share_for_all(maps, kept):
        return right(maps, kept.mean().expand(len(kept)))

    def kept_of_attention(maps, kept):
        return right(maps, 1 - kept)

    def upside_down(maps, kept):
        return right(maps.flip(0), kept.flip(0))

    def shares_upside_down(maps, kept):
        return right(maps, kept.flip(0))

    def asked_by_patches(maps, kept):
        return follow(maps.mean(dim=2), kept, 1 - kept)[:, 1:, 0]

    def too_much(maps, kept):
        return follow(maps.mean(dim=2), kept, torch.ones_like(kept))[:, 0, 1:]

    def heads_added(maps, kept):
        return follow(maps.sum(dim=2), kept, 1 - kept)[:, 0, 1:]

    def last_layer_only(maps, kept):
        return maps[-1].mean(dim=1)[:, 0, 1:]

    def patches_share_out(maps, kept):
        found = right(maps, kept)
        return found / found.sum(dim=-1, keepdim=True)

    wrong = {
        "a token also keeps a fraction of itself in each layer.": no_residual,
        "the residual does not carry half everywhere; kept says how much in "
        "each layer.": half_everywhere,
        "each layer has its own fraction; you used their mean for all.": (
            one_share_for_all
        ),
        "kept is what the residual carries; the rest comes from "
        "attention.": kept_of_attention,
        "what the last layer takes is made of what the layers below took; you "
        "go through the layers in the opposite order.": upside_down,
        "your layers and their fractions run in opposite directions.": (
            shares_upside_down
        ),
        "you ask how much of the class token is in each patch; a row "
        "belongs to the token that asks.": asked_by_patches,
        "the fractions of a token add up to more than 1: attention brings "
        "only what the residual leaves.": too_much,
        "the heads share one token: take their mean, not their sum.": (
            heads_added
        ),
        "that is where the last layer looks; follow it down to the "
        "image.": last_layer_only,
        "the class token also contains itself: the patches alone do not add "
        "up to 1.": patches_share_out,
    }
    generator = torch.Generator().manual_seed(0)
    cases = {}
    for kept, tokens in (((0.5, 0.2), 5), ((0.3, 0.6, 0.1), 7)):
        scores = torch.randn(
            len(kept), 2, 3, tokens, tokens, generator=generator
        )
        cases[f"{len(kept)} layers of {tokens} tokens"] = (
            scores.double().softmax(dim=-1),
            torch.tensor(kept).double(),
        )
    return FunctionExercise(
        "16.3",
        "class token rollout",
        hints=(
            "After a layer, what fraction of a token is the token itself, and "
            "where does the rest come from?",
            "Write one layer as a matrix: a row says what a token is made "
            "of. Two layers are a product of two such matrices. In which "
            "order?",
            "One row of the product is enough. Begin with the row of the "
            "last layer, and multiply it from the right by the layers "
            "below.",
        ),
        right=right,
        wrong=wrong,
        cases=cases,
    )


# ``candidate(maps, kept)``, maps of all layers.
class_token_rollout = _make_class_token_rollout()


def _make_thinned_rollout() -> FunctionExercise:
    def as_it_was(layer: Tensor) -> Tensor:
        return layer / layer.sum(dim=-1)

    generator = torch.Generator().manual_seed(0)
    cases = {
        f"{depth} layers of {tokens} tokens": (
            (2 * torch.randn(depth, 3, tokens, tokens, generator=generator))
            .double()
            .softmax(dim=-1),
            dropped,
        )
        for depth, tokens, dropped in ((2, 5, 0.5), (3, 7, 0.3))
    }
    example = next(iter(cases.values()))
    off = _thinned(as_it_was)(*example)[0].sum().item()
    wrong = {
        "the fractions that make up the class token should add up to 1; "
        f"yours add up to {off:.2f}.": _thinned(as_it_was),
        "your columns add up to 1 in each layer. A column says where a token "
        "goes; a row says what one is made of.": _thinned(
            lambda layer: layer / layer.sum(dim=0)
        ),
        "your fractions add up to 1 at the end, but not in the layers. A "
        "token that a layer weights too heavily remains too heavy.": _thinned(
            as_it_was, last=_of_rows
        ),
        "you divide once, at the end. By then, rows with different sums have "
        "been mixed.": _thinned(lambda layer: layer, last=_of_rows),
        "half would be right for rows that add up to 2. Yours have lost their "
        "weak weights.": _thinned(lambda layer: layer / 2),
        "your fractions grow from layer to layer: nothing is divided any "
        "more.": (_thinned(lambda layer: layer)),
        "your attention rows add up to 1 before the identity is added, so "
        "each token keeps a half. The exercise asks for the opposite "
        "order.": _thinned(_of_rows, before=_of_rows),
        "the sums are right because you drop no weights.": _thinned(
            _of_rows, thin=False
        ),
        "your tokens keep nothing of themselves.": _thinned(
            _of_rows, itself=0
        ),
        "your product goes through the layers in opposite order.": _thinned(
            _of_rows, downward=True
        ),
        "you drop the strongest weights.": _thinned(_of_rows, strongest=True),
        "you drop the weakest of each row; drop the weakest of the whole "
        "layer.": _thinned(_of_rows, each_row=True),
    }
    return FunctionExercise(
        "16.4",
        "thinned rollout",
        hints=(
            "What is a token made of? Add up the fractions. What should the "
            "sum be?",
            "Look at one layer after its division. Does each row of it add "
            "up to 1?",
            "`layer.sum(dim=-1)` has one axis fewer than `layer`. Along which "
            "axis of `layer` does PyTorch then broadcast these sums?",
        ),
        right=_thinned(_of_rows),
        wrong=wrong,
        cases=cases,
    )


# ``candidate(maps, dropped)``, maps of an image.
thinned_rollout = _make_thinned_rollout()
