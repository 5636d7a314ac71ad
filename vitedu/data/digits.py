"""The data of the book: what there is, how it is split, how it is varied."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import Tensor
from torch.utils.data import BatchSampler, DataLoader, Dataset, RandomSampler

from vitedu import require


@dataclass(frozen=True, kw_only=True)
class Digits:
    """Handwritten digits, split once into a training and a test part.

    Attributes:
        train_images: (image, 1, 8, 8), standardised.
        train_labels: (image,), 0 to 9.
        test_images: (image, 1, 8, 8), standardised with the mean and the
            standard deviation of the training pixels.
        test_labels: (image,), 0 to 9.
        mean: Mean of the training pixels, which lie in [0, 1].
        std: Their standard deviation.
    """

    train_images: Float[Tensor, "train 1 8 8"]
    train_labels: Int[Tensor, " train"]
    test_images: Float[Tensor, "test 1 8 8"]
    test_labels: Int[Tensor, " test"]
    mean: float
    std: float

    def pixels(
        self, images: Float[Tensor, "*shape"]
    ) -> Float[Tensor, "*shape"]:
        """Undo the standardisation: pixels in [0, 1], 0 is no ink."""
        require.floating("images", images)
        return images * self.std + self.mean

    @property
    def empty(self) -> float:
        """The standardised value of a pixel without ink."""
        return -self.mean / self.std


def digits(*, test_size: int = 360, seed: int = 0) -> Digits:
    """Load the 1,797 handwritten digits that scikit-learn carries.

    One sample: image 0 is a zero. Its 8 x 8 pixels count the ink in blocks of
    4 x 4 of a scan, 0 to 16; row 0 is 0 0 5 13 9 1 0 0. Divided by 16 they
    lie in [0, 1]: 0 0 0.31 0.81 0.56 0.06 0 0. With the mean 0.31 and the
    standard deviation 0.38 of the training pixels, an empty pixel becomes
    about -0.81 and a full one about 1.85.

    Args:
        test_size: Number of images set aside, sampled so that each digit keeps
            its proportion.
        seed: Determines which images are sampled; 0 to 2**32 - 1.

    Raises:
        TypeError, ValueError: `seed` is not such an integer; `test_size` is
            not an integer that leaves at least one image of each digit on
            both sides.

    Source: Kaynak 1995 and Alpaydin & Kaynak 1998, the UCI collection
        "Optical Recognition of Handwritten Digits", its 1,797 test images of
        13 writers.
    Deviates: The writers are not named in the data, so both parts hold digits
        of the same people. A test on new writers would be harder.
    Derived in: 14-training-a-vit
    """
    require.positive_int("test_size", test_size)
    require.integer("seed", seed, at_least=0)
    if seed >= 2**32:
        raise ValueError(f"seed must be below 2**32, got {seed}")
    bunch = load_digits()
    if not 10 <= test_size <= len(bunch.target) - 10:
        raise ValueError(
            "test_size must leave 10 images on both sides of "
            f"{len(bunch.target)}, got {test_size}"
        )
    images = torch.tensor(bunch.images, dtype=torch.float32)[:, None] / 16
    labels = torch.tensor(bunch.target)
    train, test = train_test_split(
        torch.arange(len(labels)),
        test_size=test_size,
        stratify=labels,
        random_state=seed,
    )
    std, mean = torch.std_mean(images[train])
    standardised = (images - mean) / std
    return Digits(
        train_images=standardised[train],
        train_labels=labels[train],
        test_images=standardised[test],
        test_labels=labels[test],
        mean=mean.item(),
        std=std.item(),
    )


@dataclass(frozen=True, kw_only=True)
class Augment:
    """Random small rotations, shifts and stretches, and more or less ink.

    The defaults are those of the digits in chapter 14.

    Attributes:
        degrees: Largest rotation to either side.
        shift: Largest shift in pixels, along each side.
        stretch: Largest relative change of width and of height, in [0, 1).
        shear: Largest shear, in [0, 1).
        ink: Largest relative change of the ink, in [0, 1).
        empty: Value of a pixel from outside the image.

    Raises:
        TypeError, ValueError: A number outside its range; images that are not
            a floating-point tensor of four axes.

    Derived in: 14-training-a-vit
    """

    degrees: float = 8.6
    shift: float = 0.5
    stretch: float = 0.08
    shear: float = 0.08
    ink: float = 0.3
    empty: float = 0.0

    def __post_init__(self) -> None:
        # Numbers of 32 bits would overflow: the images would hold none.
        require.number("degrees", self.degrees, at_least=0, below=1e30)
        require.number("shift", self.shift, at_least=0, below=1e30)
        require.rate("stretch", self.stretch)
        require.rate("shear", self.shear)
        require.rate("ink", self.ink)
        require.number("empty", self.empty, above=-1e30, below=1e30)

    def __call__(
        self,
        images: Float[Tensor, "batch channel height width"],
        generator: torch.Generator,
    ) -> Float[Tensor, "batch channel height width"]:
        """Vary each image by itself; interpolate linearly between pixels."""
        require.rank("images", images, "batch channel height width")
        require.floating("images", images)
        require.instance("generator", generator, torch.Generator)
        draw = torch.rand(7, len(images), generator=generator) * 2 - 1
        angle = draw[0] * torch.pi * self.degrees / 180
        width, height = 1 + draw[1:3] * self.stretch
        # grid_sample measures in half image sides.
        sides = torch.tensor(images.shape[:1:-1])
        right, down = draw[3:5] * self.shift * 2 / sides[:, None]
        shear = draw[5] * self.shear
        cos, sin = angle.cos(), angle.sin()
        # A turn has to mix pixels with pixels, not sides with sides.
        aspect = sides[1] / sides[0]
        across = (shear - sin * height) * aspect
        matrix = torch.stack(
            [
                torch.stack([cos * width, across, right], -1),
                torch.stack([sin * width / aspect, cos * height, down], -1),
            ],
            dim=1,
        )
        grid = F.affine_grid(matrix, list(images.shape), align_corners=False)
        # grid_sample fills with zeros, so zero has to mean "empty" meanwhile.
        varied = F.grid_sample(images - self.empty, grid, align_corners=False)
        ink = 1 + draw[6] * self.ink
        return varied * ink[:, None, None, None] + self.empty


class _Batches(Dataset):
    """Whole batches at once: one look-up instead of 64 and a collation."""

    def __init__(self, images, labels, augment, generator) -> None:
        self.images, self.labels = images, labels
        self.augment, self.generator = augment, generator

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, indices: list[int]) -> tuple[Tensor, Tensor]:
        images = self.images[indices]
        if self.augment is not None:
            images = self.augment(images, self.generator)
        return images, self.labels[indices]


def batches(
    images: Float[Tensor, "image channel height width"],
    labels: Int[Tensor, " image"],
    *,
    batch_size: int,
    seed: int,
    augment: Augment | None = None,
) -> DataLoader:
    """Make a loader of shuffled batches; an incomplete last one is dropped.

    One generator, the loader's own, draws the order and the augmentation, so
    that `training.fit` can save and restore all of it.

    Args:
        images: All training images.
        labels: One label per image.
        batch_size: Images per batch, at most all of them.
        seed: Seed of the loader's generator, 0 to 2**64 - 1.
        augment: Varies each image again in each epoch; None leaves them
            unchanged.

    Raises:
        TypeError, ValueError: Images or labels that are not tensors of
            numbers and integers, lengths that differ, a `batch_size` that is
            not a positive integer or larger than the data.
    """
    require.rank("images", images, "image channel height width")
    require.floating("images", images)
    require.rank("labels", labels, "image")
    require.integers("labels", labels)
    require.positive_int("batch_size", batch_size)
    require.seed("seed", seed)
    require.instance("augment", augment, Augment, optional=True)
    if len(labels) != len(images):
        raise ValueError(
            f"labels must hold one label per image, {len(images)}, "
            f"got {len(labels)}"
        )
    if batch_size > len(images):
        raise ValueError(
            f"batch_size must be at most the {len(images)} images, "
            f"got {batch_size}"
        )
    generator = torch.Generator().manual_seed(seed)
    dataset = _Batches(images, labels, augment, generator)
    order = RandomSampler(range(len(images)), generator=generator)
    return DataLoader(
        dataset,
        sampler=BatchSampler(order, batch_size, drop_last=True),
        batch_size=None,
        generator=generator,
    )
