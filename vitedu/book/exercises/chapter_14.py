"""The exercises of chapter 14, training a ViT."""

import random
from collections.abc import Callable

import torch
import torch.nn.functional as F
from einops import rearrange
from torch import Tensor, nn

from vitedu.book.grading import (
    FunctionExercise,
    LettersExercise,
    NumberExercise,
)


def _causes() -> dict[str, str]:
    return {
        "healthy": "both losses would end near 0, and stay there.",
        "rate too high": "such a rate sends both losses far above guessing "
        "within the first steps.",
        "rate too low": "both losses would keep falling, but not far.",
        "gradients kept": "while old gradients agree with new ones, both "
        "losses fall; later they drive the weights past their goal.",
        "labels shuffled": "the images would say nothing about the labels, "
        "and no step brings the test loss far below guessing.",
        "softmax twice": "no prediction is then confident enough to cost less "
        "than 1.46.",
        "few images": "30 images are soon memorised, and their loss is then "
        "almost nothing; they say too little about the rest.",
        "wrong weights": "the network does not change: no loss can move.",
    }


RUNS = dict(
    zip("ABCDEFGH", random.Random(4).sample(sorted(_causes()), 8), strict=True)
)


def _loop(
    awake: str = "each epoch",
    zero: bool = True,
    first: bool = False,
    often: bool = False,
) -> Callable[..., list[float]]:
    """Return the loop of exercise 14.6, with one thing done elsewhere."""

    def train(model, batches, optimizer, evaluate, epochs):
        found = [evaluate(model)] if first else []
        model.train(model.training or awake == "once")
        for _ in range(epochs):
            model.train(model.training or awake == "each epoch")
            for images, labels in batches:
                loss = F.cross_entropy(model(images), labels)
                if zero:
                    optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                model.train(model.training or awake == "after a step")
                if often:
                    found.append(evaluate(model))
                    model.train()
            if often:
                continue
            found.append(evaluate(model))
            model.train(awake == "after measuring")
        return found if often else found[:epochs]

    return train


# the tokens of a ViT-B/16 at 224 x 224 pixels.
num_tokens = NumberExercise(
    "14.1",
    "num tokens",
    hints=(
        "What becomes a token, and is there one that is not part of the "
        "image?",
        "Count the patches along one side. What comes before them all?",
    ),
    right=197,
    why="14 × 14 = 196 patches and the class token.",
    wrong={
        196: "these are the patches; what else is in the sequence?",
        256: "that is the size of a patch in pixels, 16 × 16.",
        14: "that is one side of the grid.",
        15: "that is one side of the grid and a token.",
        768: "that is the width of a token, not their number.",
    },
    tolerance=0,
)


def _make_cut_patches() -> FunctionExercise:
    def cut(order, *, split="(r p) (s q)"):
        return lambda images, p: rearrange(
            images, f"b c {split} -> {order}", p=p, q=p
        )

    def naive(images, p):
        return images.reshape(len(images), -1, images.shape[1] * p * p)

    right = cut("b (r s) (p q c)")
    wrong = {
        "you reshaped without moving axes first: each of your rows holds "
        "pixels of a whole line of the image, not of a square.": naive,
        "you moved the channels to the end, but each of your rows holds "
        "pixels of a whole line of the image, not of a square.": (
            lambda x, p: x.movedim(1, -1).reshape(naive(x, p).shape)
        ),
        "your patches run down the columns; they should run along the rows, "
        "as in reading.": cut("b (s r) (p q c)"),
        "inside a patch you have (channel, row, column), as in the library; "
        "the exercise asks for (row, column, channel).": (
            cut("b (r s) (c p q)")
        ),
        "inside a patch you have (column, row, channel); the exercise asks "
        "for (row, column, channel).": cut("b (r s) (q p c)"),
        "you split (p rows) instead of (rows p): your patch takes every n-th "
        "pixel of the whole image.": (
            cut("b (r s) (p q c)", split="(p r) (q s)")
        ),
    }
    generator = torch.Generator().manual_seed(0)
    cases = {
        f"{c} channel(s), {h} x {w} pixels, patches of {p}": (
            torch.rand(2, c, h, w, generator=generator),
            p,
        )
        for c, h, w, p in ((3, 6, 9, 3), (1, 8, 8, 2))
    }
    return FunctionExercise(
        "14.2",
        "cut patches",
        hints=(
            "Which four numbers tell you in which patch a pixel is, and where "
            "in it?",
            "Give the rows of patches and the rows inside a patch an axis "
            "each, and likewise the columns.",
            "Flatten last: the two axes that count patches, and the three "
            "inside.",
        ),
        right=right,
        wrong=wrong,
        cases=cases,
    )


