"""What a network learns from images without labels, and from captions.

A small ViT sees clothes without labels, as a masked autoencoder or as student
and teacher. What it knows then is tested as in `experiments/fine_tuning.py`,
with the same labelled images: validation chooses block, read, strength and
rate, and the test images judge what was chosen. Two encoders learn from
captioned digits, and are asked about pairs of digits they have never met.
Chapter 23 reads the result file, and trains as is done here. Run it, for an
hour or two, with:
    python -m experiments.without_labels
"""

import argparse
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path

import torch
from torch import Tensor, nn

from experiments.fine_tuning import (
    DRAWS,
    READS,
    STRENGTHS,
    clothes,
    features,
    few,
    images_of,
    learn,
    right_of,
    rows_asked,
)
from experiments.runs import read_runs, write_runs
from experiments.transfer import few_shot_linear
from vitedu.book.notebook import set_up
from vitedu.config import ViTConfig
from vitedu.data.augmentation import random_crops
from vitedu.data.captions import (
    MAX_WORDS,
    WORDS,
    captions,
    encode_captions,
    mirrored_scenes,
    paint_scenes,
    scenes,
)
from vitedu.data.fashion import CLASSES, fashion
from vitedu.objectives.contrastive import (
    ImagesAndCaptions,
    clip_loss,
    siglip_loss,
)
from vitedu.objectives.masked_autoencoder import (
    MaskedAutoencoder,
    random_hidden,
)
from vitedu.objectives.self_distillation import GroupHead, SelfDistillation
from vitedu.training.descent import minimise
from vitedu.vit import VisionTransformer

SEEDS = range(3)
LABELS = (1, 5, 20)
"""Labelled images of each class."""
MEAN, STD = 0.287, 0.352
"""Of the training pixels."""
CONFIG = ViTConfig.digits(
    image_size=28, patch_size=4, num_heads=4, drop_path=0.0, num_classes=0
)
"""Of the network that learns: 49 patches of 4 x 4 pixels."""
RATES = (3e-4, 1e-3, 3e-3)
"""Of training with labels, among which the validation images choose."""
NUM_GROUPS = 32
RESULT = Path(__file__).parent.parent / "book/data/without-labels.json"
FACTS = {
    "script": "experiments/without_labels.py",
    "autoencoder": {"steps": 1200, "batch": 64, "rate": 3e-3},
    "teacher": {"steps": 800, "batch": 32, "rate": 1e-3},
    "captions": {"steps": 1800, "batch": 64, "rate": 3e-3},
}


