"""The Vision Transformer, step by step."""

import math

import pytest
import torch
import torch.nn.functional as F
from helpers import assert_all_close, draw, refuses

from vitedu.config import ViTConfig
from vitedu.vit import VisionTransformer

CONFIG = {
    "image_size": 10,
    "patch_size": 5,
    "num_channels": 3,
    "num_classes": 11,
    "d_model": 14,
    "num_layers": 3,
    "num_heads": 2,
    "d_ff": 17,
    "position_std": 0.5,
}
IMAGES = draw(2, 3, 10, 10)
each_pool = pytest.mark.parametrize("pool", ["class_token", "mean"])


def make(*, head=True, **changes):
    """Make a model; its head starts at zero, so draw it unless told not to."""
    torch.manual_seed(0)
    model = VisionTransformer(ViTConfig(**(CONFIG | changes))).double()
    if head:
        for name, parameter in model.named_parameters():
            if name in ("cls_token", "dist_token") or "head" in name:
                torch.nn.init.normal_(parameter)
    return model


def test_embed_puts_the_class_token_first_and_adds_positions():
    model = make()
    patches = model.patch_embed(IMAGES)
    position = model.pos_embed.weight[0]
    tokens = model.embed(IMAGES)
    assert tokens.shape == (2, 5, 14)
    for image in range(2):
        assert_all_close(
            (tokens[image, 0], tokens[image, 1:]),
            (
                model.cls_token[0, 0] + position[0],
                patches[image] + position[1:],
            ),
        )


def test_without_class_token_there_are_patches_only():
    model = make(pool="mean")
    assert model.num_prefix_tokens == 0
    assert model.cls_token is None
    expected = model.patch_embed(IMAGES) + model.pos_embed.weight
    assert_all_close((model.embed(IMAGES),), (expected,))


def test_features_are_normalised():
    features = make().forward_features(IMAGES)
    assert features.shape == (2, 5, 14)
    assert_all_close(
        (features.mean(dim=-1), features.var(dim=-1, unbiased=False)),
        (torch.zeros(2, 5).double(), torch.ones(2, 5).double()),
        1e-4,
    )


@each_pool
def test_the_untrained_head_guesses_uniformly(pool):
    logits = make(head=False, pool=pool)(IMAGES)
    assert torch.equal(logits, torch.zeros(2, 11).double())
    loss = F.cross_entropy(logits, torch.tensor([3, 7]))
    assert math.isclose(loss.item(), math.log(11))


def test_without_positions_the_order_of_patches_does_not_matter():
    mixed = IMAGES.roll(5, dims=-1)
    with_positions, without = make(), make(position_std=0.0)
    assert_all_close((without(mixed),), (without(IMAGES),))
    assert (with_positions(mixed) - with_positions(IMAGES)).abs().max() > 1e-3


def test_stochastic_depth_grows_from_zero_to_the_last_block():
    model = make(drop_path=0.3)
    rates = [block.drop_path.rate for block in model.blocks]
    assert rates == pytest.approx([0.0, 0.15, 0.3])


@pytest.mark.parametrize("rate", ["dropout", "attention_dropout", "drop_path"])
def test_rates_act_in_training_only(rate):
    model = make(**{rate: 0.5})
    assert not torch.equal(model(IMAGES), model(IMAGES))
    model.eval()
    assert_all_close((model(IMAGES),), (make().eval()(IMAGES),))


def test_dropout_follows_every_dense_layer_and_the_positions():
    model = make(dropout=0.3, attention_dropout=0.2)
    rates = [
        (name, module.p)
        for name, module in model.named_modules()
        if isinstance(module, torch.nn.Dropout)
    ]
    of_a_block = ("attn.proj_drop", "mlp.drop1", "mlp.drop2")
    assert rates == [("pos_drop", 0.3)] + [
        (f"blocks.{i}.{name}", 0.3) for i in range(3) for name in of_a_block
    ]
    assert {block.attn.attention_dropout for block in model.blocks} == {0.2}


def test_dropout_comes_after_the_positions_are_added():
    images = draw(300, 3, 10, 10)
    full = make().embed(images)
    found = make(dropout=0.3).embed(images)
    kept = found != 0
    assert abs(kept.double().mean().item() - 0.7) < 0.02
    assert_all_close((found[kept],), (full[kept] / 0.7,))


def test_the_epsilon_reaches_every_normalisation():
    model = make(layer_norm_eps=0.1, patch_norm=True)
    found = [
        module.eps
        for module in model.modules()
        if isinstance(module, torch.nn.LayerNorm)
    ]
    assert found == [0.1] * 8


def test_choices_reach_their_layers():
    model = make(
        head_dim=5,
        value_dim=3,
        scale=0.7,
        qkv_bias=False,
        proj_bias=False,
        activation="relu",
        norm_first=False,
        dropout=0.3,
        activation_dropout=0.1,
        embedding_dropout=0.2,
        patch_method="linear",
    )
    assert model.pos_drop.p == 0.2
    assert model.patch_embed.method == "linear"
    for block in model.blocks:
        attn, mlp = block.attn, block.mlp
        assert (attn.head_dim, attn.value_dim, attn.scale) == (5, 3, 0.7)
        assert attn.qkv.bias is None
        assert attn.proj.bias is None
        assert isinstance(mlp.act, torch.nn.ReLU)
        assert not block.norm_first
        assert (mlp.drop1.p, mlp.drop2.p, attn.proj_drop.p) == (0.1, 0.3, 0.3)


