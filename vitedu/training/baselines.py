"""What a Vision Transformer has to beat: chance, a linear model, a CNN."""

import torch
from jaxtyping import Float, Int
from sklearn.linear_model import LogisticRegression
from torch import Tensor, nn

from vitedu import require


def majority_accuracy(
    train_labels: Int[Tensor, " train"], test_labels: Int[Tensor, " test"]
) -> float:
    """Return the accuracy of always guessing the most common training class.

    Args:
        train_labels: Class numbers, at least 0.
        test_labels: Class numbers, at least 0.

    Returns:
        Fraction of the test labels that equal this class, in [0, 1].

    Raises:
        TypeError: Labels that are not a tensor of integers.
        ValueError: One of the two has the wrong axes, is empty or holds a
            negative number.

    >>> majority_accuracy(torch.tensor([0, 2, 2]), torch.tensor([2, 1, 2, 0]))
    0.5
    """
    for name, labels in (("train", train_labels), ("test", test_labels)):
        _check_labels(f"{name}_labels", labels)
    commonest = torch.bincount(train_labels).argmax()
    return (test_labels == commonest).double().mean().item()


def logistic_regression_accuracy(
    train_images: Float[Tensor, "train ..."],
    train_labels: Int[Tensor, " train"],
    test_images: Float[Tensor, "test ..."],
    test_labels: Int[Tensor, " test"],
) -> float:
    """Return the test accuracy of scikit-learn's multinomial regression.

    The model computes one weighted sum of pixels per class and does not know
    which pixels are neighbours. The regularisation is scikit-learn's default.

    Raises:
        TypeError: Images that are not floating-point, labels that are not
            integers.
        ValueError: Not one image per label, images of two sizes, or no images.

    >>> dark, bright = torch.zeros(3, 1, 2, 2), torch.ones(3, 1, 2, 2)
    >>> images, labels = torch.cat([dark, bright]), torch.arange(6) // 3
    >>> logistic_regression_accuracy(images, labels, images, labels)
    1.0
    """
    for name, images, labels in (
        ("train", train_images, train_labels),
        ("test", test_images, test_labels),
    ):
        require.floating(f"{name}_images", images)
        _check_labels(f"{name}_labels", labels)
        if images.ndim < 2 or len(images) != len(labels):
            raise ValueError(
                f"{name}_images must hold one image per label, "
                f"{len(labels)}, got shape {tuple(images.shape)}"
            )
    if test_images[0].shape != train_images[0].shape:
        raise ValueError(
            "test_images must have the size of train_images, "
            f"{tuple(train_images[0].shape)}, "
            f"got {tuple(test_images[0].shape)}"
        )
    model = LogisticRegression(max_iter=2000)
    model.fit(train_images.flatten(1).numpy(), train_labels.numpy())
    return model.score(test_images.flatten(1).numpy(), test_labels.numpy())


class SmallCNN(nn.Sequential):
    """Three 3 x 3 convolutions, a pooling in between, a mean, a linear layer.

    What it knows before it has seen a digit: neighbouring pixels belong
    together, and a stroke is the same stroke anywhere in the image.

    Args:
        num_channels: Channels of the image.
        num_classes: Outputs.
        width: Feature maps of the first convolution; the others have twice
            as many.

    Raises:
        TypeError, ValueError: A size that is not a positive integer.

    >>> model = SmallCNN(num_channels=1, num_classes=10)
    >>> model(torch.zeros(5, 1, 8, 8)).shape
    torch.Size([5, 10])
    >>> sum(parameter.numel() for parameter in model.parameters())
    56554
    """

    def __init__(
        self, num_channels: int = 1, num_classes: int = 10, width: int = 32
    ) -> None:
        for name, value in (
            ("num_channels", num_channels),
            ("num_classes", num_classes),
            ("width", width),
        ):
            require.positive_int(name, value)
        super().__init__(
            *_convolution(num_channels, width),
            *_convolution(width, 2 * width),
            nn.MaxPool2d(2),
            *_convolution(2 * width, 2 * width),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.Linear(2 * width, num_classes),
        )


def _check_labels(name: str, labels: Tensor) -> None:
    require.rank(name, labels, "sample")
    require.integers(name, labels)
    if len(labels) == 0:
        raise ValueError(f"{name} must not be empty, got 0 labels")
    if labels.min() < 0:
        raise ValueError(
            f"{name} must be at least 0, got {labels.min().item()}"
        )


def _convolution(inputs: int, outputs: int) -> tuple[nn.Module, ...]:
    return (
        nn.Conv2d(inputs, outputs, 3, padding=1, bias=False),
        nn.BatchNorm2d(outputs),
        nn.ReLU(),
    )
