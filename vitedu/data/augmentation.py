"""Images and batches varied at random, mostly by torchvision."""

import importlib.util
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Literal

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor
from torch.utils.data import default_collate

from vitedu import require
from vitedu.data.normalisation import ORIGINAL_VIT, Normalisation

Picture = Float[Tensor, "3 height width"]

# What two operators of torchvision look like, which it describes on loading.
_DETECTION = "(Tensor boxes, Tensor scores, float threshold) -> Tensor"


def augmentation(
    image_size: int = 224,
    strength: Literal["light", "strong"] = "light",
    *,
    normalisation: Normalisation = ORIGINAL_VIT,
) -> Callable[[Picture], Picture]:
    """Return a transform that prepares a random version of a picture.

    It takes pixels in [0, 1], as `read_image` returns them, and gives a
    square. Random numbers come from PyTorch's own generator.

    Args:
        image_size: Side of the square in pixels.
        strength: "light" cuts out a part, 8 to 100% of the area and from 3:4
            to 4:3 in shape, and mirrors it half of the time; "strong" then
            changes colours or rotates, shears or shifts it, in two such steps
            of RandAugment.
        normalisation: As for `preprocess`.

    Raises:
        TypeError, ValueError: An unknown strength, an `image_size` that is not
            a positive integer, something that is not a Normalisation.
        ModuleNotFoundError: torchvision is not installed.

    Source: Szegedy et al. 2015, section 6, for the parts; Cubuk et al. 2020
        for RandAugment, in the strength that torchvision gives it.
    """
    require.positive_int("image_size", image_size)
    require.choice("strength", strength, ("light", "strong"))
    require.instance("normalisation", normalisation, Normalisation)
    v2 = _transforms()
    return v2.Compose(
        [
            v2.ToDtype(torch.uint8, scale=True),  # as RandAugment wants it
            v2.RandomResizedCrop(
                image_size, interpolation=v2.InterpolationMode.BICUBIC
            ),
            v2.RandomHorizontalFlip(),
            *([v2.RandAugment()] if strength == "strong" else []),
            v2.ToDtype(torch.float32, scale=True),
            v2.Normalize(normalisation.mean, normalisation.std),
        ]
    )


def mixing_collate(
    num_classes: int, alpha: float = 0.2
) -> Callable[[Sequence], tuple[Tensor, Tensor]]:
    """Return a `collate_fn` that mixes each image with its neighbour.

    The loader has to shuffle. A proportion is sampled for each batch; images
    and labels are mixed in it, so that targets become probabilities, (batch,
    num_classes).

    Args:
        num_classes: Number of classes.
        alpha: Parameter of the distribution Beta(alpha, alpha) of the
            proportion, above 0: the smaller it is, the closer the mixture is
            to one of the two images.

    Raises:
        TypeError, ValueError: An argument of the wrong type or out of range.
        ModuleNotFoundError: torchvision is not installed.

    Source: Zhang et al. 2018 (mixup), equation 1.
    Deviates: One proportion per batch, as in the authors' code; the partner is
        the neighbour in a shuffled batch.
    """
    require.positive_int("num_classes", num_classes)
    require.number("alpha", alpha, above=0)
    mixup = _transforms().MixUp(alpha=alpha, num_classes=num_classes)
    return partial(_mixed, mixup)


def random_crops(
    images: Float[Tensor, "batch channel height width"],
    *,
    least: float = 0.4,
    mirror: bool = True,
    generator: torch.Generator | None = None,
) -> Float[Tensor, "batch channel height width"]:
    """Return a random part of each image, as large as the image was.

    The area of a part is sampled uniformly, then its shape from 3:4 to 4:3 as
    far as such a part fits into the image, then its location.

    Args:
        images: At least one, with pixels of any range.
        least: Smallest fraction of the area, above 0 and at most 1.
        mirror: Whether half of the parts, on average, are mirrored.
        generator: Source of the random numbers; None is PyTorch's own.

    Raises:
        TypeError, ValueError: Images of other axes, without pixels or not
            floating-point; an argument of the wrong type or out of range.

    Source: Szegedy et al. 2015, section 6.
    Deviates: One interpolation for the whole batch, linear between pixels.
    """
    require.rank("images", images, "batch channel height width")
    require.floating("images", images)
    if images.numel() == 0:
        raise ValueError(
            f"images must hold pixels, got shape {tuple(images.shape)}"
        )
    require.number("least", least, above=0, at_most=1)
    require.boolean("mirror", mirror)
    require.instance("generator", generator, torch.Generator, optional=True)
    draws = torch.rand(5, len(images), generator=generator)
    area = least + (1 - least) * draws[0]
    # Shapes are logarithms of width : height, so that 3:4 is as far as 4:3.
    side = torch.tensor(images.shape[3] / images.shape[2]).log()
    bounds = torch.tensor([3 / 4, 4 / 3]).log()[:, None]
    low, high = bounds.clamp(side + area.log(), side - area.log())
    shape = low + (high - low) * draws[1] - side
    width, height = (area.log() + shape).div(2), (area.log() - shape).div(2)
    # Rounding must not lead out of the image.
    width, height = width.exp().clamp(max=1), height.exp().clamp(max=1)
    right = (1 - width) * (2 * draws[2] - 1)
    down = (1 - height) * (2 * draws[3] - 1)
    if mirror:
        width = torch.where(draws[4] < 0.5, -width, width)
    zero = torch.zeros_like(area)
    matrix = torch.stack([width, zero, right, zero, height, down], dim=1)
    grid = F.affine_grid(
        matrix.view(-1, 2, 3).to(images),
        list(images.shape),
        align_corners=False,
    )
    # Between the centre of a border pixel and the border there is that pixel.
    return F.grid_sample(
        images, grid, padding_mode="border", align_corners=False
    )


def _mixed(mixup: Callable, samples: Sequence) -> tuple[Tensor, Tensor]:
    return mixup(*default_collate(samples))


def _transforms():
    """Return torchvision's transforms, which take seconds to load."""
    let_torchvision_load()
    from torchvision.transforms import v2

    return v2


def let_torchvision_load() -> None:
    """Let a torchvision built for CUDA load beside a CPU build of PyTorch.

    On Linux, PyPI's torchvision is built for CUDA. Where CUDA is missing, its
    machine code is not loaded, so two operators are missing that its Python
    code describes on loading. For everything but object detection, it is
    enough that they exist.
    """
    found = importlib.util.find_spec("torchvision")
    if found is None or torch.version.cuda is not None:
        return
    version = Path(found.submodule_search_locations[0], "version.py")
    built_for_cuda = "+cu" in version.read_text("utf-8")
    for name in ("nms", "qnms") if built_for_cuda else ():
        if not hasattr(torch.ops.torchvision, name):
            torch.library.define(f"torchvision::{name}", _DETECTION)
