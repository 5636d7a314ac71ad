"""FLOPs in closed form: equal to what PyTorch counts in the built model."""

import pytest
import torch
from configs import LATER, LATER_VIT, transformer_configs, vit_configs
from helpers import PROPERTY
from hypothesis import given
from hypothesis import strategies as st
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from vitedu.analysis.flops import (
    cached_step_flops,
    crossover_length,
    quadratic_share,
    training_flops,
    transformer_flops,
    vit_flops,
)
from vitedu.cache import DecoderCache
from vitedu.config import ViTConfig
from vitedu.transformer import Transformer
from vitedu.vit import VisionTransformer

LENGTHS = st.sampled_from([2, 5, 7])
BATCHES = st.sampled_from([1, 3])
VITS = vit_configs() | vit_configs(**LATER_VIT)
TRANSFORMERS = transformer_configs() | transformer_configs(**LATER)
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
@given(VITS, st.booleans(), BATCHES)
def test_a_vit_takes_what_its_config_says(config, training, batch_size):
    model = VisionTransformer(config).train(training)
    images = images_for(config, batch_size)
    expected = vit_flops(config, batch_size=batch_size)
    if training:
        expected = training_flops(expected)
    assert sum(expected.values()) == count(model, images, backward=training)


@PROPERTY
@given(TRANSFORMERS, LENGTHS, LENGTHS, st.booleans(), BATCHES)
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
@given(TRANSFORMERS, LENGTHS, LENGTHS, BATCHES)
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


def test_at_the_crossover_half_of_a_block_is_quadratic():
    config = ViTConfig(
        image_size=(1, 61),
        patch_size=1,
        pool="mean",
        num_classes=0,
        d_model=24,
        num_layers=1,
        num_heads=4,
        head_dim=5,
        d_ff=17,
    )
    flops = vit_flops(config)
    del flops["patch_embed"]
    expected = 61 / (61 + crossover_length(config))
    assert quadratic_share(flops) == pytest.approx(expected, rel=1e-12)
