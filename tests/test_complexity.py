"""The complexity of layers: each number measured on a layer that runs."""

from functools import partial

import pytest
import torch
import torch.nn.functional as F
from helpers import draw
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from vitedu.analysis.complexity import layer_flops, receptive_field
from vitedu.attention import MultiHeadAttention, scaled_dot_product_attention

D = 12


def count(run, *inputs):
    with (
        sdpa_kernel(SDPBackend.MATH),
        FlopCounterMode(display=False) as counter,
    ):
        run(*inputs)
    return counter.get_total_flops()


def restricted(x, window):
    """Let each token attend to its own window, written with products."""
    keys = F.pad(x, (0, 0, window // 2, window - 1 - window // 2))
    keys = keys.unfold(1, window, 1)[0]  # (query, d_model, key)
    weights = (x[0, :, None] @ keys).softmax(dim=-1)
    return weights @ keys.transpose(1, 2)


def elman(x):
    """Step through a recurrent layer, as the fused one cannot be counted."""
    cell, state = nn.RNNCell(D, D), torch.zeros(1, D)
    for token in x.unbind(1):
        state = cell(token, state)
    return state


@pytest.mark.parametrize("n", [64, 128, 256])
def test_flops_are_those_of_a_layer_that_runs(n):
    x = torch.randn(1, n, D)
    q = x[:, None]
    attention = partial(scaled_dot_product_attention, q, q, q)
    convolution = nn.Conv1d(D, D, 3, padding=1)
    assert layer_flops("attention", n, D) == count(attention)
    assert layer_flops("recurrent", n, D) == count(elman, x)
    assert layer_flops("convolution", n, D, window=3) == count(
        convolution, x.mT
    )
    assert layer_flops("restricted attention", n, D, window=7) == count(
        restricted, x, 7
    )
    assert layer_flops("attention", n, D, projections=True) == count(
        MultiHeadAttention(D, 3), x
    )


def reach(layers, n):
    """Count the inputs that move when the last output's gradient is taken."""
    x = draw(1, D, n).requires_grad_()
    out = x
    for layer in layers:
        out = layer(out)
    (gradient,) = torch.autograd.grad(out[..., -1].sum(), x)
    return (gradient.abs().sum(dim=(0, 1)) > 0).sum().item()


class Behind(nn.Conv1d):
    """A convolution whose window ends at the token itself."""

    def forward(self, x):
        first = (self.kernel_size[0] - 1) * self.dilation[0]
        return super().forward(F.pad(x, (first, 0)))


def stack(num_layers, window, *, dilated=False):
    return [
        Behind(D, D, window, dilation=window**i if dilated else 1).double()
        for i in range(num_layers)
    ]


@pytest.mark.parametrize(
    ("window", "dilated", "fields"),
    [
        (3, False, [3, 5, 7, 9, 11, 13]),
        (3, True, [3, 9, 27, 81, 243]),
        (2, False, [2, 3, 4]),
        (5, True, [5, 25, 125]),
    ],
)
def test_receptive_fields(window, dilated, fields):
    for num_layers, expected in enumerate(fields, start=1):
        assert expected == receptive_field(num_layers, window, dilated=dilated)
        layers = stack(num_layers, window, dilated=dilated)
        assert reach(layers, 251) == expected
