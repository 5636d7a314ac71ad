"""The exercises of chapter 14, training a ViT."""

import pytest
import torch
from judging import expect_thought, expect_unfinished

from vitedu.exercises import chapter_14 as check


def test_num_tokens_accepts_the_number():
    assert check.num_tokens(197)
    assert check.num_tokens(197.0)


@pytest.mark.parametrize(
    ("answer", "thought"),
    [
        (196, "who else"),
        (256, "in pixels"),
        (14, "one side"),
        (15, "and a token"),
        (768, "width of a token"),
    ],
)
def test_num_tokens_names_the_mistake(answer, thought):
    expect_thought(check.num_tokens(answer), thought)


def test_a_count_has_no_tolerance():
    assert not check.num_tokens(198)


def cut(order, *, columns_first=False, strided=False):
    """Cut patches by loops, with one thing wrong if asked for."""

    def candidate(images, p):
        rows, columns = images.shape[2] // p, images.shape[3] // p
        if strided:
            squares = [
                images[:, :, r::rows, c::columns]
                for r in range(rows)
                for c in range(columns)
            ]
        else:
            places = [(r, c) for r in range(rows) for c in range(columns)]
            if columns_first:
                places.sort(key=lambda place: place[::-1])
            squares = [
                images[:, :, r * p : r * p + p, c * p : c * p + p]
                for r, c in places
            ]
        return torch.stack(
            [x.permute(0, *order).flatten(1) for x in squares], dim=1
        )

    return candidate


def test_cut_patches_accepts_a_solution():
    assert check.cut_patches(cut((1, 2, 3))).right


@pytest.mark.parametrize(
    ("candidate", "thought"),
    [
        (
            lambda images, p: images.reshape(
                len(images), -1, images.shape[1] * p * p
            ),
            "reshaped without moving axes",
        ),
        (cut((1, 2, 3), columns_first=True), "run down the columns"),
        (cut((2, 3, 1)), "(row, column, channel)"),
        (cut((1, 2, 3), strided=True), "takes every n-th pixel"),
        (lambda images, p: images[:, :, ::p, ::p], "the shape is"),
    ],
)
def test_cut_patches_names_the_mistake(candidate, thought):
    expect_thought(check.cut_patches(candidate), thought)


def test_unfinished_answers():
    expect_unfinished(check.num_tokens, check.cut_patches)
