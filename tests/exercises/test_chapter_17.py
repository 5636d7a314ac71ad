"""The exercises of chapter 17, data and transfer."""

import math
from bisect import bisect_left

import numpy as np
import pytest
import torch
from judging import expect_thought, expect_unfinished

from vitedu.exercises import chapter_17 as check


def test_pretraining_steps_accepts_the_number():
    assert check.pretraining_steps(303_000_000 // 4096 * 7)
    assert check.pretraining_steps(518_000)


@pytest.mark.parametrize(
    ("answer", "thought"),
    [
        (73_975, "one epoch"),
        (4_142_578, "those of fine-tuning"),
        (30.8, "18 thousand are the classes"),
        (2_121_000_000, "How many of them make one step"),
        (2_121_000_000 * 4096, "fewer steps"),
        (500_000, "is not it"),
    ],
)
def test_pretraining_steps_names_the_mistake(answer, thought):
    expect_thought(check.pretraining_steps(answer), thought)


def interpolated(sizes, accuracies, wanted):
    """Solve it with NumPy's interpolation between the two points."""
    high = next(
        (i for i, a in enumerate(accuracies.tolist()) if a >= wanted - 1e-9),
        None,
    )
    if high is None:
        return torch.tensor(math.inf)
    if high == 0:
        return sizes[0]
    pair = slice(high - 1, high + 1)
    power = np.interp(
        wanted, accuracies[pair].numpy(), sizes[pair].log().numpy()
    )
    return torch.tensor(math.exp(power), dtype=torch.float32)


def by_ratio(sizes, accuracies, wanted):
    """Solve it with a power of the ratio of two sizes."""
    best = accuracies.cummax(dim=0).values
    high = bisect_left(best.tolist(), wanted - 1e-9)
    if high in (0, len(sizes)):
        return sizes[0] if high == 0 else sizes.new_tensor(torch.inf)
    low, y = high - 1, accuracies
    share = (wanted - y[low]) / (y[high] - y[low])
    return sizes[low] * (sizes[high] / sizes[low]) ** share


@pytest.mark.parametrize("solution", [interpolated, by_ratio])
def test_images_needed_accepts_a_solution(solution):
    assert check.images_needed(solution).right


def linear(sizes, accuracies, wanted):
    """Go along the straight line in the number of images."""
    result = by_ratio(sizes, accuracies, wanted)
    for i in range(len(sizes) - 1):
        if sizes[i] < result <= sizes[i + 1]:
            share = (wanted - accuracies[i]) / (
                accuracies[i + 1] - accuracies[i]
            )
            return sizes[i] + share * (sizes[i + 1] - sizes[i])
    return result


def backwards(sizes, accuracies, wanted):
    """Look for the last size that is not enough, and go on from there."""
    high = len(sizes) - 1
    while high > 0 and accuracies[high - 1] >= wanted:
        high -= 1
    return by_ratio(
        sizes[max(high - 1, 0) :], accuracies[max(high - 1, 0) :], wanted
    )


@pytest.mark.parametrize(
    ("solution", "thought"),
    [
        (linear, "straight in the logarithm"),
        (
            lambda n, a, w: n[int((a >= w).int().argmax())],
            "the first measured size that is enough",
        ),
        (
            lambda n, a, w: n[int((a >= w).int().argmax()) - 1],
            "the largest measured size that is not enough",
        ),
        (lambda n, a, w: by_ratio(n, a, w).log2(), "this is a logarithm"),
        (backwards, "you found the last crossing"),
        (
            lambda n, a, w: torch.minimum(by_ratio(n, a, w), n[-1]),
            "return infinity",
        ),
        (lambda n, a, w: n[9], "stopped with IndexError"),
        (lambda n, a, w: n.mul_(2)[0], "changed its input"),
    ],
)
def test_images_needed_names_the_mistake(solution, thought):
    expect_thought(check.images_needed(solution), thought)


def one_by_one(labels, shots, order):
    """Solve it by counting."""
    count, kept = {}, []
    for image in order.tolist():
        name = labels[image].item()
        count[name] = count.get(name, 0) + 1
        if count[name] <= shots:
            kept.append(image)
    return torch.tensor(sorted(kept))


def by_rank(labels, shots, order):
    """Solve it with the rank of each image in its class."""
    hot = torch.nn.functional.one_hot(labels[order])
    rank = (hot.cumsum(dim=0) * hot).sum(dim=1)
    return order[rank <= shots].sort().values


@pytest.mark.parametrize("solution", [one_by_one, by_rank])
def test_some_of_each_accepts_a_solution(solution):
    assert check.some_of_each(solution).right


@pytest.mark.parametrize(
    ("solution", "thought"),
    [
        (
            lambda y, k, o: o[: k * (int(y.max()) + 1)].sort().values,
            "the first of all classes together",
        ),
        (
            lambda y, k, o: one_by_one(y, k, torch.arange(len(y))),
            "come first in the data",
        ),
        (
            lambda y, k, o: one_by_one(y[o], k, torch.arange(len(y))),
            "Which images stand there",
        ),
        (
            lambda y, k, o: torch.tensor(
                sorted([i for i in o.tolist() if y[i] == 0][:k])
            ),
            "of one class only",
        ),
        (
            lambda y, k, o: (
                torch.stack([o[y == c][i] for c in range(3) for i in range(k)])
                .sort()
                .values
            ),
            "do not stand in the same order",
        ),
        (
            lambda y, k, o: torch.cat(
                [o[y[o] == c][:k] for c in range(int(y.max()) + 1)]
            ),
            "sort them",
        ),
    ],
)
def test_some_of_each_names_the_mistake(solution, thought):
    expect_thought(check.some_of_each(solution), thought)


def test_an_unfinished_answer_gets_a_kind_word():
    expect_unfinished(check.pretraining_steps, check.images_needed)
    expect_unfinished(check.pretraining_steps, check.some_of_each)


def test_six_data_sets_accepts_the_names():
    assert check.six_data_sets(check.DATA)
    assert check.six_data_sets(dict(sorted(check.DATA.items(), reverse=True)))


@pytest.mark.parametrize(
    ("curve", "said", "cannot", "seen"),
    [
        ("few images", "other pixels", "they alone", "stay near 60 %"),
        ("few images", "healthy", "near 90 %", "stay near 60 %"),
        ("wrong labels", "too much variation", "stays lowest", "fall again"),
        ("too much variation", "healthy", "300 images bring", "ends far down"),
        ("healthy", "test in training", "by heart like all", "near 90 %."),
        (
            "other pixels",
            "few images",
            "stay far below them",
            "far below both",
        ),
        ("test in training", "other pixels", "new images do not", "reach 100"),
    ],
)
def test_six_data_sets_says_why_not(curve, said, cannot, seen):
    letters = {name: letter for letter, name in check.DATA.items()}
    message = check.six_data_sets({letters[curve]: said}).message
    assert message.startswith(f"{letters[curve]} is not '{said}': ")
    assert cannot in message
    assert seen in message
