"""FLOPs in closed form: equal to what PyTorch counts in the built model."""

from collections import Counter

import pytest
import torch
from configs import transformer_configs, vit_configs
from helpers import PROPERTY
from hypothesis import given
from hypothesis import strategies as st
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.checkpoint import checkpoint
from torch.utils.flop_counter import FlopCounterMode

from vitedu import attention
from vitedu.cache import DecoderCache
from vitedu.config import TransformerConfig, ViTConfig
from vitedu.counting import parameter_counts
from vitedu.flops import (
    cached_step_flops,
    crossover_length,
    pretraining_exaflops,
    quadratic_share,
    training_flops,
    transformer_flops,
    vit_flops,
)
from vitedu.transformer import Transformer
from vitedu.vit import VisionTransformer

LENGTHS = st.sampled_from([2, 5, 7])
BATCHES = st.sampled_from([1, 3])
# Which part a module's operations belong to, by the end of its name.
VIT_PARTS = {
    ".patch_embed": "patch_embed",
    ".attn": "attention",
    ".mlp": "feed_forward",
    ".pre_logits": "pre_logits",
    ".head": "head",
}
SMALL = ViTConfig(
    image_size=30,
    patch_size=5,
    d_model=12,
    num_layers=2,
    num_heads=3,
    head_dim=5,
    value_dim=7,
    d_ff=17,
    num_classes=11,
    representation_size=13,
)


def counter_of(run, *inputs, backward=False):
    """Let PyTorch count a call; all of its outputs enter the loss.

    The counter does not know the fused attention of the CPU and takes it for
    free. Written out, attention is counted.
    """
    with (
        sdpa_kernel(SDPBackend.MATH),
        FlopCounterMode(display=False) as counter,
    ):
        out = run(*inputs)
        if backward:
            outputs = out if isinstance(out, tuple) else (out,)
            sum(x.sum() for x in outputs).backward()
    return counter


def count(*args, **kwargs):
    return counter_of(*args, **kwargs).get_total_flops()


def images_for(config, batch_size=1):
    return torch.zeros(batch_size, config.num_channels, *config.image_shape)


def sentences(batch_size, *lengths):
    return [torch.ones(batch_size, n, dtype=torch.long) for n in lengths]


@PROPERTY
@given(vit_configs(), st.booleans(), BATCHES)
def test_a_vit_takes_what_its_config_says(config, training, batch_size):
    model = VisionTransformer(config).train(training)
    images = images_for(config, batch_size)
    expected = vit_flops(config, batch_size=batch_size)
    if training:
        expected = training_flops(expected)
    assert sum(expected.values()) == count(model, images, backward=training)


@PROPERTY
@given(transformer_configs(), LENGTHS, LENGTHS, st.booleans(), BATCHES)
def test_a_transformer_takes_what_its_config_says(
    config, src_len, tgt_len, training, batch_size
):
    model = Transformer(config).train(training)
    pair = sentences(batch_size, src_len, tgt_len)
    expected = transformer_flops(
        config, src_len, tgt_len, batch_size=batch_size
    )
    if training:
        expected = training_flops(expected)
    assert sum(expected.values()) == count(model, *pair, backward=training)


@PROPERTY
@given(transformer_configs(), LENGTHS, LENGTHS, BATCHES)
def test_a_cached_step_takes_what_its_config_says(
    config, src_len, tgt_len, batch_size
):
    model = Transformer(config)
    src, tgt = sentences(batch_size, src_len, tgt_len)
    cache = DecoderCache(config.num_layers)
    memory = model.encode(src)
    model.decode(tgt[:, :-1], memory, src, cache)
    expected = cached_step_flops(
        config, src_len, tgt_len, batch_size=batch_size
    )
    found = count(model.decode, tgt, memory, src, cache)
    assert sum(expected.values()) == found


def test_a_distilled_vit_has_two_heads():
    config = ViTConfig.digits(distilled=True)
    flops = vit_flops(config)
    assert flops["head"] == 2 * 2 * 64 * 10
    found = count(VisionTransformer(config), images_for(config))
    assert sum(flops.values()) == found


