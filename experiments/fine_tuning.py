"""What the features of a trained network are worth for another task.

Ten kinds of clothes are told apart from a few labelled images of each: by
pixels, by small networks from scratch, by frozen features of a network that
was trained on photographs, and by fine-tuning it. Validation images choose all
settings; the test images judge what was chosen, and nothing else. Chapter 21
reads the result file. What the network makes of the images is kept in
`_build`. Run it, for an hour or two, with:
    python -m experiments.fine_tuning
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from experiments.runs import write_runs
from experiments.transfer import few_shot_linear
from vitedu.atomic_files import write_whole
from vitedu.book.notebook import set_up
from vitedu.config import TrainConfig, ViTConfig
from vitedu.data.fashion import CLASSES, Fashion, fashion
from vitedu.data.normalisation import (
    IMAGENET,
    ORIGINAL_VIT,
    Normalisation,
)
from vitedu.data.photographs import preprocess
from vitedu.pretrained.zoo import pretrained_vit
from vitedu.training.baselines import SmallCNN
from vitedu.training.fine_tuning import resized_vit
from vitedu.training.loop import fit
from vitedu.vit import VisionTransformer

LABELS = (1, 5, 20, 50)
"""Labelled images of each class."""
DRAWS = range(3)
"""Which images are labelled; no two draws share one."""
VALIDATION = 50
"""Images of each class that choose the settings."""
SIDE = 112
"""Of an image for the trained network, in pixels: 8 x 8 patches."""
MEAN, STD = 0.287, 0.352
"""Of the training pixels."""
READS = ("class token", "mean")
"""What of a block's tokens is a feature: the first, the mean of the others."""
STRENGTHS = (1.0, 10.0, 100.0, 1000.0)
"""Of the regularisation of the linear map."""
BLOCKS = 8
"""How many are kept for fine-tuning: validation found their features best."""
LAST = 3
"""How many of them learn in fine-tuning."""
STEPS = {"CNN": 400, "small ViT": 400, "head": 300, "last": 200}
"""Of training, in batches of 25, or of 10 where there are no more images."""
RATES = {
    "CNN": (1e-3, 3e-3, 1e-2, 3e-2),
    "small ViT": (3e-4, 1e-3, 3e-3, 1e-2),
    "head": (1e-3, 3e-3, 1e-2, 3e-2, 1e-1),
    "last": (3e-5, 1e-4, 3e-4, 1e-3),
}
"""Of learning, among which the validation images choose."""
WRONG = {
    "wrong test": ORIGINAL_VIT,
    "wrong test std": Normalisation(IMAGENET.mean, ORIGINAL_VIT.std),
    "wrong test mean": Normalisation(ORIGINAL_VIT.mean, IMAGENET.std),
}
"""Normalisations of another network, in part or as a whole."""
COUNTS = dict.fromkeys(RATES, LABELS) | {"small ViT": (20,), "last": (50,)}
"""Of labels. These two take minutes a run."""

ROOT = Path(__file__).parent.parent
RESULT = ROOT / "book/data/fine-tuning.json"
KEPT = ROOT / "_build/fine-tuning"


@cache
def clothes() -> Fashion:
    """Load the images that are used, once."""
    every = fashion()
    used = _places(every) < len(DRAWS) * max(LABELS) + VALIDATION
    return replace(
        every,
        train_images=every.train_images[used],
        train_labels=every.train_labels[used],
    )


def _places(data: Fashion) -> Tensor:
    """Count for each training image how many of its class come before it."""
    counts = F.one_hot(data.train_labels).cumsum(0)
    return counts.gather(1, data.train_labels[:, None])[:, 0] - 1


def few(count: int, draw: int) -> Tensor:
    """Return which training images have a label, `count` of each class."""
    first = draw * max(LABELS)
    places = _places(clothes())
    return ((places >= first) & (places < first + count)).nonzero()[:, 0]


def validation() -> Tensor:
    """Return which training images choose the settings; none has a label."""
    return (_places(clothes()) >= len(DRAWS) * max(LABELS)).nonzero()[:, 0]


