"""Parameters in closed form: equal to the built model and to the papers."""

import re
from collections import Counter

import torch
from configs import LATER, LATER_VIT, transformer_configs, vit_configs
from helpers import PROPERTY
from hypothesis import given, settings

from vitedu.analysis.counting import parameter_counts
from vitedu.transformer import Transformer
from vitedu.vit import VisionTransformer

MANY = settings(PROPERTY, max_examples=40)
# Name of a parameter -> part. The first pattern that is found counts.
PARTS = {
    r"^patch_embed": "patch_embed",
    r"^(.+_token|pos_embed|pre_logits|generator)": r"\1",
    r"norm": "norms",
    r"^blocks.*ls\d": "layer_scale",
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


@MANY
@given(vit_configs() | vit_configs(**LATER_VIT))
def test_a_vit_has_what_its_config_says(config):
    assert Counter(parameter_counts(config)) == built(
        VisionTransformer, config
    )


@MANY
@given(transformer_configs() | transformer_configs(**LATER))
def test_a_transformer_has_what_its_config_says(config):
    assert Counter(parameter_counts(config)) == built(Transformer, config)
