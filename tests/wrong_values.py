"""Kinds of arguments, and what is wrong for each: strategies to draw from.

A kind is a function of the valid value. Boundaries, neighbouring types, other
shapes: each value that it yields has to be refused.
"""

import math
from collections.abc import Callable

import numpy as np
import torch
from hypothesis import strategies as st

Kind = Callable[[object], st.SearchStrategy]

_OBJECTS = [
    *(None, "three", b"3", [3], (3,), {3: 3}, {3}, 3j, object),
    *(torch.ones(2), torch.tensor(3), np.ones(2), math.inf, math.nan, 0.5),
]


def _others(*allowed: type) -> st.SearchStrategy:
    """Draw an object of none of these types."""
    return st.sampled_from([x for x in _OBJECTS if not isinstance(x, allowed)])


def _no_none(strategy: st.SearchStrategy, optional: bool):
    return strategy.filter(lambda x: x is not None) if optional else strategy


def size(at_least: int = 1, below: int = 10**9, optional: bool = False):
    """An integer that is too small or too large, or none at all."""
    edges = [at_least - 1] + [below] * (below < 10**9)
    wrong = [st.integers(max_value=at_least - 1), st.floats(), st.booleans()]
    wrong += [st.integers(min_value=edges[-1]) if edges[1:] else wrong[0]]
    wrong.append(st.sampled_from(edges))
    return lambda _: _no_none(st.one_of(*wrong, _others()), optional)


def seed():
    """What is no seed of PyTorch's generators."""
    outside = st.one_of(st.integers(max_value=-1), st.integers(2**64))
    return lambda _: st.one_of(outside, st.floats(), st.booleans(), _others())


def any_integer(optional: bool = False):
    """What is no integer at all."""
    wrong = st.one_of(st.floats(), st.booleans(), _others())
    return lambda _: _no_none(wrong, optional)


def number(
    at_least: float | None = None,
    above: float | None = None,
    below: float | None = None,
    optional: bool = False,
):
    """A number outside its range, or no number."""
    odd = [x for x in _OBJECTS if not isinstance(x, float)]
    wrong = [st.sampled_from([*odd, math.nan, math.inf, -math.inf])]
    wrong.append(st.booleans())
    if at_least is not None:
        wrong.append(st.floats(max_value=at_least, exclude_max=True))
    if above is not None:
        wrong.append(st.floats(max_value=above))
    if below is not None:
        wrong.append(st.floats(min_value=below))
    return lambda _: _no_none(st.one_of(*wrong), optional)


def rate(optional: bool = False):
    """A drop rate outside [0, 1)."""
    return number(at_least=0, below=1, optional=optional)


def boolean(optional: bool = False):
    """What is neither True nor False."""
    wrong = st.one_of(st.integers(), st.floats(), st.text(), _others())
    return lambda _: _no_none(wrong, optional)


def choice(*right: object):
    """Another word, or no word."""
    words = st.text().filter(lambda word: word not in right)
    wrong = st.one_of(words, st.integers(), st.booleans(), _others())
    return lambda _: wrong.filter(lambda x: not (x is None and None in right))


def pair(alone: bool):
    """No pair of sizes; `alone` says whether one number will do."""
    good = st.integers(1, 9)
    bad = st.one_of(
        st.integers(max_value=0), st.booleans(), st.sampled_from([0.5, "3"])
    )
    wrong = [st.tuples(good, bad), st.tuples(bad, good), st.tuples(good)]
    wrong += [st.tuples(good, good, good), _others(), st.text()]
    wrong.append(st.integers(max_value=0) if alone else st.integers())
    wrong.append(st.sampled_from([(0, 3), (3, 0), (-2, -3)]))
    return lambda _: st.one_of(*wrong)


def not_a(*kinds: type, optional: bool = False):
    """Something of another type."""
    return lambda _: _no_none(_others(*kinds), optional)


def _no_tensors(valid: torch.Tensor) -> list:
    plain = valid.numpy(), valid.tolist(), valid.shape, str(valid)
    return [None, 3, 0.5, "tensor", {}, *plain]


def _other_shapes(valid: torch.Tensor, fixed: tuple[int, ...]) -> list:
    """Grow and shrink each fixed axis, swap it with others, add and drop."""
    found = [valid[None], valid[..., None, None, None], valid.reshape(-1)[0]]
    for axis in fixed:
        found.append(torch.cat([valid, valid.narrow(axis, 0, 1)], axis))
        if valid.shape[axis] > 2:
            found.append(valid.narrow(axis, 0, 2))
        for other in range(valid.ndim):
            if valid.shape[axis] != valid.shape[other]:
                found.append(valid.transpose(axis, other))
    return found


def _as(valid: torch.Tensor, *dtypes: torch.dtype) -> list:
    return [valid.to(dtype) for dtype in dtypes if dtype != valid.dtype]


def floats(*fixed: int, exact: bool = False, optional: bool = False):
    """No tensor of fractions, or one with another size on a fixed axis.

    Args:
        fixed: Axes whose size is given by the other arguments.
        exact: Whether other floating-point types are wrong, too.
        optional: Whether None is right.
    """

    def wrong(valid):
        found = _no_tensors(valid) + _other_shapes(valid, fixed)
        found += _as(valid, torch.int64, torch.bool, torch.complex64)
        if exact:
            found += _as(valid, torch.float16, torch.float32, torch.float64)
        return _no_none(st.sampled_from(found), optional)

    return wrong


def integers(*fixed: int):
    """No tensor of integers, or one with another size on a fixed axis."""

    def wrong(valid):
        found = _no_tensors(valid) + _other_shapes(valid, fixed)
        found += _as(valid, torch.float32, torch.float64, torch.bool)
        return st.sampled_from(found)

    return wrong


def ids(size: int, *fixed: int):
    """No tensor of integers, or one with an integer outside the range."""

    def wrong(valid):
        outside = st.one_of(st.integers(size, 2**31), st.just(-size))
        return st.one_of(
            integers(*fixed)(valid), outside.map(lambda i: valid + i)
        )

    return wrong


def truths(*fixed: int, optional: bool = False):
    """No boolean tensor: numbers may mean to be added, or to multiply."""

    def wrong(valid):
        found = _no_tensors(valid) + _other_shapes(valid, fixed)
        found += _as(valid, torch.float32, torch.float16, torch.int64)
        found += _as(valid, torch.uint8, torch.complex64)
        return _no_none(st.sampled_from(found), optional)

    return wrong


def items(kind: Kind):
    """No sequence, or one with a wrong item in some place."""

    def wrong(valid):
        places = st.integers(0, len(valid) - 1)
        broken = st.tuples(places, kind(valid[0])).map(
            lambda pair: type(valid)(
                [*valid[: pair[0]], pair[1], *valid[pair[0] + 1 :]]
            )
        )
        return st.one_of(broken, st.sampled_from([None, 3, 0.5, True, 3j]))

    return wrong


def values(*wrong: object):
    """These values, one by one."""
    return lambda _: st.sampled_from(wrong)


def both(*kinds: Kind, optional: bool = False):
    """What is wrong for any of these reasons."""
    return lambda valid: _no_none(
        st.one_of(*(kind(valid) for kind in kinds)), optional
    )