# ``candidate(images, patch_size)`` cuts patches.
cut_patches = _make_cut_patches()


def _make_skip_branches() -> FunctionExercise:
    def skip(factor, axes="image -> image 1 1"):
        return lambda branch, draws, rate: (
            branch * rearrange(factor(draws, rate), axes)
        )

    right = skip(lambda draws, rate: (draws >= rate) / (1 - rate))
    wrong = {
        "what you keep is not scaled up, so the mean shrinks with the rate.": (
            skip(lambda draws, rate: (draws >= rate).float())
        ),
        "you skip where the draw is above the rate: at a rate of 0.2 most "
        "branches would be gone.": skip(
            lambda draws, rate: (draws < rate) / (1 - rate)
        ),
        "you divide by the rate; what fraction is left to carry the mean?": (
            skip(lambda draws, rate: (draws >= rate) / rate)
        ),
        "you multiply what is kept by 1 - rate, so the mean shrinks twice.": (
            skip(lambda draws, rate: (draws >= rate) * (1 - rate))
        ),
        "you scale every branch and skip none; that is the mean of the "
        "required result.": skip(lambda draws, rate: torch.ones_like(draws)),
        "your draws run along the tokens, so every image loses the same "
        "tokens.": skip(
            lambda draws, rate: (draws >= rate) / (1 - rate),
            "token -> 1 token 1",
        ),
        "your draws run along the features of a token.": skip(
            lambda draws, rate: (draws >= rate) / (1 - rate),
            "feature -> 1 1 feature",
        ),
    }
    generator = torch.Generator().manual_seed(0)
    # As many tokens and features as images first: a wrong axis fits, too.
    cases = {
        f"{images} images, {tokens} tokens of {width}, rate {rate}": (
            torch.rand(images, tokens, width, generator=generator) + 1,
            torch.rand(images, generator=generator),
            rate,
        )
        for images, tokens, width, rate in (
            (7, 7, 7, 0.4),
            (11, 3, 5, 0.2),
            (2, 3, 5, 0.0),
        )
    }
    return FunctionExercise(
        "14.4",
        "skip branches",
        hints=(
            "Which images lose their branch, and what happens to the others?",
            "For a rate of 0.5, half of the branches are gone. By what factor "
            "must the others grow to preserve the mean?",
            "One factor per image, zero or that growth. Which axes does it "
            "lack before it can be multiplied with (image, token, d_model)?",
        ),
        right=right,
        wrong=wrong,
        cases=cases,
    )


# ``candidate(branch, draws, rate)`` skips.
skip_branches = _make_skip_branches()


def _make_eight_runs() -> LettersExercise:
    seen = {
        "healthy": "Here both losses end near 0.",
        "rate too high": "Here both losses first jump up.",
        "rate too low": "Here both losses fall a little at each step.",
        "gradients kept": "Here both losses fall first, and then climb back.",
        "labels shuffled": "Here the test loss climbs from the start.",
        "softmax twice": "Here both losses level off halfway down.",
        "few images": "Here the training loss is the first to be near 0.",
        "wrong weights": "Here both lines are flat from end to end.",
    }
    return LettersExercise(
        "14.5",
        "eight runs",
        hints=(
            "Where does each loss end: near 0, near guessing, or above it?",
            "Which faults leave training and test alike, and which pull them "
            "apart?",
            "Ask of each fault what it makes impossible. Can a loss still "
            "move?",
        ),
        right=RUNS,
        why_not=lambda said, right: f"{_causes()[said]} {seen[right]}",
    )


