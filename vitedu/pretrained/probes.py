"""A linear probe: a head for classes of your own, on a frozen network.

The network does not change. Each image passes through it once; the mean of its
patch tokens after a block serves as the image's features. A linear map on
these features is fitted by ridge regression in closed form and evaluated by
leave-one-out: each image is classified by the map fitted to all others.
"""

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import adaptive_avg_pool2d, cross_entropy, one_hot

from vitedu import require
from vitedu.atomic_files import damage_named
from vitedu.data.image_folder import ImageFolder
from vitedu.pretrained.weight_files import open_weights
from vitedu.pretrained.zoo import NAMES, pretrained_vit
from vitedu.training.checkpoints import write_checkpoint
from vitedu.vit import VisionTransformer

# Penalties on large weights, in steps of half a decade.
STRENGTHS = tuple(10 ** (k / 2) for k in range(9))
# Factors of the scores, four per octave: the larger, the sharper the
# probabilities.
_SHARPNESS = tuple(2 ** (k / 4) for k in range(41))
# The features are compared with the image reduced to so many squares a side.
_PIXELS = 16


@dataclass(frozen=True, eq=False)
class Ridge:
    """A linear map from features to classes, and its leave-one-out results.

    Attributes:
        weight: One row per class.
        bias: One number per class.
        strength: The penalty on large weights that was chosen.
        left_out: Scores of each sample from the map fitted to all others;
            their softmax gives the probabilities of the classes.
        right: Number of samples that these scores classify correctly.
        error: Mean squared difference between these scores, before they were
            scaled, and the targets +1 and -1. It compares fits on different
            features of the same samples.
    """

    weight: Float[Tensor, "classes features"]
    bias: Float[Tensor, " classes"]
    strength: float
    left_out: Float[Tensor, "samples classes"]
    right: int
    error: float

    def __call__(
        self, features: Float[Tensor, "*batch features"]
    ) -> Float[Tensor, "*batch classes"]:
        """Return the scores of the classes; softmax gives probabilities."""
        return features @ self.weight.mT + self.bias


def fit_ridge(
    features: Float[Tensor, "samples features"],
    labels: Int[Tensor, " samples"],
    strengths: Sequence[float] = STRENGTHS,
) -> Ridge:
    """Fit a linear map by ridge regression, and leave out each sample once.

    The target of a class is +1 for its own samples and -1 for all others.
    Features are standardised by the mean and the standard deviation of all
    samples; these include the sample that is left out, because they do not
    depend on labels. The strength chosen is the one with the smallest
    leave-one-out error. All scores are then multiplied by the factor with the
    smallest cross-entropy on the left-out samples. Its labels are smoothed as
    by one more sample of each class, because otherwise few samples that are
    all classified correctly would make the probabilities 0 and 1. Both
    choices see the labels that judge them, so accuracy by leave-one-out is
    slightly too high.

    Args:
        features: At least two samples of each class.
        labels: Numbers of the classes, from 0 on; each must occur.
        strengths: Penalties to choose from, all positive.

    Returns:
        The map; its weights apply to features as they are.

    Raises:
        TypeError, ValueError: An argument of another type; fewer than two
            classes; a class with fewer than two samples.

    Source: Hastie, Tibshirani and Friedman 2009, sections 3.4.1 and 7.10.1
        (leave-one-out from one fit); Platt 1999 (smoothed labels).

    >>> features = torch.tensor([[0.0], [1.0], [4.0], [5.0]])
    >>> fitted = fit_ridge(features, torch.tensor([0, 0, 1, 1]))
    >>> fitted.right
    4
    >>> fitted(torch.tensor([[0.5]])).argmax().item()
    0
    """
    counts = _counts(features, labels)
    require.instance("strengths", strengths, tuple, list)
    if not strengths:
        raise ValueError("strengths must not be empty, got none")
    for strength in strengths:
        require.number("strengths", strength, above=0)
    x = features.double()
    mean, std = x.mean(dim=0), x.std(dim=0) + 1e-6
    x = (x - mean) / std
    wanted = 2.0 * one_hot(labels).double() - 1
    # There are fewer samples than features: the matrix between samples is
    # the small one. The 1 is the feature whose weight is the bias.
    between = x @ x.mT + 1
    fits = []
    for strength in strengths:
        inverse = torch.linalg.inv(
            between + strength * torch.eye(len(x), dtype=x.dtype)
        )
        dual = inverse @ wanted
        left_out = wanted - dual / inverse.diagonal()[:, None]
        error = (wanted - left_out).square().mean().item()
        fits.append((error, strength, dual, left_out))
    error, strength, dual, left_out = min(fits, key=lambda fit: fit[0])
    # Of n samples of k classes each counts as (n + 1) / (n + k) in its own.
    smoothing = len(counts) / (len(x) + len(counts))
    losses = [
        cross_entropy(
            factor * left_out, labels, label_smoothing=smoothing
        ).item()
        for factor in _SHARPNESS
    ]
    factor = _SHARPNESS[losses.index(min(losses))]
    weight = factor * (dual.mT @ x) / std
    return Ridge(
        weight=weight.to(features.dtype),
        bias=(factor * dual.sum(dim=0) - weight @ mean).to(features.dtype),
        strength=strength,
        left_out=(factor * left_out).to(features.dtype),
        right=int((left_out.argmax(dim=1) == labels).sum()),
        error=error,
    )


