"""Public weights: the same logits as the models that they come from."""

import random
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest
import torch
import transformers
from helpers import assert_all_close, draw, gradients, refuses
from safetensors.torch import load_file, save_file
from scipy.ndimage import zoom
from scipy.special import erf

from vitedu.config import ViTConfig
from vitedu.data.normalisation import Normalisation
from vitedu.pretrained.models import config_of, load_vit, save_vit
from vitedu.vit import VisionTransformer

SIZES = {
    "image_size": 15,
    "patch_size": 5,
    "num_classes": 11,
    "d_model": 14,
    "num_layers": 3,
    "num_heads": 2,
    "d_ff": 17,
}
CONFIG = ViTConfig(**SIZES)
AVERAGE = {"pool": "mean_patches", "pool_norm": "after"}
IMAGES = draw(2, 3, 15, 15)


@pytest.fixture(autouse=True)
def _double():
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.safetensors"


# timm: its published names, which are ours (see the oracles of ViT).


def timm_weights(config):
    """Draw weights under the names and in the shapes that timm publishes."""
    d, d_ff, classes = config.d_model, config.d_ff, config.num_classes
    read = config.representation_size or d
    block = {
        **{"norm1.weight": (d,), "norm1.bias": (d,)},
        **{"attn.qkv.weight": (3 * d, d), "attn.qkv.bias": (3 * d,)},
        **{"attn.proj.weight": (d, d), "attn.proj.bias": (d,)},
        **{"norm2.weight": (d,), "norm2.bias": (d,)},
        **{"mlp.fc1.weight": (d_ff, d), "mlp.fc1.bias": (d_ff,)},
        **{"mlp.fc2.weight": (d, d_ff), "mlp.fc2.bias": (d,)},
    }
    norm = "norm" if config.pool_norm == "before" else "fc_norm"
    positions = config.num_placed_tokens + config.num_patches
    if config.layer_scale is not None:
        block |= {"ls1.gamma": (d,), "ls2.gamma": (d,)}
    shapes = {
        **{"cls_token": (1, 1, d), "pos_embed": (1, positions, d)},
        **{"patch_embed.proj.weight": (d, 3, 5, 5)},
        **{"patch_embed.proj.bias": (d,)},
        **{
            f"blocks.{i}.{name}": shape
            for i in range(config.num_layers)
            for name, shape in block.items()
        },
        **{f"{norm}.weight": (d,), f"{norm}.bias": (d,)},
        **{"head.weight": (classes, read), "head.bias": (classes,)},
    }
    if config.pool == "mean":
        del shapes["cls_token"]
    if config.num_registers:
        shapes["reg_token"] = (1, config.num_registers, d)
    if config.distilled:
        shapes |= {"dist_token": (1, 1, d), "head_dist.bias": (classes,)}
        shapes |= {"head_dist.weight": (classes, d)}
    if config.representation_size:
        shapes |= {"pre_logits.fc.weight": (read, d)}
        shapes |= {"pre_logits.fc.bias": (read,)}
    return {k: draw(*s, seed=i) for i, (k, s) in enumerate(shapes.items())}


@pytest.mark.parametrize(
    "changes",
    [
        {},
        AVERAGE,
        {"pool": "mean", "pool_norm": "after"},
        {"distilled": True},
        {"representation_size": 13},
    ],
)
def test_timm(path, changes):
    config = replace(CONFIG, **changes)
    weights = timm_weights(config)
    save_file(weights, path)
    assert config_of(path, num_heads=2) == config
    model = load_vit(path, config)
    assert not model.training
    for name, tensor in model.state_dict().items():
        name = name.replace("pos_embed.weight", "pos_embed")
        assert torch.equal(tensor, weights.pop(name)), name
    assert weights == {}


# Hugging Face: its own models.


def hugging_face(folder, name, *, published=True, **changes):
    """Make one of its models with random weights and save it."""
    kind = (
        transformers.DeiTConfig if "DeiT" in name else transformers.ViTConfig
    )
    model = getattr(transformers, name)(
        kind(
            hidden_size=14,
            num_hidden_layers=3,
            num_attention_heads=2,
            intermediate_size=17,
            image_size=15,
            patch_size=5,
            num_labels=11,
            # The other way has its softmax in single precision.
            attn_implementation="sdpa",
            **changes,
        )
    ).eval()
    for i, parameter in enumerate(model.parameters()):
        parameter.data = draw(*parameter.shape, seed=i)
    model.save_pretrained(folder, save_original_format=published)
    return model


