"""What is wrong with a result that no known mistake explains.

Each finding names a property that broke, and where: rows that do not add up
to 1, a factor, an order, a place that is read although it is hidden.
"""

import itertools
import math
import time
from collections.abc import Callable, Iterator

import torch
from torch import Tensor

_TOLERANCE = 1e-6
# A function is only asked again, with inputs changed, if it answers so soon,
# in time of the processor: another program that runs does not count.
_QUICK_SECONDS = 0.1
_MOST_PLACES = 8
_MOST_AXES = 5


def broken_property(found: Tensor, expected: Tensor) -> str:
    """Say which property of a result broke, and where it first differs.

    Args:
        found: What was returned.
        expected: What is right, of any shape; another than `found`.

    Returns:
        One to three sentences.
    """
    if found.shape != expected.shape:
        return _about_shape(found, expected)
    found = found.to(expected)
    if found.is_floating_point() and not found.isfinite().all():
        bad = ~found.isfinite()
        at = _first(bad)
        return (
            f"{int(bad.sum())} of {found.numel()} numbers are not finite, the "
            f"first at {_place(at)}: {found[at].item()}. Which row could "
            "cause that?"
        )
    said = next(filter(None, (look(found, expected) for look in _LOOKS)), "")
    at = _first(_differs(found, expected))
    return (
        f"{said} " if said else "the shape is right, the numbers are not. "
    ) + (
        f"The first that differs is at {_place(at)}: "
        f"{_number(found[at])} instead of {_number(expected[at])}."
    )


def broken_reach(
    candidate: Callable[..., Tensor],
    right: Callable[..., Tensor],
    inputs: tuple,
    names: tuple[str, ...],
) -> str:
    """Say which place of a result reads what it should not, or the reverse.

    Rows of each input, on the axis before the last, are changed one after
    the other. What should move with them is found with the right function.

    Args:
        candidate: The function that is judged.
        right: One that is right.
        inputs: Of both.
        names: Of the inputs.

    Returns:
        A sentence; "" if both move with the same rows, or if it takes long.
    """
    start = time.thread_time()
    try:
        usual = candidate(*inputs), right(*inputs)
        if time.thread_time() - start > _QUICK_SECONDS:
            return ""
        return next(_reaches(candidate, right, inputs, names, usual), "")
    except Exception:  # what an answer raises on other inputs is no news
        return ""


def _reaches(candidate, right, inputs, names, usual) -> Iterator[str]:
    if usual[0].shape != usual[1].shape or usual[1].dim() < 2:
        return
    pen = torch.Generator().manual_seed(0)
    for which, (given, name) in enumerate(zip(inputs, names, strict=True)):
        if not _has_rows(given):
            continue
        for row in range(min(given.shape[-2], _MOST_PLACES)):
            other = given.clone()
            noise = torch.randn(other[..., row, :].shape, generator=pen)
            other[..., row, :] += noise.to(other)
            changed = (*inputs[:which], other, *inputs[which + 1 :])
            moved, should = (
                _differs(function(*changed), before).any(dim=-1)
                for function, before in zip(
                    (candidate, right), usual, strict=True
                )
            )
            if (moved & ~should).any():
                at = _first(moved & ~should)
                ahead = (
                    " It looks ahead."
                    if row > at[-1] and not should[..., :row].any()
                    else ""
                )
                yield (
                    f" Row {_place(at)} of the result moves when row {row} "
                    f"of `{name}` changes, and should not.{ahead}"
                )
            if (should & ~moved).any():
                yield (
                    f" Row {_place(_first(should & ~moved))} of the result "
                    f"should move when row {row} of `{name}` changes, and "
                    "does not."
                )


def _has_rows(given: object) -> bool:
    return (
        isinstance(given, Tensor)
        and given.is_floating_point()
        and given.dim() > 1
    )


def _about_shape(found: Tensor, expected: Tensor) -> str:
    said = (
        f"the shape is {tuple(found.shape)}, "
        f"it should be {tuple(expected.shape)}."
    )
    if found.dim() == expected.dim() <= _MOST_AXES:
        for order in itertools.permutations(range(found.dim())):
            if _same(found.permute(order), expected):
                return f"{said} The numbers are right; axes are exchanged."
    if found.numel() == expected.numel():
        if _same(found.reshape(expected.shape), expected):
            return f"{said} The numbers are right; reshape them."
        return f"{said} There are as many numbers as there should be."
    for axis in range(expected.dim()):
        if _same(found, expected.sum(dim=axis)):
            return f"{said} Axis {axis} is summed over and should stay."
        if _same(found, expected.mean(dim=axis)):
            return f"{said} Axis {axis} is averaged and should stay."
        if _same(found, expected.select(axis, -1)):
            return f"{said} Only the last of axis {axis} is there."
        if _same(found, expected.select(axis, 0)):
            return f"{said} Only the first of axis {axis} is there."
    wrong = [
        axis
        for axis, (one, other) in enumerate(
            zip(found.shape, expected.shape, strict=False)
        )
        if one != other
    ]
    if found.dim() != expected.dim():
        return f"{said} It has {found.dim()} axes instead of {expected.dim()}."
    return f"{said} Look at axis {wrong[0]}."


def _factor(found: Tensor, expected: Tensor) -> str:
    factor = ((found * expected).sum() / expected.square().sum()).item()
    if not math.isfinite(factor) or not _same(found, factor * expected):
        return ""
    if math.isclose(factor, -1, rel_tol=1e-5):
        return "every number has the wrong sign."
    if math.isclose(factor, 0, abs_tol=1e-9):
        return "every number is 0."
    return f"every number is {factor:.4g} times what it should be."