def as_photographs(
    images: Tensor, normalisation: Normalisation = IMAGENET
) -> Tensor:
    """Bring grey images into the form that the trained network takes.

    Args:
        images: (image, 1, 28, 28), in [0, 1].
        normalisation: By default the network's own.

    Returns:
        (image, 3, 112, 112): enlarged, in three equal colours, normalised.
    """
    return torch.stack(
        [
            preprocess(
                image.expand(3, -1, -1), SIDE, normalisation=normalisation
            )
            for image in images
        ]
    )


@cache
def start() -> VisionTransformer:
    """Load the network that was trained on photographs."""
    return pretrained_vit()


def drawn() -> VisionTransformer:
    """Make the same network with drawn weights.

    Without LayerScale, whose drawn factors would make every block hand on
    almost what it gets.
    """
    torch.manual_seed(0)
    model = VisionTransformer(replace(start().config, layer_scale=None))
    model.normalisation = start().normalisation
    return model.eval()


@torch.no_grad()
def features(model: VisionTransformer, batches: Iterable[Tensor]) -> Tensor:
    """Return what each block knows of an image: (image, block, read, d_model).

    The two reads are those of `READS`, before any norm.

    Args:
        model: The network.
        batches: Images in the form that it takes.
    """
    found = []
    for some in batches:
        blocks = model.layer_features(some)
        reads = [(x[:, 0], x[:, 1:].mean(1)) for x in blocks]
        pairs = [torch.stack(pair, 1) for pair in reads]
        found.append(torch.stack(pairs, 1))
    return torch.cat(found)


@torch.no_grad()
def entering(images: Tensor) -> Tensor:
    """Return the tokens that enter the last blocks: (image, token, d_model).

    The blocks before do not learn, so this is computed once. In 16 bits, to
    be kept.
    """
    model = resized_vit(start(), image_size=SIDE, num_blocks=BLOCKS - LAST)
    return torch.cat(
        [
            model.layer_features(as_photographs(some))[-1].half()
            for some in images.split(50)
        ]
    )


class LastBlocks(nn.Module):
    """The part of a classifier that learns, on the tokens that enter it.

    Names are those of the classifier, so that a rate that falls from layer to
    layer does so here, too.
    """

    def __init__(self, model: VisionTransformer) -> None:
        super().__init__()
        self.blocks = model.blocks[-LAST:]
        self.fc_norm, self.head = model.fc_norm, model.head

    def forward(self, tokens: Tensor) -> Tensor:
        """Map (batch, token, d_model) to logits."""
        for block in self.blocks:
            tokens = block(tokens)
        return self.head(self.fc_norm(tokens[:, 1:].mean(dim=1)))


def classifier() -> VisionTransformer:
    """Cut the trained network after its first blocks and give it a head.

    The head starts with zeros. It reads the mean of the patches, normalised:
    the norm that the network had belongs to its last block.
    """
    first = resized_vit(start(), image_size=SIDE, num_blocks=BLOCKS)
    config = replace(
        first.config,
        num_classes=len(CLASSES),
        pool="mean_patches",
        pool_norm="after",
    )
    model = VisionTransformer(config)
    new = {"fc_norm", "head"}
    weights = model.state_dict()
    for name in weights:
        if name.partition(".")[0] not in new:
            weights[name] = first.state_dict()[name]
    model.load_state_dict(weights)
    return model


@cache
def kept(kind: str, part: str) -> Tensor:
    """Compute once what a network makes of a part of the images.

    Args:
        kind: "trained" or "drawn", for the `features` of that network, or
            "tokens", for those that are `entering` its last blocks.
        part: "train" or "test".
    """
    path = KEPT / f"{kind}-{part}.safetensors"
    if not path.exists():
        images = images_of(part)
        if kind == "tokens":
            found = entering(images)
        else:
            model = start() if kind == "trained" else drawn()
            found = features(model, map(as_photographs, images.split(50)))
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, save({"found": found}))
    return load_file(path)["found"]


