"""The exercises of chapter 18, pretrained weights."""

import os
from collections.abc import Callable

import torch
from einops import rearrange
from torch import Tensor

from vitedu.book.grading import FunctionExercise, NumberExercise
from vitedu.config import ViTConfig
from vitedu.pretrained.models import save_vit
from vitedu.vit import VisionTransformer

_HEADS = 6


def mystery(path: str | os.PathLike) -> tuple[Tensor, Tensor]:
    """Write the file of exercise 18.3; return images and their logits.

    The weights are random, the names are those of timm. The config in the
    file claims one head, which is not the number that made the logits.
    """
    sizes = {"image_size": 6, "patch_size": 2, "num_channels": 1}
    sizes |= {"num_classes": 5, "d_model": 24, "num_layers": 2, "d_ff": 48}
    state = VisionTransformer(ViTConfig(**sizes, num_heads=1)).state_dict()
    generator = torch.Generator().manual_seed(0)

    def draw(*shape: int) -> Tensor:
        return 0.5 * torch.randn(shape, generator=generator)

    state = {name: draw(*tensor.shape) for name, tensor in state.items()}
    images = draw(3, 1, 6, 6)
    models = []
    for heads in (1, _HEADS):
        model = VisionTransformer(ViTConfig(**sizes, num_heads=heads)).eval()
        model.load_state_dict(state)
        models.append(model)
    save_vit(path, models[0])
    with torch.no_grad():
        return images, models[1](images)


# the pixels that 145 positions are for.
image_side = NumberExercise(
    "18.1",
    "image side",
    hints=(
        "Which of the positions belongs to no patch?",
        "The others form a square. How many patches are there along its side, "
        "and what do the first two axes of the kernel tell you about one "
        "patch?",
    ),
    right=384,
    why="144 of the 145 positions are patches, 12 by 12, of 32 pixels each.",
    wrong={
        224: "that is the usual size, but 7 × 7 patches would make 50 "
        "positions.",
        145 * 32: "that is as if all positions were in one row.",
        144 * 32: "that is as if all patches were in one row.",
        12: "that is the side of the grid, in patches.",
        144: "that is the number of patches.",
        145: "that is the number of positions.",
        192: "that is with patches of 16; the kernel says 32.",
        32: "that is the side of one patch.",
    },
    tolerance=0,
)


def _make_by_kind() -> FunctionExercise:
    def order(axes: str) -> Callable[..., Tensor]:
        def rows(weight: Tensor, num_heads: int) -> Tensor:
            return rearrange(
                weight, f"{axes} d -> (three h k) d", h=num_heads, three=3
            )

        return rows

    right = order("(h three k)")

    def kinds(*places: int) -> Callable[..., Tensor]:
        def rows(weight: Tensor, num_heads: int) -> Tensor:
            parts = right(weight, num_heads).chunk(3)
            return torch.cat([parts[place] for place in places])

        return rows

    wrong = {
        "you left the rows as they are.": lambda weight, num_heads: weight,
        "you did it the other way round: this would bring timm's rows into "
        "the order of this file.": lambda weight, num_heads: rearrange(
            weight, "(three h k) d -> (h three k) d", h=num_heads, three=3
        ),
        "you took every third row for a query; here the queries of a head are "
        "together.": order("(h k three)"),
        "you let the heads change fastest; here all rows of a head are "
        "together.": order("(three k h)"),
        "inside each kind, the rows of the heads are interleaved.": (
            lambda weight, num_heads: rearrange(
                weight, "(h three k) d -> (three k h) d", h=num_heads, three=3
            )
        ),
        "keys come before queries.": kinds(1, 0, 2),
        "values come before keys.": kinds(0, 2, 1),
    }
    generator = torch.Generator().manual_seed(0)
    cases = {
        name: (torch.randn(3 * heads * k, d, generator=generator), heads)
        for name, heads, k, d in (
            ("2 heads of 5", 2, 5, 7),
            ("5 heads of 2", 5, 2, 11),
            ("1 head of 7", 1, 7, 5),
        )
    }
    return FunctionExercise(
        "18.2",
        "by kind",
        hints=(
            "A row has three names: its head, its kind and its column. "
            "Which of them changes slowest in the file, and which fastest?",
            "Split the rows into three axes, from the slowest to the fastest.",
            "Which of the three has to move to the front, so that all "
            "queries come first? The other two keep their order.",
        ),
        right=right,
        wrong=wrong,
        cases=cases,
    )


# ``candidate(weight, num_heads)``.
by_kind = _make_by_kind()


def _make_heads_of_mystery() -> NumberExercise:
    refuted = "with that many heads, the logits differ; did you compare?"
    return NumberExercise(
        "18.3",
        "heads of mystery",
        hints=(
            "Which part of the file says nothing about the heads? And what "
            "besides the file was published?",
            "The number of heads divides `d_model`. There are not many such "
            "numbers.",
            "`config_of(path, num_heads=...)` takes a number that you choose. "
            "Which one reproduces the published logits?",
        ),
        right=_HEADS,
        why="only with 6 heads, each of width 4, are the logits the published "
        "ones.",
        wrong={
            1: "that is what the file claims; its logits say otherwise.",
            4: "4 may be the width of a head. How many are there?",
            **dict.fromkeys((2, 3, 8, 12, 24), refuted),
            5: "24 columns cannot be divided evenly among 5 heads.",
            64: "heads of 64 columns are usual, but this file has only 24.",
        },
        tolerance=0,
    )


# the heads of the file that `mystery` writes.
heads_of_mystery = _make_heads_of_mystery()
