"""Descriptions beside a file of weights: read, compared with its arrays."""

import json
from dataclasses import replace

import pytest
from helpers import assert_all_close, draw, gradients, refuses
from safetensors.torch import load_file, save_file
from test_pretrained import hugging_face

from vitedu.config import ViTConfig
from vitedu.data.normalisation import Normalisation
from vitedu.pretrained.models import config_of, load_vit, save_vit
from vitedu.vit import VisionTransformer

CONFIG = ViTConfig(
    image_size=16,
    patch_size=8,
    num_classes=5,
    d_model=192,
    num_heads=3,
    num_layers=2,
    d_ff=128,
    layer_scale=1e-5,
)
HALVES = Normalisation((0.5, 0.5, 0.5), (0.5, 0.5, 0.5))
PARTS = Normalisation((0.1, 0.2, 0.3), (0.4, 0.5, 0.6))
MEAN, STD = list(PARTS.mean), list(PARTS.std)


@pytest.fixture
def beside(tmp_path):
    """Write a file with timm's names, and descriptions beside it."""

    def write(config=CONFIG, preprocessor=None, **settings):
        state = VisionTransformer(config).state_dict()
        path = tmp_path / "model.safetensors"
        named = {
            k.replace("embed.weight", "embed"): v for k, v in state.items()
        }
        save_file(named, path)
        (tmp_path / "config.json").write_text(json.dumps(settings))
        if preprocessor is not None:
            path.with_name("preprocessor_config.json").write_text(
                json.dumps(preprocessor)
            )
        return path

    return write


TIMM = {
    "architecture": "vit_tiny_patch16_224",
    "num_classes": 5,
    "num_features": 192,
    "global_pool": "token",
    "pretrained_cfg": {"mean": MEAN, "std": STD, "input_size": [3, 224, 224]},
}


@pytest.mark.parametrize(
    ("description", "expected"),
    [
        (TIMM, PARTS),
        ({"architecture": "vit_tiny", "mean": MEAN, "std": STD}, PARTS),
        ({"preprocessor": {"image_mean": MEAN, "image_std": STD}}, PARTS),
        ({"preprocessor": {"image_mean": 0.5, "image_std": 0.5}}, HALVES),
        (
            TIMM | {"preprocessor": {"image_mean": MEAN, "image_std": STD}},
            PARTS,
        ),
        ({"preprocessor": {"image_mean": [0.5], "image_std": [0.5]}}, None),
        (
            {"preprocessor": {"do_normalize": False}},
            Normalisation((0.0, 0.0, 0.0), (1.0, 1.0, 1.0)),
        ),
        ({}, None),
    ],
)
def test_the_colours_are_those_of_the_description(
    beside, description, expected
):
    path = beside(**description)
    config = config_of(path)
    assert config == CONFIG
    model = load_vit(path, config)
    assert model.normalisation == expected
    # What was saved needs no description, and believes none.
    saved = path.with_name("saved.safetensors")
    model.normalisation = HALVES
    save_vit(saved, model)
    assert load_vit(saved, config_of(saved)).normalisation == HALVES


@pytest.mark.parametrize(
    ("description", "changes"),
    [
        ({"model_args": {"num_heads": 16}}, {"num_heads": 16}),
        ({"num_attention_heads": 4}, {"num_heads": 4}),
        ({"hidden_act": "relu"}, {"activation": "relu"}),
        ({"model_args": {"act_layer": None, "num_heads": None}}, {}),
        ({"model_args": {"act_layer": "relu"}}, {"activation": "relu"}),
        ({"layer_norm_eps": 0.1}, {"layer_norm_eps": 0.1}),
        ({"global_pool": "avg"}, {"pool": "mean_patches"}),
        (
            {"model_args": {"global_pool": "avg", "fc_norm": False}},
            {"pool": "mean_patches"},
        ),
        (
            {
                "hidden_size": 192,
                "num_hidden_layers": 2,
                "intermediate_size": 128,
                "image_size": 16,
                "patch_size": 8,
                "num_channels": 3,
                "model_type": "vit",
                "pooler_act": "tanh",
            },
            {},
        ),
        (
            {
                "model_args": {
                    "embed_dim": 192,
                    "depth": 2,
                    "img_size": [16, 16],
                    "mlp_ratio": 0.667,
                    "drop_path_rate": 0.1,
                }
            },
            {},
        ),
    ],
)
def test_what_no_array_tells_is_described(beside, description, changes):
    path = beside(**description)
    assert config_of(path) == replace(CONFIG, **changes)
    assert config_of(path, num_heads=1).num_heads == 1


def test_positions_of_no_square_have_a_described_size(beside):
    config = replace(CONFIG, image_size=(8, 24))
    assert config_of(beside(config, image_size=[8, 24])) == config


