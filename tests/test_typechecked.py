"""The checks of the signatures' shapes are on, and can be put aside."""

import pytest
import torch
from jaxtyping import TypeCheckError

from vitedu.attention import scaled_dot_product_attention
from vitedu.masks import causal_mask


def test_a_wrong_type_is_seen():
    with pytest.raises(TypeCheckError, match="length"):
        causal_mask("three")


@pytest.mark.parametrize("shape", [(1, 1, 1, 7), (2, 3, 5, 7), (2, 1, 5, 7)])
def test_a_mask_may_have_axes_of_size_one(shape):
    q, k = torch.zeros(2, 3, 5, 11), torch.zeros(2, 3, 7, 11)
    mask = torch.ones(shape, dtype=torch.bool)
    assert scaled_dot_product_attention(q, k, k, mask).shape == q.shape
