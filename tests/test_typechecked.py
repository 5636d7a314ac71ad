"""The checks of the signatures' shapes are on, and can be put aside."""

import pytest
import torch
from helpers import refuses
from jaxtyping import TypeCheckError

from vitedu.attention import scaled_dot_product_attention
from vitedu.masks import causal_mask, padding_mask


def test_a_wrong_type_is_seen():
    with pytest.raises(TypeCheckError, match="length"):
        causal_mask("three")


def test_a_wrong_number_of_axes_is_seen():
    with pytest.raises(TypeCheckError, match="tokens"):
        padding_mask(torch.tensor([1, 2, 0]), 0)


@pytest.mark.parametrize("shape", [(1, 1, 1, 7), (2, 3, 5, 7), (2, 1, 5, 7)])
def test_a_mask_may_have_axes_of_size_one(shape):
    q, k = torch.zeros(2, 3, 5, 11), torch.zeros(2, 3, 7, 11)
    mask = torch.ones(shape, dtype=torch.bool)
    assert scaled_dot_product_attention(q, k, k, mask).shape == q.shape


def test_the_key_axis_of_a_mask_may_not_have_size_one():
    q, k = torch.zeros(2, 3, 5, 11), torch.zeros(2, 3, 7, 11)
    with pytest.raises(TypeCheckError, match="mask"):
        scaled_dot_product_attention(
            q, k, k, torch.ones(2, 3, 5, 1, dtype=torch.bool)
        )


def test_refuses_lets_the_library_speak_for_itself():
    with refuses(TypeError, "length must be an integer, got 'three'"):
        causal_mask("three")
