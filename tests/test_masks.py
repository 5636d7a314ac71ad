"""Masks: who may attend to whom."""

import pytest
import torch
from helpers import PROPERTY
from hypothesis import given
from hypothesis import strategies as st

from vitedu.masks import causal_mask, check_mask, padding_mask


def test_causal_mask_by_hand():
    expected = [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    assert causal_mask(3).dtype == torch.bool
    assert causal_mask(3).int().tolist() == [[expected]]


def test_causal_mask_is_made_on_the_device():
    assert causal_mask(3, device="meta").device.type == "meta"


def test_padding_mask_by_hand():
    tokens = torch.tensor([[5, 3, 0, 0], [1, 2, 3, 0]])
    mask = padding_mask(tokens, 0)
    assert mask.dtype == torch.bool
    assert mask.int().tolist() == [[[[1, 1, 0, 0]]], [[[1, 1, 1, 0]]]]


def test_padding_mask_takes_any_id():
    tokens = torch.tensor([[0, -100, 7]])
    assert padding_mask(tokens, -100).tolist() == [[[[True, False, True]]]]


@PROPERTY
@given(st.lists(st.lists(st.integers(0, 3), min_size=5, max_size=5)))
def test_masks_combine_with_and(rows):
    tokens = torch.tensor(rows, dtype=torch.int64).reshape(-1, 5)
    both = causal_mask(5) & padding_mask(tokens, 0)
    assert both.shape == (len(rows), 1, 5, 5)
    for b, row in enumerate(rows):
        for query in range(5):
            for key in range(5):
                may = key <= query and row[key] != 0
                assert both[b, 0, query, key].item() == may
    assert torch.equal(both & causal_mask(5), both)


@PROPERTY
@given(st.integers(1, 40))
def test_the_number_of_permissions_is_that_of_a_triangle(length):
    assert causal_mask(length).sum() == length * (length + 1) // 2


@pytest.mark.parametrize(
    "shape", [(2, 3, 5, 7), (1, 3, 5, 7), (2, 1, 5, 7), (1, 1, 1, 7)]
)
def test_check_mask_accepts(shape):
    check_mask(torch.ones(shape, dtype=torch.bool), 2, 3, 5, 7)
