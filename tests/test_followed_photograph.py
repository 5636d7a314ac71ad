"""What a page is told of a photograph is what the library finds."""

from functools import cache

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from explorers import arrays_of, followed_picture, walking_model
from zoo_file import needs_file

from vitedu.analysis.attention_maps import capture_attention
from vitedu.book.followed_photograph import (
    followed_photograph,
    followed_tokens,
)
from vitedu.config import ViTConfig
from vitedu.data.photographs import IMAGENET, photograph, preprocess
from vitedu.patches import patchify
from vitedu.pretrained.zoo import pretrained_vit
from vitedu.vit import VisionTransformer

HALF = 2**-10


@cache
def looked(model: VisionTransformer):
    """Return the image, (depth, token, d_model), (layer, head, token, key)."""
    side = 16 * model.config.patch_size
    image = preprocess(photograph("china"), side, normalisation=IMAGENET)
    with torch.no_grad(), capture_attention(model) as maps:
        after = model.layer_features(image[None])
        first = model.embed(image[None])
    return (
        image[None],
        torch.cat([first, *after]),
        torch.cat([*maps.values()]),
    )


def expect_all(model: VisionTransformer, given: dict) -> None:
    sent, chosen = arrays_of(given), followed_tokens()
    image, depths, weights = looked(model)
    every = model.config.d_model // 24

    def near(name: str, found, expected, slack: float = 1e-5) -> None:
        np.testing.assert_allclose(
            found, expected.numpy(), rtol=HALF, atol=slack, err_msg=name
        )

    patches = patchify(image, model.config.patch_size)[0]
    near("pixels", sent["pixels"], patches[np.array(chosen[1:]) - 1])
    numbers = torch.tensor(sent["numbers"].astype("f4")).transpose(0, 1)
    with torch.no_grad():
        projected = model.patch_embed(image)[0]
        last = model.norm(depths[-1])
    near(
        "projected",
        numbers[0, 1:],
        projected[np.array(chosen[1:]) - 1, ::every],
    )
    near("class token", numbers[0, 0], model.cls_token.detach()[0, 0, ::every])
    shown = depths[:, chosen, ::every]
    near("depths", numbers[1:-1:6], shown, 1e-4)
    near("last", numbers[-1], last[chosen, ::every], 1e-3)
    near("lengths", sent["lengths"][1:-1:6], depths.norm(dim=-1), 1e-4)
    # In a block, two sums and two norms.
    for block in range(model.config.num_layers):
        at = 1 + 6 * block
        before, first, attended, middle, second, fed, after = numbers[
            at : at + 7
        ]
        slack = 3e-3 * float(after.abs().max())
        near("first sum", middle, before + attended, slack)
        near("second sum", after, middle + fed, slack)
        with torch.no_grad():
            normed = model.blocks[block].norm1(depths[block])
        near("first norm", first, normed[chosen, ::every], 1e-3)
        assert (second - first).abs().max() > 0.01

    directions = F.normalize(depths, dim=-1)
    cosines = directions[:, chosen] @ directions[:, 1:].mT
    found = sent["cosines"].cumsum(axis=0, dtype="i1") / 100
    assert np.abs(found - cosines.numpy()).max() <= 0.005 + 1e-5
    mine = weights[:, :, chosen]
    best = mine.topk(5, dim=-1)
    own = mine[:, :, range(17), chosen]
    near("best", sent["weights"][..., :5], best.values)
    near("own", sent["weights"][..., 5], own)
    near("class", sent["weights"][..., 6], mine[..., 0])
    shown = np.take_along_axis(mine.numpy(), sent["best"].astype(int), -1)
    near("places", shown, best.values)
    shares = (mine / mine.amax(-1, keepdim=True)).numpy()
    assert np.abs(sent["shades"] / 20 - shares).max() <= 0.025 + 1e-5


def components(tokens: torch.Tensor) -> np.ndarray:
    apart = tokens - tokens.mean(dim=0)
    found = apart @ torch.linalg.svd(apart, full_matrices=False)[2][:3].T
    return found.double().numpy()


def test_a_page_gets_what_the_library_finds():
    model = walking_model()
    expect_all(model, followed_picture())


def test_colours_are_principal_components():
    model = walking_model()
    sent = arrays_of(followed_picture())["colours"]
    image, depths, _ = looked(model)
    with torch.no_grad():
        projected = model.patch_embed(image)[0]
        last = model.norm(depths[-1])[1:]
    expected = [projected, *depths[:, 1:], last]
    assert len(sent) == len(expected)
    for found, tokens in zip(sent, expected, strict=True):
        for shown, component in zip(
            found.T, components(tokens).T, strict=True
        ):
            low, high = np.quantile(component, [0.02, 0.98])
            shares = 255 * ((component - low) / (high - low)).clip(0, 1)
            # Which way a component points is free.
            ways = np.abs(shown - shares), np.abs(255 - shown - shares)
            assert min(way.max() for way in ways) < 3


def test_every_fourth_patch_can_be_followed():
    chosen = followed_tokens()
    assert len(chosen) == 17
    assert chosen[0] == 0
    rows, columns = np.divmod(np.array(chosen[1:]) - 1, 16)
    assert set(rows) == {3, 7, 11, 15}
    assert set(columns) == {1, 5, 9, 13}


@needs_file
def test_the_trained_network_fits_into_a_page():
    model = pretrained_vit()
    given = followed_photograph(model)
    expect_all(model, given)
    assert len(given["data"]) + len(given["picture"]) < 250_000
    assert model.config.num_registers == 0
    assert model.config.num_classes == 0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"num_registers": 2}, "no other token"),
        ({"pool": "mean"}, "have a class token"),
        ({"image_size": 30}, "16 x 16 square patches"),
        ({"parallel": True}, "two branches"),
        ({"d_model": 30}, "24 divides"),
        ({"positions": "none"}, "learned positions"),
    ],
)
def test_other_models_are_refused(changes, message):
    sizes = {"d_model": 24, "num_heads": 3, "num_layers": 2, "d_ff": 7}
    sizes |= {"image_size": 32, "patch_size": 2, "num_classes": 0}
    model = VisionTransformer(ViTConfig(**sizes | changes))
    with pytest.raises(ValueError, match=f"^model must .*{message}"):
        followed_photograph(model)


def test_other_names_are_refused():
    with pytest.raises(ValueError, match="name must be"):
        followed_photograph(walking_model(), "dog")
    with pytest.raises(TypeError):
        followed_photograph(torch.nn.Identity())
