"""The exercises of chapter 17, data and transfer."""

import random
from collections.abc import Callable
from itertools import pairwise

import torch
from torch import Tensor

from vitedu.book.grading import (
    FunctionExercise,
    LettersExercise,
    NumberExercise,
)


def _causes() -> dict[str, str]:
    return {
        "healthy": "300 images bring both the test images and the new ones "
        "near 90%.",
        "few images": "40 images are memorised at once, and both the test "
        "images and the new ones remain far below them.",
        "test in training": "the test images are memorised like all others, "
        "so their line ends with the training line.",
        "too much variation": "the varied images seen in training are harder "
        "than any original image, so the training line remains lowest.",
        "wrong labels": "wrong labels can only be memorised, and that comes "
        "late: what was known about other images is lost again.",
        "other pixels": "only the test images have different pixels, so only "
        "they fall behind, and new images do not.",
    }


DATA = dict(
    zip("ABCDEF", random.Random(2).sample(sorted(_causes()), 6), strict=True)
)


def _make_pretraining_steps() -> NumberExercise:
    images, epochs, batch = 303_000_000, 7, 4096
    return NumberExercise(
        "17.1",
        "pretraining steps",
        hints=(
            "How many images does the network see in all, repetitions "
            "included?",
            "How many of them make one step?",
        ),
        right=images * epochs / batch,
        why="303 million images, 7 times, 4,096 at a time: about 518,000 "
        "steps.",
        wrong={
            images / batch: "that is one epoch.",
            images * epochs / 512: "batches of 512 are those of fine-tuning.",
            18_000 * epochs / batch: "18 thousand is the number of classes. "
            "How many images are there?",
            images * epochs: "that is how many images the network sees. How "
            "many of them make one step?",
            images * epochs * batch: "a step takes 4,096 images: the more in "
            "a batch, the fewer steps.",
        },
    )


# steps of a pre-training on JFT-300M.
pretraining_steps = _make_pretraining_steps()


def _make_images_needed() -> FunctionExercise:
    def crossing(read: Callable, back: Callable) -> Callable[..., Tensor]:
        def solve(sizes: Tensor, accuracies: Tensor, wanted: float) -> Tensor:
            if accuracies[0] >= wanted:
                return sizes[0]
            points = zip(read(sizes), accuracies, strict=True)
            for (x0, y0), (x1, y1) in pairwise(points):
                if y1 >= wanted:
                    return back(x0 + (wanted - y0) / (y1 - y0) * (x1 - x0))
            return torch.tensor(torch.inf)

        return solve

    def measured(sizes: Tensor, accuracies: Tensor, wanted: float) -> Tensor:
        enough = sizes[accuracies >= wanted]
        return enough.min() if len(enough) else torch.tensor(torch.inf)

    def below(sizes: Tensor, accuracies: Tensor, wanted: float) -> Tensor:
        return sizes[accuracies < wanted].max()

    right = crossing(torch.log2, torch.exp2)

    def last_crossing(
        sizes: Tensor, accuracies: Tensor, wanted: float
    ) -> Tensor:
        short = (accuracies < wanted).nonzero().flatten()
        return right(sizes[short[-1] :], accuracies[short[-1] :], wanted)

    def largest_if_never(
        sizes: Tensor, accuracies: Tensor, wanted: float
    ) -> Tensor:
        return right(sizes, accuracies, wanted).clamp(max=sizes[-1].item())

    wrong = {
        "you went along a straight line in the number of images. Between two "
        "points of our figure, the line is straight in the logarithm of that "
        "number.": crossing(lambda x: x, lambda x: x),
        "this is the first measured size that is enough. The line crosses "
        "the wanted accuracy before it.": measured,
        "this is the largest measured size that is not enough.": below,
        "this is a logarithm. How many images are that?": crossing(
            torch.log2, lambda x: x
        ),
        "you found the last crossing. What is the smallest number that was "
        "enough?": last_crossing,
        "the curve never gets there. The largest size is not an answer, since "
        "it is not enough; return infinity.": largest_if_never,
    }
    sizes = torch.tensor([100.0, 400.0, 1600.0, 6400.0])
    rising = torch.tensor([0.2, 0.4, 0.8, 0.9])
    cases = {
        "a rising curve": (sizes, rising, 0.6),
        "a curve that falls once": (
            sizes,
            torch.tensor([0.2, 0.7, 0.5, 0.9]),
            0.6,
        ),
        "an accuracy that is never reached": (sizes, rising, 0.95),
        "an accuracy that the smallest set reaches": (sizes, rising, 0.2),
    }
    return FunctionExercise(
        "17.2",
        "images needed",
        hints=(
            "Between which two points does the curve first reach the wanted "
            "height?",
            "Find the first point that is high enough, and the one before it. "
            "What fraction of the way up is `wanted`?",
            "Go the same fraction of the way from one logarithm to the other, "
            "and convert back from logarithms to images.",
        ),
        right=right,
        wrong=wrong,
        cases=cases,
    )


