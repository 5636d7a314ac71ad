"""Inputs that a reader may have taken for others.

A wrong result may be the right one for another input: scaled, turned round,
averaged, left out, or exchanged for one of the others.
"""

import itertools
import math
import re
import time
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

# A function is only asked again, with inputs changed, if it answers so soon,
# in time of the processor: another program that runs does not count.
QUICK_SECONDS = 0.1
_MOST_SECONDS = 1.0
_MOST_PLACES = 8
_BY_CHANCE = re.compile("times as large|, not ")


def misread_input(
    found: Tensor,
    right: Callable[..., Tensor],
    inputs: tuple,
    names: tuple[str, ...],
) -> str:
    """Say for which other input a wrong result would be right.

    Each input is exchanged for one that a reader may have taken it for:
    scaled, turned round, averaged, left out, another of the inputs.

    Args:
        found: What was returned.
        right: A function that is right.
        inputs: For which `found` is wrong.
        names: Of the inputs.

    Returns:
        A sentence; "" if there is no such input, or if it takes long.
    """
    start, scaled = time.thread_time(), ""
    found = found.double()
    sizes = named_sizes(inputs, names)
    try:
        right(*inputs)
    except Exception:  # without a right result there is nothing to compare
        return ""
    if time.thread_time() - start > QUICK_SECONDS:
        return ""
    for said, others in _other_inputs(inputs, names, sizes):
        if time.thread_time() - start > _MOST_SECONDS:
            return ""
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
            more = _read_factor(said, sizes)
            return f"you return what would be right if {said}.{more}"
        if nearly := _but_for_a_factor(found, made):
            more = _read_factor(said, sizes)
            scaled = scaled or (
                f"{nearly}, you return what would be right if {said}.{more}"
            )
    return scaled


def _read_factor(said: str, sizes: Mapping[int, str]) -> str:
    """Name the size that an input would have to be multiplied by."""
    factor = re.search(r"were (\S+) times as large", said)
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
    return f"but for a factor of {factor:.4g}"


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
        yield f"`{names[one]}` were `{names[two]}`", tuple(others)
        if one < two:
            others[two] = inputs[one]
            yield (
                f"`{names[one]}` and `{names[two]}` changed places",
                tuple(others),
            )


def _other_meetings(
    inputs: tuple, names: tuple[str, ...]
) -> Iterator[tuple[str, tuple]]:
    """Yield inputs of which one function has met another input before."""
    for which, function in enumerate(inputs):
        if not callable(function):
            continue
        for place, given in enumerate(inputs):
            if place == which:
                continue
            said = f"went through `{names[which]}` first"
            if isinstance(given, Tensor) and given.is_floating_point():
                said = f"`{names[place]}` {said}"
                try:
                    other = function(given)
                except Exception:  # it is made for something else
                    continue
            elif isinstance(given, list | tuple) and all(map(callable, given)):
                said = f"what enters each of `{names[place]}` {said}"
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
        yield f"{name} returned what it gets", lambda x, *_: x
        yield f"{name} returned zeros", lambda x, *_: x * 0
        yield (
            f"{name} were applied twice",
            lambda x, *more: given(given(x, *more), *more),
        )
        yield (
            f"what enters {name} were added to what it returns",
            lambda x, *more: x + given(x, *more),
        )
        yield (
            f"what enters {name} were not in what it returns",
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
            yield f"{name} were {other:.4g}, not {given:.4g}", other
    yield f"{name} were taken from radians to degrees", math.degrees(given)
    yield f"{name} were taken from degrees to radians", math.radians(given)


def _other_lists(
    given: list | tuple, name: str, sizes: Mapping[int, str]
) -> Iterator[tuple[str, list | tuple]]:
    kind, count = type(given), len(given)
    yield f"{name} were in the other order", given[::-1]
    yield f"{name} held the first again and again", kind([given[0]] * count)
    yield f"{name} held the last again and again", kind([given[-1]] * count)
    yield f"the last of {name} were missing", given[:-1]
    yield f"the first of {name} were missing", given[1:]
    yield f"{name} held nothing but its first", given[:1]
    yield f"{name} held nothing but its last", given[-1:]
    if count > _MOST_PLACES:
        return
    for which, item in enumerate(given):
        rest = given[:which], given[which + 1 :]
        place = f"{name}[{which}]".replace("`[", "[") + "`"
        for said, other in _other_readings(item, place, sizes):
            yield said, rest[0] + kind([other]) + rest[1]
        for another in range(count):
            if another != which:
                said = f"{place} were `{name.strip('`')}[{another}]`"
                yield said, rest[0] + kind([given[another]]) + rest[1]
    if all(map(callable, given)):
        for said in ("returned what they get", "returned zeros"):
            factor = 0 if "zeros" in said else 1
            yield (
                f"{name} {said}",
                kind([lambda x, *_, f=factor: x * f] * count),
            )
        yield (
            f"what enters {name} were added to what they return",
            kind(
                [lambda x, *more, f=f: x + f(x, *more) for f in given],
            ),
        )


def _other_tensors(
    given: Tensor, name: str, sizes: Mapping[int, str]
) -> Iterator[tuple[str, Tensor]]:
    if given.dtype == torch.bool:
        yield f"{name} were the other way round", ~given
        yield f"{name} were True everywhere", torch.ones_like(given)
        yield f"{name} were False everywhere", torch.zeros_like(given)
    if given.is_floating_point():
        yield f"{name} were 0", torch.zeros_like(given)
        yield f"{name} were 1", torch.ones_like(given)
        yield f"{name} had the other sign", -given
        yield f"{name} were 1 minus itself", 1 - given
        yield f"{name} were squared", given.square()
        yield f"{name} were its exponential", given.exp()
        yield f"{name} were its logarithm", given.log()
        yield f"{name} were its root", given.sqrt()
        for factor in _factors(sizes):
            yield (
                f"{name} were {factor:.4g} times as large",
                given * factor,
            )
    yield from _other_orders(given, name)
    if given.is_floating_point():
        for axis, size in enumerate(given.shape):
            if size > 1:
                mean = given.mean(axis, keepdim=True).expand_as(given)
                yield (
                    f"{name} held its mean over axis {axis} at each place",
                    mean,
                )
                yield (
                    f"{name} had lost its mean over axis {axis}",
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
                f"{name} had its {called}{of_axis} in the order {places}",
                torch.cat([parts[i] for i in order], axis),
            )


def _factors(sizes: Mapping[int, str]) -> list[float]:
    """Return what a reader may have multiplied by, of the sizes at hand."""
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
        yield f"{name} ran backwards{of_axis}", given.flip(axis)
        yield (
            f"{name} were one place further{of_axis}",
            given.roll(1, axis),
        )
        yield (
            f"{name} were one place further to the front{of_axis}",
            given.roll(-1, axis),
        )
        yield f"{name} were sorted{of_axis}", given.sort(axis).values
        yield from _other_parts(given, name, axis, of_axis)
        first = given.narrow(axis, 0, 1).expand_as(given)
        yield f"{name} held its first at each place{of_axis}", first
        last = given.narrow(axis, size - 1, 1).expand_as(given)
        yield f"{name} held its last at each place{of_axis}", last
    if given.dim() == 1 and given.dtype == torch.int64:
        yield f"{name} said of each where it goes", given.argsort()
        yield f"{name} were 1 larger", given + 1
        yield f"{name} were 1 smaller", given - 1
    for one, two in itertools.combinations(range(given.dim()), 2):
        if given.shape[one] > 1 < given.shape[two]:
            yield (
                f"axes {one} and {two} of {name} were exchanged",
                given.transpose(one, two),
            )
