"""Where a Vision Transformer's parameters, operations and memory are."""

from typing import Any

from vitedu.widgets.base import Explorer, Flag, Integer

MAX_HEADS = 64
MAX_HEAD_DIM = 256
MAX_PATCH = 64
# Patches along a side of the image.
MAX_GRID = 96


class ModelCounter(Explorer):
    """Parameters, FLOPs and bytes of a Vision Transformer, part by part.

    The page counts what `parameter_counts`, `vit_flops`, `training_flops`,
    `training_state_bytes` and `activation_bytes` count for a model of these
    sizes with a class token, learned positions, biases everywhere, three
    colours, no dropout and numbers of four bytes. Every size can be set and
    linked at any time. On the way from one model to another two sizes may not
    fit; the page then says so, and counts nothing.

    Args:
        sizes: `d_model`, up to 16,384; `num_layers` and `num_heads`, up to
            64; `mlp_ratio`, the hidden width of the feed-forward network
            over `d_model`, up to 8; `patch_size` and `image_size`, the sides
            of a square patch (up to 64) and a square image (up to 6,144) in
            pixels; `num_classes`, up to 100,000, 0 for no head;
            `batch_size`, up to 4,096; `fused`, whether attention runs
            without keeping its weights. What is left out is as in ViT-B/16,
            with one image in the batch.

    Raises:
        TypeError: An argument of the wrong type, or one that is unknown.
        ValueError: A size outside its range, a width that does not divide by
            the heads, an image that does not divide by the patches.
    """

    files = "model_counter"
    remembers = (
        "d_model",
        "num_layers",
        "num_heads",
        "mlp_ratio",
        "patch_size",
        "image_size",
        "num_classes",
        "batch_size",
        "fused",
    )

    d_model = Integer(768, low=1, high=MAX_HEADS * MAX_HEAD_DIM)
    num_layers = Integer(12, low=1, high=64)
    num_heads = Integer(12, low=1, high=MAX_HEADS)
    mlp_ratio = Integer(4, low=1, high=8)
    patch_size = Integer(16, low=1, high=MAX_PATCH)
    image_size = Integer(224, low=1, high=MAX_GRID * MAX_PATCH)
    num_classes = Integer(1000, low=0, high=100_000)
    batch_size = Integer(1, low=1, high=4096)
    fused = Flag(False)

    def __init__(self, **sizes: Any) -> None:
        super().__init__(**sizes)
        for name, part in (
            ("d_model", "num_heads"),
            ("image_size", "patch_size"),
        ):
            whole, divisor = getattr(self, name), getattr(self, part)
            if whole % divisor:
                raise ValueError(
                    f"{name} must be divisible by {part}={divisor}, "
                    f"got {whole}"
                )
