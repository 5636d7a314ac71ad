"""What is wrong with a result that no known mistake explains.

Each finding names a property that broke, and where: rows that do not add up
to 1, a factor, an order, a place that is read although it is hidden, an input
that was taken for another.
"""

import itertools
import math
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor

_TOLERANCE = 1e-6
# A function is only asked again, with inputs changed, if it answers so soon,
# in time of the processor: another program that runs does not count.
_QUICK_SECONDS = 0.1
_MOST_SECONDS = 1.0
_MOST_PLACES = 8
_MOST_AXES = 5
_MOST_TIMES = 12
_BY_CHANCE = re.compile("times as large|, not ")
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
        expected: What is right, of any shape; another than `found`.
        candidate: The function that returned `found`.
        right: The one that returned `expected`.
        inputs: Of both.
        names: Of the inputs; () if they are not known.

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
        or _factor(found, expected, sizes)
        or _look(_WHOLE, found, expected)
        or _remainder(found, expected, inputs, names)
        or _term(found, expected, inputs, names)
    )
    reach = ""
    if not said and inputs:
        with _one_thread():
            said = misread_input(found, right, inputs, names)
            if not said:
                reach = broken_reach(candidate, right, inputs, names)
    said = said or _look(_PARTLY, found, expected)
    # How far numbers spread is worth a word if nothing else can be said.
    said = said or (not reach and (_size(found, expected) or UNTOLD)) or ""
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


def _look(looks: tuple, found: Tensor, expected: Tensor) -> str:
    return next(filter(None, (look(found, expected) for look in looks)), "")


def _first_difference(found: Tensor, expected: Tensor) -> str:
    at = _first(_differs(found, expected))
    pair = f"{_number(found[at])} instead of {_number(expected[at])}."
    if found.numel() == 1:
        return f"It is {pair}"
    return f"The first that differs is at {_place(at)}: {pair}"


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
        return "infinity is right where it stands; look at the rest."
    return ""


def named_sizes(inputs: tuple, names: tuple[str, ...]) -> dict[int, str]:
    """Return what has each size: an axis of an input, or a whole number.

    A size that two axes of one input share names neither.
    """
    named: dict[int, str] = {}
    for given, name in zip(inputs, names, strict=True):
        if type(given) is int and given > 1:
            named.setdefault(given, f"`{name}`")
        if isinstance(given, Tensor):
            shape = list(given.shape)
            for axis, size in enumerate(shape):
                if size > 1 and shape.count(size) == 1:
                    named.setdefault(size, f"axis {axis} of `{name}`")
    return named


def explained_error(message: str, sizes: Mapping[int, str]) -> str:
    """Say what has the sizes that do not fit, by an error of PyTorch.

    Args:
        message: Of the error.
        sizes: What has a size in the inputs, as `named_sizes` finds it.

    Returns:
        A sentence; "" if no size is known, or the error is about another.

    >>> explained_error(
    ...     "The size of tensor a (3) must match the size of tensor b (7)",
    ...     {7: "axis 1 of `x`"},
    ... )
    '; 7 is the size of axis 1 of `x`.'
    """
    if not re.search(
        "size of tensor|shapes cannot|shape '|must match", message
    ):
        return ""
    numbers = dict.fromkeys(map(int, re.findall(r"\d+", message)))
    known = [_has_size(n, sizes) for n in numbers if n in sizes]
    return f"; {', '.join(known)}." if known else ""


def _has_size(size: int, sizes: Mapping[int, str]) -> str:
    name = sizes[size]
    return f"{size} is {'the size of ' * name.startswith('axis')}{name}"


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
    if time.thread_time() - start > _QUICK_SECONDS:
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
        if _same(found, made):
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
                return _known_factor(way, sizes)
    return ""


def _but_for_a_factor(found: Tensor, made: Tensor) -> str:
    if found.numel() < 3 or _same(made, torch.zeros_like(made)):
        return ""
    made = made.double()
    factor = (found * made).sum() / made.square().sum()
    if factor.abs() < _TOLERANCE or not _same(found, factor * made):
        return ""
    return f"but for a factor of {factor.item():.4g}"


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
        if usual[0].shape != usual[1].shape or usual[1].dim() < 2:
            return ""
        return next(_reaches(candidate, right, inputs, names), "")
    except Exception:  # what an answer raises on other inputs is no news
        return ""


