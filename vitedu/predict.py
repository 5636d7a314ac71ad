"""What a saved model sees: ``python -m vitedu.predict FILE IMAGE...``."""

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

import torch
import tyro

from vitedu import require
from vitedu.data.normalisation import ORIGINAL_VIT
from vitedu.data.photographs import preprocess, read_image
from vitedu.pretrained.models import config_of, load_vit
from vitedu.pretrained.probes import Probe, is_probe, load_probe
from vitedu.training.devices import choose_device
from vitedu.vit import VisionTransformer


def predict(
    model: VisionTransformer | Probe,
    images: Sequence[str | os.PathLike],
    *,
    top_k: int = 5,
) -> list[dict[str, float]]:
    """Name what a model sees in pictures, and how confident it is.

    Pictures are prepared as `ImageFolder` prepares them for validation, in the
    size of the model's config and with its `normalisation`, `ORIGINAL_VIT` if
    it has none. The model is put into evaluation mode and stays in it.

    Args:
        model: A model with `class_names`, such as one that `load_vit` has
            read, or a probe, as `teach` makes it.
        images: Paths of pictures.
        top_k: How many classes to name.

    Returns:
        For each picture, class -> probability, the most likely first.

    Raises:
        TypeError, ValueError: An argument of another type; a `top_k` below 1;
            a model without class names, or not for square pictures in three
            colours; what is not a whole picture.
        FileNotFoundError: A picture is not there.
    """
    require.instance("model", model, VisionTransformer, Probe)
    require.instance("images", images, tuple, list)
    require.positive_int("top_k", top_k)
    network = model.model if isinstance(model, Probe) else model
    size = getattr(model, "image_size", network.config.image_size)
    height, width = require.sides("image_size", size)
    channels = network.config.num_channels
    if height != width or channels != 3:
        raise ValueError(
            "model must be one for square pictures in three colours, got one "
            f"for {height} x {width} in {channels}"
        )
    if model.class_names is None:
        raise ValueError(
            "model must know its class_names, which save_vit writes and "
            "load_vit reads, got None"
        )
    like = next(network.parameters())
    prepare = partial(
        preprocess,
        image_size=height,
        normalisation=network.normalisation or ORIGINAL_VIT,
    )
    network.eval()
    found = []
    for path in images:
        image = prepare(read_image(path, height))[None].to(like)
        with torch.no_grad():
            weights = model(image)[0].softmax(dim=-1)
        likeliest = weights.topk(min(top_k, len(weights)))
        found.append(
            {
                model.class_names[number]: weight
                for weight, number in zip(
                    likeliest.values.tolist(),
                    likeliest.indices.tolist(),
                    strict=True,
                )
            }
        )
    return found


@dataclass(frozen=True)
class PredictOptions:
    """Name what a saved model sees in pictures, and how confident it is.

    Attributes:
        file: The model, as ``vitedu.train --folder DIR --out FILE`` writes
            it, or a probe, as `save_probe` or the site writes it.
        images: Pictures.
        top_k: How many classes to name.
        device: Where to compute; auto takes CUDA, else MPS, else the CPU.
    """

    file: tyro.conf.Positional[Path]
    images: tyro.conf.Positional[tuple[Path, ...]]
    top_k: int = 5
    device: Literal["cpu", "cuda", "mps", "auto"] = "cpu"


def main(args: list[str] | None = None) -> None:
    """Run the program.

    Args:
        args: What follows the program's name; None takes the command line.

    Raises:
        SystemExit: Something was wrong; the message says what.
    """
    options = tyro.cli(
        PredictOptions, prog="python -m vitedu.predict", args=args
    )
    try:
        if not options.images:
            raise ValueError("images must be at least one, got none")
        device = choose_device(options.device)
        if is_probe(options.file):
            model = load_probe(options.file).to(device)
        else:
            model = load_vit(options.file, config_of(options.file)).to(device)
        for path in options.images:
            [seen] = predict(model, [path], top_k=options.top_k)
            words = (f"{name} {share:.3f}" for name, share in seen.items())
            _print(f"{path}: {', '.join(words)}")
    except (TypeError, ValueError, OSError) as error:
        raise SystemExit(f"error: {error}") from error


def _print(line: str) -> None:
    """Print a line; what standard output cannot encode is escaped."""
    encoding = sys.stdout.encoding or "utf-8"
    print(
        line.encode(encoding, "backslashreplace").decode(encoding), flush=True
    )


if __name__ == "__main__":
    main()
