"""Weights for a page: which numbers, in which order, and what is refused."""

import math

import numpy as np
import pytest
import torch
from configs import transformer_configs
from explorers import guessing_model, matching_model
from hypothesis import given, settings
from torch import nn

from vitedu.book.page_weights import page_weights, rounded_to_half
from vitedu.config import TransformerConfig
from vitedu.transformer import Transformer

SIZES = {
    "src_vocab_size": 13,
    "tgt_vocab_size": 13,
    "d_model": 10,
    "d_ff": 7,
    "num_heads": 2,
    "num_layers": 2,
}


def make(**changes):
    torch.manual_seed(0)
    return Transformer(TransformerConfig(**SIZES | changes))


@settings(max_examples=10, deadline=None, derandomize=True)
@given(config=transformer_configs())
def test_every_weight_is_where_the_layout_says(config):
    model = rounded_to_half(Transformer(config))
    sent = page_weights(model)
    assert sent["weights"].dtype == np.float16
    state = model.state_dict()
    assert sent["layout"].keys() == state.keys()
    for name, (start, *shape) in sent["layout"].items():
        found = sent["weights"][start:][: np.prod(shape)].reshape(shape)
        np.testing.assert_array_equal(found, state[name].numpy())


def test_an_autoencoder_travels_with_the_sizes_of_its_decoder():
    model = guessing_model()
    sent = page_weights(model)
    state = model.state_dict()
    assert sent["layout"].keys() == state.keys()
    for name, (start, *shape) in sent["layout"].items():
        found = sent["weights"][start:][: np.prod(shape)].reshape(shape)
        np.testing.assert_array_equal(found, state[name].numpy())
    config, inside = sent["config"], sent["config"].pop("decoder")
    assert "decoder" not in page_weights(model.encoder)["config"]
    sizes = ("d_model", "num_layers", "num_heads", "d_ff", "head_dim")
    assert [config[name] for name in sizes] == [12, 2, 3, 20, 4]
    assert [inside[name] for name in sizes] == [10, 3, 2, 40, 5]
    plain = (int, float, str, bool, type(None))
    for facts in (config, inside):
        assert all(isinstance(value, plain) for value in facts.values())


def test_two_encoders_travel_with_both_their_sizes():
    model = matching_model()
    sent = page_weights(model)
    state = model.state_dict()
    assert sent["layout"].keys() == state.keys()
    for name, (start, *shape) in sent["layout"].items():
        found = sent["weights"][start:][: math.prod(shape)].reshape(shape)
        np.testing.assert_array_equal(found, state[name].numpy())
    sizes = ("d_model", "num_layers", "num_heads", "text_layers")
    assert [sent["config"][name] for name in sizes] == [12, 2, 3, 3]


def test_an_autoencoder_is_rounded_to_a_copy():
    model = guessing_model()
    with torch.no_grad():
        model.mask_token += 1e-5
    rounded = rounded_to_half(model)
    half = model.mask_token.half().float()
    assert torch.equal(rounded.mask_token, half)
    assert not torch.equal(rounded.mask_token, model.mask_token)


def test_shared_weights_travel_once():
    model = rounded_to_half(make())
    sent = page_weights(model)
    assert len(sent["weights"]) == sum(p.numel() for p in model.parameters())
    tables = ["src_embed.tokens", "tgt_embed.tokens", "generator"]
    places = [sent["layout"][f"{name}.weight"] for name in tables]
    assert places[0] == places[1] == places[2]


def with_bias():
    model = rounded_to_half(make(tie_output=False))
    model.generator = nn.Linear(10, 13)
    return rounded_to_half(model)


def with_other_decoder():
    model = guessing_model()
    model.decoder_pred = nn.Linear(10, 17)
    return rounded_to_half(model)


@pytest.mark.parametrize(
    ("make_model", "message"),
    [
        (make, r"model must hold half precision.*rounded_to_half\(model\)"),
        (
            lambda: guessing_model(normalise_patches=True),
            "model must have normalise_patches=False.*got True",
        ),
        (with_other_decoder, "weights of its config.*decoder_pred.weight"),
        (with_bias, "model must have the weights of its config.*generator"),
    ],
)
def test_a_model_that_the_page_cannot_run_is_refused(make_model, message):
    with pytest.raises(ValueError, match=message):
        page_weights(make_model())