def test_the_mean_of_patches_without_a_class_token(beside):
    config = replace(CONFIG, pool="mean")
    assert config_of(beside(config, global_pool="avg")) == config
    with refuses(ValueError, "a global_pool among ['token', 'avg'], 'token'"):
        config_of(beside(config, global_pool="token"))


@pytest.mark.parametrize(
    ("description", "message"),
    [
        ({"hidden_size": 1024}, "and hidden_size 1024"),
        ({"num_hidden_layers": 24}, "and num_hidden_layers 24"),
        ({"intermediate_size": 4096}, "and intermediate_size 4096"),
        ({"mlp_ratio": 4}, "and mlp_ratio 4"),
        ({"image_size": 224}, "and image_size 224"),
        ({"patch_size": 16}, "and patch_size 16"),
        ({"num_channels": 1}, "and num_channels 1"),
        ({"num_register_tokens": 4}, "and num_register_tokens 4"),
        ({"num_classes": 1000}, "and num_classes 1000"),
        ({"num_features": 384}, "and num_features 384"),
        ({"model_args": {"embed_dim": 384}}, "and embed_dim 384"),
        ({"model_args": {"depth": 12}}, "and depth 12"),
        (
            {"architecture": "vit_base_patch16_224"},
            "and vit_base_patch16_224 768",
        ),
        ({"architecture": "vit_base_patch16_rpn_224"}, "with ['rpn'] in arch"),
        ({"architecture": "vit_tiny_patch16_rope_224"}, "with ['rope'] in ar"),
        ({"model_args": {"block_fn": "x"}}, "with ['block_fn'] in model_args"),
        ({"model_type": "beit"}, "with ['beit'] in model_type"),
        ({"model_args": [3]}, "must hold a JSON object for model_args"),
        ({"pretrained_cfg": "x"}, "a JSON object for pretrained_cfg"),
        ({"pooler_act": "relu"}, "with ['relu'] in pooler_act"),
        ({"global_pool": "max"}, "a global_pool among ['token', 'avg']"),
        ({"global_pool": "map"}, "a global_pool among ['token', 'avg']"),
        ({"hidden_act": "quick_gelu"}, "activation must be"),
        ({"num_attention_heads": 5}, "num_heads"),
        ({"mean": [0.5, 0.5], "std": STD}, "mean and std must be three numb"),
        ({"mean": MEAN, "std": [0, 1, 1]}, "mean and std must be three numb"),
        ({"mean": MEAN, "std": "x"}, "mean and std must be three numbers"),
        (
            TIMM | {"preprocessor": {"image_mean": STD, "image_std": STD}},
            "must agree on mean and std",
        ),
    ],
)
def test_a_description_of_another_model_is_refused(
    beside, description, message
):
    path = beside(**description)
    with refuses(ValueError, message):
        load_vit(path, config_of(path))


@pytest.mark.parametrize("name", ["config.json", "preprocessor_config.json"])
@pytest.mark.parametrize("text", ["[1]", "{", "[" * 9999, "3"])
def test_a_damaged_description_is_named(beside, name, text):
    path = beside()
    path.with_name(name).write_text(text)
    with refuses(
        ValueError, f"{name} must be a JSON object, got {path.parent}"
    ):
        config_of(path)


@pytest.mark.parametrize(
    ("d_model", "num_heads"), [(192, 3), (1024, 16), (1152, 16), (1280, 16)]
)
def test_known_widths_have_their_heads(beside, d_model, num_heads):
    config = replace(
        CONFIG, d_model=d_model, num_heads=num_heads, num_layers=1
    )
    assert config_of(beside(config)) == config


def test_other_widths_are_guessed_with_a_warning(beside):
    path = beside(replace(CONFIG, d_model=128, num_heads=4))
    with pytest.warns(UserWarning, match="num_heads=2 is a guess"):
        assert config_of(path).num_heads == 2


@pytest.mark.parametrize("name", ["DeiTForImageClassification", "DeiTModel"])
def test_a_distillation_token_without_a_head(tmp_path, name):
    """Also on larger images, where positions are stretched."""
    peer = hugging_face(tmp_path, name).float()
    path = tmp_path / "model.safetensors"
    assert any("distillation_token" in x for x in load_file(path))
    config = config_of(path)
    assert (config.distilled, config.num_registers) == (False, 1)
    result = "logits" if "Classification" in name else "pooler_output"
    images = draw(2, 3, 15, 15).float()
    assert_all_close(
        gradients(load_vit(path, config), images),
        gradients(lambda x: getattr(peer(pixel_values=x), result), images),
        1e-4,
    )
    larger = draw(2, 3, 20, 25).float()
    model = load_vit(
        path, config_of(path, image_size=(20, 25)), resize_positions=True
    )
    found = peer(pixel_values=larger, interpolate_pos_encoding=True)
    assert_all_close((model(larger),), (getattr(found, result),), 1e-4)
    head = load_vit(path, config_of(path, num_classes=2), new_head=True).head
    assert head is not None