@pytest.mark.parametrize("published", [True, False])
@pytest.mark.parametrize(
    ("name", "result", "changes"),
    [
        ("ViTForImageClassification", "logits", {}),
        ("ViTForImageClassification", "logits", {"qkv_bias": False}),
        (
            "ViTForImageClassification",
            "logits",
            {"hidden_act": "relu", "layer_norm_eps": 0.1},
        ),
        ("ViTModel", "pooler_output", {}),
        ("ViTModel", "pooler_output", {"pooler_output_size": 13}),
        ("DeiTForImageClassificationWithTeacher", "logits", {}),
    ],
)
def test_hugging_face(path, name, result, changes, published):
    peer = hugging_face(path.parent, name, published=published, **changes)
    names = load_file(path).keys()
    assert published == any("encoder.layer.2.output" in x for x in names)
    assert_all_close(
        gradients(load_vit(path, config_of(path)), IMAGES),
        gradients(lambda x: getattr(peer(pixel_values=x), result), IMAGES),
    )


def dinov2(folder, *, registers, published=True):
    """Make one of its models of images of any size, and save it."""
    kind = "Dinov2WithRegisters" if registers else "Dinov2"
    more = {"num_register_tokens": registers} if registers else {}
    config = getattr(transformers, f"{kind}Config")(
        hidden_size=14,
        num_hidden_layers=3,
        num_attention_heads=2,
        mlp_ratio=2,
        image_size=15,
        patch_size=5,
        attn_implementation="sdpa",
        **more,
    )
    model = getattr(transformers, f"{kind}Model")(config).eval()
    for i, parameter in enumerate(model.parameters()):
        parameter.data = draw(*parameter.shape, seed=i)
    model.save_pretrained(folder, save_original_format=published)
    return model


@pytest.mark.parametrize("published", [True, False])
@pytest.mark.parametrize("registers", [0, 4])
def test_dinov2(path, registers, published):
    peer = dinov2(path.parent, registers=registers, published=published)
    names = load_file(path).keys()
    assert published == any("attention.output" in x for x in names)
    assert "embeddings.mask_token" in names
    model = load_vit(path, config_of(path))
    assert model.config == ViTConfig(
        **(SIZES | {"d_ff": 28, "num_classes": 0}),
        layer_scale=1e-5,
        num_registers=registers,
        any_image_size=True,
        resampling="bicubic_antialias" if registers else "bicubic",
    )
    assert_all_close(
        gradients(model.forward_features, IMAGES),
        gradients(lambda x: peer(x).last_hidden_state, IMAGES),
    )
    images = draw(2, 3, 10, 35)
    assert_all_close(
        (model.forward_features(images),),
        (peer(images).last_hidden_state,),
        1e-5,  # their positions are resampled in single precision
    )


# The authors: their names and axes, and their forward pass in numpy.


def authors_weights(config):
    """Draw weights under the names and in the shapes of the .npz files."""
    d, d_ff, heads = config.d_model, config.d_ff, config.num_heads
    head_dim = config.head_dim or d // heads
    value_dim = config.value_dim or head_dim
    tokens = config.num_patches + config.num_prefix_tokens
    shapes = {
        "embedding/kernel": (*config.patch_shape, 3, d),
        "embedding/bias": (d,),
        "Transformer/posembed_input/pos_embedding": (1, tokens, d),
        "Transformer/encoder_norm/scale": (d,),
        "Transformer/encoder_norm/bias": (d,),
        "head/kernel": (config.representation_size or d, config.num_classes),
        "head/bias": (config.num_classes,),
    }
    if config.pool == "class_token":
        shapes["cls"] = (1, 1, d)
    if config.representation_size:
        shapes["pre_logits/kernel"] = (d, config.representation_size)
        shapes["pre_logits/bias"] = (config.representation_size,)
    for i in range(config.num_layers):
        block = f"Transformer/encoderblock_{i}"
        attention = f"{block}/MultiHeadDotProductAttention_1"
        for norm in ("LayerNorm_0", "LayerNorm_2"):
            shapes[f"{block}/{norm}/scale"] = (d,)
            shapes[f"{block}/{norm}/bias"] = (d,)
        widths = {"query": head_dim, "key": head_dim, "value": value_dim}
        for part, width in widths.items():
            shapes[f"{attention}/{part}/kernel"] = (d, heads, width)
            shapes[f"{attention}/{part}/bias"] = (heads, width)
        shapes[f"{attention}/out/kernel"] = (heads, value_dim, d)
        shapes[f"{attention}/out/bias"] = (d,)
        shapes[f"{block}/MlpBlock_3/Dense_0/kernel"] = (d, d_ff)
        shapes[f"{block}/MlpBlock_3/Dense_0/bias"] = (d_ff,)
        shapes[f"{block}/MlpBlock_3/Dense_1/kernel"] = (d_ff, d)
        shapes[f"{block}/MlpBlock_3/Dense_1/bias"] = (d,)
    return {
        name: draw(*shape, seed=i).numpy()
        for i, (name, shape) in enumerate(shapes.items())
    }


