"""Looks at a wrong result beside the right one, each at one property.

A look takes both results, of the same shape and in double precision, and
returns a sentence, or "" if it finds nothing.
"""

import itertools
import math
from collections.abc import Mapping

import torch
from torch import Tensor

from vitedu.book.comparing import (
    TOLERANCE,
    equal_results,
    first_true,
    known_factor,
    multiple_of,
    where_different,
    written_place,
)


def first_said(looks: tuple, found: Tensor, expected: Tensor) -> str:
    """Return the sentence of the first look that finds something, or ""."""
    return next(filter(None, (look(found, expected) for look in looks)), "")


def about_factor(
    found: Tensor, expected: Tensor, sizes: Mapping[int, str]
) -> str:
    """Say that a result is a multiple of what it should be.

    Args:
        found: What was returned.
        expected: What is right, of the same shape.
        sizes: What has a size in the inputs, as `named_sizes` finds it.
    """
    factor = multiple_of(found, expected)
    if factor is None:
        return ""
    every = "every number" if found.numel() > 1 else "the number"
    if math.isclose(factor, -1, rel_tol=1e-5):
        return f"{every} has the wrong sign."
    if math.isclose(factor, 0, abs_tol=1e-9):
        return f"{every} is 0."
    known = known_factor(factor, sizes)
    # One number is always some multiple of another.
    whole = [x for x in (factor, 1 / factor) if _near_whole(x)]
    if found.numel() == 1 and not known and not whole:
        return ""
    if factor < 1 and whole:
        return (
            f"{every} is {factor:.4g} times what it should be, "
            f"1 / {1 / factor:.4g} of it.{known}"
        )
    return f"{every} is {factor:.4g} times what it should be.{known}"


def _near_whole(number: float) -> bool:
    return 1.5 < number < 1000 and math.isclose(
        number, round(number), rel_tol=1e-6
    )


def _offset(found: Tensor, expected: Tensor) -> str:
    offset = (found - expected).mean()
    if not equal_results(found, expected + offset):
        return ""
    if found.numel() == 1:
        one = math.isclose(abs(offset.item()), 1, rel_tol=1e-5)
        way = "large" if offset > 0 else "small"
        return f"the number is 1 too {way}." if one else ""
    return f"every number is off by {offset.item():.4g}."


def _constant(found: Tensor, expected: Tensor) -> str:
    if found.numel() > 1 and equal_results(
        found, found.flatten()[0].expand_as(found)
    ):
        return "all numbers are the same."
    return ""


def _bent(found: Tensor, expected: Tensor) -> str:
    zero_one = ((expected == 0) | (expected == 1)).all()
    if zero_one and equal_results(found, 1 - expected):
        return "0 and 1, or False and True, are swapped."
    every = "every number" if found.numel() > 1 else "the number"
    bends = {
        "the logarithm of what it should be": expected.log(),
        "the exponential of what it should be": expected.exp(),
        "the square of what it should be": expected.square(),
        "the root of what it should be": expected.sqrt(),
        "1 divided by what it should be": 1 / expected,
        "1 minus what it should be": 1 - expected,
    }
    for said, bent in bends.items():
        if equal_results(found, bent):
            return f"{every} is {said}."
    if found.numel() > 1 and equal_results(found.abs(), expected.abs()):
        return "the numbers are right except for their signs."
    return ""


