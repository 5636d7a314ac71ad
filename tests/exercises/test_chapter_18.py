"""The exercises of chapter 18, pretrained weights."""

import pytest
import torch
from judging import expect_thought, expect_unfinished

from vitedu.config import ViTConfig
from vitedu.exercises import chapter_18 as check
from vitedu.pretrained import config_of, load_vit


def test_image_side_accepts_the_number():
    config = ViTConfig.l32(image_size=384)
    assert 1 + config.num_patches == 145
    assert check.image_side(config.image_size)
    assert check.image_side(384.0)


@pytest.mark.parametrize(
    ("answer", "thought"),
    [
        (224, "the usual size"),
        (145 * 32, "all positions stood in one row"),
        (144 * 32, "all patches stood in one row"),
        (12, "in patches"),
        (144, "number of patches"),
        (145, "number of positions"),
        (192, "patches of 16"),
        (32, "one patch"),
        (385, "is not it"),
    ],
)
def test_image_side_names_the_mistake(answer, thought):
    expect_thought(check.image_side(answer), thought)


def rows(weight, num_heads, kinds=(0, 1, 2), *, every_third=False):
    """Pick the rows one by one."""
    k = len(weight) // (3 * num_heads)
    if every_third:
        return torch.cat([weight[kind::3] for kind in kinds])
    return torch.stack(
        [
            weight[(head * 3 + kind) * k + column]
            for kind in kinds
            for head in range(num_heads)
            for column in range(k)
        ]
    )


def heads_change_fastest(weight, num_heads):
    thirds = weight.chunk(3)
    return torch.cat(
        [x[h::num_heads] for x in thirds for h in range(num_heads)]
    )


def the_other_way(weight, num_heads):
    places = rows(torch.arange(len(weight))[:, None], num_heads)[:, 0]
    return weight[places.argsort()]


def kinds_of_timm_by_column(weight, num_heads):
    k = len(weight) // (3 * num_heads)
    by_kind = rows(weight, num_heads).reshape(3, num_heads, k, -1)
    return by_kind.transpose(1, 2).flatten(0, 2)


def without_picking(weight, num_heads):
    """Split the rows into axes and bring the kinds to the front."""
    by_head = weight.reshape(num_heads, 3, -1, weight.shape[1])
    return torch.cat([by_head[:, kind].flatten(0, 1) for kind in range(3)])


@pytest.mark.parametrize("solution", [rows, without_picking])
def test_by_kind_accepts_a_solution(solution):
    assert check.by_kind(solution).right


@pytest.mark.parametrize(
    ("candidate", "thought"),
    [
        (lambda weight, heads: weight, "left the rows as they are"),
        (the_other_way, "the other way round"),
        (lambda w, h: rows(w, h, every_third=True), "every third row"),
        (heads_change_fastest, "the heads change fastest"),
        (kinds_of_timm_by_column, "interleaved"),
        (lambda w, h: rows(w, h, (1, 0, 2)), "keys come before queries"),
        (lambda w, h: rows(w, h, (0, 2, 1)), "values come before keys"),
        (lambda w, h: rows(w, h)[:-1], "the shape is"),
    ],
)
def test_by_kind_names_the_mistake(candidate, thought):
    expect_thought(check.by_kind(candidate), thought)


def test_one_number_of_heads_alone_fits_the_mystery(tmp_path):
    path = tmp_path / "mystery.safetensors"
    images, logits = check.mystery(path)
    assert config_of(path).num_heads == 1
    fitting = []
    for heads in (1, 2, 3, 4, 6, 8, 12, 24):
        model = load_vit(path, config_of(path, num_heads=heads))
        with torch.no_grad():
            off = (model(images) - logits).abs().max()
        if off < 1e-4:
            fitting.append(heads)
        else:
            assert off > 0.05
            assert not check.heads_of_mystery(heads)
    assert len(fitting) == 1
    assert check.heads_of_mystery(fitting[0])
    assert check.heads_of_mystery(float(fitting[0]))


@pytest.mark.parametrize(
    ("answer", "thought"),
    [
        (1, "the file claims"),
        (4, "the width of a head"),
        (3, "the logits are others"),
        (5, "cannot be shared out"),
        (64, "only 24"),
        (7, "is not it"),
    ],
)
def test_heads_of_mystery_names_the_mistake(answer, thought):
    expect_thought(check.heads_of_mystery(answer), thought)


def test_unfinished_answers():
    expect_unfinished(check.image_side, check.by_kind)
    expect_thought(check.heads_of_mystery(None), "write your prediction")