def authors_forward(weights, config, images):
    """Return the logits of a flax ViT, in numpy; images (b, h, w, c)."""

    def norm(x, name):
        centred = x - x.mean(-1, keepdims=True)
        unit = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-6)
        return unit * weights[f"{name}/scale"] + weights[f"{name}/bias"]

    def dense(x, name, axes="bld,de->ble"):
        out = np.einsum(axes, x, weights[f"{name}/kernel"])
        return out + weights[f"{name}/bias"]

    b, (rows, columns), (p1, p2) = (
        len(images),
        config.grid_size,
        config.patch_shape,
    )
    cut = images.reshape(b, rows, p1, columns, p2, 3)
    x = dense(cut, "embedding", "brpsqc,pqcd->brsd").reshape(
        b, -1, config.d_model
    )
    if "cls" in weights:
        x = np.concatenate([np.repeat(weights["cls"], b, axis=0), x], axis=1)
    x = x + weights["Transformer/posembed_input/pos_embedding"]
    for i in range(config.num_layers):
        block = f"Transformer/encoderblock_{i}"
        attention = f"{block}/MultiHeadDotProductAttention_1"
        y = norm(x, f"{block}/LayerNorm_0")
        q, k, v = (
            dense(y, f"{attention}/{part}", "bld,dhk->blhk")
            for part in ("query", "key", "value")
        )
        scores = np.einsum("bqhk,bmhk->bhqm", q, k) / np.sqrt(q.shape[-1])
        weight = np.exp(scores - scores.max(-1, keepdims=True))
        weight /= weight.sum(-1, keepdims=True)
        out = np.einsum("bhqm,bmhk->bqhk", weight, v)
        x = x + dense(out, f"{attention}/out", "blhk,hkd->bld")
        y = norm(x, f"{block}/LayerNorm_2")
        y = dense(y, f"{block}/MlpBlock_3/Dense_0")
        y = y * (1 + erf(y / np.sqrt(2))) / 2
        x = x + dense(y, f"{block}/MlpBlock_3/Dense_1")
    x = norm(x, "Transformer/encoder_norm")
    x = x[:, 0] if "cls" in weights else x.mean(axis=1)
    if "pre_logits/kernel" in weights:
        x = np.tanh(dense(x, "pre_logits", "bd,de->be"))
    return dense(x, "head", "bd,de->be")


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"pool": "mean"},
        {"representation_size": 13},
        {"head_dim": 5, "value_dim": 3},
        {"patch_size": (5, 3), "image_size": (15, 9)},
    ],
)
def test_the_authors(tmp_path, changes, save):
    path, config = tmp_path / "ViT.npz", replace(CONFIG, **changes)
    weights = authors_weights(config)
    save(path, **weights)
    assert config_of(path, value_dim=config.value_dim) == config
    images = draw(2, 3, *config.image_shape)
    channels_last = images.permute(0, 2, 3, 1).numpy()
    expected = authors_forward(weights, config, channels_last)
    found = load_vit(path, config)(images)
    assert_all_close((found,), (torch.from_numpy(expected),))


# Other resolutions, other classes, other precision.


def test_positions_as_hugging_face_stretches_them(path):
    peer = hugging_face(path.parent, "ViTForImageClassification")
    images = draw(2, 3, 20, 35)
    config = config_of(path, image_size=(20, 35))
    model = load_vit(path, config, resize_positions=True)
    logits = peer(pixel_values=images, interpolate_pos_encoding=True).logits
    assert_all_close((model(images),), (logits,))


