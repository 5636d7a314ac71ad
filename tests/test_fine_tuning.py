"""A trained model for images of one's own: what stays, what learns."""

import pytest
import torch
from helpers import assert_all_close
from small_runs import make_model
from torch.utils.data import DataLoader, TensorDataset

from vitedu.config import TrainConfig, ViTConfig
from vitedu.data.normalisation import IMAGENET
from vitedu.training.fine_tuning import (
    freeze_all_but,
    frozen_features,
    resized_vit,
)
from vitedu.training.loop import fit
from vitedu.vit import VisionTransformer

CONFIG = ViTConfig(
    image_size=12,
    patch_size=2,
    num_classes=0,
    d_model=12,
    num_layers=3,
    num_heads=3,
    d_ff=8,
    layer_scale=0.5,
    num_registers=2,
    any_image_size=True,
)


def drawn(**changes):
    torch.manual_seed(0)
    model = VisionTransformer(ViTConfig(**(vars(CONFIG) | changes))).double()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter)
    return model.eval()


@pytest.mark.parametrize("image_size", [8, (6, 16)])
@pytest.mark.parametrize(
    "changes", [{}, {"resampling": "bilinear"}, {"positions": "none"}]
)
def test_another_image_size_is_what_the_model_does_by_itself(
    image_size, changes
):
    model = drawn(**changes)
    other = resized_vit(model, image_size=image_size)
    images = torch.randn(2, 3, *other.config.image_shape).double()
    assert_all_close((other(images),), (model(images),))
    assert other.config.image_size == image_size
    assert model.config.image_size == 12


def test_a_shallower_copy_ends_after_a_block():
    model = drawn()
    model.class_names, model.normalisation = ("a",), IMAGENET
    other = resized_vit(model, image_size=12, num_blocks=2)
    images = torch.randn(2, 3, 12, 12).double()
    expected = model.norm(model.layer_features(images)[1])[:, 0]
    assert_all_close((other(images),), (expected,))
    assert (other.class_names, other.normalisation) == (("a",), IMAGENET)
    with torch.no_grad():
        other.cls_token.zero_()
    assert model.cls_token.any()


@pytest.mark.parametrize("count", [1, 3])
def test_the_last_blocks_learn_and_what_follows_them(count):
    model = make_model(num_layers=3, representation_size=7)
    freeze_all_but(model, count)
    before = {k: v.clone() for k, v in model.state_dict().items()}
    data = TensorDataset(torch.randn(12, 1, 8, 8), torch.arange(12) % 10)
    config = TrainConfig(num_epochs=3, learning_rate=0.01, layer_decay=0.9)
    fit(model, DataLoader(data, batch_size=4), config)
    changed = {
        k for k, v in model.state_dict().items() if (v != before[k]).any()
    }
    after = tuple(f"blocks.{i}." for i in range(3 - count, 3))
    after += ("norm.", "pre_logits.", "head.")
    assert changed == {name for name in before if name.startswith(after)}


@pytest.mark.parametrize("changes", [{}, {"representation_size": 7}])
def test_features_are_what_the_head_reads(changes):
    model = make_model(**changes)
    images, labels = torch.randn(7, 1, 8, 8), torch.arange(7)
    loader = DataLoader(TensorDataset(images, labels), batch_size=3)
    found = frozen_features(model, loader)
    features, targets = found.tensors
    assert not features.requires_grad
    assert torch.equal(targets, labels)
    assert not model.training
    with torch.no_grad():
        assert_all_close(
            (model.head(features),), (model(images),), tolerance=1e-6
        )
