"""Masks: who may attend to whom."""

import pytest
import torch
from helpers import PROPERTY, refuses
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


@pytest.mark.parametrize(
    "shape",
    [(3, 3, 5, 7), (2, 2, 5, 7), (2, 3, 7, 7), (2, 3, 5, 1), (2, 3, 5, 5)],
)
def test_check_mask_refuses_other_sizes(shape):
    with refuses(
        ValueError,
        "mask must fit (batch|1, heads|1, query|1, key) = (2, 3, 5, 7), "
        f"got shape {shape}",
    ):
        check_mask(torch.ones(shape, dtype=torch.bool), 2, 3, 5, 7)


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.uint8])
def test_check_mask_refuses_numbers(dtype):
    with refuses(
        TypeError,
        f"mask must be boolean (True = may attend), got dtype {dtype}",
    ):
        check_mask(torch.ones(2, 3, 5, 7, dtype=dtype), 2, 3, 5, 7)


@pytest.mark.parametrize("shape", [(5, 7), (2, 5, 7), (1, 2, 3, 5, 7)])
def test_check_mask_refuses_other_ranks(shape):
    with refuses(
        ValueError,
        "mask must have the axes (batch heads query key), got shape",
    ):
        check_mask(torch.ones(shape, dtype=torch.bool), 2, 3, 5, 7)


def test_check_mask_refuses_what_is_no_tensor():
    with refuses(TypeError, "mask must be a tensor, got list"):
        check_mask([[True]], 1, 1, 1, 1)


def test_causal_mask_refuses():
    with refuses(ValueError, "length must be at least 1, got 0"):
        causal_mask(0)
    with refuses(TypeError, "length must be an integer, got 3.0"):
        causal_mask(3.0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bool])
def test_padding_mask_refuses_what_are_no_ids(dtype):
    with refuses(
        TypeError,
        f"tokens must hold integer ids of 32 or 64 bits, got dtype {dtype}",
    ):
        padding_mask(torch.ones(2, 3, dtype=dtype), 0)


def test_padding_mask_refuses_other_arguments():
    with refuses(ValueError, "tokens must have the axes (batch key)"):
        padding_mask(torch.tensor([1, 2]), 0)
    with refuses(TypeError, "pad_id must be an integer, got '<pad>'"):
        padding_mask(torch.tensor([[1, 2]]), "<pad>")