def _counts(features: Tensor, labels: Tensor) -> Int[Tensor, " classes"]:
    """Check samples and their labels; return how many each class has."""
    require.rank("features", features, "samples features")
    require.floating("features", features)
    require.rank("labels", labels, "samples")
    require.integers("labels", labels)
    if len(labels) != len(features):
        raise ValueError(
            "features and labels must have as many samples, got "
            f"{len(features)} and {len(labels)}"
        )
    if labels.min() < 0 or labels.max() >= len(labels):
        raise ValueError(
            "labels must count the classes from 0 on, got "
            f"{labels.min()} to {labels.max()}"
        )
    counts = torch.bincount(labels)
    if len(counts) < 2 or counts.min() < 2:
        raise ValueError(
            "labels must hold at least two classes, and each at least twice, "
            f"got {counts.tolist()} samples"
        )
    return counts


@dataclass(frozen=True, eq=False)
class Probe:
    """A frozen network with a linear map to your classes.

    Attributes:
        network: Its name for `pretrained_vit`.
        model: The network.
        block: The block after which features are taken, counted from 1.
        image_size: Side of the input images in pixels.
        weight: One row per class.
        bias: One number per class.
        class_names: The classes.
    """

    network: str
    model: VisionTransformer
    block: int
    image_size: int
    weight: Float[Tensor, "classes features"]
    bias: Float[Tensor, " classes"]
    class_names: tuple[str, ...]

    def to(self, device: torch.device) -> "Probe":
        """Return a probe that computes on a device."""
        return replace(self, model=self.model.to(device))

    @torch.no_grad()
    def by_patch(
        self, images: Float[Tensor, "batch 3 height width"]
    ) -> Float[Tensor, "batch patch classes"]:
        """Return what each patch adds to the scores of the classes.

        The features are a mean over the patches and the map is linear, so
        the mean of these over the patches is exactly the scores.
        """
        tokens = _patches(self.model, images)[self.block - 1]
        return tokens @ self.weight.to(tokens).mT + self.bias.to(tokens)

    def __call__(
        self, images: Float[Tensor, "batch 3 height width"]
    ) -> Float[Tensor, "batch classes"]:
        """Return the scores of the classes; softmax gives probabilities."""
        return self.by_patch(images).mean(dim=1)


@dataclass(frozen=True)
class Evidence:
    """How far a probe can be trusted; all counts are by leave-one-out.

    Attributes:
        samples: Number of images.
        right: Number of images classified correctly.
        by_block: The same count with the features of each block.
        pixels: The same count with bare pixels, averaged over 16 x 16 squares.
        most_frequent: Size of the largest class: the number that would be
            correct if every image were assigned to that class.
        repeated: Pairs of files with the same pixels. While one was left out,
            the other was part of the fit, so the counts are too high.
    """

    samples: int
    right: int
    by_block: tuple[int, ...]
    pixels: int
    most_frequent: int
    repeated: tuple[tuple[Path, Path], ...]


