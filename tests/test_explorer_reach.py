"""What the explorer of reach computes, against layers that run."""

from itertools import pairwise, product

import pytest
import torch
import torch.nn.functional as F
from javascript import run
from torch import nn

from vitedu.analysis.complexity import (
    layer_flops,
    path_length,
    receptive_field,
    sequential_operations,
)
from vitedu.attention import MultiHeadAttention
from vitedu.widgets import Reach

KINDS = Reach.kind.options
STACKS = [
    {
        "kind": kind,
        "tokens": tokens,
        "window": window,
        "layers": layers,
        "place": place,
        "width": 48,
    }
    for kind, tokens, window, layers in product(
        KINDS, (2, 11), (2, 3, 5), (1, 2, 3)
    )
    for place in (0, tokens // 2, tokens - 1)
]


def layer_of(kind: str, window: int, depth: int):
    """Return a layer of a kind, with random weights: (1, token, 4)."""
    if kind == "attention":
        return MultiHeadAttention(4, 1).double()
    if kind == "recurrent":
        recurrent = nn.RNN(4, 4, batch_first=True).double()
        return lambda x: recurrent(x)[0]
    gap = window**depth if kind == "dilated convolution" else 1
    weight = torch.randn(4, 4, window, dtype=torch.float64)

    def convolution(x):
        padded = F.pad(x.mT, (gap * (window - 1), 0))
        return F.conv1d(padded, weight, dilation=gap).mT

    return convolution


def measured(kind, tokens, window, layers, place, width) -> list[bool]:
    """Return which inputs move an output of a stack that runs."""
    torch.manual_seed(0)
    x = torch.randn(1, tokens, 4, dtype=torch.float64, requires_grad=True)
    out = x
    for depth in range(layers):
        out = layer_of(kind, window, depth)(out)
    [gradient] = torch.autograd.grad(out[0, place].sum(), x)
    return gradient[0].ne(0).any(dim=-1).tolist()


def test_the_inputs_that_reach_an_output_are_those_that_move_it():
    found = run("reach_maths", "stacks.map(reachOf)", stacks=STACKS)
    for stack, reach in zip(STACKS, found, strict=True):
        assert reach["sees"][0] == measured(**stack), stack


def test_a_way_follows_links_and_makes_the_fewest_moves():
    found = run("reach_maths", "stacks.map(reachOf)", stacks=STACKS)
    for stack, reach in zip(STACKS, found, strict=True):
        way = reach["way"]
        assert way[0] == [0, reach["sees"][0].index(True)]
        assert way[-1] == [stack["layers"], stack["place"]]
        steps = list(pairwise(way))
        assert all([a, b] in reach["links"] for a, b in steps)
        moves = sum(a[1] != b[1] for a, b in steps)
        assert moves == reach["moves"]
        gone = abs(stack["place"] - way[0][1])
        if stack["kind"] == "recurrent":
            assert moves == gone
        if stack["kind"] == "attention":
            assert moves == (gone > 0)
        if stack["kind"] == "convolution":
            assert moves == -(-gone // (stack["window"] - 1))


def library_numbers(kind, tokens, window, layers, place, width) -> dict:
    dilated = kind == "dilated convolution"
    kind = "convolution" if dilated else kind
    own = {"window": window} if kind == "convolution" else {}
    sees = {"attention": tokens, "recurrent": place + 1}.get(kind) or min(
        receptive_field(layers, window, dilated=dilated), place + 1
    )
    path = place and path_length(kind, place + 1, dilated=dilated, **own)
    return {
        "sees": sees,
        "path": path,
        "steps": sequential_operations(kind, tokens),
        "operations": layer_flops(kind, tokens, width, **own),
    }


def test_the_numbers_are_those_of_the_library():
    stacks = [
        stack | {"tokens": tokens, "place": tokens - 1}
        for stack in STACKS
        for tokens in (2, 25, 64)
    ]
    found = run("reach_maths", "stacks.map(reachNumbers)", stacks=stacks)
    assert found == [library_numbers(**stack) for stack in stacks]


@pytest.mark.parametrize("stack", STACKS[::7])
def test_what_it_sees_is_counted_as_it_is_drawn(stack):
    reach, found = run(
        "reach_maths", "[reachOf(stack), reachNumbers(stack)]", stack=stack
    )
    assert sum(reach["sees"][0]) == found["sees"]