def _reaches(candidate, right, inputs, names) -> Iterator[str]:
    for which, (given, name) in enumerate(zip(inputs, names, strict=True)):
        if not _has_rows(given):
            continue
        for row in range(min(given.shape[-2], _MOST_PLACES)):
            moved, should = (
                _moved_rows(function, inputs, which, row)
                for function in (candidate, right)
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


def _moved_rows(function, inputs, which, row) -> Tensor:
    """Return the rows of a result that move with a row of an input.

    With one set of inputs a row may stay although it reads another: a softmax
    gives all to one place, a threshold drops a weight. So several are tried.
    """
    moved: Tensor | bool = False
    for seed, size in enumerate((1.0, 0.1, 0.3)):
        pen = torch.Generator().manual_seed(seed)
        start = tuple(
            _smaller(given, size, pen if seed else None) for given in inputs
        )
        other = start[which].clone()
        noise = torch.randn(other[..., row, :].shape, generator=pen)
        other[..., row, :] += noise.to(other)
        changed = (*start[:which], other, *start[which + 1 :])
        before, after = function(*start), function(*changed)
        same = torch.isclose(
            after.double(), before.double(), atol=_TOLERANCE, equal_nan=True
        )
        moved = moved | ~same.all(dim=-1)
    return moved


def _smaller(given: object, size: float, pen: torch.Generator | None):
    """Return rows that are smaller and in another order, all else as it is."""
    if pen is None or not _has_rows(given):
        return given
    order = torch.randperm(given.numel(), generator=pen)
    return size * given.flatten()[order].view(given.shape)


def _has_rows(given: object) -> bool:
    return (
        isinstance(given, Tensor)
        and given.is_floating_point()
        and given.dim() > 1
    )


def _about_shape(
    found: Tensor, expected: Tensor, sizes: Mapping[int, str]
) -> str:
    said = (
        f"the shape is {tuple(found.shape)}, "
        f"it should be {tuple(expected.shape)}."
    )
    if not found.numel() or not expected.numel():
        return f"{said} It holds {found.numel()} numbers."
    if found.dim() == expected.dim() <= _MOST_AXES:
        for order in itertools.permutations(range(found.dim())):
            if _same(found.permute(order), expected):
                return f"{said} The numbers are right; axes are exchanged."
    if found.numel() == expected.numel():
        if _same(found.reshape(expected.shape), expected):
            return f"{said} The numbers are right; reshape them."
        return f"{said} There are as many numbers as there should be."
    for axis in range(expected.dim()):
        if _same(found, expected.double().sum(dim=axis)):
            return f"{said} Axis {axis} is summed over and should stay."
        if _same(found, expected.double().mean(dim=axis)):
            return f"{said} Axis {axis} is averaged and should stay."
        if _same(found, expected.select(axis, -1)):
            return f"{said} Only the last of axis {axis} is there."
        if _same(found, expected.select(axis, 0)):
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
        verb = "missing" if size < wanted else "too many"
        return f" On axis {axis}: {_listed(odd)} {verb}; the rest is right."
    # A size that only one of both has in the inputs is there by chance.
    known = [_has_size(n, sizes) for n in (size, wanted) if n in sizes]
    more = f": {', '.join(known)}" if len(known) == 2 else ""
    return f" Look at axis {axis}{more}."


def _matched(
    few: tuple[Tensor, ...], many: tuple[Tensor, ...]
) -> tuple[bool, list[int]]:
    """Return whether all of `few` are in `many`, and what else is there."""
    odd, left = [], list(few)
    for place, one in enumerate(many):
        if left and _same(left[0], one):
            left.pop(0)
        else:
            odd.append(place)
    return bool(few) and not left, odd


def _factor(found: Tensor, expected: Tensor, sizes: Mapping[int, str]) -> str:
    factor = ((found * expected).sum() / expected.square().sum()).item()
    if not math.isfinite(factor) or not _same(found, factor * expected):
        return ""
    every = "every number" if found.numel() > 1 else "the number"
    if math.isclose(factor, -1, rel_tol=1e-5):
        return f"{every} has the wrong sign."
    if math.isclose(factor, 0, abs_tol=1e-9):
        return f"{every} is 0."
    known = _known_factor(factor, sizes)
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


def _known_factor(factor: float, sizes: Mapping[int, str]) -> str:
    for size, name in sizes.items():
        of_axis = "the size of " * name.startswith("axis")
        for power, root in ((1, ""), (0.5, "the root of ")):
            for way in (factor, 1 / factor):
                if math.isclose(way, size**power, rel_tol=1e-5):
                    return f" {way:.4g} is {root}{of_axis}{name}."
    return ""


def _near_whole(number: float) -> bool:
    return 1.5 < number < 1000 and math.isclose(
        number, round(number), rel_tol=1e-6
    )


def _offset(found: Tensor, expected: Tensor) -> str:
    offset = (found - expected).mean()
    if not _same(found, expected + offset):
        return ""
    if found.numel() == 1:
        one = math.isclose(abs(offset.item()), 1, rel_tol=1e-5)
        way = "large" if offset > 0 else "small"
        return f"the number is 1 too {way}." if one else ""
    return f"every number is off by {offset.item():.4g}."


def _constant(found: Tensor, expected: Tensor) -> str:
    if found.numel() > 1 and _same(found, found.flatten()[0].expand_as(found)):
        return "all numbers are the same."
    return ""


def _places_alike(found: Tensor, expected: Tensor) -> str:
    for axis, size in enumerate(found.shape):
        if size < 2 or found.dim() < 2:
            continue
        first = found.narrow(axis, 0, 1).expand_as(found)
        wanted = expected.narrow(axis, 0, 1).expand_as(expected)
        if _same(found, first) and not _same(expected, wanted):
            return f"all places on axis {axis} hold the same numbers."
    return ""


def _bent(found: Tensor, expected: Tensor) -> str:
    zero_one = ((expected == 0) | (expected == 1)).all()
    if zero_one and _same(found, 1 - expected):
        return "0 and 1, or False and True, are exchanged."
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
        if _same(found, bent):
            return f"{every} is {said}."
    if found.numel() > 1 and _same(found.abs(), expected.abs()):
        return "the numbers are right but for their signs."
    return ""


def _order(found: Tensor, expected: Tensor) -> str:
    if found.dim() > 1 and _same(found.mT, expected):
        return "the last two axes are exchanged."
    for one, two in itertools.combinations(range(found.dim()), 2):
        if _same(found.transpose(one, two), expected):
            return f"axes {one} and {two} are exchanged."
        if _same(found.flip(one, two), expected):
            return f"axis {one} and axis {two} run backwards."
    for axis, size in enumerate(found.shape):
        if size < 2:
            continue
        if _same(found.flip(axis), expected):
            return f"axis {axis} runs backwards."
        for step in range(1, size):
            if _same(found.roll(step, axis), expected):
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
            if _same(inner, expected.narrow(axis, 1, last)):
                return f"everything on axis {axis} is one place too early."
            inner = found.narrow(axis, 1, last)
            if _same(inner, expected.narrow(axis, 0, last)):
                return f"everything on axis {axis} is one place too late."
        if _same(found.sort(axis).values, expected.sort(axis).values):
            return (
                "the numbers are right, but on axis "
                f"{axis} they are out of order."
            )
    return ""


def _elsewhere(found: Tensor, expected: Tensor) -> str:
    if _same(found.flatten().sort().values, expected.flatten().sort().values):
        return "the numbers are right, but they stand in other places."
    return ""


def _count(places: int) -> str:
    return "one place" if places == 1 else f"{places} places"


def _remainder(
    found: Tensor, expected: Tensor, inputs: tuple, names: tuple[str, ...]
) -> str:
    """Say that an input is in the result too often, or not often enough."""
    for given, name in zip(inputs, names, strict=True):
        if not isinstance(given, Tensor) or given.shape != found.shape:
            continue
        given = given.double()
        if _same(found, given):
            return f"what you return is `{name}`, unchanged."
        if _same(found - given, expected):
            return f"`{name}` was added and should not be, or once too often."
        if _same(found + given, expected):
            return f"`{name}` should have been added, or once more."
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
    much = "in it once too often" if gap > 0 else "missing in it"
    return f"`{' * '.join([f'{often:.0f}', *factors])}` is {much}."


def _sums(found: Tensor, expected: Tensor) -> str:
    for axis in reversed(range(found.dim())):
        if found.shape[axis] < 2:
            continue
        wanted, sums = expected.sum(axis), found.sum(axis)
        for total in (1.0, 0.0):
            right = torch.full_like(wanted, total)
            if _same(wanted, right) and not _same(sums, right):
                at = _first(_differs(sums, right))
                # Without other axes there is no place to name.
                place = f" at {_place(at)} of the other axes" if at else ""
                return (
                    f"what axis {axis} holds should add up to {total:.0f}, "
                    f"and adds up to {sums[at].item():.4g}{place}."
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
    if ((found == 0) & ~empty & differs).sum() == differs.sum():
        return "some numbers are 0 and should not be; the rest is right."
    if found.dim():
        counts = [(x != 0).sum(-1).flatten().unique() for x in (found, empty)]
        have, want = counts[0], found.shape[-1] - counts[1]
        if len(have) == len(want) == 1 and have != want:
            return (
                f"{have.item()} numbers of each row are not 0, it should be "
                f"{want.item()}."
            )
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
        right = [i for i in range(size) if i not in places]
        which, what = right, "right"
    else:
        which, what = places, "wrong"
    said = f"of the {size} places on axis {axis} only {_listed(which)} {what}"
    part = torch.tensor(places)
    looks = (*_WHOLE[1:], _sums) if len(places) > 1 else (_offset, _bent)
    inner = _factor(
        *(x.index_select(axis, part) for x in (found, expected)), {}
    )
    inner = inner or _look(
        looks, *(x.index_select(axis, part) for x in (found, expected))
    )
    return f"{said}; there, {inner}" if inner else f"{said}."


def _listed(places: list[int]) -> str:
    """Return places as the beginning of a sentence.

    >>> _listed([3]), _listed([0, 4]), _listed([2, 3, 4, 5])
    ('3 is', '0 and 4 are', '2 to 5 are')
    """
    if len(places) > 2 and places[-1] - places[0] == len(places) - 1:
        return f"{places[0]} to {places[-1]} are"
    *others, last = map(str, places)
    return f"{', '.join(others)} and {last} are" if others else f"{last} is"


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


def _columns(found: Tensor, expected: Tensor) -> str:
    """Say that the places of an axis are shifted or stretched alike."""
    for axis, size in enumerate(found.shape):
        others = [a for a in range(found.dim()) if a != axis]
        if size < 2 or not others or found.numel() < 3 * size:
            continue
        what = f"each place on axis {axis} is"
        shift = (found - expected).mean(dim=others, keepdim=True)
        if _same(found, expected + shift):
            return f"{what} shifted by a number of its own."
        square = expected.square().sum(dim=others, keepdim=True)
        factor = (found * expected).sum(dim=others, keepdim=True)
        if _same(found, factor / square.clamp_min(1e-12) * expected):
            return f"{what} multiplied by a number of its own."
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
    spread, wanted = found.std(), expected.std()
    if wanted > 0 and not 2 / 3 < spread / wanted < 1.5:
        return (
            f"the numbers spread by {spread:.3g}, they should by {wanted:.3g}."
        )
    return ""


# What explains the whole result.
_WHOLE = (_offset, _constant, _bent, _order, _places_alike)
# What is true of a part of it, or only one of its properties.
_PARTLY = (_zeros, _where, _elsewhere, _sums, _sign, _nearly, _rows, _columns)


def _same(found: Tensor, expected: Tensor) -> bool:
    return found.shape == expected.shape and torch.allclose(
        found.double(), expected.double(), atol=_TOLERANCE
    )


def _differs(found: Tensor, expected: Tensor) -> Tensor:
    return ~torch.isclose(found.double(), expected.double(), atol=_TOLERANCE)


def _first(where: Tensor) -> tuple[int, ...]:
    """The first place that is True; () for a single number."""
    return tuple(where.nonzero()[0].tolist())


def _place(at: tuple[int, ...]) -> str:
    return str(list(at)) if len(at) != 1 else str(at[0])


def _number(value: Tensor) -> str:
    number = value.item()
    return f"{number:.4g}" if isinstance(number, float) else str(number)