def teach(
    folder: str | os.PathLike,
    *,
    network: str = NAMES[0],
    block: int | None = None,
    image_size: int = 224,
) -> tuple[Probe, Evidence]:
    """Fit a head for the classes in a folder to a trained network, in seconds.

    Args:
        folder: Contains one folder of images per class, at least two.
        network: As for `pretrained_vit`.
        block: The block after which features are taken; None chooses the one
            with the smallest leave-one-out error.
        image_size: Side of the square to which each image is scaled and
            cropped; the network's patch size must divide it.

    Raises:
        TypeError, ValueError, OSError: As for `ImageFolder`, `pretrained_vit`
            and `fit_ridge`; a block that the network does not have.
    """
    require.path("folder", folder)
    require.choice("network", network, NAMES)
    require.positive_int("image_size", image_size)
    if block is not None:
        require.positive_int("block", block)
    model = pretrained_vit(network)
    blocks = len(model.blocks)
    if block is not None and block > blocks:
        raise ValueError(f"block must be at most {blocks}, got {block}")
    data = ImageFolder(folder, image_size, normalisation=model.normalisation)
    labels = torch.tensor([label for _, label in data.samples])
    features, pixels, first, repeated = [], [], {}, []
    for (path, _), (image, _) in zip(data.samples, data, strict=True):
        with torch.no_grad():
            tokens = _patches(model, image[None])
        features.append(torch.stack([one[0].mean(dim=0) for one in tokens]))
        pixels.append(adaptive_avg_pool2d(image, _PIXELS).flatten())
        before = first.setdefault(image.numpy().tobytes(), path)
        if before is not path:
            repeated.append((before, path))
    fits = [fit_ridge(x, labels) for x in torch.stack(features, dim=1)]
    if block is None:
        block = 1 + min(range(blocks), key=lambda i: fits[i].error)
    best = fits[block - 1]
    probe = Probe(
        *(network, model, block, image_size, best.weight, best.bias),
        class_names=data.classes,
    )
    return probe, Evidence(
        samples=len(labels),
        right=best.right,
        by_block=tuple(fit.right for fit in fits),
        pixels=fit_ridge(torch.stack(pixels), labels).right,
        most_frequent=int(torch.bincount(labels).max()),
        repeated=tuple(repeated),
    )


def save_probe(path: str | os.PathLike, probe: Probe) -> None:
    """Write the linear map of a probe, and the name of its network.

    Args:
        path: Where to write; a name that ends in .safetensors.
        probe: The network's own weights are not written.

    Raises:
        TypeError: An argument of another type.
        OSError: The folder does not exist, is read-only or full.
    """
    path = require.path("path", path)
    require.instance("probe", probe, Probe)
    facts = {
        "probe": {
            "network": probe.network,
            "block": probe.block,
            "image_size": probe.image_size,
        },
        "class_names": list(probe.class_names),
    }
    write_checkpoint(path, {"weight": probe.weight, "bias": probe.bias}, facts)


def is_probe(path: str | os.PathLike) -> bool:
    """Tell whether a weight file contains a probe.

    Raises:
        TypeError, ValueError, FileNotFoundError: As `open_weights`.
    """
    with open_weights(path) as file, damage_named(file.path, "weight file"):
        return "probe" in dict(json.loads(file.facts or "{}"))


def load_probe(path: str | os.PathLike) -> Probe:
    """Read a probe, and load its network.

    Raises:
        TypeError, FileNotFoundError: As for `open_weights`, and for
            `pretrained_vit` if the network is not installed.
        ValueError: A file that `save_probe` did not write, or a damaged one.
    """
    with open_weights(path) as file, damage_named(file.path, "save_probe"):
        facts = dict(json.loads(file.facts or "{}"))
        made, names = dict(facts["probe"]), tuple(facts["class_names"])
        require.choice("network", made["network"], NAMES)
        require.positive_int("block", made["block"])
        require.positive_int("image_size", made["image_size"])
        weight, bias = file.read("weight"), file.read("bias")
        count = len({*names})
        sizes = [len(names), *bias.shape, *weight.shape[:-1]]
        if sizes != 3 * [count]:
            raise ValueError(
                "weight, bias and class_names must fit each other, got "
                f"{[*weight.shape]}, {[*bias.shape]} and {len(names)} names"
            )
    model = pretrained_vit(made["network"])
    if made["block"] > len(model.blocks) or (
        weight.shape[1] != model.config.d_model
    ):
        raise ValueError(
            f"path must hold a probe that fits {made['network']}, got "
            f"{file.path} for block {made['block']} and width "
            f"{weight.shape[1]}"
        )
    return Probe(
        model=model, weight=weight, bias=bias, class_names=names, **made
    )


def _patches(
    model: VisionTransformer, images: Float[Tensor, "batch 3 height width"]
) -> list[Float[Tensor, "batch patch d_model"]]:
    """Return the tokens of the patches after each block."""
    before = model.config.num_prefix_tokens
    return [tokens[:, before:] for tokens in model.layer_features(images)]
