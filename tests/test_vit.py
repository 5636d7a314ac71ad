"""The Vision Transformer, step by step."""

import math

import pytest
import torch
import torch.nn.functional as F
from helpers import assert_all_close, draw, gradients, refuses

from vitedu.config import ViTConfig
from vitedu.masks import causal_mask
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
        torch.nn.init.normal_(model.head.weight)
        torch.nn.init.normal_(model.cls_token)
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
    assert model.cls_token.numel() == 0
    expected = model.patch_embed(IMAGES) + model.pos_embed.weight
    assert_all_close((model.embed(IMAGES),), (expected,))


@each_pool
def test_forward_is_the_steps_in_a_row(pool):
    model = make(pool=pool)

    def by_steps(images):
        x = model.embed(images)
        for block in model.blocks:
            x = block(x)
        x = model.norm(x)
        read = x[:, 0] if pool == "class_token" else x.mean(dim=1)
        return read @ model.head.weight.T + model.head.bias

    assert_all_close(gradients(model, IMAGES), gradients(by_steps, IMAGES))


def test_features_are_normalised():
    features = make().features(IMAGES)
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


@each_pool
def test_every_parameter_gets_a_gradient(pool):
    model = make(pool=pool)
    F.cross_entropy(model(IMAGES), torch.tensor([3, 7])).backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        if parameter.numel():
            assert parameter.grad.abs().max() > 1e-9, name


@pytest.mark.parametrize("training", [True, False])
def test_with_a_causal_mask_later_tokens_leave_earlier_ones_alone(training):
    model = make().train(training)
    mask = causal_mask(5)
    changed = IMAGES.clone()
    changed[:, :, 5:, 5:] += 1  # the last patch, token 4
    with torch.no_grad():
        before, after = (model.features(x, mask) for x in (IMAGES, changed))
        free = model.features(changed)
    assert torch.equal(before[:, :4], after[:, :4])
    assert (before[:, 4] - after[:, 4]).abs().max() > 1e-3
    assert (free[:, :4] - before[:, :4]).abs().max() > 1e-3


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
    model = make(layer_norm_eps=0.1)
    found = [
        module.eps
        for module in model.modules()
        if isinstance(module, torch.nn.LayerNorm)
    ]
    assert found == [0.1] * 7


def test_initial_weights():
    torch.manual_seed(0)
    model = VisionTransformer(
        ViTConfig.ti16(num_layers=1, position_std=0.5, num_classes=7)
    )
    fc1 = model.blocks[0].mlp.fc1
    limit = math.sqrt(6 / (192 + 768))
    assert fc1.weight.abs().max().item() == pytest.approx(limit, rel=1e-3)
    assert fc1.weight.std().item() == pytest.approx(limit / 3**0.5, rel=0.01)
    assert (fc1.bias == 0).all()
    patch = model.patch_embed.proj
    assert patch.weight.std().item() == pytest.approx(768**-0.5, rel=0.01)
    assert (patch.bias == 0).all()
    assert (model.cls_token == 0).all()
    position = model.pos_embed.weight
    assert position.std().item() == pytest.approx(0.5, rel=0.02)


def test_the_names_are_those_of_timm():
    top = {name.split(".")[0] for name in make().state_dict()}
    assert top == {
        "patch_embed",
        "cls_token",
        "pos_embed",
        "blocks",
        "norm",
        "head",
    }


@pytest.mark.parametrize("shape", [(2, 3, 15, 15), (2, 1, 10, 10)])
def test_refuses_other_images(shape):
    with refuses(
        ValueError,
        "images must have (channel, height, width) = (3, 10, 10), "
        f"got {shape[1:]}",
    ):
        make()(draw(*shape))


@pytest.mark.parametrize(
    ("images", "error", "message"),
    [
        (IMAGES[0], ValueError, "images must have the axes (batch channel"),
        (
            IMAGES.byte(),
            TypeError,
            "images must hold floating-point numbers, got dtype torch.uint8",
        ),
        (
            IMAGES.float(),
            TypeError,
            "images must have the dtype of the weights, torch.float64, "
            "got torch.float32",
        ),
    ],
)
def test_refuses_other_tensors(images, error, message):
    with refuses(error, message):
        make()(images)


def test_refuses_a_mask_for_another_number_of_tokens():
    with refuses(ValueError, "mask must fit (batch|1, heads|1, query|1, key)"):
        make().features(IMAGES, causal_mask(4))


def test_refuses_what_is_no_config():
    with refuses(TypeError, "config must be a ViTConfig, got dict"):
        VisionTransformer(CONFIG)


def test_pool_refuses_images():
    with refuses(ValueError, "tokens must have the axes (batch token"):
        make().pool(IMAGES)