# ``candidate(sizes, accuracies, wanted)``.
images_needed = _make_images_needed()


def _make_some_of_each() -> FunctionExercise:
    def each(labels: Tensor, shots: int, order: Tensor) -> Tensor:
        kept = [order[labels[order] == c][:shots] for c in labels.unique()]
        return torch.cat(kept)

    def right(labels: Tensor, shots: int, order: Tensor) -> Tensor:
        return each(labels, shots, order).sort().values

    def in_all(labels: Tensor, shots: int, order: Tensor) -> Tensor:
        return order[: shots * len(labels.unique())].sort().values

    def first_in_file(labels: Tensor, shots: int, order: Tensor) -> Tensor:
        return right(labels, shots, torch.arange(len(labels)))

    def places(labels: Tensor, shots: int, order: Tensor) -> Tensor:
        return right(labels[order], shots, torch.arange(len(labels)))

    def one_class(labels: Tensor, shots: int, order: Tensor) -> Tensor:
        return order[labels[order] == 0][:shots].sort().values

    def unmoved(labels: Tensor, shots: int, order: Tensor) -> Tensor:
        kept = [order[labels == c][:shots] for c in labels.unique()]
        return torch.cat(kept).sort().values

    wrong = {
        "the number of images is right, but not the number from each class: "
        "you took the first of all classes together.": in_all,
        "from each class you took the images that come first in the data. "
        "Which ones come first in `order`?": first_in_file,
        "these are positions in `order`. Which images are there?": places,
        "these are images of one class only.": one_class,
        "you compared `labels` with the class and then indexed `order`: the "
        "two are not in the same order.": unmoved,
        "the images are right; sort them.": each,
    }
    generator = torch.Generator().manual_seed(0)
    shuffled = torch.randint(3, (20,), generator=generator)
    cases = {
        "20 images, 2 of each of 3 classes": (
            shuffled,
            2,
            torch.randperm(20, generator=generator),
        ),
        "6 images sorted by class, 1 of each": (
            torch.tensor([0, 0, 1, 1, 2, 2]),
            1,
            torch.tensor([5, 1, 0, 3, 2, 4]),
        ),
    }
    return FunctionExercise(
        "17.3",
        "some of each",
        hints=(
            "Take one class: which of its images come first in `order`?",
            "`labels[order]` are the labels in the shuffled order. At which "
            "positions do they equal the class?",
            "A position in `order` is not an image yet: look up which image "
            "is there. Keep the first few of each class, and sort at the end.",
        ),
        right=right,
        wrong=wrong,
        cases=cases,
    )


# ``candidate(labels, shots, order)``.
some_of_each = _make_some_of_each()


def _make_six_data_sets() -> LettersExercise:
    seen = {
        "healthy": "Here the test images and the new ones end near 90%.",
        "few images": "Here training is the first to reach 100%, and the "
        "other two lines remain near 60%.",
        "test in training": "Here the test images reach 100% with training, "
        "and the new ones do not.",
        "too much variation": "Here training ends low, with the other two "
        "lines above it.",
        "wrong labels": "Here the test images and the new ones rise first and "
        "fall again, while training rises slowly all the time.",
        "other pixels": "Here the new images come close to training, and the "
        "test images remain far below both.",
    }
    return LettersExercise(
        "17.4",
        "six data sets",
        hints=(
            "Compare the test images with the new ones first. Where do the "
            "two lines part, and which of them is higher?",
            "Then compare both with training. Memory makes training better "
            "than the rest. What could make it worse?",
            "A line that rises and falls again has two things to learn, one "
            "early and one late.",
        ),
        right=DATA,
        why_not=lambda said, right: f"{_causes()[said]} {seen[right]}",
    )


# which data made which curves.
six_data_sets = _make_six_data_sets()
