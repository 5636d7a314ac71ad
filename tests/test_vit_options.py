"""Every option of the Vision Transformer, alone and together."""

import random

import pytest
import torch
import torch.nn.functional as F
from helpers import assert_all_close, draw, gradients

from vitedu.config import ViTConfig
from vitedu.positions import rotary_angles_2d, sinusoidal_table_2d
from vitedu.vit import VisionTransformer

# As many images as heads: a mask on the wrong axis would fit, too.
CONFIG = {
    "image_size": (6, 15),
    "patch_size": (3, 5),
    "num_channels": 2,
    "num_classes": 7,
    "d_model": 12,
    "num_layers": 2,
    "num_heads": 3,
    "d_ff": 17,
    "drop_path": 0.0,
}
IMAGES = draw(3, 2, 6, 15)
MASK = torch.tensor([[1, 1, 0, 1, 0, 0], [0, 0, 0, 0, 0, 1], [1] * 6]).bool()
POOLS = ("class_token", "mean", "mean_patches", "mean_all")
OPTIONS = {
    "patch_method": ("convolution", "linear"),
    "patch_norm": (False, True),
    "positions": ("learned", "sinusoidal", "rotary", "none"),
    "pool": POOLS,
    "pool_norm": ("before", "after"),
    "distilled": (False, True),
    "representation_size": (None, 5),
    "num_classes": (7, 0),
    "weights_init": ("xavier", "truncated_normal", "pytorch"),
    "norm_first": (True, False),
    "qkv_bias": (True, False),
    "proj_bias": (True, False),
    "head_dim": (None, 8),
    "num_kv_heads": (None, 1),
    "qk_norm": (False, True),
    "norm": ("layer", "rms"),
    "ff_bias": (True, False),
    "scale": (None, 0.7),
    "activation": ("gelu", "relu", "swiglu"),
    "layer_norm_eps": (1e-6, 0.1),
    "num_registers": (0, 2),
    "layer_scale": (None, 0.1),
}
each_mask = pytest.mark.parametrize("mask", [None, MASK], ids=["all", "some"])


def drawn(count):
    """Draw combinations that a config accepts."""
    generator = random.Random(0)
    for _ in range(count):
        options = {
            name: generator.choice(values) for name, values in OPTIONS.items()
        }
        if options["distilled"]:
            options |= {"pool": "class_token", "representation_size": None}
        masked, training = generator.random() < 0.5, generator.random() < 0.5
        yield options, MASK if masked else None, training


COMBINATIONS = list(drawn(130))
each_combination = pytest.mark.parametrize(
    ("options", "mask", "training"), COMBINATIONS, ids=range(130)
)


def make(**changes):
    """Make a model whose parameters are all drawn, zero ones included."""
    torch.manual_seed(0)
    model = VisionTransformer(ViTConfig(**(CONFIG | changes))).double()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    return model


def joined(model):
    """Return a function of images and mask whose result is one tensor."""

    def run(images, mask=None):
        out = model(images, mask)
        return torch.cat(out, dim=1) if isinstance(out, tuple) else out

    return run


def embed_by_hand(model, image):
    """Return the tokens of one image, as equation 1 of the paper reads."""
    config, proj = model.config, model.patch_embed.proj
    x = F.conv2d(image[None], proj.weight, proj.bias, stride=(3, 5))
    x = x[0].flatten(1).T
    if config.patch_norm:
        x = normalise(model.patch_embed.norm, x)
    if config.positions == "sinusoidal":
        x = x + sinusoidal_table_2d((2, 3), 12, dtype=x.dtype)
    tokens = (model.cls_token, model.dist_token)
    prefix = [t[0] for t in tokens if t is not None]
    x = torch.cat([*prefix, x])
    if config.positions == "learned":
        x = x + model.pos_embed.weight[0]
    if config.num_registers:
        count = len(prefix)
        x = torch.cat([x[:count], model.reg_token[0], x[count:]])
    return x


def normalise(norm, x):
    if isinstance(norm, torch.nn.RMSNorm):
        return F.rms_norm(x, x.shape[-1:], norm.weight, norm.eps)
    return F.layer_norm(x, x.shape[-1:], norm.weight, norm.bias, norm.eps)


def read_by_hand(model, tokens):
    """Return what the heads read from the last tokens of one image."""
    before = model.config.pool_norm == "before"
    if before:
        tokens = normalise(model.norm, tokens)
    registers = model.config.num_registers
    reads = {
        "class_token": lambda: [tokens[0]],
        "mean": lambda: [tokens[registers:].mean(dim=0)],
        "mean_patches": lambda: [tokens[1 + registers :].mean(dim=0)],
        "mean_all": lambda: [tokens.mean(dim=0)],
    }[model.config.pool]()
    if model.config.distilled:
        reads += [tokens[1]]
    return reads if before else [normalise(model.fc_norm, x) for x in reads]


def classify_by_hand(model, image, real):
    """Return the logits of one image without its hidden patches."""
    config = model.config
    prefix = torch.ones(config.num_prefix_tokens).bool()
    left = torch.cat([prefix, real])
    x = embed_by_hand(model, image)[left][None]
    turned = {}
    if config.positions == "rotary":
        angles = rotary_angles_2d(
            (2, 3),
            config.head_widths[0],
            num_prefix_tokens=len(prefix),
            dtype=x.dtype,
        )
        turned["rotary"] = angles[left]
    for block in model.blocks:
        x = block(x, **turned)
    outs = read_by_hand(model, x[0])
    if config.representation_size is not None:
        fc = model.pre_logits.fc
        outs = [(fc.weight @ out + fc.bias).tanh() for out in outs]
    if config.num_classes > 0:
        heads = (model.head, model.head_dist)
        outs = [
            head.weight @ out + head.bias
            for head, out in zip(heads, outs, strict=False)
        ]
    return torch.cat(outs) if model.training else sum(outs) / len(outs)


def compare_with_hand(model, mask):
    """Compare logits and gradients, and let each parameter get one.

    A hidden patch is as good as one that is cut out of the sequence.
    """
    rows = torch.ones_like(MASK) if mask is None else mask

    def by_hand(images):
        pairs = zip(images, rows, strict=True)
        return torch.stack([classify_by_hand(model, *pair) for pair in pairs])

    run = joined(model)
    found = gradients(lambda x: run(x, mask), IMAGES)
    assert_all_close(found, gradients(by_hand, IMAGES), 1e-11)
    run(IMAGES, mask).backward(draw(*found[0].shape, seed=99))
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().max() > 1e-9, name


@each_combination
def test_any_options_give_what_one_computes_by_hand(options, mask, training):
    compare_with_hand(make(**options).train(training), mask)


@each_combination
def test_a_new_head_stands_on_the_old_trunk(options, mask, training):
    model = make(**options).train(training)
    trunk = {k: v for k, v in model.state_dict().items() if "head" not in k}
    model.reset_head(5)
    state = model.state_dict()
    assert all(torch.equal(state.pop(name), trunk[name]) for name in trunk)
    zero = options["weights_init"] != "pytorch"
    assert {bool((head == 0).all()) for head in state.values()} == {zero}
    for head in state.values():
        torch.nn.init.normal_(head)
    compare_with_hand(model, mask)
    assert joined(model)(IMAGES).shape[1] in (5, 10)
    assert {module.training for module in model.modules()} == {training}
