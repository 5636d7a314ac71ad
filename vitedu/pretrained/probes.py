"""A linear probe: your own classes, told apart by a frozen network's features.

The network stays as it is. Each picture passes through it once; what the
patches hold after a block, averaged, are the picture's features. A linear map
on them is fitted by ridge regression in closed form, and judged by
leave-one-out: each picture is classified by the map fitted to all others.
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

# How strongly large weights are penalised: half decades.
STRENGTHS = tuple(10 ** (k / 2) for k in range(9))
# How sharp the probabilities are: factors of the scores, an octave in four.
_SHARPNESS = tuple(2 ** (k / 4) for k in range(41))
# Side of the squares of bare pixels that the features are compared with.
_PIXELS = 16


@dataclass(frozen=True, eq=False)
class Ridge:
    """A linear map from features to classes, and how well it did.

    Attributes:
        weight: One row of factors for each class.
        bias: One number for each class.
        strength: How strongly large weights were penalised.
        left_out: The scores of each sample by the map fitted to all others;
            the probabilities of the classes are their softmax.
        right: How many samples those scores classify correctly.
        error: Their mean squared distance from +1 and -1, before they were
            made sharper; fits with other features of the same samples can be
            compared by it.
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
        """Return the probabilities of the classes."""
        return (features @ self.weight.mT + self.bias).softmax(dim=-1)


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
    require.instance("features", features, Tensor)
    require.instance("labels", labels, Tensor)
    counts = torch.bincount(labels)
    if len(counts) < 2 or counts.min() < 2:
        raise ValueError(
            "labels must hold at least two classes, and each at least twice, "
            f"got {counts.tolist()} samples"
        )
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


@dataclass(frozen=True, eq=False)
class Probe:
    """A network that names your classes: frozen blocks and a linear map.

    Attributes:
        network: The name that `pretrained_vit` knows it by.
        model: The network.
        block: After which of its blocks the features are taken, from 1 on.
        image_size: Side of its images in pixels.
        weight: One row of factors for each class.
        bias: One number for each class.
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
        """Return the probabilities of the classes."""
        return self.by_patch(images).mean(dim=1).softmax(dim=-1)


@dataclass(frozen=True)
class Evidence:
    """How far a probe can be trusted; each count is by leave-one-out.

    Attributes:
        samples: How many pictures there were.
        right: How many were classified correctly.
        by_block: The same, with the features of each block.
        pixels: The same, with bare pixels, averaged over 16 x 16 squares.
        most_frequent: Pictures of the largest class; naming it always would
            be right so often.
        repeated: Pairs of files with the same pixels. One of each pair was
            seen while the other was left out, so the counts are too high.
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
    """Teach a trained network the classes in a folder, in seconds.

    Args:
        folder: Holds a folder of pictures for each class, at least two.
        network: As for `pretrained_vit`.
        block: After which block to take the features; None takes the one
            whose fit has the smallest leave-one-out error.
        image_size: Side of the square that each picture becomes; the patches
            of the network must divide it.

    Raises:
        TypeError, ValueError, OSError: As `ImageFolder`, `pretrained_vit` and
            `fit_ridge`; a block that the network does not have.
    """
    model = pretrained_vit(network)
    blocks = len(model.blocks)
    if block is not None:
        require.positive_int("block", block)
        if block > blocks:
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
    """Write the linear map of a probe, and which network it belongs to.

    Args:
        path: Where to write; a name that ends in .safetensors.
        probe: The network's own weights are not written.

    Raises:
        TypeError: An argument of another type.
        OSError: The folder does not exist, is read-only or full.
    """
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
    """Tell whether a file of weights is that of a probe.

    Raises:
        TypeError, ValueError, FileNotFoundError: As `open_weights`.
    """
    with open_weights(path) as file, damage_named(file.path, "weight file"):
        return "probe" in dict(json.loads(file.facts or "{}"))


def load_probe(path: str | os.PathLike) -> Probe:
    """Read a probe, and load the network that it belongs to.

    Raises:
        TypeError, FileNotFoundError: As `open_weights`; as `pretrained_vit`,
            where the network is not there.
        ValueError: A file that `save_probe` has not written, or a damaged
            one.
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
