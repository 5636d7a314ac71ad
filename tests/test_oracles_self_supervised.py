"""What is learned without labels, against Hugging Face's and the algorithm.

Weights are drawn and copied; in double precision the numbers agree, and so
do the gradients of every parameter.
"""

import copy

import pytest
import torch
from helpers import assert_all_close, draw, gradients
from test_oracles_huggingface import (
    VIT_NAMES,
    compare_parameters,
    drawn,
    renamed,
)
from torch import nn
from transformers import (
    CLIPConfig,
    CLIPModel,
    SiglipConfig,
    SiglipModel,
    ViTMAEConfig,
    ViTMAEForPreTraining,
)

from vitedu.config import ViTConfig
from vitedu.objectives.contrastive import clip_loss, siglip_loss
from vitedu.objectives.masked_autoencoder import (
    MaskedAutoencoder,
    random_hidden,
)
from vitedu.objectives.self_distillation import SelfDistillation

CONFIG = ViTConfig(
    image_size=12,
    patch_size=3,
    num_channels=2,
    num_classes=0,
    d_model=12,
    num_layers=2,
    num_heads=3,
    d_ff=7,
    layer_norm_eps=0.1,
)
MAE_NAMES = {
    r"^(decoder_.*|mask_token)": r"decoder.\1",
    r"decoder_blocks": "decoder_layers",
    r"decoder_pos_embed.weight": "decoder_pos_embed",
    r"(decoder_layers.*)norm1": r"\1layernorm_before",
    r"(decoder_layers.*)norm2": r"\1layernorm_after",
    r"(decoder_layers.*)attn\.proj": r"\1attention.o_proj",
    r"(decoder_layers.*)attn\.": r"\1attention.",
}


def mae_names():
    """Return how the encoder, and then the decoder, are called by them."""
    encoder = {
        ours.replace("^", "^encoder."): f"vit.{theirs}"
        if ours.startswith("^")
        else theirs
        for ours, theirs in VIT_NAMES.items()
    }
    return MAE_NAMES | encoder


def values_last(tensors):
    """Reorder what a patch holds: theirs is (row, column, channel)."""
    found = dict(tensors)
    for name in ("decoder_pred.weight", "decoder_pred.bias"):
        by_axis = found[name].unflatten(0, (2, 3, 3))
        found[name] = by_axis.movedim(0, 2).flatten(0, 2)
    return found


def both_maes(normalise):
    ours = MaskedAutoencoder(
        CONFIG,
        decoder_width=8,
        decoder_layers=2,
        decoder_heads=4,
        normalise_patches=normalise,
    )
    ours = drawn(ours).double()
    theirs = ViTMAEForPreTraining(
        ViTMAEConfig(
            image_size=12,
            patch_size=3,
            num_channels=2,
            hidden_size=12,
            num_hidden_layers=2,
            num_attention_heads=3,
            intermediate_size=7,
            layer_norm_eps=0.1,
            decoder_hidden_size=8,
            decoder_num_hidden_layers=2,
            decoder_num_attention_heads=4,
            decoder_intermediate_size=32,
            mask_ratio=0.75,
            norm_pix_loss=normalise,
        )
    ).double()
    theirs.load_state_dict(
        renamed(values_last(ours.state_dict()), mae_names()), strict=True
    )
    theirs.requires_grad_(True)  # of fixed positions, too
    return ours, theirs


IMAGES = draw(3, 2, 12, 12)
HIDDEN = random_hidden(3, 16, generator=torch.Generator().manual_seed(0))
# They hide what has the largest noise, in an order of its own.
NOISE = torch.rand(3, 16, generator=torch.Generator().manual_seed(1)) + HIDDEN


@pytest.mark.parametrize("normalise", [False, True])
def test_the_masked_autoencoder_is_that_of_hugging_face(normalise):
    ours, theirs = both_maes(normalise)
    out = theirs(IMAGES, noise=NOISE)
    assert torch.equal(out.mask.bool(), HIDDEN)
    guesses = ours(IMAGES, HIDDEN).unflatten(2, (2, 3, 3)).movedim(2, 4)
    assert_all_close((guesses.flatten(2),), (out.logits,))
    assert_all_close(
        gradients(lambda x: ours.loss(x, HIDDEN), IMAGES),
        gradients(lambda x: theirs(x, noise=NOISE).loss, IMAGES),
    )