def _order(found: Tensor, expected: Tensor) -> str:
    if found.dim() > 1 and equal_results(found.mT, expected):
        return "the last two axes are swapped."
    for one, two in itertools.combinations(range(found.dim()), 2):
        if equal_results(found.transpose(one, two), expected):
            return f"axes {one} and {two} are swapped."
        if equal_results(found.flip(one, two), expected):
            return f"axis {one} and axis {two} run backwards."
    for axis, size in enumerate(found.shape):
        if size < 2:
            continue
        if equal_results(found.flip(axis), expected):
            return f"axis {axis} runs backwards."
        for step in range(1, size):
            if equal_results(found.roll(step, axis), expected):
                # The shorter way round: 1 early is size - 1 late.
                early = step <= size // 2
                places = step if early else size - step
                return (
                    f"everything on axis {axis} is {_count(places)} too "
                    f"{'early' if early else 'late'}; what leaves at one end "
                    "comes in at the other."
                )
        if size > 2:
            inner, last = found.narrow(axis, 0, size - 1), size - 1
            if equal_results(inner, expected.narrow(axis, 1, last)):
                return f"everything on axis {axis} is one position too early."
            inner = found.narrow(axis, 1, last)
            if equal_results(inner, expected.narrow(axis, 0, last)):
                return f"everything on axis {axis} is one position too late."
        if equal_results(found.sort(axis).values, expected.sort(axis).values):
            return (
                "the numbers are right, but on axis "
                f"{axis} they are out of order."
            )
    return ""


def _count(places: int) -> str:
    return "one position" if places == 1 else f"{places} positions"


def _places_alike(found: Tensor, expected: Tensor) -> str:
    for axis, size in enumerate(found.shape):
        if size < 2 or found.dim() < 2:
            continue
        first = found.narrow(axis, 0, 1).expand_as(found)
        wanted = expected.narrow(axis, 0, 1).expand_as(expected)
        if equal_results(found, first) and not equal_results(expected, wanted):
            return f"all positions on axis {axis} hold the same numbers."
    return ""


def _zeros(found: Tensor, expected: Tensor) -> str:
    wrong = where_different(found, expected)
    empty = expected == 0
    if not empty.any() or not (~empty).any():
        return ""
    if (wrong & empty).any() and not (wrong & ~empty).any():
        return "what should be exactly 0 is not; the rest is right."
    if ((found == 0) & ~empty & wrong).sum() == wrong.sum():
        return "some numbers are 0 and should not be; the rest is right."
    if found.dim():
        counts = [(x != 0).sum(-1).flatten().unique() for x in (found, empty)]
        have, want = counts[0], found.shape[-1] - counts[1]
        if len(have) == len(want) == 1 and have != want:
            return (
                f"{have.item()} numbers in each row are not 0; it should be "
                f"{want.item()}."
            )
    return ""


def _where(found: Tensor, expected: Tensor) -> str:
    wrong = where_different(found, expected)
    shares = []
    for axis, size in enumerate(found.shape):
        others = [a for a in range(found.dim()) if a != axis]
        on_axis = wrong.any(dim=others) if others else wrong
        places = on_axis.nonzero().flatten().tolist()
        if size > 1 and len(places) < size:
            shares.append((len(places) / size, axis, places, size))
    if not shares:
        return ""
    _, axis, places, size = min(shares)
    if len(places) > size // 2 and size > 2:
        right = [i for i in range(size) if i not in places]
        which, what, where = right, "right", "at the others"
    else:
        which, what, where = places, "wrong", "there"
    noun = "position" if len(which) == 1 else "positions"
    said = (
        f"of the {size} positions on axis {axis}, only {noun} "
        f"{listed_places(which)} {what}"
    )
    looks = (*WHOLE[1:], _sums) if len(places) > 1 else (_offset, _bent)
    parts = [
        x.index_select(axis, torch.tensor(places)) for x in (found, expected)
    ]
    inner = about_factor(*parts, {}) or first_said(looks, *parts)
    return f"{said}; {where}, {inner}" if inner else f"{said}."


def listed_places(places: list[int]) -> str:
    """Return positions as the beginning of a sentence.

    >>> listed_places([3]), listed_places([0, 4]), listed_places([2, 3, 4, 5])
    ('3 is', '0 and 4 are', '2 to 5 are')
    """
    if len(places) > 2 and places[-1] - places[0] == len(places) - 1:
        return f"{places[0]} to {places[-1]} are"
    *others, last = map(str, places)
    return f"{', '.join(others)} and {last} are" if others else f"{last} is"


