"""Parameters in closed form: equal to the built model and to the papers."""

import re
from collections import Counter

import pytest
import torch
from configs import transformer_configs, vit_configs
from helpers import PROPERTY
from hypothesis import given, settings
from torch import nn

from vitedu.config import TransformerConfig, ViTConfig
from vitedu.counting import head_widths, parameter_counts
from vitedu.transformer import Transformer
from vitedu.vit import VisionTransformer

MANY = settings(PROPERTY, max_examples=100)
# Name of a parameter -> part. The first pattern that is found counts.
PARTS = {
    r"^patch_embed": "patch_embed",
    r"^(.+_token|pos_embed|pre_logits|generator)": r"\1",
    r"norm": "norms",
    r"^blocks.*attn": "attention",
    r"^blocks.*mlp": "feed_forward",
    r"^head": "head",
    r"positions": "positions",
    r"^(...)_embed": r"\1_embed",
    r"cross_attn": "cross_attention",
    r"^(..coder).*attn": r"\1_attention",
    r"^(..coder).*mlp": r"\1_feed_forward",
}


def part_of(name):
    for pattern, part in PARTS.items():
        if found := re.search(pattern, name):
            return found.expand(part)
    raise AssertionError(name)


def built(kind, config):
    """Count the parameters of a real model by part."""
    with torch.device("meta"):
        model = kind(config)
    found = Counter()
    for name, parameter in model.named_parameters():
        found[part_of(name)] += parameter.numel()
    return found


def total(config):
    return sum(parameter_counts(config).values())


@MANY
@given(vit_configs())
def test_a_vit_has_what_its_config_says(config):
    assert Counter(parameter_counts(config)) == built(
        VisionTransformer, config
    )


@MANY
@given(transformer_configs())
def test_a_transformer_has_what_its_config_says(config):
    assert Counter(parameter_counts(config)) == built(Transformer, config)


@pytest.mark.parametrize(
    ("name", "backbone", "percent"),
    [
        ("b16", 85_798_656, 98.99),
        ("b32", 87_455_232, 97.12),
        ("l16", 303_301_632, 99.57),
        ("l32", 305_510_400, 98.85),
        ("h14", 630_764_800, 99.74),
    ],
)
def test_backbones_and_heads(name, backbone, percent):
    preset = getattr(ViTConfig, name)
    h, layers = preset().d_model, preset().num_layers
    for num_classes in (0, 5, 1000, 21_843):
        expected = backbone + num_classes * (h + 1)
        config = preset(num_classes=num_classes)
        assert total(config) == expected
        config = preset(num_classes=num_classes, representation_size=h)
        assert total(config) == expected + h * h + h
    squares = 12 * layers * h * h / total(preset(num_classes=0))
    assert round(100 * squares, 2) == percent


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        (ViTConfig.ti16(), 5_717_416),
        (ViTConfig.s16(), 22_050_664),
        (ViTConfig.b16(), 86_567_656),
        (ViTConfig.b32(), 88_224_232),
        (ViTConfig.l16(), 304_326_632),
        (ViTConfig.l32(), 306_535_400),
        (ViTConfig.h14(), 632_045_800),
        (ViTConfig.b16(num_classes=5), 85_802_501),
        (ViTConfig.b32(num_classes=5), 87_459_077),
        (ViTConfig.l16(num_classes=5), 303_306_757),
        (ViTConfig.l32(num_classes=5), 305_515_525),
        (ViTConfig.h14(num_classes=5), 630_771_205),
        (ViTConfig.b16(num_classes=21_843), 102_595_923),
        (ViTConfig.b32(num_classes=21_843), 104_252_499),
        (ViTConfig.l16(num_classes=21_843), 325_690_707),
        (ViTConfig.l32(num_classes=21_843), 327_899_475),
        (ViTConfig.h14(num_classes=21_843), 658_745_683),
        (ViTConfig.b16(representation_size=768), 87_158_248),
        (ViTConfig.b32(representation_size=768), 88_814_824),
        (ViTConfig.l16(representation_size=1024), 305_376_232),
        (ViTConfig.l32(representation_size=1024), 307_585_000),
        (ViTConfig.h14(representation_size=1280), 633_685_480),
        (ViTConfig.b16(num_classes=0, representation_size=768), 86_389_248),
        (ViTConfig.b32(num_classes=0, representation_size=768), 88_045_824),
        (ViTConfig.l16(num_classes=0, representation_size=1024), 304_351_232),
        (ViTConfig.l32(num_classes=0, representation_size=1024), 306_560_000),
        (ViTConfig.h14(num_classes=0, representation_size=1280), 632_404_480),
        (
            ViTConfig.b16(num_classes=21_843, representation_size=768),
            103_186_515,
        ),
        (ViTConfig.b16(distilled=True), 87_338_192),
        # The norm before another implementation's head is our last one.
        (ViTConfig.b16(qkv_bias=False), 86_540_008),
        (ViTConfig.l16(qkv_bias=False), 304_252_904),
        # Its heads are 64 wide unless told otherwise: a trap for the huge one.
        (ViTConfig.h14(qkv_bias=False, head_dim=64), 589_979_880),
        (ViTConfig.h14(qkv_bias=False, head_dim=80), 631_922_920),
        # No biases in attention, d_ff = d_model, a norm after the patches.
        (
            ViTConfig(
                num_layers=8,
                num_heads=8,
                d_ff=768,
                num_classes=10,
                qkv_bias=False,
                proj_bias=False,
                patch_norm=True,
            ),
            29_101_834,
        ),
        (TransformerConfig.base(), 63_047_680),
        (TransformerConfig.base(tie_source=False), 81_991_680),
        (TransformerConfig.base(tie_output=False), 81_991_680),
        (
            TransformerConfig.base(tie_source=False, tie_output=False),
            100_935_680,
        ),
        (TransformerConfig.big(), 214_175_744),
    ],
    ids=str,
)
def test_published_numbers(config, expected):
    assert total(config) == expected


