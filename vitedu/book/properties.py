"""What is wrong with a result that no known mistake explains.

Each finding names a property that is violated, and where: rows that do not add
up to 1, a factor, an order, a position that is read although it is masked, an
input that was mistaken for another.
"""

import itertools
import math
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor

from vitedu.book.comparing import (
    equal_results,
    first_true,
    named_sizes,
    where_different,
    written_place,
)
from vitedu.book.looks import (
    PARTLY,
    WHOLE,
    about_factor,
    about_size,
    first_said,
    listed_places,
)
from vitedu.book.misreadings import misread_input
from vitedu.book.reach import broken_reach

_MOST_AXES = 5
_MOST_TIMES = 12
# What is said if nothing else can be.
UNTOLD = "the shape is right, the numbers are not."


def what_broke(
    found: Tensor,
    expected: Tensor,
    candidate: Callable[..., Tensor],
    right: Callable[..., Tensor],
    inputs: tuple,
    names: tuple[str, ...],
) -> str:
    """Say what is wrong with a result, and where it first differs.

    Args:
        found: What was returned.
        expected: The correct result, of any shape; it differs from `found`.
        candidate: The function that returned `found`.
        right: The function that returned `expected`.
        inputs: The inputs of both.
        names: Names of the inputs; () if they are not known.

    Returns:
        One to four sentences.
    """
    inputs = inputs if len(names) == len(inputs) else ()
    sizes = named_sizes(inputs, names)
    if found.shape != expected.shape:
        return _about_shape(found, expected, sizes)
    # Means and products of whole numbers and truths have no other type.
    found, expected = found.double(), expected.double()
    said = (
        _about_infinity(found, expected)
        or about_factor(found, expected, sizes)
        or first_said(WHOLE, found, expected)
        or _remainder(found, expected, inputs, names)
        or _term(found, expected, inputs, names)
    )
    reach = ""
    if not said and inputs:
        with _one_thread():
            said = misread_input(found, right, inputs, names)
            if not said:
                reach = broken_reach(candidate, right, inputs, names)
    said = said or first_said(PARTLY, found, expected)
    # How far numbers spread is worth a word if nothing else can be said.
    said = (
        said or (not reach and (about_size(found, expected) or UNTOLD)) or ""
    )
    return f"{said}{reach} {_first_difference(found, expected)}".strip()