def _elsewhere(found: Tensor, expected: Tensor) -> str:
    if equal_results(
        found.flatten().sort().values, expected.flatten().sort().values
    ):
        return "the numbers are right, but they are in other positions."
    return ""


def _sums(found: Tensor, expected: Tensor) -> str:
    for axis in reversed(range(found.dim())):
        if found.shape[axis] < 2:
            continue
        wanted, sums = expected.sum(axis), found.sum(axis)
        for total in (1.0, 0.0):
            right = torch.full_like(wanted, total)
            if equal_results(wanted, right) and not equal_results(sums, right):
                at = first_true(where_different(sums, right))
                # Without other axes there is no place to name.
                where = f" at {written_place(at)} of the other axes"
                return (
                    f"the sum over axis {axis} should be {total:.0f}, "
                    f"but it is {sums[at].item():.4g}{where * bool(at)}."
                )
    return ""


def _sign(found: Tensor, expected: Tensor) -> str:
    if (expected >= 0).all() and (found < -TOLERANCE).any():
        return "no number should be negative, and some are."
    return ""


def _nearly(found: Tensor, expected: Tensor) -> str:
    worst = (found - expected).abs().max() / expected.abs().max()
    if worst < 0.02:
        return (
            f"the numbers are nearly right, within {100 * worst:.2g}% of the "
            "largest: a small constant, a rounding or n - 1 for n?"
        )
    return ""


def _rows(found: Tensor, expected: Tensor) -> str:
    if not found.dim() or found.shape[-1] < 3:
        return ""
    square = expected.square().sum(-1, keepdim=True).clamp_min(1e-12)
    factor = (found * expected).sum(-1, keepdim=True) / square
    if equal_results(found, factor * expected):
        return (
            "each row is a multiple of what it should be: look at what a row "
            "is divided by."
        )
    shift = (found - expected).mean(-1, keepdim=True)
    if equal_results(found, expected + shift):
        return "each row is shifted by its own number."
    scale = expected.std(-1, keepdim=True) / found.std(-1, keepdim=True)
    centred = found - found.mean(-1, keepdim=True)
    if equal_results(
        scale * centred, expected - expected.mean(-1, keepdim=True)
    ):
        return (
            "each row is shifted and scaled: look at what is subtracted "
            "and what is divided by."
        )
    return ""


def _columns(found: Tensor, expected: Tensor) -> str:
    """Say that the positions along an axis are shifted or stretched alike."""
    for axis, size in enumerate(found.shape):
        others = [a for a in range(found.dim()) if a != axis]
        if size < 2 or not others or found.numel() < 3 * size:
            continue
        what = f"each position on axis {axis} is"
        shift = (found - expected).mean(dim=others, keepdim=True)
        if equal_results(found, expected + shift):
            return f"{what} shifted by its own number."
        square = expected.square().sum(dim=others, keepdim=True)
        factor = (found * expected).sum(dim=others, keepdim=True)
        if equal_results(found, factor / square.clamp_min(1e-12) * expected):
            return f"{what} multiplied by its own number."
    return ""


def about_size(found: Tensor, expected: Tensor) -> str:
    """Say that a number is too large, or that numbers spread too far."""
    if expected.numel() < 2:
        return "it is too large." if found > expected else "it is too small."
    spread, wanted = found.std(), expected.std()
    if wanted > 0 and not 2 / 3 < spread / wanted < 1.5:
        return (
            f"the standard deviation is {spread:.3g}; it should be "
            f"{wanted:.3g}."
        )
    return ""


# What explains the whole result.
WHOLE = (_offset, _constant, _bent, _order, _places_alike)
# What is true of a part of it, or only one of its properties.
PARTLY = (_zeros, _where, _elsewhere, _sums, _sign, _nearly, _rows, _columns)
