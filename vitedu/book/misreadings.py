"""Inputs that a reader may have mistaken for others.

A wrong result may be the right one for a different input: scaled, reversed,
averaged, left out, or exchanged for one of the others.
"""

import itertools
import math
import re
from collections.abc import Callable, Iterator, Mapping

import torch
from torch import Tensor

from vitedu.book.comparing import (
    TOLERANCE,
    equal_results,
    known_factor,
    multiple_of,
    named_sizes,
)

# How many other inputs are tried: no exercise of the book has 400. A number
# of seconds would have two machines say different things of one answer.
MOST_TRIED = 500
_MOST_PLACES = 8
_BY_CHANCE = re.compile("as large|, not ")


def misread_input(
    found: Tensor,
    right: Callable[..., Tensor],
    inputs: tuple,
    names: tuple[str, ...],
) -> str:
    """Say for which other input a wrong result would be correct.

    Each input is exchanged for one that a reader may have mistaken it for:
    scaled, reversed, averaged, left out, or another of the inputs.

    Args:
        found: What was returned.
        right: A correct function.
        inputs: The inputs for which `found` is wrong.
        names: Names of the inputs.

    Returns:
        A sentence; "" if there is no such input among the first `MOST_TRIED`.
    """
    found, scaled = found.double(), ""
    sizes = named_sizes(inputs, names)
    tried = _other_inputs(inputs, names, sizes)
    for said, others in itertools.islice(tried, MOST_TRIED):
        try:
            made = right(*others)
        except Exception:  # what fits no other shape was not misread so
            continue
        if not isinstance(made, Tensor) or made.shape != found.shape:
            continue
        # One number is right by chance for some other number.
        if found.numel() == 1 and _BY_CHANCE.search(said):
            continue
        if equal_results(found, made):
            return f"your result is exactly {_told(said, sizes)}"
        if not scaled and (nearly := _but_for_a_factor(found, made)):
            scaled = f"{nearly}, your result is {_told(said, sizes)}"
    return scaled


def _told(said: str, sizes: Mapping[int, str]) -> str:
    more = _read_factor(said, sizes)
    for number, word in (("2 times", "twice"), ("0.5 times", "half")):
        said = said.replace(f" {number} as large", f" {word} as large")
    return f"what the right function returns {said}.{more}"


def _read_factor(said: str, sizes: Mapping[int, str]) -> str:
    """Name the size that an input would have to be multiplied by."""
    factor = re.search(r"(\S+) times as large", said)
    for name_of in () if factor is None else sizes:
        for way in (name_of, 1 / name_of, name_of**0.5, name_of**-0.5):
            if f"{way:.4g}" == factor[1]:
                return known_factor(way, sizes)
    return ""


def _but_for_a_factor(found: Tensor, made: Tensor) -> str:
    if found.numel() < 3 or equal_results(made, torch.zeros_like(made)):
        return ""
    factor = multiple_of(found, made.double())
    if factor is None or abs(factor) < TOLERANCE:
        return ""
    return f"up to a factor of {factor:.4g}"


def _other_inputs(
    inputs: tuple, names: tuple[str, ...], sizes: Mapping[int, str]
) -> Iterator[tuple[str, tuple]]:
    for which, (given, name) in enumerate(zip(inputs, names, strict=True)):
        for said, other in _other_readings(given, f"`{name}`", sizes):
            yield said, (*inputs[:which], other, *inputs[which + 1 :])
    yield from _other_meetings(inputs, names)
    for one, two in itertools.permutations(range(len(inputs)), 2):
        if type(inputs[one]) is not type(inputs[two]):
            continue
        others = list(inputs)
        others[one] = inputs[two]
        yield f"with `{names[two]}` in place of `{names[one]}`", tuple(others)
        if one < two:
            others[two] = inputs[one]
            yield (
                f"with `{names[one]}` and `{names[two]}` swapped",
                tuple(others),
            )


