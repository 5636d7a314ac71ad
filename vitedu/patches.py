"""From an image to a sequence of patches, and back."""

from typing import Literal

import torch.nn.functional as F
from einops import rearrange
from jaxtyping import Float
from torch import Tensor, nn

from vitedu import require


def patchify(
    images: Float[Tensor, "batch channel height width"],
    patch_size: int | tuple[int, int],
) -> Float[Tensor, "batch patch values"]:
    """Cut images into patches and flatten each into a row.

    Patches are read row by row. Inside a patch the order is (channel, row,
    column): that of a convolution's kernel, so that one weight serves both.

    Args:
        images: Pixels; height and width divisible by those of a patch.
        patch_size: Side of a square patch, or (height, width), in pixels.

    Returns:
        One row per patch, of channels * patch height * patch width values.

    Raises:
        TypeError, ValueError: Wrong axes, or sides that do not divide. No
            border is ever cut off.

    Source: Dosovitskiy et al. 2021, section 3.1.
    Deviates: The paper does not fix the order inside a patch; its code has
        (row, column, channel).
    Derived in: 11-patches

    >>> import torch
    >>> image = torch.arange(16).reshape(1, 1, 4, 4)
    >>> patchify(image, 2)
    tensor([[[ 0,  1,  4,  5],
             [ 2,  3,  6,  7],
             [ 8,  9, 12, 13],
             [10, 11, 14, 15]]])
    """
    require.rank("images", images, "batch channel height width")
    p1, p2 = require.sides("patch_size", patch_size)
    require.divisible("height", images.shape[2], "patch_size", p1)
    require.divisible("width", images.shape[3], "patch_size", p2)
    return rearrange(
        images,
        "b c (rows p1) (cols p2) -> b (rows cols) (c p1 p2)",
        p1=p1,
        p2=p2,
    )


def unpatchify(
    patches: Float[Tensor, "batch patch values"],
    patch_size: int | tuple[int, int],
    grid_size: tuple[int, int],
) -> Float[Tensor, "batch channel height width"]:
    """Put patches back together: the inverse of `patchify`.

    Args:
        patches: One row per patch, as `patchify` makes them.
        patch_size: Side of a square patch, or (height, width), in pixels.
        grid_size: Rows and columns of the grid of patches.

    Returns:
        Images whose sides are those of a patch times rows and columns.

    Raises:
        TypeError, ValueError: Sizes that are not positive integers, a number
            of patches that is not rows * columns, or patches that do not
            hold whole channels.

    Source: Dosovitskiy et al. 2021, section 3.1.
    Derived in: 11-patches
    """
    require.rank("patches", patches, "batch patch values")
    p1, p2 = require.sides("patch_size", patch_size)
    require.grid("grid_size", grid_size)
    rows, columns = grid_size
    if patches.shape[1] != rows * columns:
        raise ValueError(
            f"patches must hold grid_size[0] * grid_size[1] = "
            f"{rows} * {columns} rows, got {patches.shape[1]}"
        )
    require.divisible("values", patches.shape[2], "pixels", p1 * p2)
    return rearrange(
        patches,
        "b (rows cols) (c p1 p2) -> b c (rows p1) (cols p2)",
        rows=rows,
        p1=p1,
        p2=p2,
    )


class PatchEmbed(nn.Module):
    """Turn an image into a sequence of d_model-wide patch tokens.

    The weight is that of a convolution whose kernel and stride are the patch
    size. Cutting, flattening and one matrix product give the same numbers;
    `method` chooses which of the two computes them.

    Args:
        image_size: Side of a square image, or (height, width), in pixels.
        patch_size: Side of a square patch, or (height, width), in pixels;
            divides `image_size`.
        num_channels: Channels of the image.
        d_model: Width of a token.
        method: "convolution" or "linear".
        norm: Whether each token is layer-normalised.
        layer_norm_eps: Epsilon of that normalisation.
        any_image_size: Whether images of other sizes are accepted, as long as
            the patch divides them.

    Raises:
        TypeError, ValueError: Sizes that are not positive integers or do not
            divide; images of another size, number of channels or dtype.

    Source: Dosovitskiy et al. 2021, section 3.1, equation 1.
    Deviates: `norm` is not in the paper; some ViTs have it.
    Derived in: 11-patches
    """

    def __init__(
        self,
        image_size: int | tuple[int, int],
        patch_size: int | tuple[int, int],
        num_channels: int,
        d_model: int,
        *,
        method: Literal["convolution", "linear"] = "convolution",
        norm: bool = False,
        layer_norm_eps: float = 1e-6,
        any_image_size: bool = False,
    ) -> None:
        super().__init__()
        height, width = require.sides("image_size", image_size)
        p1, p2 = require.sides("patch_size", patch_size)
        require.positive_int("num_channels", num_channels)
        require.positive_int("d_model", d_model)
        require.divisible("image_size", height, "patch_size", p1)
        require.divisible("image_size", width, "patch_size", p2)
        require.choice("method", method, ("convolution", "linear"))
        require.boolean("norm", norm)
        require.number("layer_norm_eps", layer_norm_eps, above=0)
        require.boolean("any_image_size", any_image_size)
        self.any_image_size = any_image_size
        self.image_shape = (num_channels, height, width)
        self.patch_size = (p1, p2)
        self.method = method
        self.proj = nn.Conv2d(
            num_channels, d_model, kernel_size=(p1, p2), stride=(p1, p2)
        )
        self.norm = (
            nn.LayerNorm(d_model, eps=layer_norm_eps)
            if norm
            else nn.Identity()
        )

    def forward(
        self, images: Float[Tensor, "batch channel height width"]
    ) -> Float[Tensor, "batch patch d_model"]:
        self.grid_of(images)
        require.dtype_of("images", images, self.proj)
        return self.norm(self._project(images))

    def grid_of(
        self, images: Float[Tensor, "batch channel height width"]
    ) -> tuple[int, int]:
        """Return the rows and columns of the patches of these images.

        Raises:
            TypeError, ValueError: Images that the layer does not take.
        """
        require.rank("images", images, "batch channel height width")
        expected, (p1, p2) = self.image_shape, self.patch_size
        height, width = images.shape[2:]
        if self.any_image_size:
            sides = {"height": (height, p1), "width": (width, p2)}
            for name, (side, patch) in sides.items():
                require.positive_int(f"{name} of images", side)
                require.divisible(
                    f"{name} of images", side, "patch_size", patch
                )
            expected = (expected[0], height, width)
        if images.shape[1:] != expected:
            raise ValueError(
                f"images must have (channel, height, width) = {expected}, "
                f"got {tuple(images.shape[1:])}"
            )
        return height // p1, width // p2

    def _project(self, images: Tensor) -> Tensor:
        if self.method == "convolution":
            return rearrange(
                self.proj(images), "b d rows cols -> b (rows cols) d"
            )
        weight = rearrange(self.proj.weight, "d c p1 p2 -> d (c p1 p2)")
        return F.linear(
            patchify(images, self.patch_size), weight, self.proj.bias
        )
