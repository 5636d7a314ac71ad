"""Images of any size, and the tokens of every layer."""

import pytest
import torch
from helpers import assert_all_close, draw, gradients, refuses

from vitedu.config import ViTConfig
from vitedu.positions import interpolate_positions
from vitedu.vit import VisionTransformer

MODES = ("bicubic", "bicubic_antialias", "bilinear")


def make(**changes):
    """Make a model whose parameters are all drawn."""
    torch.manual_seed(0)
    sizes = {"image_size": (12, 20), "patch_size": (3, 5), "d_model": 12}
    sizes |= {"num_layers": 3, "num_heads": 2, "d_ff": 17, "num_classes": 7}
    config = ViTConfig(**(sizes | {"any_image_size": True} | changes))
    model = VisionTransformer(config).double()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    return model


def made_for(model, image_size):
    """Return a model of these images alone, its positions stretched."""
    state = model.state_dict()
    config = model.config
    fixed = make(
        image_size=image_size,
        any_image_size=False,
        num_registers=config.num_registers,
        distilled=config.distilled,
        positions=config.positions,
    )
    if config.positions == "learned":
        state["pos_embed.weight"] = interpolate_positions(
            state["pos_embed.weight"],
            (4, 4),
            fixed.config.grid_size,
            num_prefix_tokens=config.num_placed_tokens,
            mode=config.resampling,
        )
    fixed.load_state_dict(state)
    return fixed


@pytest.mark.parametrize("image_size", [(12, 20), (6, 45), (21, 5)])
@pytest.mark.parametrize(
    "changes",
    [
        *({"resampling": mode} for mode in MODES),
        {"num_registers": 4},
        {"distilled": True},
        {"positions": "none"},
    ],
    ids=str,
)
def test_any_size_is_that_of_a_model_made_for_it(image_size, changes):
    model = make(**changes).eval()
    fixed, images = made_for(model, image_size).eval(), draw(2, 3, *image_size)
    patches = fixed.config.num_patches
    mask = torch.arange(patches) < torch.tensor([[patches], [2]])
    for patch_mask in (None, mask):
        assert_all_close(
            gradients(lambda x, m=patch_mask: model(x, m), images),
            gradients(lambda x, m=patch_mask: fixed(x, m), images),
        )


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((2, 3, 12, 21), "width of images must be divisible by patch_size"),
        ((2, 3, 10, 20), "height of images must be divisible by patch_size"),
        ((2, 3, 12, 0), "width of images must be at least 1, got 0"),
        ((2, 1, 12, 20), "(channel, height, width) = (3, 12, 20), got (1, 12"),
        (
            (3, 12, 20),
            "images must have the axes (batch channel height width)",
        ),
    ],
)
def test_sizes_that_no_patch_divides_are_refused(shape, message):
    with refuses(ValueError, message):
        make()(draw(*shape))


def test_sinusoids_are_for_one_grid():
    with refuses(
        ValueError, "positions must be 'learned', 'rotary' or 'none' with any"
    ):
        make(positions="sinusoidal")


@pytest.mark.parametrize("norm_first", [True, False])
def test_each_layer_is_what_its_block_made_of_the_one_before(norm_first):
    model = make(norm_first=norm_first, num_registers=2).eval()
    images, mask = draw(2, 3, 12, 20), torch.arange(16) < 9
    mask = mask.expand(2, -1)
    found = model.layer_features(images, mask)
    x = model.embed(images)
    visible = torch.cat([torch.ones(2, 3).bool(), mask], dim=1)[:, None, None]
    for features, block in zip(found, model.blocks, strict=True):
        x = block(x, visible)
        assert torch.equal(features, x)
    last = model.forward_features(images, mask)
    assert torch.equal(model.norm(found[-1]), last)