def _other_meetings(
    inputs: tuple, names: tuple[str, ...]
) -> Iterator[tuple[str, tuple]]:
    """Yield inputs where one function has already been applied to another."""
    for which, function in enumerate(inputs):
        if not callable(function):
            continue
        for place, given in enumerate(inputs):
            if place == which:
                continue
            if isinstance(given, Tensor) and given.is_floating_point():
                said = f"with `{names[place]}` passed through `{names[which]}`"
                try:
                    other = function(given)
                except Exception:  # it is made for something else
                    continue
            elif isinstance(given, list | tuple) and all(map(callable, given)):
                said = f"with `{names[which]}` before each of `{names[place]}`"
                other = type(given)(
                    [
                        lambda x, *more, f=f, g=function: f(g(x), *more)
                        for f in given
                    ]
                )
            else:
                continue
            yield said, (*inputs[:place], other, *inputs[place + 1 :])


def _other_readings(
    given: object, name: str, sizes: Mapping[int, str]
) -> Iterator[tuple[str, object]]:
    if isinstance(given, Tensor):
        yield from _other_tensors(given, name, sizes)
    elif isinstance(given, list | tuple) and len(given) > 1:
        yield from _other_lists(given, name, sizes)
    elif isinstance(given, int | float) and not isinstance(given, bool):
        yield from _other_numbers(given, name)
    elif callable(given):
        yield f"with {name} returning its input", lambda x, *_: x
        yield f"with {name} returning zeros", lambda x, *_: x * 0
        yield (
            f"with {name} applied twice",
            lambda x, *more: given(given(x, *more), *more),
        )
        yield (
            f"with the input of {name} added to its output",
            lambda x, *more: x + given(x, *more),
        )
        yield (
            f"with the input of {name} subtracted from its output",
            lambda x, *more: given(x, *more) - x,
        )


def _other_numbers(given: float, name: str) -> Iterator[tuple[str, float]]:
    others = [given * 2, given / 2, given**2, -given, 1 - given]
    if given > 0:
        others += [given**0.5, 1 / given]
    if isinstance(given, int):
        others += [given + 1, given - 1]
        others = [int(n) for n in others if n == int(n)]
    for other in (*others, 1, 0):
        if other != given:
            yield f"for {name} = {other:.4g}, not {given:.4g}", other
    yield f"for {name} converted from radians to degrees", math.degrees(given)
    yield f"for {name} converted from degrees to radians", math.radians(given)


def _other_lists(
    given: list | tuple, name: str, sizes: Mapping[int, str]
) -> Iterator[tuple[str, list | tuple]]:
    kind, count = type(given), len(given)
    yield f"with {name} in reverse order", given[::-1]
    yield (
        f"with the first of {name} in every position",
        kind([given[0]] * count),
    )
    yield (
        f"with the last of {name} in every position",
        kind([given[-1]] * count),
    )
    yield f"without the last of {name}", given[:-1]
    yield f"without the first of {name}", given[1:]
    yield f"with only the first of {name}", given[:1]
    yield f"with only the last of {name}", given[-1:]
    if count > _MOST_PLACES:
        return
    for which, item in enumerate(given):
        rest = given[:which], given[which + 1 :]
        place = f"{name}[{which}]".replace("`[", "[") + "`"
        for said, other in _other_readings(item, place, sizes):
            yield said, rest[0] + kind([other]) + rest[1]
        for another in range(count):
            if another != which:
                entry = f"`{name.strip('`')}[{another}]`"
                said = f"with {entry} in place of {place}"
                yield said, rest[0] + kind([given[another]]) + rest[1]
    if all(map(callable, given)):
        for said, factor in (("their inputs", 1), ("zeros", 0)):
            yield (
                f"with {name} returning {said}",
                kind([lambda x, *_, f=factor: x * f] * count),
            )
        yield (
            f"with the inputs of {name} added to their outputs",
            kind(
                [lambda x, *more, f=f: x + f(x, *more) for f in given],
            ),
        )


