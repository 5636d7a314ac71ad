"""How a model needs the colours of its images to be normalised."""

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor

from vitedu import require


@dataclass(frozen=True)
class Normalisation:
    """Shift and scale each colour: (pixels - mean) / std.

    A model has to be used with the numbers it was trained with. `ORIGINAL_VIT`
    belongs to the weights of the Vision Transformer's authors, `IMAGENET` to
    most other networks trained on ImageNet.

    Attributes:
        mean: Mean of red, green and blue, for pixels in [0, 1].
        std: Standard deviation of each, above 0.

    Raises:
        TypeError, ValueError: Not three numbers each, or a `std` that is not
            above 0.

    Source: 0.5 as in the code of Dosovitskiy et al. 2021 (pixels in [-1, 1]);
        ImageNet's numbers as in torchvision's reference training.
    """

    mean: tuple[float, float, float]
    std: tuple[float, float, float]

    def __post_init__(self) -> None:
        for name, value in (("mean", self.mean), ("std", self.std)):
            if not isinstance(value, tuple) or len(value) != 3:
                raise TypeError(
                    f"{name} must be (red, green, blue), got {value!r}"
                )
        for i in range(3):
            require.number(f"mean[{i}]", self.mean[i])
            require.number(f"std[{i}]", self.std[i], above=0)

    def apply(
        self, pixels: Float[Tensor, "*batch 3 height width"]
    ) -> Float[Tensor, "*batch 3 height width"]:
        """Normalise pixels in [0, 1]."""
        mean, std = self._constants("pixels", pixels)
        return (pixels - mean) / std

    def undo(
        self, images: Float[Tensor, "*batch 3 height width"]
    ) -> Float[Tensor, "*batch 3 height width"]:
        """Return the pixels in [0, 1], as a picture shows them."""
        mean, std = self._constants("images", images)
        return images * std + mean

    def _constants(self, name: str, images: Tensor) -> tuple[Tensor, Tensor]:
        require.floating(name, images)
        if images.ndim < 3 or images.shape[-3] != 3:
            raise ValueError(
                f"{name} must end in the axes (3, height, width), "
                f"got shape {tuple(images.shape)}"
            )
        mean, std = images.new_tensor([self.mean, self.std])[..., None, None]
        return mean, std


ORIGINAL_VIT = Normalisation((0.5, 0.5, 0.5), (0.5, 0.5, 0.5))
IMAGENET = Normalisation((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