def _offset(found: Tensor, expected: Tensor) -> str:
    offset = (found - expected).mean()
    if _same(found, expected + offset):
        return f"every number is off by {offset.item():.4g}."
    return ""


def _constant(found: Tensor, expected: Tensor) -> str:
    if found.numel() > 1 and _same(found, found.flatten()[0].expand_as(found)):
        return "all numbers are the same."
    return ""


def _order(found: Tensor, expected: Tensor) -> str:
    if found.dim() > 1 and _same(found.mT, expected):
        return "the last two axes are exchanged."
    for axis, size in enumerate(found.shape):
        if size < 2:
            continue
        if _same(found.flip(axis), expected):
            return f"axis {axis} runs backwards."
        for step in (1, -1):
            if _same(found.roll(step, axis), expected):
                way = "early" if step == 1 else "late"
                return f"everything on axis {axis} is one place too {way}."
        if _same(found.sort(axis).values, expected.sort(axis).values):
            return f"the numbers are right, but axis {axis} is out of order."
    if _same(found.flatten().sort().values, expected.flatten().sort().values):
        return "the numbers are right, but each is in another place."
    return ""


def _sums(found: Tensor, expected: Tensor) -> str:
    for axis in reversed(range(found.dim())):
        wanted, sums = expected.sum(axis), found.sum(axis)
        ones = torch.ones_like(wanted)
        if _same(wanted, ones) and not _same(sums, ones):
            at = _first(_differs(sums, ones))
            return (
                f"what axis {axis} holds should add up to 1, and adds up to "
                f"{sums[at].item():.4g} at {_place(at)}."
            )
    return ""


def _sign(found: Tensor, expected: Tensor) -> str:
    if (expected >= 0).all() and (found < -_TOLERANCE).any():
        return "no number should be negative, and some are."
    return ""


def _zeros(found: Tensor, expected: Tensor) -> str:
    differs = _differs(found, expected)
    empty = expected == 0
    if not empty.any() or not (~empty).any():
        return ""
    if (differs & empty).any() and not (differs & ~empty).any():
        return "what should be exactly 0 is not; the rest is right."
    if (found[~empty] == 0).all() or (
        (found == 0) & ~empty & differs
    ).sum() == differs.sum():
        return "some numbers are 0 and should not be."
    return ""


def _where(found: Tensor, expected: Tensor) -> str:
    differs = _differs(found, expected)
    shares = []
    for axis, size in enumerate(found.shape):
        others = [a for a in range(found.dim()) if a != axis]
        wrong = differs.any(dim=others) if others else differs
        places = wrong.nonzero().flatten().tolist()
        if size > 1 and len(places) < size:
            shares.append((len(places) / size, axis, places, size))
    if not shares:
        return ""
    _, axis, places, size = min(shares)
    if len(places) > size // 2 and size > 2:
        right = [str(i) for i in range(size) if i not in places]
        return (
            f"only {', '.join(right)} of axis {axis}, 0 to {size - 1}, is "
            "right."
        )
    named = ", ".join(map(str, places))
    return f"only {named} of axis {axis}, 0 to {size - 1}, is wrong."


def _rows(found: Tensor, expected: Tensor) -> str:
    if not found.dim() or found.shape[-1] < 3:
        return ""
    square = expected.square().sum(-1, keepdim=True).clamp_min(1e-12)
    factor = (found * expected).sum(-1, keepdim=True) / square
    if _same(found, factor * expected):
        return (
            "each row is a multiple of what it should be: look at what a row "
            "is divided by."
        )
    shift = (found - expected).mean(-1, keepdim=True)
    if _same(found, expected + shift):
        return "each row is shifted by a number of its own."
    scale = expected.std(-1, keepdim=True) / found.std(-1, keepdim=True)
    centred = found - found.mean(-1, keepdim=True)
    if _same(scale * centred, expected - expected.mean(-1, keepdim=True)):
        return (
            "each row is shifted and stretched: look at what is subtracted "
            "and what is divided by."
        )
    return ""


def _nearly(found: Tensor, expected: Tensor) -> str:
    worst = (found - expected).abs().max() / expected.abs().max()
    if worst < 0.02:
        return (
            f"the numbers are nearly right, within {100 * worst:.2g} % of the "
            "largest: a small constant, a rounding or n - 1 for n?"
        )
    return ""


def _size(found: Tensor, expected: Tensor) -> str:
    if expected.numel() < 2:
        return "it is too large." if found > expected else "it is too small."
    spread, wanted = found.double().std(), expected.double().std()
    if wanted > 0 and not 2 / 3 < spread / wanted < 1.5:
        return (
            f"the numbers spread by {spread:.3g}, they should by {wanted:.3g}."
        )
    return ""


_LOOKS = (
    _factor,
    _offset,
    _constant,
    _order,
    _zeros,
    _where,
    _sums,
    _sign,
    _nearly,
    _rows,
    _size,
)


def _same(found: Tensor, expected: Tensor) -> bool:
    return found.shape == expected.shape and torch.allclose(
        found.to(expected), expected, atol=_TOLERANCE
    )


def _differs(found: Tensor, expected: Tensor) -> Tensor:
    return ~torch.isclose(found.to(expected), expected, atol=_TOLERANCE)


def _first(where: Tensor) -> tuple[int, ...]:
    """The first place that is True; () for a single number."""
    return tuple(where.nonzero()[0].tolist())


def _place(at: tuple[int, ...]) -> str:
    return str(list(at)) if len(at) != 1 else str(at[0])


def _number(value: Tensor) -> str:
    number = value.item()
    return f"{number:.4g}" if isinstance(number, float) else str(number)
