"""The exercises of chapter 5, multi-head attention."""

import pytest
import torch
from judging import expect_thought, expect_unfinished

from vitedu.attention import MultiHeadAttention
from vitedu.exercises import chapter_05 as check


def test_parameters_accepts_the_number():
    layer = MultiHeadAttention(512, 8, qkv_bias=False, proj_bias=False)
    assert check.parameters(sum(p.numel() for p in layer.parameters()))
    assert check.parameters(1_048_576.0)


@pytest.mark.parametrize(
    ("answer", "thought"),
    [
        (3 * 512**2, "the matrix after the heads is missing"),
        (4 * 512**2 + 4 * 512, "with biases"),
        (4 * 512 * 64, "that is one head"),
        (3 * 512 * 64 + 512**2, "of one head only"),
        (32 * 512**2, "not 512"),
        (25 * 512**2, "not 512"),
        (512**2, "one matrix"),
        (1_048_575, "is not it"),
    ],
)
def test_parameters_names_the_mistake(answer, thought):
    expect_thought(check.parameters(answer), thought)


def layer(*, split="right", merge="right", divide=None, mix=True, axis=-1):
    """Write the layer out with loops and slices, a part wrong if asked for."""

    def candidate(x, w_qkv, w_o, num_heads):
        batch, length, d_model = x.shape
        width = d_model // num_heads
        whole = (x @ w_qkv).split(d_model, dim=-1)
        if split == "view":
            parts = [p.reshape(batch, num_heads, length, width) for p in whole]
        elif split == "swapped":
            parts = [
                torch.stack(
                    [p[..., h::num_heads] for h in range(num_heads)], 1
                )
                for p in whole
            ]
        else:
            parts = [torch.stack(p.split(width, dim=-1), 1) for p in whole]
        q, k, v = parts
        divisor = width**0.5 if divide is None else divide(width, d_model)
        scores = torch.einsum("bhqd,bhkd->bhqk", q, k) / divisor
        out = scores.softmax(dim=axis) @ v
        if merge == "view":
            merged = out.reshape(batch, length, d_model)
        elif merge == "order":
            merged = out.permute(0, 2, 3, 1).flatten(2)
        else:
            merged = torch.cat(out.unbind(1), dim=-1)
        return merged @ w_o if mix else merged

    return candidate


def library(x, w_qkv, w_o, num_heads):
    """Solve it with the library."""
    made = MultiHeadAttention(
        x.shape[-1], num_heads, qkv_bias=False, proj_bias=False
    )
    weights = {"qkv.weight": w_qkv.T, "proj.weight": w_o.T}
    return torch.func.functional_call(made, weights, x)


@pytest.mark.parametrize("solution", [layer(), library])
def test_multi_head_accepts_a_solution(solution):
    assert check.multi_head(solution).right


def by_d_model(width, d_model):
    return d_model**0.5


@pytest.mark.parametrize(
    ("options", "thought"),
    [
        (
            {"split": "view", "merge": "view", "divide": by_d_model},
            "three mistakes are left. The first: you split",
        ),
        (
            {"split": "view", "merge": "view"},
            "two mistakes are left. The first: you split",
        ),
        (
            {"split": "view", "divide": by_d_model},
            "two mistakes are left, and one of them: you split",
        ),
        (
            {"merge": "view", "divide": by_d_model},
            "two mistakes are left, and one of them: you merge",
        ),
        ({"split": "view"}, "3 heads: you split by a view"),
        ({"merge": "view"}, "3 heads: you merge the heads without"),
        ({"divide": by_d_model}, "3 heads: you divide by the root of d_model"),
        ({"divide": lambda width, d_model: 1}, "left out the scale"),
        ({"divide": lambda width, d_model: width}, "its square root is right"),
        ({"split": "swapped"}, "heads and head_dim are swapped"),
        ({"merge": "order"}, "in the wrong order"),
        ({"mix": False}, "left out w_o"),
        ({"axis": -2}, "softmax runs over the queries"),
    ],
)
def test_multi_head_names_the_mistake(options, thought):
    expect_thought(check.multi_head(layer(**options)), thought)


def test_unfinished_answers():
    expect_unfinished(check.parameters, check.multi_head)