def _other_tensors(
    given: Tensor, name: str, sizes: Mapping[int, str]
) -> Iterator[tuple[str, Tensor]]:
    if given.dtype == torch.bool:
        yield f"for {name} with True and False swapped", ~given
        yield f"for {name} True everywhere", torch.ones_like(given)
        yield f"for {name} False everywhere", torch.zeros_like(given)
    if given.is_floating_point():
        yield f"for {name} = 0", torch.zeros_like(given)
        yield f"for {name} = 1", torch.ones_like(given)
        yield f"for {name} with the opposite sign", -given
        yield f"for 1 minus {name}", 1 - given
        yield f"for {name} squared", given.square()
        yield f"for the exponential of {name}", given.exp()
        yield f"for the logarithm of {name}", given.log()
        yield f"for the square root of {name}", given.sqrt()
        for factor in _factors(sizes):
            yield (
                f"for a {name} {factor:.4g} times as large",
                given * factor,
            )
    yield from _other_orders(given, name)
    if given.is_floating_point():
        for axis, size in enumerate(given.shape):
            if size > 1:
                mean = given.mean(axis, keepdim=True).expand_as(given)
                yield (
                    f"for {name} replaced by its mean over axis {axis}",
                    mean,
                )
                yield (
                    f"for {name} minus its mean over axis {axis}",
                    given - mean,
                )


def _other_parts(
    given: Tensor, name: str, axis: int, of_axis: str
) -> Iterator[tuple[str, Tensor]]:
    for count, called in ((2, "halves"), (3, "thirds")):
        if given.shape[axis] % count or given.shape[axis] == count:
            continue
        parts = given.chunk(count, axis)
        for order in itertools.permutations(range(count)):
            places = ", ".join(str(i + 1) for i in order)
            yield (
                f"for {name} with its {called}{of_axis} in the order {places}",
                torch.cat([parts[i] for i in order], axis),
            )


def _factors(sizes: Mapping[int, str]) -> list[float]:
    """Return the sizes that a reader may have multiplied by."""
    plain = [float(n) for n in (1, 2, *sizes)]
    ratios = {a / b for a, b in itertools.product(plain, plain) if a != b}
    return sorted(
        {*ratios, *map(math.sqrt, ratios)}, key=lambda n: abs(math.log(n))
    )


def _other_orders(given: Tensor, name: str) -> Iterator[tuple[str, Tensor]]:
    for axis, size in enumerate(given.shape):
        if size < 2:
            continue
        of_axis = f" on axis {axis}" if given.dim() > 1 else ""
        yield f"for {name} reversed{of_axis}", given.flip(axis)
        yield (
            f"for {name} shifted one position towards the end{of_axis}",
            given.roll(1, axis),
        )
        yield (
            f"for {name} shifted one position towards the start{of_axis}",
            given.roll(-1, axis),
        )
        yield f"for {name} sorted{of_axis}", given.sort(axis).values
        yield from _other_parts(given, name, axis, of_axis)
        first = given.narrow(axis, 0, 1).expand_as(given)
        yield (
            f"for {name} with its first entry in every position{of_axis}",
            first,
        )
        last = given.narrow(axis, size - 1, 1).expand_as(given)
        yield (
            f"for {name} with its last entry in every position{of_axis}",
            last,
        )
    if given.dim() == 1 and given.dtype == torch.int64:
        yield f"for {name} replaced by its argsort", given.argsort()
        yield f"for {name} plus 1", given + 1
        yield f"for {name} minus 1", given - 1
    for one, two in itertools.combinations(range(given.dim()), 2):
        if given.shape[one] > 1 < given.shape[two]:
            yield (
                f"for {name} with axes {one} and {two} swapped",
                given.transpose(one, two),
            )