@pytest.mark.parametrize("normalise", [False, True])
def test_so_are_the_gradients_of_its_parameters(normalise):
    ours, theirs = both_maes(normalise)
    ours.loss(IMAGES, HIDDEN).backward()
    theirs(IMAGES, noise=NOISE).loss.backward()
    for parameter, gradient in values_last(
        {name: p.grad for name, p in ours.named_parameters()}
    ).items():
        ours.get_parameter(parameter).grad = gradient
    compare_parameters(ours, theirs, mae_names(), 1e-12)


TOWER = {
    "hidden_size": 8,
    "intermediate_size": 5,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
}
TEXT = {
    "vocab_size": 9,
    "max_position_embeddings": 4,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
LOSSES = {
    "CLIP": (clip_loss, CLIPModel, CLIPConfig),
    "SigLIP": (siglip_loss, SiglipModel, SiglipConfig),
}


@pytest.mark.parametrize("name", LOSSES)
def test_the_loss_of_pairs_is_that_of_hugging_face(name):
    ours, kind, config = LOSSES[name]
    theirs = drawn(
        kind(
            config(
                text_config=TOWER | TEXT,
                vision_config=TOWER | {"image_size": 6, "patch_size": 3},
            )
        )
    ).double()
    out = theirs(
        input_ids=torch.tensor([[1, 3, 4, 2], [1, 5, 6, 2], [1, 7, 8, 2]]),
        pixel_values=draw(3, 3, 6, 6),
        return_loss=True,
    )
    (their_gradient,) = torch.autograd.grad(out.loss, out.logits_per_text)
    similarities = out.logits_per_image.detach().requires_grad_()
    loss = ours(similarities)
    loss.backward()
    assert_all_close((loss, similarities.grad), (out.loss, their_gradient.mT))


def algorithm_1(student, teacher, views, centre, step, *, tps, tpt, rate, m):
    """Write down algorithm 1 of Caron et al. 2021, one line after another.

    Returns the loss and the next centre; the networks change.
    """

    def entropy(t, s):
        t = t.detach()
        s = torch.softmax(s / tps, dim=1)
        t = torch.softmax((t - centre) / tpt, dim=1)
        return -(t * torch.log(s)).sum(dim=1).mean()

    first, second = views
    s1, s2 = student(first), student(second)
    t1, t2 = teacher(first), teacher(second)
    loss = entropy(t1, s2) / 2 + entropy(t2, s1) / 2
    loss.backward()
    step()
    with torch.no_grad():
        for old, new in zip(
            teacher.parameters(), student.parameters(), strict=True
        ):
            old.copy_(rate * old + (1 - rate) * new)
        centre = m * centre + (1 - m) * torch.cat([t1, t2]).mean(dim=0)
    return loss, centre


def make_student():
    student = nn.Sequential(nn.Flatten(), nn.Linear(12, 7), nn.Tanh())
    return drawn(nn.Sequential(student, nn.Linear(7, 5))).double()


def test_self_distillation_is_algorithm_1():
    ours = SelfDistillation(
        make_student(),
        5,
        momentum=0.9,
        student_temperature=0.2,
        teacher_temperature=0.05,
        centre_momentum=0.7,
    ).double()
    student = make_student()
    teacher = copy.deepcopy(student)
    centre = torch.zeros(5).double()
    ours_step = torch.optim.SGD(ours.student.parameters(), lr=0.3)
    their_step = torch.optim.SGD(student.parameters(), lr=0.3)
    for seed in range(4):
        views = draw(2, 6, 3, 2, 2, seed=seed)
        ours_step.zero_grad()
        their_step.zero_grad()
        loss = ours(list(views))
        loss.backward()
        ours_step.step()
        ours.follow()
        expected, centre = algorithm_1(
            student,
            teacher,
            views,
            centre,
            their_step.step,
            tps=0.2,
            tpt=0.05,
            rate=0.9,
            m=0.7,
        )
        assert_all_close((loss,), (expected,))
        pairs = [(ours.student, student), (ours.teacher, teacher)]
        for found, model in pairs:
            assert_all_close(
                tuple(found.parameters()), tuple(model.parameters())
            )
        assert_all_close(
            tuple(p.grad for p in ours.student.parameters()),
            tuple(p.grad for p in student.parameters()),
        )
        assert_all_close((ours.centre,), (centre,))
    assert ours.centre.abs().max() > 0.01
