"""The exercises of chapter 14, training a ViT."""

import math
from unittest import mock

import pytest
import torch
import torch.nn.functional as F
from einops import rearrange
from judging import expect_thought, expect_unfinished

from vitedu.exercises import chapter_14 as check
from vitedu.layers import DropPath


def test_num_tokens_accepts_the_number():
    assert check.num_tokens(197)
    assert check.num_tokens(197.0)


@pytest.mark.parametrize(
    ("answer", "thought"),
    [
        (196, "who else"),
        (256, "in pixels"),
        (14, "one side"),
        (15, "and a token"),
        (768, "width of a token"),
    ],
)
def test_num_tokens_names_the_mistake(answer, thought):
    expect_thought(check.num_tokens(answer), thought)


def test_a_count_has_no_tolerance():
    assert not check.num_tokens(198)


def cut(order, *, columns_first=False, strided=False):
    """Cut patches by loops, with one thing wrong if asked for."""

    def candidate(images, p):
        rows, columns = images.shape[2] // p, images.shape[3] // p
        if strided:
            squares = [
                images[:, :, r::rows, c::columns]
                for r in range(rows)
                for c in range(columns)
            ]
        else:
            places = [(r, c) for r in range(rows) for c in range(columns)]
            if columns_first:
                places.sort(key=lambda place: place[::-1])
            squares = [
                images[:, :, r * p : r * p + p, c * p : c * p + p]
                for r, c in places
            ]
        return torch.stack(
            [x.permute(0, *order).flatten(1) for x in squares], dim=1
        )

    return candidate


def unfolded(images, p):
    """Cut with the function that convolutions are made of."""
    columns = torch.nn.functional.unfold(images, p, stride=p)
    by_channel = columns.unflatten(1, (images.shape[1], p * p))
    return by_channel.permute(0, 3, 2, 1).flatten(2)


def in_one_pattern(images, p):
    pattern = "b c (r p1) (s p2) -> b (r s) (p1 p2 c)"
    return rearrange(images, pattern, p1=p, p2=p)


@pytest.mark.parametrize(
    "solution", [cut((2, 3, 1)), unfolded, in_one_pattern]
)
def test_cut_patches_accepts_a_solution(solution):
    assert check.cut_patches(solution).right


@pytest.mark.parametrize(
    ("candidate", "thought"),
    [
        (
            lambda images, p: images.reshape(
                len(images), -1, images.shape[1] * p * p
            ),
            "reshaped without moving axes",
        ),
        (
            lambda images, p: images.permute(0, 2, 3, 1).reshape(
                len(images), -1, images.shape[1] * p * p
            ),
            "moved the channels to the end",
        ),
        (cut((2, 3, 1), columns_first=True), "run down the columns"),
        (cut((1, 2, 3)), "you have (channel, row, column)"),
        (cut((3, 2, 1)), "you have (column, row, channel)"),
        (cut((2, 3, 1), strided=True), "takes every n-th pixel"),
        (lambda images, p: images[:, :, ::p, ::p], "the shape is"),
    ],
)
def test_cut_patches_names_the_mistake(candidate, thought):
    expect_thought(check.cut_patches(candidate), thought)


def smallest_loss(*targets, base=math.e):
    return -sum(n * x * math.log(x, base) for n, x in targets)


RIGHT, WRONG = (1, 0.9001), (999, 0.0001)


def test_smallest_loss_accepts_the_number():
    assert check.smallest_loss(1.015)
    assert check.smallest_loss(smallest_loss(RIGHT, WRONG))


@pytest.mark.parametrize(
    ("answer", "thought"),
    [
        (0, "without smoothing"),
        (-math.log(0.9001), "weighed by its target"),
        (-math.log(0.9), "weighed by its target"),
        (smallest_loss(RIGHT), "part of the right class"),
        (smallest_loss(WRONG), "wrong classes alone"),
        (smallest_loss((1, 0.9), (1, 0.1)), "to one class"),
        (smallest_loss((1, 0.9), (999, 0.1 / 999)), "the 999 wrong classes;"),
        (smallest_loss(RIGHT, WRONG, base=2), "base 2"),
        (math.log(1000), "before training"),
        (1.014, "is not it"),
    ],
)
def test_smallest_loss_names_the_mistake(answer, thought):
    expect_thought(check.smallest_loss(answer), thought)


def skipper(*, kept=torch.ge, grow=lambda rate: 1 / (1 - rate), axis=0):
    """Skip branches image by image, with one thing wrong if asked for."""

    def candidate(branch, draws, rate):
        factors = [grow(rate) if kept(draw, rate) else 0.0 for draw in draws]
        parts = [
            part * factor
            for part, factor in zip(branch.unbind(axis), factors, strict=True)
        ]
        return torch.stack(parts, dim=axis)

    return candidate