def test_positions_as_the_authors_stretch_them(tmp_path):
    path, weights = tmp_path / "ViT.npz", authors_weights(CONFIG)
    np.savez(path, **weights)
    config = replace(CONFIG, image_size=25)
    model = load_vit(path, config, resize_positions=True)
    table = weights["Transformer/posembed_input/pos_embedding"][0]
    grid = zoom(table[1:].reshape(3, 3, 14), (5 / 3, 5 / 3, 1), order=1)
    expected = np.concatenate([table[:1], grid.reshape(25, 14)])[None]
    found = model.pos_embed.weight.detach()
    assert_all_close((found,), (torch.from_numpy(expected),))


@pytest.mark.parametrize("num_classes", [11, 7, 0])
@pytest.mark.parametrize("distilled", [True, False])
def test_a_new_head_starts_at_zero(path, num_classes, distilled):
    before = replace(CONFIG, distilled=distilled, weights_init="pytorch")
    if not distilled:
        before = replace(before, representation_size=13)
    weights = timm_weights(before)
    save_file(weights, path)
    after = replace(before, num_classes=num_classes, representation_size=None)
    model = load_vit(path, after, new_head=True)
    heads = [k for k in model.state_dict() if k.startswith("head")]
    assert len(heads) == (2 + 2 * distilled) * (num_classes > 0)
    for name, tensor in model.state_dict().items():
        name = name.replace("pos_embed.weight", "pos_embed")
        if name in heads:
            assert (tensor == 0).all()
        else:
            assert torch.equal(tensor, weights[name])


# Saving.


@pytest.mark.parametrize(
    "changes",
    [
        {},
        AVERAGE,
        {"distilled": True},
        {"representation_size": 13, "qkv_bias": False},
        {"patch_norm": True, "pool": "mean", "proj_bias": False},
        {"positions": "none", "num_classes": 0, "value_dim": 5},
        {"positions": "sinusoidal", "d_model": 16, "image_size": (10, 15)},
        {"pool": "mean_all", "activation": "relu", "layer_norm_eps": 1e-2},
        {"image_size": (8, 16), "patch_size": (2, 4), "num_heads": 7},
        {"num_heads": 7, "num_kv_heads": 1, "ff_bias": False},
        {"positions": "rotary", "rotary_base": 7.0, "head_dim": 8},
        {"norm": "rms", "activation": "swiglu", "qk_norm": True},
        {"parallel": True, "norm": "rms", "layer_scale": 0.1},
    ],
    ids=str,
)
def test_what_was_saved_needs_no_config(path, changes):
    config = replace(CONFIG, **changes)
    model = VisionTransformer(config).eval()
    for i, parameter in enumerate(model.parameters()):
        parameter.data = draw(*parameter.shape, seed=i)
    save_vit(path, model)
    assert config_of(path) == config
    assert config_of(path, num_classes=3).num_classes == 3
    images = draw(2, 3, *config.image_shape)
    assert torch.equal(load_vit(path, config)(images), model(images))


@pytest.mark.parametrize(
    "changes",
    [{}, AVERAGE, {"distilled": True}, {"representation_size": 13}],
    ids=str,
)
def test_others_can_read_what_is_saved(path, changes):
    config = replace(CONFIG, **changes)
    save_vit(path, VisionTransformer(config))
    expected = {k: v.shape for k, v in timm_weights(config).items()}
    assert {k: v.shape for k, v in load_file(path).items()} == expected


# What is refused.