def test_a_block_by_formula():
    config = ViTConfig(num_layers=1)
    counts = parameter_counts(config)
    attention, feed_forward = counts["attention"], counts["feed_forward"]
    h, norms = 768, counts["norms"] - 2 * 768
    assert attention == 4 * h * h + 4 * h == 2_362_368
    assert feed_forward == 8 * h * h + 5 * h == 4_722_432
    assert norms == 4 * h == 3_072
    block = attention + feed_forward + norms
    assert block == 12 * h * h + 13 * h == 7_087_872
    # A language model: twelve of them, and a table of 50,257 words. The real
    # one has 1,024 positions and a last norm besides.
    assert 12 * block + 50_257 * h == 123_651_840
    assert 12 * block + (50_257 + 1024 + 2) * h == 124_439_808


def test_the_base_transformer_by_part():
    counts = parameter_counts(TransformerConfig.base())
    h = 512
    attention, feed_forward = 6 * 4 * h * h, 6 * (8 * h * h + 5 * h)
    assert counts == {
        "src_embed": 18_944_000,
        "tgt_embed": 0,
        "positions": 0,
        "encoder_attention": attention,
        "encoder_feed_forward": feed_forward,
        "decoder_attention": attention,
        "cross_attention": attention,
        "decoder_feed_forward": feed_forward,
        "norms": 6 * 10 * h + 4 * h,
        "generator": 0,
    }
    blocks = sum(counts.values()) - counts["src_embed"] - 4 * h
    assert blocks == 6 * (28 * h * h + 20 * h) == 6 * (3_150_336 + 4_199_936)


def test_65_million_need_a_larger_vocabulary():
    def distance(words):
        config = TransformerConfig.base(
            src_vocab_size=words, tgt_vocab_size=words
        )
        return abs(total(config) - 65_000_000)

    assert min(range(37_000, 45_000), key=distance) == 40_813


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
def test_the_layers_of_pytorch_have_as_many():
    layer = nn.TransformerEncoderLayer(512, 8, 2048, device="meta")
    counts = parameter_counts(
        ViTConfig(d_model=512, num_heads=8, d_ff=2048, num_layers=1)
    )
    block = counts["attention"] + counts["feed_forward"] + 4 * 512
    assert block == sum(p.numel() for p in layer.parameters()) == 3_152_384
    model = nn.Transformer(512, 8, 6, 6, 2048, True, device="meta")
    counts = parameter_counts(
        TransformerConfig.base(
            qkv_bias=True,
            proj_bias=True,
            embedding_norm=False,
            final_norm=True,
        )
    )
    found = sum(p.numel() for p in model.parameters())
    assert sum(counts.values()) - counts["src_embed"] == found == 44_140_544


@pytest.mark.parametrize(
    ("config", "widths"),
    [
        (ViTConfig.h14(), (80, 80)),
        (ViTConfig.b16(head_dim=5), (5, 5)),
        (ViTConfig.b16(value_dim=7), (64, 7)),
        (ViTConfig.b16(num_heads=5, head_dim=3, value_dim=7), (3, 7)),
    ],
)
def test_the_widths_of_heads(config, widths):
    assert head_widths(config) == widths