def test_each_part_of_a_vit_takes_its_share():
    counter = counter_of(VisionTransformer(SMALL), images_for(SMALL, 2))
    found = Counter()
    for name, operators in counter.get_flop_counts().items():
        for ending, part in VIT_PARTS.items():
            if name.endswith(ending):
                found[part] += sum(operators.values())
    expected = Counter(vit_flops(SMALL, batch_size=2))
    expected["attention"] = expected.pop("attention_products")
    expected["attention"] += expected.pop("attention_projections")
    assert found == expected


def test_the_products_are_what_is_batched():
    """Only queries with keys and weights with values are `bmm`."""
    counter = counter_of(VisionTransformer(SMALL), images_for(SMALL, 2))
    found = counter.get_flop_counts()["Global"][torch.ops.aten.bmm]
    assert vit_flops(SMALL, batch_size=2)["attention_products"] == found
    config = TransformerConfig(
        src_vocab_size=5, tgt_vocab_size=5, d_model=12, num_heads=3, d_ff=17
    )
    counter = counter_of(Transformer(config), *sentences(2, 7, 11))
    flops = transformer_flops(config, 7, 11, batch_size=2)
    products = [n for part, n in flops.items() if part.endswith("_products")]
    found = counter.get_flop_counts()["Global"][torch.ops.aten.bmm]
    assert sum(products) == found


def test_the_counter_takes_fused_attention_for_free_or_counts_it(monkeypatch):
    config = ViTConfig(image_size=30, patch_size=5, d_model=12, num_heads=3)
    model, images = VisionTransformer(config), images_for(config)
    # Up to this many weights the formula is written out on a CPU.
    monkeypatch.setattr(attention, "_SMALL_MAP", -1)
    with (
        sdpa_kernel(SDPBackend.FLASH_ATTENTION),
        FlopCounterMode(display=False) as counter,
    ):
        model(images)
    missing = count(model, images) - counter.get_total_flops()
    # For free up to PyTorch 2.13; 2.15 counts it.
    assert missing in (0, vit_flops(config)["attention_products"])


@pytest.mark.parametrize(
    ("name", "expected", "percent", "exaflops"),
    [
        ("b32", 8_818_372_608, 1.05, {7: 56.1}),
        ("b16", 35_127_656_448, 4.07, {7: 223.5}),
        ("l32", 30_755_078_144, 0.80, {7: 195.7}),
        ("l16", 123_109_425_152, 3.10, {7: 783.3, 14: 1566.7}),
        ("h14", 334_590_218_240, 3.23, {14: 4258.0}),
    ],
)
def test_published_vits(name, expected, percent, exaflops):
    config = getattr(ViTConfig, name)()
    flops = vit_flops(config)
    assert sum(flops.values()) == expected
    assert round(100 * quadratic_share(flops), 2) == percent
    for num_epochs, value in exaflops.items():
        found = pretraining_exaflops(
            config, num_epochs=num_epochs, num_images=303_000_000
        )
        assert round(found, 1) == value


def test_table_6_of_the_paper():
    """The smallest model by 2 %, the others by less."""
    for name, num_epochs, published, percent in (
        ("b32", 7, 55, 2.0),
        ("b16", 7, 224, -0.2),
        ("l32", 7, 196, -0.2),
        ("l16", 7, 783, 0.0),
        ("l16", 14, 1567, -0.0),
        ("h14", 14, 4262, -0.1),
    ):
        config = getattr(ViTConfig, name)()
        found = pretraining_exaflops(
            config, num_epochs=num_epochs, num_images=303_000_000
        )
        assert round(100 * (found / published - 1), 1) == percent


def test_the_usual_estimate_is_a_little_high():
    for config, percent in ((ViTConfig.b32(), 0.9), (ViTConfig.h14(), 0.0)):
        flops = vit_flops(config)
        exact = sum(training_flops(flops).values())
        assert round(100 * (1 - exact / (3 * sum(flops.values()))), 1) == (
            percent
        )