def images_of(part: str) -> Tensor:
    """Return all images of the part "train" or "test"."""
    return getattr(clothes(), f"{part}_images")


def right_of(found: Tensor, part: str, rows: Tensor) -> int:
    """Count the right answers."""
    labels = getattr(clothes(), f"{part}_labels")[rows]
    return (found == labels).sum().item()


def rows_asked(part: str) -> Tensor:
    """Return the validation images of the part "train", or all of "test"."""
    return validation() if part == "train" else torch.arange(1000)


# ---------------------------------------------------------------- frozen


def inputs(part: str, settings: dict) -> Tensor:
    """Return what a linear map reads, (image, number)."""
    if settings["input"] == "pixels":
        return images_of(part).flatten(1)
    read = READS.index(settings["read"])
    return kept(settings["input"], part)[:, settings["block"] - 1, read]


def frozen(settings: dict, labels: int, draw: int, part: str) -> int:
    """Fit a linear map to a few features, and count its right answers."""
    known, rows = few(labels, draw), rows_asked(part)
    found = few_shot_linear(
        inputs("train", settings)[known],
        clothes().train_labels[known],
        inputs(part, settings)[rows],
        settings["strength"],
    )
    return right_of(found, part, rows)


def frozen_settings(kind: str, blocks: range) -> Iterator[dict]:
    """Yield all that validation may choose from."""
    for strength in STRENGTHS:
        if kind == "pixels":
            yield {"input": kind, "strength": strength}
            continue
        for block, read in product(blocks, READS):
            yield {
                "input": kind,
                "block": block,
                "read": read,
                "strength": strength,
            }


def frozen_runs() -> Iterator[dict]:
    """Choose and test linear maps on pixels and on frozen features."""
    every = range(1, len(start().blocks) + 1)
    ways = {
        "pixels": ("pixels", every),
        "drawn features": ("drawn", every),
        "last block": ("trained", every[-1:]),
        "best block": ("trained", every),
    }
    ways |= {f"block {block}": ("trained", [block]) for block in every}
    for labels in LABELS:
        for way, (kind, blocks) in ways.items():
            if way.startswith("block") and labels != LABELS[2]:
                continue
            scores = {}
            for settings in frozen_settings(kind, blocks):
                scores[tuple(settings.items())] = sum(
                    frozen(settings, labels, draw, "train") for draw in DRAWS
                )
            chosen = dict(max(scores, key=scores.__getitem__))
            for draw in DRAWS:
                right = frozen(chosen, labels, draw, "test")
                yield (
                    {"way": way, "labels": labels, "draw": draw}
                    | chosen
                    | {
                        "validation": frozen(chosen, labels, draw, "train"),
                        "right": right,
                    }
                )


def wrong_runs() -> Iterator[dict]:
    """Test linear maps on images normalised for another network.

    Their features are those of block 8, as `block 8` reads them where all
    images are normalised rightly.
    """
    settings = {"block": BLOCKS, "read": "mean", "strength": 100.0}

    def read(images: Tensor, normalisation: Normalisation) -> Tensor:
        some = (as_photographs(x, normalisation) for x in images.split(50))
        return features(start(), some)[:, BLOCKS - 1, READS.index("mean")]

    data = clothes()
    test = {way: read(data.test_images, WRONG[way]) for way in WRONG}
    for labels, draw in product((5, 20), DRAWS):
        rows = few(labels, draw)
        images, answers = data.train_images[rows], data.train_labels[rows]
        train = dict.fromkeys(WRONG, read(images, IMAGENET))
        train["wrong both"] = read(images, ORIGINAL_VIT)
        for way, known in train.items():
            found = few_shot_linear(
                known,
                answers,
                test["wrong test" if way == "wrong both" else way],
                settings["strength"],
            )
            yield (
                {"way": way, "labels": labels, "draw": draw}
                | settings
                | {"right": right_of(found, "test", rows_asked("test"))}
            )


# --------------------------------------------------------------- trained


