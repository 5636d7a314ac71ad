"""One explorer of each kind, small and with sizes that all differ."""

import zlib
from functools import cache
from typing import Any

import numpy as np
import torch
from einops import rearrange
from translators import make_explorer, trained_model

from vitedu.book.asked_patches import asked_patches
from vitedu.book.clothes_to_teach import clothes_to_teach
from vitedu.book.followed_digits import (
    deleted_digits,
    digits_to_shuffle,
    followed_digits,
)
from vitedu.book.followed_photograph import followed_photograph
from vitedu.book.hidden_patches import pictures_to_hide
from vitedu.book.matched_scenes import scenes_to_match
from vitedu.book.page_weights import rounded_to_half
from vitedu.config import ViTConfig
from vitedu.data.captions import MAX_WORDS, WORDS
from vitedu.data.fashion import CLASSES, fashion
from vitedu.objectives.contrastive import ImagesAndCaptions
from vitedu.objectives.masked_autoencoder import MaskedAutoencoder
from vitedu.patches import patchify
from vitedu.vit import VisionTransformer
from vitedu.widgets import (
    AskPatch,
    AssumedHeads,
    AttentionDistance,
    AttentionPlane,
    BagOfPatches,
    Collapse,
    DecodingSteps,
    DeletePatches,
    FollowDigit,
    FollowSentence,
    HeadViewer,
    HideAndGuess,
    HowManyImages,
    MaskEditor,
    Match,
    ModelCounter,
    NormAxes,
    OwnPhotograph,
    PatchByPatch,
    PatchCutter,
    PositionalEncoding,
    Reach,
    ReverseTrainer,
    Ring,
    RotaryPairs,
    SoftmaxScaling,
    TeachIt,
    Training,
)


def rows_of_weights(*shape: int) -> np.ndarray:
    """Return attention weights; those over the last axis sum to 1."""
    rng = np.random.default_rng(0)
    return rng.dirichlet(np.full(shape[-1], 0.4), shape[:-1]).astype("f4")


def make_image(height: int = 21, width: int = 35) -> np.ndarray:
    rng = np.random.default_rng(0)
    return rng.integers(0, 256, (height, width, 3), dtype="uint8")


def asked_model(seed: int = 0) -> VisionTransformer:
    """Make one of 4 layers, 3 heads and 24 x 24 patches of 2 x 2 pixels."""
    sizes = {"d_model": 12, "d_ff": 7, "num_layers": 4, "num_heads": 3}
    sizes |= {"image_size": 48, "patch_size": 2, "num_classes": 0}
    torch.manual_seed(seed)
    config = ViTConfig(**sizes, weights_init="pytorch", num_registers=2)
    return VisionTransformer(config).eval()


@cache
def asked() -> dict[str, Any]:
    """Return what two models answer about two photographs."""
    models = asked_model(0), asked_model(1)
    return asked_patches(*models, ("cat", "astronaut"))


# Of what `asked` returns: layers, heads, sides of patches and of squares.
LAYERS, HEADS, GRID, MAP = 4, 3, 24, 12


def asked_answers(name: str, kind: str = "trained"):
    """Return (layer, query, patch), (layer, head, query, square), largest."""
    data = zlib.decompress(asked()["data"][f"{kind} {name}"])
    rows = LAYERS * HEADS * 64
    largest = np.frombuffer(data, "<f2", rows).reshape(LAYERS, HEADS, 64)
    pairs = np.frombuffer(data, "u1", rows * 72, 2 * rows)
    shares = np.stack([pairs >> 4, pairs & 15], -1) / 10
    steps = np.frombuffer(data, "i1", offset=74 * rows)
    cosines = np.cumsum(steps.reshape(LAYERS, 64, GRID**2), 0, dtype=int) / 20
    return cosines, shares.reshape(LAYERS, HEADS, 64, MAP**2), largest


def ask_patch(**changes) -> AskPatch:
    return AskPatch(**asked() | changes)


def assumed_heads(**changes) -> AssumedHeads:
    return AssumedHeads(**followed() | changes)


def attention_distance(prefix: int = 1, **changes) -> AttentionDistance:
    """Make one of 3 steps, 2 images, 3 layers, 5 heads, 4 x 3 patches."""
    tokens = prefix + 12
    usual = {
        "maps": rows_of_weights(3, 2, 3, 5, tokens, tokens).astype("f2"),
        "images": np.random.default_rng(1).random((2, 8, 6)),
        "patch_size": 2,
        "steps": [0, 100, 2000],
        "image_names": ["first", "second"],
        "num_prefix_tokens": prefix,
    }
    return AttentionDistance(**usual | changes)