def start(weights_init):
    torch.manual_seed(0)
    sizes = {"num_layers": 1, "position_std": 0.5, "num_classes": 7}
    tokens = {"distilled": True, "class_token_std": 0.3}
    choice = {"weights_init": weights_init}
    return VisionTransformer(ViTConfig.ti16(**sizes, **tokens, **choice))


# Standard deviation and largest absolute value of a linear map from 192 to
# 768 features; PyTorch draws uniformly up to 1 / sqrt(192).
STARTS = {
    "xavier": (math.sqrt(2 / 960), math.sqrt(6 / 960)),
    "truncated_normal": (0.02, 0.1),
    "pytorch": (math.sqrt(1 / 576), math.sqrt(1 / 192)),
}


@pytest.mark.parametrize("weights_init", STARTS)
def test_initial_weights(weights_init):
    model = start(weights_init)
    fc1, patch = model.blocks[0].mlp.fc1, model.patch_embed.proj
    std, largest = STARTS[weights_init]
    assert fc1.weight.std().item() == pytest.approx(std, rel=0.01)
    assert fc1.weight.abs().max().item() == pytest.approx(largest, rel=0.1)
    assert fc1.weight.abs().max() <= largest
    zero = weights_init != "pytorch"
    for bias in (fc1.bias, model.blocks[0].attn.qkv.bias):
        assert (bias == 0).all() == zero
    assert (patch.bias == 0).all() == (weights_init == "xavier")
    for head in (model.head, model.head_dist):
        assert (head.weight == 0).all() == zero
        assert (head.bias == 0).all() == zero


@pytest.mark.parametrize("weights_init", STARTS)
def test_the_first_patch_weights(weights_init):
    weight = start(weights_init).patch_embed.proj.weight
    variance = 1 if weights_init == "xavier" else 1 / 3  # times 768 values
    expected = math.sqrt(variance / 768)
    assert weight.std().item() == pytest.approx(expected, rel=0.01)


@pytest.mark.parametrize("weights_init", STARTS)
def test_the_first_tokens_and_positions(weights_init):
    model = start(weights_init)
    for token in (model.cls_token, model.dist_token):
        assert token.std().item() == pytest.approx(0.3, rel=0.1)
    assert model.pos_embed.weight.std().item() == pytest.approx(0.5, rel=0.02)
    assert (make(head=False).cls_token == 0).all()


OF_A_BLOCK = ("norm1", "attn.qkv", "attn.proj", "norm2", "mlp.fc1", "mlp.fc2")


@pytest.mark.parametrize(
    ("changes", "tensors", "modules"),
    [
        ({}, ["cls_token", "pos_embed"], ["norm", "head"]),
        (
            {"distilled": True},
            ["cls_token", "dist_token", "pos_embed"],
            ["norm", "head", "head_dist"],
        ),
        (
            {"pool": "mean", "pool_norm": "after", "patch_norm": True},
            ["pos_embed"],
            ["patch_embed.norm", "fc_norm", "head"],
        ),
        (
            {"representation_size": 5, "num_classes": 0, "positions": "none"},
            ["cls_token"],
            ["norm", "pre_logits.fc"],
        ),
    ],
)
def test_the_names_are_those_of_timm(changes, tensors, modules):
    """All but one: timm keeps the positions themselves as `pos_embed`."""
    model = make(**({"num_layers": 1} | changes))
    found = [
        name.replace("pos_embed.weight", "pos_embed")
        for name in model.state_dict()
    ]
    modules = ["patch_embed.proj", *modules]
    modules += [f"blocks.0.{name}" for name in OF_A_BLOCK]
    expected = [f"{m}.{kind}" for m in modules for kind in ("weight", "bias")]
    assert sorted(found) == sorted(tensors + expected)


SIMPLIFIED = {
    "num_heads": 8,
    "num_layers": 8,
    "d_ff": 768,
    "num_classes": 10,
    "qkv_bias": False,
    "proj_bias": False,
    "patch_norm": True,
}


@pytest.mark.parametrize(
    ("name", "changes", "count"),
    [
        ("b16", {"num_classes": 5}, 85_802_501),
        ("b32", {"num_classes": 5}, 87_459_077),
        ("l32", {"num_classes": 5}, 305_515_525),
        ("h14", {"num_classes": 5}, 630_771_205),
        ("b16", {"num_classes": 0}, 85_798_656),
        ("l16", {"num_classes": 0, "representation_size": 1024}, 304_351_232),
        ("b16", {"representation_size": 768}, 87_158_248),
        ("b16", {"num_classes": 21_843}, 102_595_923),
        (
            "b16",
            {"num_classes": 21_843, "representation_size": 768},
            103_186_515,
        ),
        ("b16", {"distilled": True}, 87_338_192),
        ("b16", {"qkv_bias": False}, 86_540_008),
        ("l16", {"qkv_bias": False}, 304_252_904),
        # Heads of 64 features are right for B and L; H has heads of 80.
        ("h14", {"qkv_bias": False, "head_dim": 64}, 589_979_880),
        ("h14", {"qkv_bias": False, "head_dim": 80}, 631_922_920),
        ("b16", SIMPLIFIED, 29_101_834),
    ],
)
def test_parameters_of_variants(name, changes, count):
    with torch.device("meta"):
        model = VisionTransformer(getattr(ViTConfig, name)(**changes))
    assert sum(p.numel() for p in model.parameters()) == count


def test_shapes_alone_pass_through_a_model_without_numbers():
    with torch.device("meta"):
        model = VisionTransformer(ViTConfig.b16())
        assert model(torch.empty(2, 3, 224, 224)).shape == (2, 1000)
        with refuses(TypeError, "images must have the dtype of the weights"):
            model(torch.empty(2, 3, 224, 224, dtype=torch.float64))