def main() -> None:
    """Make the runs that are missing, one after the other."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--task", choices=("clothes", "captions"))
    only = parser.parse_args().task
    set_up()
    for seed in SEEDS:
        for task, ways in (("clothes", CLOTHES), ("captions", CAPTIONS)):
            if only not in (None, task):
                continue
            for way, measure in ways.items():
                keys = {"task": task, "way": way, "seed": seed}
                if any(run.items() >= keys.items() for run in known()):
                    continue
                found = [keys | run for run in measure(seed)]
                print(*found, sep="\n", flush=True)
                write_runs(RESULT, in_order(known() + found), **FACTS)


def known() -> list[dict]:
    """Return the runs so far; another process may have added some."""
    return read_runs(RESULT)


def in_order(runs: list[dict]) -> list[dict]:
    """Sort runs by task, way and seed, whenever they were made."""
    ways = [*CLOTHES, *CAPTIONS]
    return sorted(runs, key=lambda run: (ways.index(run["way"]), run["seed"]))


# ------------------------------------------------------- without labels


def standardised(images: Tensor) -> Tensor:
    """Bring pixels into the form that the networks take."""
    return (images - MEAN) / STD


def batches(size: int, seed: int) -> tuple[Callable[[], Tensor], ...]:
    """Return what draws images of clothes, all 3,000, and its generator."""
    images = standardised(fashion().train_images)
    draw = torch.Generator().manual_seed(seed)

    def batch() -> Tensor:
        return images[torch.randint(len(images), (size,), generator=draw)]

    return batch, draw


@cache
def autoencoder(seed: int, share: float = 0.75) -> MaskedAutoencoder:
    """Train an autoencoder that sees a quarter of the patches."""
    torch.manual_seed(seed)
    recipe = FACTS["autoencoder"]
    model = MaskedAutoencoder(CONFIG, decoder_width=32)
    batch, draw = batches(recipe["batch"], seed)

    def loss(step: int) -> Tensor:
        hidden = random_hidden(
            recipe["batch"], CONFIG.num_patches, share, generator=draw
        )
        return model.loss(batch(), hidden)

    minimise(model, loss, recipe["steps"], learning_rate=recipe["rate"])
    return model


def views(images: Tensor, draw: torch.Generator) -> list[Tensor]:
    """Return two parts of each image, brighter or darker at random."""

    def factor(most: float) -> Tensor:
        draws = torch.rand(len(images), 1, 1, 1, generator=draw)
        return most * (2 * draws - 1)

    return [
        random_crops(images, least=0.5, generator=draw) * (1 + factor(0.4))
        + factor(0.3)
        for _ in range(2)
    ]


def distilled(seed: int, steps: int, **changes: float) -> SelfDistillation:
    """Train student and teacher."""
    torch.manual_seed(seed)
    recipe = FACTS["teacher"]
    student = nn.Sequential(
        VisionTransformer(CONFIG), GroupHead(CONFIG.d_model, NUM_GROUPS)
    )
    settings = {"momentum": 0.98, "teacher_temperature": 0.05} | changes
    model = SelfDistillation(student, NUM_GROUPS, **settings)
    batch, draw = batches(recipe["batch"], seed)
    minimise(
        model,
        lambda step: model(views(batch(), draw)),
        steps,
        learning_rate=recipe["rate"],
        after=lambda step: model.follow(),
    )
    return model


def frozen_runs(model: VisionTransformer) -> list[dict]:
    """Choose and test linear maps on the features of a network."""
    known = {
        part: features(model, standardised(images_of(part)).split(500))
        for part in ("train", "test")
    }

    def right(settings: tuple, labels: int, draw: int, part: str) -> int:
        block, read, strength = settings
        rows, asked = few(labels, draw), rows_asked(part)
        guesses = few_shot_linear(
            known["train"][rows, block, read],
            clothes().train_labels[rows],
            known[part][asked, block, read],
            strength,
        )
        return right_of(guesses, part, asked)

    runs = []
    every = list(
        product(range(CONFIG.num_layers), range(len(READS)), STRENGTHS)
    )
    for labels in LABELS:
        scores = {
            settings: sum(right(settings, labels, i, "train") for i in DRAWS)
            for settings in every
        }
        block, read, strength = chosen = max(scores, key=scores.__getitem__)
        runs += [
            {
                "labels": labels,
                "draw": draw,
                "block": block + 1,
                "read": READS[read],
                "strength": strength,
                "right": right(chosen, labels, draw, "test"),
            }
            for draw in DRAWS
        ]
    return runs


def drawn(seed: int) -> VisionTransformer:
    """Make the network with drawn weights, which has learned nothing."""
    torch.manual_seed(seed)
    return VisionTransformer(CONFIG).eval()


def tuned_runs(way: str, start: VisionTransformer, seed: int) -> list[dict]:
    """Train a whole network with labels; the first seed chooses the rate."""
    chosen = {
        run["labels"]: [run["rate"]] for run in known() if run["way"] == way
    }
    runs = []
    for labels in LABELS:
        tried = {
            rate: tuned(start, labels, seed, rate)
            for rate in chosen.get(labels, RATES)
        }
        rate = max(tried, key=lambda rate: right_with(tried[rate], "train"))
        right = right_with(tried[rate], "test")
        runs.append(
            {"labels": labels, "draw": seed, "rate": rate, "right": right}
        )
    return runs


def tuned(
    start: VisionTransformer, labels: int, draw: int, rate: float
) -> VisionTransformer:
    """Train a copy with a new head."""
    torch.manual_seed(draw)
    model = VisionTransformer(replace(CONFIG, num_classes=len(CLASSES)))
    model.load_state_dict(start.state_dict(), strict=False)  # but the head
    rows = few(labels, draw)
    known = standardised(images_of("train")[rows])
    target = clothes().train_labels[rows]
    learn(model, "small ViT", known, target, rate=rate, seed=draw)
    return model


@torch.no_grad()
def right_with(model: VisionTransformer, part: str) -> int:
    """Count the right answers of a classifier."""
    rows = rows_asked(part)
    images = standardised(images_of(part)[rows])
    guesses = torch.cat([model(some).argmax(1) for some in images.split(250)])
    return right_of(guesses, part, rows)


@torch.no_grad()
def groups_of(model: SelfDistillation) -> dict:
    """Say how many groups the teacher uses, and how sure it is."""
    shares = model.targets(model.teacher(standardised(images_of("test"))))
    return {
        "groups": len(shares.argmax(dim=1).unique()),
        "entropy": torch.special.entr(shares).sum(dim=1).mean().item(),
        "entropy_of_mean": torch.special.entr(shares.mean(dim=0)).sum().item(),
    }


def teacher_runs(seed: int) -> list[dict]:
    """Test what student and teacher know, and count their groups."""
    model = distilled(seed, FACTS["teacher"]["steps"])
    facts = groups_of(model)
    return [run | facts for run in frozen_runs(model.teacher[0])]


def collapsed(seed: int, **changes: float) -> list[dict]:
    """Leave out what keeps the groups apart; it shows within 150 steps."""
    return [groups_of(distilled(seed, 150, **changes))]


CLOTHES = {
    "drawn": lambda seed: frozen_runs(drawn(seed)),
    "scratch": lambda seed: tuned_runs("scratch", drawn(seed), seed),
    "autoencoder": lambda seed: frozen_runs(autoencoder(seed).encoder),
    "a quarter hidden": lambda seed: frozen_runs(
        autoencoder(seed, share=0.25).encoder
    ),
    "autoencoder, tuned": lambda seed: tuned_runs(
        "autoencoder, tuned", autoencoder(seed).encoder, seed
    ),
    "teacher": teacher_runs,
    "centred and sharpened": collapsed,
    "not centred": lambda seed: collapsed(seed, centre_momentum=1.0),
    "not sharpened": lambda seed: collapsed(seed, teacher_temperature=1.0),
}


# -------------------------------------------------------------- captions


def captioned(
    seed: int,
    *,
    both_wordings: bool = False,
    near: bool = False,
    sigmoid: bool = False,
    config: ViTConfig = CONFIG,
    steps: int = FACTS["captions"]["steps"],
    after: Callable[[ImagesAndCaptions, int], None] = lambda model, step: None,
) -> ImagesAndCaptions:
    """Train on captioned digits.

    Args:
        seed: Of weights and draws.
        both_wordings: Whether "left of" and "right of" both occur.
        near: Whether a batch holds each scene with its mirror image.
        sigmoid: Whether the loss is SigLIP's.
        config: Of the images' blocks; their sizes are those of the scenes.
        steps: How many to take.
        after: Gets the model and the step that was taken.
    """
    torch.manual_seed(seed)
    recipe = FACTS["captions"]
    loss = siglip_loss if sigmoid else clip_loss
    start = {"start_scale": 10.0, "start_bias": -10.0} if sigmoid else {}
    model = ImagesAndCaptions(
        replace(config, image_size=20, patch_size=5),
        vocab_size=len(WORDS),
        max_len=MAX_WORDS,
        **start,
    )
    draw = torch.Generator().manual_seed(seed)
    known = scenes()

    def batch() -> Tensor:
        order = torch.randperm(len(known), generator=draw)
        if not near:
            return known[order[: recipe["batch"]]]
        some = known[order[: recipe["batch"] // 2]]
        return torch.cat([some, mirrored_scenes(some)]).unique(dim=0)

    def step_loss(step: int) -> Tensor:
        drawn = batch()
        said = worded(drawn, both_wordings, draw)
        images = paint_scenes(drawn, generator=draw)
        return loss(model(inked(images), encode_captions(said)))

    minimise(
        model,
        step_loss,
        steps,
        learning_rate=recipe["rate"],
        after=lambda step: after(model, step),
    )
    return model


def captions_run(
    seed: int, *, both_wordings: bool = False, **ways: bool
) -> list[dict]:
    """Train as `captioned` does; ask about pairs never seen, on the way."""
    marks = {}

    def after(model: ImagesAndCaptions, step: int) -> None:
        if step + 1 == FACTS["captions"]["steps"] // 2:
            marks["halfway"] = exam(model, both_wordings)

    model = captioned(seed, both_wordings=both_wordings, **ways, after=after)
    return [exam(model, both_wordings) | marks]


def inked(images: Tensor) -> Tensor:
    """Bring pixels of a scene near mean 0."""
    return 2 * images - 0.5


def worded(
    drawn: Tensor, both_wordings: bool, draw: torch.Generator
) -> list[str]:
    """Say each scene, of either digit at random if both wordings occur."""
    first = captions(drawn)
    if not both_wordings:
        return first
    second = captions(drawn, from_second=True)
    picks = torch.rand(len(drawn), generator=draw) < 0.5
    return [
        b if pick else a
        for a, b, pick in zip(first, second, picks, strict=True)
    ]


@torch.no_grad()
def exam(model: ImagesAndCaptions, both_wordings: bool) -> dict:
    """Let pictures of unseen pairs choose among all 36 sentences.

    Returns:
        Shares of 720 pictures: that find their sentence; that find that of
        their mirror image; to which their own is nearer than that.
    """
    model.eval()
    new = scenes(unseen=True)
    rows = {tuple(scene): i for i, scene in enumerate(new.tolist())}
    twin = torch.tensor(
        [rows[tuple(x)] for x in mirrored_scenes(new).tolist()]
    )
    right = torch.arange(len(new)).repeat(20)
    draw = torch.Generator().manual_seed(2025)
    pictures = model.encode_images(
        inked(paint_scenes(new[right], part="test", generator=draw))
    )
    found = []
    for from_second in (False, True)[: 1 + both_wordings]:
        said = encode_captions(captions(new, from_second=from_second))
        cosines = pictures @ model.encode_captions(said).mT
        best, row = cosines.argmax(dim=1), torch.arange(len(right))
        own, other = cosines[row, right], cosines[row, twin[right]]
        answers = [best == right, best == twin[right], own > other]
        found.append(torch.stack(answers).double().mean(dim=1))
    model.train()
    shares = torch.stack(found).mean(dim=0).tolist()
    return dict(zip(("right", "mirrored", "order"), shares, strict=True))


CAPTIONS = {
    "one wording": captions_run,
    "two wordings": lambda seed: captions_run(seed, both_wordings=True),
    "near": lambda seed: captions_run(seed, both_wordings=True, near=True),
    "sigmoid": lambda seed: captions_run(seed, sigmoid=True),
}


if __name__ == "__main__":
    main()