def test_all_names_that_differ_are_listed(path):
    weights = timm_weights(replace(CONFIG, num_layers=2))
    weights["norm_pre.weight"] = weights.pop("norm.weight")
    save_file(weights, path)
    with refuses(
        ValueError,
        f"got {path} with the names of timm; missing: norm.weight; "
        "extra: norm_pre.weight",
    ):
        load_vit(path, replace(CONFIG, num_layers=2))
    with refuses(
        ValueError,
        "missing: blocks.2.attn.proj.bias, blocks.2.attn.proj.weight, "
        "blocks.2.attn.qkv.bias, blocks.2.attn.qkv.weight, "
        "blocks.2.mlp.fc1.bias, blocks.2.mlp.fc1.weight, "
        "blocks.2.mlp.fc2.bias, blocks.2.mlp.fc2.weight and 5 more; "
        "extra: norm_pre.weight",
    ):
        load_vit(path, CONFIG)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"num_classes": 7},
            "head.bias (11,) instead of (7,), head.weight (11, 14) instead "
            "of (7, 14); new_head=True starts a new head",
        ),
        (
            {"image_size": 20},
            "pos_embed (1, 10, 14) instead of (1, 17, 14); "
            "resize_positions=True stretches positions",
        ),
        ({"d_ff": 19}, "blocks.0.mlp.fc1.bias (17,) instead of (19,), "),
        ({"pool_norm": "after"}, "missing: fc_norm.bias, fc_norm.weight; "),
        ({"pool": "mean"}, "missing: none; extra: cls_token"),
        ({"positions": "none"}, "missing: none; extra: pos_embed"),
        ({"num_classes": 0}, "missing: none; extra: head.bias, head.weight"),
        ({"qkv_bias": False}, "extra: blocks.0.attn.qkv.bias, "),
        ({"patch_norm": True}, "missing: patch_embed.norm.bias, "),
    ],
)
def test_a_config_that_does_not_fit(path, changes, message):
    save_file(timm_weights(CONFIG), path)
    with refuses(ValueError, message):
        load_vit(path, replace(CONFIG, **changes))


def test_a_changed_number_of_a_saved_file_is_found(path):
    save_vit(path, VisionTransformer(CONFIG))
    whole = bytearray(path.read_bytes())
    for place in (-9, -len(whole) // 2):
        damaged = whole.copy()
        damaged[place] ^= 1
        path.write_bytes(damaged)
        with refuses(ValueError, "the checksum is another"):
            load_vit(path, CONFIG)


@pytest.mark.parametrize("kind", ["timm", "authors"])
def test_a_damaged_file_gives_no_model(path, kind):
    """At 200 places: a ValueError, or a model with one number changed."""
    config = replace(CONFIG, num_layers=1)
    if kind == "timm":
        save_file(timm_weights(config), path)
    else:
        with path.open("wb") as file:
            np.savez_compressed(file, **authors_weights(config))
    whole, expected = path.read_bytes(), load_vit(path, config).state_dict()
    chance, refused = random.Random(0), 0
    for trial in range(200):
        # Half of the places are where the names and shapes are.
        reach = 1500 if trial % 2 else len(whole)
        place = chance.randrange(reach) * (1 if kind == "timm" else -1)
        damaged = bytearray(whole)
        damaged[place] ^= chance.randrange(1, 256)
        path.write_bytes(damaged if trial % 4 else whole[:place])
        model = None
        with suppress(ValueError):
            model = load_vit(path, config)
        refused += model is None
        if model is not None:
            changed = sum(
                (tensor != expected[name]).sum().item()
                for name, tensor in model.state_dict().items()
            )
            assert changed <= (kind == "timm")
    assert refused > 90


def test_names_of_classes_go_with_a_model(tmp_path):
    path, names = tmp_path / "model.safetensors", ("cat", "dog", "狐")
    model = VisionTransformer(replace(CONFIG, num_classes=3))
    save_vit(path, model)
    assert load_vit(path, model.config).class_names is None
    save_vit(path, model, class_names=list(names))
    loaded = load_vit(path, config_of(path))
    assert loaded.class_names == names
    save_vit(path, loaded)
    assert load_vit(path, loaded.config).class_names == names
    assert load_vit(path, loaded.config, new_head=True).class_names is None
    loaded.reset_head(3)
    assert loaded.class_names is None
    assert model.class_names is None


def test_the_normalisation_goes_with_a_model(tmp_path):
    path = tmp_path / "model.safetensors"
    model = VisionTransformer(replace(CONFIG, num_classes=3))
    save_vit(path, model)
    assert load_vit(path, model.config).normalisation is None
    model.normalisation = Normalisation((0.1, 0.2, 0.3), (1, 0.25, 2.0))
    save_vit(path, model)
    for options in ({}, {"new_head": True}):
        loaded = load_vit(path, config_of(path), **options)
        assert loaded.normalisation == model.normalisation
    model.normalisation = (0.5, 0.5)
    with refuses(TypeError, "normalisation must be a Normalisation, got tup"):
        save_vit(path, model)