# which fault made which curve.
eight_runs = _make_eight_runs()


# the floor of the loss, 1,000 classes, 0.1.
smallest_loss = NumberExercise(
    "14.3",
    "smallest loss",
    hints=(
        "All 1,000 targets enter the loss. Which prediction costs least?",
        "The best prediction is the targets themselves. What are they: which "
        "classes share the 0.1, and is the right class among them?",
        "Each class costs its target times -ln of it. Which class has which "
        "target?",
    ),
    right=1.015,
    why="it is the entropy of the targets 0.9001 and 999 times 0.0001.",
    wrong={
        0.0: "without smoothing it would be; now the cost of giving all to "
        "the right class has no bound.",
        0.105: "that is -ln of the right class's target; the other classes "
        "also count, and each is weighted by its target.",
        0.095: "that is the part of the right class; the others also count.",
        0.92: "that is only the part of the 999 wrong classes.",
        0.325: "you gave the 0.1 to one class; all 1,000 share it.",
        1.016: "you gave the 0.1 to the 999 wrong classes; the right one also "
        "shares it.",
        1.464: "you took logarithms to base 2.",
        6.908: "that is ln 1,000, the loss before training.",
    },
    tolerance=0,
    decimals=3,
)


def _make_training_and_measuring() -> FunctionExercise:
    def run(train: Callable) -> Callable[[bool, Tensor, Tensor], object]:
        def outcome(fresh: bool, images: Tensor, labels: Tensor) -> object:
            def evaluate(model: nn.Module) -> float:
                return F.cross_entropy(model.eval()(images), labels).item()

            torch.manual_seed(0)
            model = nn.Sequential(nn.Dropout(), nn.Linear(3, 4))
            model.to(images).train(fresh)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.3)
            pairs = list(zip(images.split(4), labels.split(4), strict=True))
            found = train(model, pairs, optimizer, evaluate, 3)
            weights = model[1].weight.detach().flatten()
            if not isinstance(found, list):
                return found
            return torch.cat([torch.tensor(found).to(weights), weights])

        return outcome

    wrong = {
        "the model has dropout, but two passes of one batch through it never "
        "differ.": _loop("never"),
        "in the first epoch two passes of one batch differ, as they should "
        "with dropout. From the second epoch on they do not.": _loop("once"),
        "in the first epoch two passes of one batch do not differ; later they "
        "do. In what state was the model left by the code that used it "
        "before?": (_loop("after measuring")),
        "the first batch of an epoch goes through without dropout, the others "
        "with it.": _loop("after a step"),
        "old gradients are still there.": _loop(zero=False),
        "you measure after each batch; return one number per epoch.": _loop(
            often=True
        ),
        "you measure before an epoch. The list should hold what is reached "
        "after it.": _loop(first=True),
    }
    images = torch.arange(36, dtype=torch.float64).sin().view(12, 3)
    labels = torch.arange(12) % 4
    cases = {
        "a model that was measured before": (False, images, labels),
        "a new model": (True, images, labels),
    }
    return FunctionExercise(
        "14.6",
        "training and measuring",
        hints=(
            "In which mode is the model when the first epoch begins, and in "
            "which when the second does? Print `model.training` there.",
            "`evaluate` is correct, but does it leave everything as it was? "
            "One sentence of what `help(accuracy)` prints answers this.",
            "What tells a layer such as dropout that this is training, and "
            "when?",
        ),
        right=_loop(),
        wrong=wrong,
        cases=cases,
        through=run,
        wanted="a list",
    )


# a loop that trains, and measures each epoch.
training_and_measuring = _make_training_and_measuring()