@pytest.mark.parametrize("name", ["b32", "b16", "l32", "l16", "h14"])
def test_two_operations_per_parameter_and_token(name):
    config = getattr(ViTConfig, name)()
    tokens = config.num_patches + 1
    parameters = sum(parameter_counts(config).values())
    ratio = sum(vit_flops(config).values()) / (tokens * parameters)
    assert 2.00 <= round(ratio, 2) <= 2.06


def blocks_of(batch_size, length, d_model, **changes):
    """Return the operations of one block for so many tokens."""
    config = ViTConfig(
        **{
            "image_size": (1, length),
            "patch_size": 1,
            "pool": "mean",
            "d_model": d_model,
            "d_ff": 4 * d_model,
            "num_heads": 4,
            "num_layers": 1,
        }
        | changes
    )
    flops = vit_flops(config, batch_size=batch_size)
    return {
        part: flops[part]
        for part in (
            "attention_projections",
            "attention_products",
            "feed_forward",
        )
    }


@pytest.mark.parametrize(
    ("b", "s", "h", "expected"),
    [
        (2, 50, 64, 11_110_400),
        (3, 197, 768, 8_723_727_360),
        (1, 128, 512, 838_860_800),
    ],
)
def test_a_block_by_formula(b, s, h, expected):
    flops = blocks_of(b, s, h)
    assert flops == {
        "attention_projections": 8 * b * s * h * h,
        "attention_products": 4 * b * s * s * h,
        "feed_forward": 16 * b * s * h * h,
    }
    assert sum(flops.values()) == expected


@pytest.mark.parametrize(
    ("length", "percent"),
    [(577, 11.1), (1297, 22.0), (785, 14.6), (4608, 50.0)],
    ids=["384 by 16", "512 by 14", "224 by 8", "6 h"],
)
def test_the_quadratic_share_of_a_block(length, percent):
    share = quadratic_share(blocks_of(1, length, 768))
    assert round(100 * share, 1) == percent
    crossover = crossover_length(ViTConfig.b16())
    assert share == pytest.approx(length / (length + crossover), rel=1e-12)


def test_crossover_with_free_widths():
    share = quadratic_share(blocks_of(1, 61, 24, head_dim=5, d_ff=17))
    crossover = crossover_length(
        ViTConfig(d_model=24, num_heads=4, head_dim=5, d_ff=17)
    )
    assert share == pytest.approx(61 / (61 + crossover), rel=1e-12)


def test_the_number_of_heads_does_not_matter():
    counts = {
        count(VisionTransformer(config), images_for(config))
        for config in (
            ViTConfig(image_size=10, patch_size=5, d_model=12, num_heads=heads)
            for heads in (1, 2, 3, 12)
        )
    }
    assert len(counts) == 1
    assert blocks_of(1, 7, 24, num_heads=3) == blocks_of(1, 7, 24)


def test_the_base_transformer():
    flops = transformer_flops(TransformerConfig.base(), 64, 48)
    assert sum(flops.values()) == 6_867_517_440
    share = flops.pop("generator") / 6_867_517_440
    assert round(100 * share, 1) == 26.5
    h, s, t = 512, 64, 48
    encoder = 24 * s * h * h + 4 * s * s * h
    decoder = 8 * t * h * h + 4 * t * t * h
    decoder += 4 * t * h * h + 4 * s * h * h + 4 * t * s * h
    decoder += 16 * t * h * h
    assert sum(flops.values()) == 6 * (encoder + decoder)


def test_recomputing_a_block_costs_less_than_a_pass():
    """Checkpointing repeats all of a block but its last product."""
    block = VisionTransformer(
        ViTConfig(num_layers=1, d_model=64, num_heads=4, d_ff=256)
    ).blocks[0]
    flops = blocks_of(2, 50, 64)
    forward = sum(flops.values())
    x = torch.zeros(2, 50, 64, requires_grad=True)
    plain = count(block, x, backward=True)
    again = count(
        lambda x: checkpoint(block, x, use_reentrant=False), x, backward=True
    )
    assert plain == 3 * forward
    assert again == 4 * forward - flops["feed_forward"] // 2
    assert round(again / forward, 3) == 3.705