def library(branch, draws, rate):
    """Solve it with the library, which makes its draws by `torch.rand`."""
    with mock.patch("torch.rand", lambda shape, device: draws.view(shape)):
        return DropPath(rate).train()(branch)


@pytest.mark.parametrize("solution", [skipper(), library])
def test_skip_branches_accepts_a_solution(solution):
    assert check.skip_branches(solution).right


@pytest.mark.parametrize(
    ("candidate", "thought"),
    [
        (skipper(grow=lambda rate: 1), "does not grow"),
        (skipper(kept=torch.lt), "skip where the draw is above"),
        (skipper(grow=lambda rate: 1 / rate), "you divide by the rate"),
        (skipper(grow=lambda rate: 1 - rate), "the mean shrinks twice"),
        (lambda branch, draws, rate: branch, "skip none"),
        (skipper(axis=1), "run along the tokens"),
        (skipper(axis=2), "run along the features"),
        (
            lambda branch, draws, rate: branch * (draws >= rate) / (1 - rate),
            "run along the features",
        ),
    ],
)
def test_skip_branches_names_the_mistake(candidate, thought):
    expect_thought(check.skip_branches(candidate), thought)


def test_unfinished_answers():
    expect_unfinished(check.num_tokens, check.cut_patches)
    expect_unfinished(check.smallest_loss, check.skip_branches)


def test_eight_runs_accepts_the_names():
    assert check.eight_runs(check.RUNS)
    assert check.eight_runs(dict(sorted(check.RUNS.items(), reverse=True)))


@pytest.mark.parametrize(
    ("curve", "said", "cannot", "seen"),
    [
        ("labels shuffled", "few images", "known by heart", "from the start"),
        ("labels shuffled", "healthy", "end near 0, and stay", "climbs from"),
        ("healthy", "softmax twice", "cost under 1.46", "end near 0."),
        ("few images", "labels shuffled", "brings the test loss", "first to"),
        ("wrong weights", "rate too low", "fall all the time", "are flat"),
        ("rate too high", "gradients kept", "agree with new", "leap up first"),
        ("rate too low", "wrong weights", "no loss can move", "at each step"),
        ("softmax twice", "few images", "too little about", "halfway down"),
        ("gradients kept", "rate too high", "within the first", "climb back"),
    ],
)
def test_eight_runs_says_why_not(curve, said, cannot, seen):
    letters = {name: letter for letter, name in check.RUNS.items()}
    message = check.eight_runs({letters[curve]: said}).message
    assert message.startswith(f"{letters[curve]} is not '{said}': ")
    assert cannot in message
    assert seen in message


def training(*, awake="epoch", zero=True, first=False, copies=False):
    """Write the loop out, with one thing wrong if asked for."""

    def candidate(model, batches, optimizer, evaluate, epochs):
        found = [evaluate(model)] if first else []
        if awake == "start":
            model.train()
        for _ in range(epochs):
            if awake == "epoch":
                model.train()
            for images, labels in batches:
                logits = model(images)
                if zero:
                    optimizer.zero_grad(set_to_none=False)
                F.cross_entropy(logits, labels).backward()
                optimizer.step()
                if awake == "batch":
                    model.train()
            found.append(evaluate(model))
            if awake == "end":
                model.train()
        return found[:epochs]

    return candidate


def every_batch(model, batches, optimizer, evaluate, epochs):
    """Switch dropout on for each batch, and forget gradients by hand."""

    def one_epoch():
        for images, labels in batches:
            logits = model.train()(images)
            chosen = logits.log_softmax(dim=-1)[range(len(labels)), labels]
            (-chosen.mean()).backward()
            optimizer.step()
            for parameter in model.parameters():
                parameter.grad = None
        return evaluate(model)

    return [one_epoch() for _ in range(epochs)]


@pytest.mark.parametrize("solution", [training(), every_batch])
def test_training_and_measuring_accepts_a_solution(solution):
    verdict = check.training_and_measuring(solution)
    assert verdict.right, verdict


@pytest.mark.parametrize(
    ("candidate", "thought"),
    [
        (training(awake="never"), "two passes of one batch through it never"),
        (training(awake="start"), "From the second epoch on they do not"),
        (training(awake="end"), "How was the model left"),
        (training(awake="batch"), "the first batch of an epoch"),
        (training(zero=False), "old gradients are still there"),
        (training(first=True), "you measure before an epoch"),
        (lambda *inputs: training()(*inputs)[-1:], "the shape is"),
        (lambda *inputs: training()(*inputs)[-1], "returned float, a list"),
    ],
)
def test_training_and_measuring_names_the_mistake(candidate, thought):
    expect_thought(check.training_and_measuring(candidate), thought)


def test_the_first_verdict_does_not_name_the_bug():
    message = check.training_and_measuring(training(awake="never")).message
    assert "train(" not in message
    assert "eval" not in message