@contextmanager
def _one_thread() -> Iterator[None]:
    """Compute what is small without threads that wait for one another."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _first_difference(found: Tensor, expected: Tensor) -> str:
    at = first_true(where_different(found, expected))
    pair = f"{_number(found[at])} instead of {_number(expected[at])}."
    if found.numel() == 1:
        return f"It is {pair}"
    return f"The first that differs is at {written_place(at)}: {pair}"


def _about_infinity(found: Tensor, expected: Tensor) -> str:
    bad, wanted = ~found.isfinite(), ~expected.isfinite()
    if (bad & ~wanted).any():
        cause = (
            "NaN comes from 0 / 0, from infinity / infinity, from infinity - "
            "infinity, or from the root or logarithm of a negative number."
            if found.isnan().any()
            else "Infinity comes from a division by 0, the logarithm of 0 or "
            "the exponential of a large number."
        )
        if bad.all():
            many = "no number is" if found.numel() > 1 else "the number is not"
        else:
            many = f"{int(bad.sum())} of {found.numel()} numbers are not"
        return f"{many} finite. {cause}"
    if (wanted & ~bad).any():
        return "what should be infinite is not."
    if wanted.any():
        return "infinity is right where it occurs; look at the rest."
    return ""


def explained_error(message: str, sizes: Mapping[int, str]) -> str:
    """Say what has the mismatched sizes in an error message of PyTorch.

    Args:
        message: Message of the error.
        sizes: What has a size in the inputs, as `named_sizes` finds it.

    Returns:
        A sentence; "" if no size is known, or the error is about something
        else.

    >>> explained_error(
    ...     "The size of tensor a (3) must match the size of tensor b (7)",
    ...     {7: "the width of a head"},
    ... )
    '; 7 is the width of a head.'
    """
    if not re.search(
        "size of tensor|shapes cannot|shape '|must match", message
    ):
        return ""
    numbers = dict.fromkeys(map(int, re.findall(r"\d+", message)))
    known = [f"{n} is {sizes[n]}" for n in numbers if n in sizes]
    return f"; {', '.join(known)}." if known else ""


def _about_shape(
    found: Tensor, expected: Tensor, sizes: Mapping[int, str]
) -> str:
    said = (
        f"the shape is {tuple(found.shape)}, "
        f"but it should be {tuple(expected.shape)}."
    )
    if not found.numel() or not expected.numel():
        return f"{said} It holds {found.numel()} numbers."
    if found.dim() == expected.dim() <= _MOST_AXES:
        for order in itertools.permutations(range(found.dim())):
            if equal_results(found.permute(order), expected):
                return f"{said} The numbers are right; axes are swapped."
    if found.numel() == expected.numel():
        if equal_results(found.reshape(expected.shape), expected):
            return f"{said} The numbers are right; reshape them."
        return f"{said} There are as many numbers as there should be."
    for axis in range(expected.dim()):
        if equal_results(found, expected.double().sum(dim=axis)):
            return f"{said} Axis {axis} is summed over and should be kept."
        if equal_results(found, expected.double().mean(dim=axis)):
            return f"{said} Axis {axis} is averaged and should be kept."
        if equal_results(found, expected.select(axis, -1)):
            return f"{said} Only the last of axis {axis} is there."
        if equal_results(found, expected.select(axis, 0)):
            return f"{said} Only the first of axis {axis} is there."
    if found.dim() != expected.dim():
        return f"{said} It has {found.dim()} axes instead of {expected.dim()}."
    for axis, (size, wanted) in enumerate(
        zip(found.shape, expected.shape, strict=True)
    ):
        if size != wanted:
            return said + _about_axis(found, expected, axis, sizes)
    raise AssertionError("only results of different shapes come here")


def _about_axis(
    found: Tensor, expected: Tensor, axis: int, sizes: Mapping[int, str]
) -> str:
    size, wanted = found.shape[axis], expected.shape[axis]
    shorter, longer = sorted((found, expected), key=lambda x: x.shape[axis])
    fits, odd = _matched(shorter.unbind(axis), longer.unbind(axis))
    if fits and odd:
        verb = "missing" if size < wanted else "extra"
        return (
            f" On axis {axis}: {listed_places(odd)} {verb}; the rest is right."
        )
    # A size that only one of both has in the inputs is there by chance.
    known = [f"{n} is {sizes[n]}" for n in (size, wanted) if n in sizes]
    more = f": {', '.join(known)}" if len(known) == 2 else ""
    return f" Look at axis {axis}{more}."


def _matched(
    few: tuple[Tensor, ...], many: tuple[Tensor, ...]
) -> tuple[bool, list[int]]:
    """Return whether all of `few` are in `many`, and what else is there."""
    odd, left = [], list(few)
    for place, one in enumerate(many):
        if left and equal_results(left[0], one):
            left.pop(0)
        else:
            odd.append(place)
    return bool(few) and not left, odd


def _remainder(
    found: Tensor, expected: Tensor, inputs: tuple, names: tuple[str, ...]
) -> str:
    """Say that an input is in the result too often, or not often enough."""
    for given, name in zip(inputs, names, strict=True):
        if not isinstance(given, Tensor) or given.shape != found.shape:
            continue
        given = given.double()
        if equal_results(found, given):
            return f"what you return is `{name}`, unchanged."
        if equal_results(found - given, expected):
            return (
                f"`{name}` was added and should not be, or was added once too "
                "often."
            )
        if equal_results(found + given, expected):
            return f"`{name}` should have been added, or added once more."
    return ""


def _term(
    found: Tensor, expected: Tensor, inputs: tuple, names: tuple[str, ...]
) -> str:
    """Say which product of the inputs a count has too much, or too little."""
    counts = all(type(n) is int and n > 1 for n in inputs)
    if found.numel() > 1 or not inputs or not counts:
        return ""
    gap = found.item() - expected.item()
    terms = []
    for powers in itertools.product(range(3), repeat=len(inputs)):
        product = math.prod(n**p for n, p in zip(inputs, powers, strict=True))
        often = abs(gap) / product
        if often == round(often) and 0 < often <= _MOST_TIMES:
            terms.append((often, powers))
    if not terms:
        return ""
    often, powers = min(terms)
    factors = [
        f"{name}**{power}" if power > 1 else name
        for name, power in zip(names, powers, strict=True)
        if power
    ]
    much = "counted once too often" if gap > 0 else "missing"
    return f"`{' * '.join([f'{often:.0f}', *factors])}` is {much}."


def _number(value: Tensor) -> str:
    number = value.item()
    return f"{number:.4g}" if isinstance(number, float) else str(number)
