"""The exercises of chapter 20, a real Vision Transformer at work."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from vitedu.book.grading import FunctionExercise, NumberExercise

# How many tokens a photograph of 1,120 × 336 pixels becomes.
panorama = NumberExercise(
    "20.1",
    "tokens of a panorama",
    hints=(
        "How wide is a patch of a ViT-S/14? How many fit into each side?",
        "Every block passes on one token more than there are patches.",
    ),
    right=1921,
    why="80 columns and 24 rows of patches, and the class token.",
    wrong={
        1920: "the class token is missing; it goes through all blocks.",
        1025: "that is a photograph of 448 × 448 pixels; this one has 80 "
        "columns and 24 rows.",
        1370: "that is the grid of the learned positions, 37 × 37. They are "
        "resampled to the grid of the photograph.",
        1471: "that is for patches of 16 pixels; these are 14 wide.",
        105: "multiply instead of adding: a grid of 80 columns and 24 rows "
        "has 80 × 24 patches.",
        376321: "that counts pixels; a patch has 14 × 14 of them.",
    },
    tolerance=0,
)


def _pairs(
    first: Tensor,
    second: Tensor,
    *,
    scaled: Callable[[Tensor], Tensor] = lambda x: F.normalize(x, dim=-1),
    mutual: bool = True,
    turned: bool = False,
    least: bool = False,
) -> Tensor:
    """Return best buddies, with one thing done differently."""
    alike = scaled(first) @ scaled(second).T
    if least:
        alike = -alike
    there, back = alike.argmax(dim=1), alike.argmax(dim=0)
    own = torch.arange(len(first))
    kept = back[there] == own if mutual else own >= 0
    columns = [own[kept], there[kept]]
    return torch.stack(columns[::-1] if turned else columns, dim=1)


def _sorted_by_second(first: Tensor, second: Tensor) -> Tensor:
    pairs = _pairs(first, second)
    return pairs[pairs[:, 1].argsort()]


def _by_distance(first: Tensor, second: Tensor) -> Tensor:
    far = torch.cdist(first, second)
    there, back = far.argmin(dim=1), far.argmin(dim=0)
    own = torch.arange(len(first))
    kept = back[there] == own
    return torch.stack([own[kept], there[kept]], dim=1)


def _make_best_buddies() -> FunctionExercise:
    generator = torch.Generator().manual_seed(0)
    cases = {}
    for rows, columns in ((12, 17), (23, 9)):
        kinds = torch.randn(6, 5, generator=generator).double()
        first, second = (
            (
                kinds[torch.randint(6, (count,), generator=generator)]
                + torch.randn(count, 5, generator=generator)
            )
            * (0.3 + 3 * torch.rand(count, 1, generator=generator))
            for count in (rows, columns)
        )
        cases[f"{rows} and {columns} patches"] = (first, second)
    return FunctionExercise(
        "20.2",
        "best buddies",
        hints=(
            "All cosines form one matrix: first give each token the length "
            "1, then multiply. Which axis belongs to which argument?",
            "`argmax` along one axis gives the choices of the patches of "
            "`first`, along the other those of `second`.",
            "Follow the choice of a patch of `first`, and then the choice "
            "of the patch where you arrive. Are you back?",
        ),
        right=_pairs,
        wrong={
            "you keep every patch of `first`; its choice also has to choose "
            "it.": lambda first, second: _pairs(first, second, mutual=False),
            "you compare dot products, which favour long tokens. Divide by "
            "the lengths.": lambda first, second: _pairs(
                first, second, scaled=lambda x: x
            ),
            "you compare distances; a cosine does not depend on how long the "
            "tokens are.": _by_distance,
            "the patch of `first` comes first in a row.": (
                lambda first, second: _pairs(first, second, turned=True)
            ),
            "the pairs should follow the order of `first`.": (
                _sorted_by_second
            ),
            "your pairs are the least similar ones.": (
                lambda first, second: _pairs(first, second, least=True)
            ),
            "you divide each feature by its length over the patches; each "
            "token should get the length 1.": lambda first, second: _pairs(
                first, second, scaled=lambda x: F.normalize(x, dim=0)
            ),
        },
        cases=cases,
    )


# ``candidate(first, second)``, tokens of two pictures.
best_buddies = _make_best_buddies()


def _shares(
    tokens: Tensor,
    *,
    centred: Callable[[Tensor], Tensor] = lambda x: x - x.mean(dim=0),
    upward: bool = False,
    rooted: bool = False,
    among_patches: bool = False,
) -> Tensor:
    """Return fractions of variance, with one thing done differently."""
    apart = centred(tokens)
    if among_patches:
        apart = apart.T
    values = torch.linalg.eigvalsh(apart.T @ apart / len(apart))
    values = values.clamp(min=0)
    if rooted:
        values = values.sqrt()
    values = values if upward else values.flip(0)
    return values / values.sum()


def _make_component_shares() -> FunctionExercise:
    generator = torch.Generator().manual_seed(0)
    cases = {}
    for patches, features in ((40, 6), (25, 9)):
        spread = torch.rand(features, generator=generator).double() + 0.2
        cloud = torch.randn(patches, features, generator=generator) * spread
        centre = 2 * torch.randn(features, generator=generator)
        cases[f"{patches} patches of {features} features"] = (cloud + centre,)
    return FunctionExercise(
        "20.3",
        "component shares",
        hints=(
            "Components describe how points are distributed around their "
            "centre. What is the centre of the cloud of tokens?",
            "Add a fixed vector to all tokens. The cloud moves, but its shape "
            "does not change. Do your fractions change?",
            "Along which axis do you have to average to get one vector of "
            "d_model components?",
        ),
        right=_shares,
        wrong={
            "your fractions change when a fixed vector is added to all "
            "tokens: you subtract the mean of each token, not the mean "
            "token.": (
                lambda tokens: _shares(
                    tokens, centred=lambda x: x - x.mean(dim=1, keepdim=True)
                )
            ),
            "you do not subtract anything; the first component then points "
            "to the centre of the cloud.": lambda tokens: _shares(
                tokens, centred=lambda x: x
            ),
            "you subtract one number from everything; each feature has its "
            "own mean.": lambda tokens: _shares(
                tokens, centred=lambda x: x - x.mean()
            ),
            "the largest fraction comes first.": lambda tokens: _shares(
                tokens, upward=True
            ),
            "those are fractions of the standard deviation; the variance is "
            "its square.": lambda tokens: _shares(tokens, rooted=True),
            "you divide each feature by its standard deviation; that changes "
            "the shape of the cloud.": lambda tokens: _shares(
                tokens,
                centred=lambda x: (x - x.mean(dim=0)) / x.std(dim=0),
            ),
            "there should be one fraction per feature; your covariance is "
            "between patches.": lambda tokens: _shares(
                tokens, among_patches=True
            ),
        },
        cases=cases,
    )


# ``candidate(tokens)``, (patch, d_model).
component_shares = _make_component_shares()