def digit_model(**config) -> VisionTransformer:
    """Make one of 3 blocks and 3 heads whose weights all count."""
    sizes = {"d_model": 12, "d_ff": 20, "num_layers": 3, "num_heads": 3}
    torch.manual_seed(0)
    model = VisionTransformer(ViTConfig.digits(**sizes | config))
    with torch.no_grad():
        for weight in model.parameters():
            weight += 0.3 * torch.randn_like(weight)
    return rounded_to_half(model).eval()


@cache
def followed() -> dict[str, Any]:
    return followed_digits(digit_model())


@cache
def deleted() -> dict[str, Any]:
    return deleted_digits(digit_model())


def delete_patches(**changes) -> DeletePatches:
    return DeletePatches(**deleted() | changes)


def follow_digit(**changes) -> FollowDigit:
    return FollowDigit(**followed() | changes)


def bag_model() -> VisionTransformer:
    return digit_model(positions="none", num_layers=2)


@cache
def shuffled() -> dict[str, Any]:
    return digits_to_shuffle(digit_model(), bag_model())


def bag_of_patches(**changes) -> BagOfPatches:
    return BagOfPatches(**shuffled() | changes)


def head_viewer(**changes) -> HeadViewer:
    """Make one of 2 layers, 3 heads and 5 tokens; two are the same word."""
    weights = rows_of_weights(2, 3, 5, 5)
    usual = {"weights": weights, "tokens": ["a", "b", "c", "b", "e"]}
    return HeadViewer(**usual | changes)


def guessing_model(**changes) -> MaskedAutoencoder:
    """Make one of 2 and 3 blocks whose weights all count."""
    sizes = {"d_model": 12, "d_ff": 20, "num_layers": 2, "num_heads": 3}
    sizes |= {"image_size": 28, "patch_size": 4, "num_classes": 0}
    inside = {"decoder_width": 10, "decoder_layers": 3, "decoder_heads": 2}
    torch.manual_seed(0)
    model = MaskedAutoencoder(ViTConfig.digits(**sizes), **inside | changes)
    with torch.no_grad():
        for weight in model.parameters():
            weight += 0.3 * torch.randn_like(weight)
    return rounded_to_half(model).eval()


@cache
def hiding() -> dict[str, Any]:
    """Return what a network guesses in four pictures of clothes."""
    data = fashion()
    labels = data.test_labels[:4].tolist()
    return pictures_to_hide(
        guessing_model(),
        data.test_images[:4],
        [CLASSES[label] for label in labels],
        mean=0.3,
        std=0.4,
    )


def hide_and_guess(**changes) -> HideAndGuess:
    return HideAndGuess(**hiding() | changes)


def how_many_images(**changes) -> HowManyImages:
    """Make one of 4 sizes, 3 seeds and 2 remedies; the curves cross."""
    sizes = np.array([20, 100, 900, 5000])
    seeds = np.array([-1.0, 0.25, 0.5])
    usual = {
        "sizes": sizes,
        "vit": np.array([[20], [45], [80], [98]]) + seeds,
        "cnn": np.array([[40], [70], [90], [95]]) + 2 * seeds,
        "remedies": np.array([[69], [60]]) + seeds,
        "remedy_names": ["shifts", "sleep"],
        "remedy_images": 100,
    }
    return HowManyImages(**usual | changes)


def matching_model(seed: int = 0, **config) -> ImagesAndCaptions:
    """Make one of 2 and 3 blocks whose weights all count."""
    sizes = {"d_model": 12, "d_ff": 20, "num_layers": 2, "num_heads": 3}
    sizes |= {"image_size": 20, "patch_size": 5, "num_classes": 0}
    sizes["drop_path"] = 0.0
    torch.manual_seed(seed)
    model = ImagesAndCaptions(
        ViTConfig.digits(**sizes | config),
        vocab_size=len(WORDS),
        max_len=MAX_WORDS,
        width=10,
        text_layers=3,
    )
    with torch.no_grad():
        for weight in model.parameters():
            weight += 0.3 * torch.randn_like(weight)
    return rounded_to_half(model).eval()


# How often the two networks of `matching` prefer the true sentence.
MEASURED = [
    {
        "weights": weights,
        "relation": at,
        "choices": 200,
        "right": right + 2 * at,
    }
    for weights, right in (("plain", 104), ("near", 180))
    for at in (0, 1)
]


@cache
def matching() -> dict[str, Any]:
    return scenes_to_match(matching_model(0), matching_model(1), MEASURED)


def match(**changes) -> Match:
    return Match(**matching() | changes)