def small_vit() -> VisionTransformer:
    """Make a ViT for 28 x 28 pixels: 49 patches of 4 x 4."""
    return VisionTransformer(ViTConfig.digits(image_size=28, patch_size=4))


def read_by_head(part: str, rows: Tensor) -> Tensor:
    """Return what the head of the classifier reads, (image, d_model)."""
    found = kept("trained", part)[rows, BLOCKS - 1, READS.index("mean")]
    eps = start().config.layer_norm_eps
    return F.layer_norm(found, found.shape[-1:], eps=eps)  # a fresh norm


def with_learned_head(rows: Tensor, seed: int) -> VisionTransformer:
    """Make a classifier whose head has learned from frozen features."""
    model = classifier()
    known, labels = read_by_head("train", rows), clothes().train_labels[rows]
    learn(model.head, "head", known, labels, rate=1e-2, seed=seed)
    return model


def learn(
    model: nn.Module,
    way: str,
    inputs: Tensor,
    labels: Tensor,
    *,
    rate: float,
    seed: int,
) -> None:
    """Train in place, as many steps as the way takes."""
    loader = DataLoader(
        TensorDataset(inputs, labels),
        batch_size=min(25, len(labels)),
        shuffle=True,
        drop_last=True,
        generator=torch.Generator().manual_seed(seed),
    )
    recipe = TrainConfig(
        num_epochs=-(-STEPS[way] // len(loader)),
        learning_rate=rate,
        layer_decay=0.75 if way == "last" else 1.0,
    )
    fit(model, loader, recipe)


def network(way: str, labels: int, draw: int) -> nn.Module:
    """Make what shall learn."""
    torch.manual_seed(draw)
    if way == "CNN":
        return SmallCNN(width=16)
    if way == "small ViT":
        return small_vit()
    if way == "head":
        return classifier().head
    return LastBlocks(with_learned_head(few(labels, draw), draw))


def given(way: str, part: str, rows: Tensor) -> Tensor:
    """Return images in the form that a network takes."""
    if way == "last":
        return kept("tokens", part)[rows].float()
    if way == "head":
        return read_by_head(part, rows)
    return (images_of(part)[rows] - MEAN) / STD


def trained_counts(
    way: str, labels: int, draw: int, rate: float
) -> Callable[[str], int]:
    """Train, and return what counts right answers of a part."""
    model, known = network(way, labels, draw), few(labels, draw)
    target = clothes().train_labels[known]
    learn(model, way, given(way, "train", known), target, rate=rate, seed=draw)

    @torch.no_grad()
    def count(part: str) -> int:
        rows = rows_asked(part)
        found = [
            model(given(way, part, some)).argmax(1) for some in rows.split(50)
        ]
        return right_of(torch.cat(found), part, rows)

    return count


def trained_runs(way: str) -> Iterator[dict]:
    """Choose the rate by the first draw, then train and test on each."""
    for labels in COUNTS[way]:
        counts = {
            rate: trained_counts(way, labels, 0, rate) for rate in RATES[way]
        }
        found = {rate: count("train") for rate, count in counts.items()}
        rate = max(found, key=found.__getitem__)
        for draw in DRAWS:
            count = counts[rate]
            if draw:
                count = trained_counts(way, labels, draw, rate)
            yield {
                "way": way,
                "labels": labels,
                "draw": draw,
                "rate": rate,
                "tried": [found[tried] for tried in RATES[way]],
                "validation": found[rate] if draw == 0 else count("train"),
                "right": count("test"),
            }


def main() -> None:
    """Run everything, write the result file."""
    set_up()
    runs = []
    for some in (frozen_runs(), wrong_runs(), *map(trained_runs, RATES)):
        for run in some:
            print(run, flush=True)
            runs.append(run)
    write_runs(
        RESULT,
        runs,
        script="experiments/fine_tuning.py",
        side=SIDE,
        blocks=BLOCKS,
        last=LAST,
        steps=STEPS,
        rates=RATES,
        strengths=STRENGTHS,
        validation=len(validation()),
        test=len(clothes().test_labels),
    )


if __name__ == "__main__":
    main()