def make_batch(*shape: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    return rng.normal(0.3, 2, shape or (2, 3, 5)).astype("f4")


def norm_axes(**changes) -> NormAxes:
    """Make one of 2 samples, 3 tokens and 5 features."""
    return NormAxes(**{"batch": make_batch()} | changes)


def own_photograph(**changes) -> OwnPhotograph:
    """Make one of a network that is not there."""
    return OwnPhotograph(**{"network": "none"} | changes)


def patch_cutter(**changes) -> PatchCutter:
    """Make one of 21 x 35 pixels."""
    usual = {"image": make_image(), "patch_sizes": [3, 5, 7, 10]}
    return PatchCutter(**usual | {"patch_size": 7} | changes)


@cache
def walking_model() -> VisionTransformer:
    """Make one of 4 layers, 3 heads and 16 x 16 patches of 2 x 2 pixels."""
    sizes = {"d_model": 48, "d_ff": 7, "num_layers": 4, "num_heads": 3}
    sizes |= {"image_size": 32, "patch_size": 2, "num_classes": 0}
    torch.manual_seed(0)
    model = VisionTransformer(ViTConfig(**sizes, layer_scale=0.5)).eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight += 0.2 * torch.randn_like(weight)
    return model


@cache
def followed_picture() -> dict[str, Any]:
    return followed_photograph(walking_model())


def arrays_of(given: dict) -> dict[str, np.ndarray]:
    """Return the arrays that a page is sent, by name."""
    data, found, at = zlib.decompress(given["data"]), {}, 0
    for name, dtype, shape in given["layout"]:
        count = int(np.prod(shape))
        array = np.frombuffer(data, f"<{dtype}", count, at)
        found[name] = array.reshape(shape)
        at += array.nbytes
    assert at == len(data)
    return found


def patch_by_patch(**changes) -> PatchByPatch:
    return PatchByPatch(**followed_picture() | changes)


def sequence(image, size, order, cut) -> np.ndarray:
    """Return what patches of an image become, (patch, number)."""
    rows, columns = image.shape[0] // size, image.shape[1] // size
    kept = torch.tensor(image[: rows * size, : columns * size])
    if cut == "reshape":
        if order == "c p1 p2":
            kept = kept.permute(2, 0, 1)
        return kept.reshape(rows * columns, -1).numpy()
    if cut == "swapped":
        kept = rearrange(
            kept, "(p1 h) (p2 w) c -> (h p1) (w p2) c", p1=size, p2=size
        )
    found = patchify(kept.permute(2, 0, 1)[None].double(), size)[0]
    if order == "p1 p2 c":
        found = rearrange(found, "n (c p) -> n (p c)", c=3)
    return found.long().numpy()


def reverse_trainer(**changes) -> ReverseTrainer:
    return ReverseTrainer(**{"num_heads": 2, "seed": 3} | changes)


def decoding_steps(model=None, **view) -> DecodingSteps:
    model = trained_model() if model is None else model
    return make_explorer(DecodingSteps, model, **{"number": 26} | view)


def follow_sentence(model=None, **view) -> FollowSentence:
    model = trained_model() if model is None else model
    return make_explorer(FollowSentence, model, **{"number": 87} | view)


def teach_it(**changes) -> TeachIt:
    """Make one of a network that is not there."""
    return TeachIt(**clothes_to_teach() | {"network": "none"} | changes)


def training(**changes) -> Training:
    """Make one of 2 networks, 7 epochs and 30 images."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 10, 30)
    guesses = rng.integers(0, 10, (2, 7, 30))
    usual = {
        "images": rng.integers(0, 17, (30, 8, 8)),
        "labels": labels,
        "answers": np.where(rng.random((2, 7, 30)) < 0.3, guesses, labels),
    }
    usual = {name: array.astype("u1") for name, array in usual.items()}
    return Training(**usual | {"names": ["first", "second"]} | changes)


# What these do begins when they have loaded a network; their own tests in
# tests/site have one.
NEED_A_NETWORK = ("own photograph", "teach it")
MAKERS = {
    "ask patch": ask_patch,
    "assumed heads": assumed_heads,
    "attention distance": attention_distance,
    "attention plane": AttentionPlane,
    "bag of patches": bag_of_patches,
    "collapse": Collapse,
    "decoding steps": decoding_steps,
    "delete patches": delete_patches,
    "follow digit": follow_digit,
    "follow sentence": follow_sentence,
    "head viewer": head_viewer,
    "hide and guess": hide_and_guess,
    "how many images": how_many_images,
    "mask editor": MaskEditor,
    "match": match,
    "model counter": ModelCounter,
    "norm axes": norm_axes,
    "own photograph": own_photograph,
    "patch by patch": patch_by_patch,
    "patch cutter": patch_cutter,
    "positional encoding": PositionalEncoding,
    "reach": Reach,
    "reverse trainer": reverse_trainer,
    "ring": Ring,
    "rotary pairs": RotaryPairs,
    "softmax scaling": SoftmaxScaling,
    "teach it": teach_it,
    "training": training,
}
