"""Every wrong input gets an error of the library that names the argument.

What users call is called with right arguments but for one. A bare message of
PyTorch does not count as an error, and neither does another exception.
"""

import importlib
import inspect
import pkgutil
import re
import traceback
from dataclasses import fields
from pathlib import Path
from typing import Literal, get_args, get_origin, get_type_hints

import jaxtyping
import pytest
from valid_calls import CALLS, INSIDE, SEQ2SEQ, VIT, call
from wrong_values import boolean, choice, number, pair, rate, seed, size

import vitedu
from vitedu import require
from vitedu.config import TrainConfig

LIBRARY = str(Path(vitedu.__file__).parent)


def without_a_row():
    """Yield the public functions, classes and methods without a row."""
    for info in pkgutil.walk_packages(vitedu.__path__, "vitedu."):
        if info.ispkg or named(info.name).startswith(INSIDE):
            continue
        module = importlib.import_module(info.name)
        for thing in vars(module).values():
            if getattr(thing, "__module__", "") != module.__name__:
                continue
            methods = vars(thing).values() if inspect.isclass(thing) else ()
            for found in (thing, *methods):
                found = getattr(found, "__func__", found)
                if not callable(found) or not hasattr(found, "__qualname__"):
                    continue
                name = named(f"{found.__module__}.{found.__qualname__}")
                if not (
                    "._" in name or name.startswith(INSIDE) or name in CALLS
                ):
                    yield found


def named(path):
    return path.removeprefix("vitedu.")


# Names and defaults say all about the arguments of what needs no row.
ALL = CALLS | dict(map(call, without_a_row()))


def answer_to(function, arguments, key, value):
    """Call with one wrong value; return what is wrong with the answer."""
    given = {k: argument.value for k, argument in arguments.items()}
    try:
        function(**given | {key: value})
    except (TypeError, ValueError) as error:
        where = traceback.extract_tb(error.__traceback__)[-1].filename
        if not where.startswith(LIBRARY):
            return f"a bare error of {where}: {error}"
        words = "|".join(map(re.escape, [key, *arguments[key].named]))
        if not re.search(rf"\b({words})\b", str(error)):
            return f"the message does not name it: {error}"
        if "got" not in str(error):
            return f"the message does not say what came: {error}"
        return None
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "it was accepted"


@pytest.fixture
def as_readers_call():
    """Leave it to the library to notice; readers have no shape checks."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


@pytest.mark.usefixtures("as_readers_call")
@pytest.mark.parametrize("name", ALL)
def test_wrong_inputs_are_refused(name):
    function, arguments = ALL[name]
    found = [
        f"{key}={value!r}: {answer}"
        for key, argument in arguments.items()
        for value in argument.wrong
        if (answer := answer_to(function, arguments, key, value))
    ]
    assert not found, "\n".join(found)


RULES = {
    require.positive_int: size,
    require.integer: size,
    require.number: lambda at_most=None, **limits: number(1.0, **limits),
    require.rate: rate,
    require.seed: seed,
    require.sides: lambda: pair(3, 3, alone=True),
}
KINDS = {bool: boolean, int: size, float: lambda: number(1.0)}


@pytest.mark.parametrize(
    "config",
    [VIT, SEQ2SEQ, TrainConfig(num_epochs=1)],
    ids=lambda config: type(config).__name__,
)
def test_the_rule_of_each_field_is_kept(config):
    hints = get_type_hints(type(config))
    for field in fields(config):
        kinds = set(get_args(hints[field.name])) or {hints[field.name]}
        optional = type(None) in kinds
        kind = (kinds - {type(None)}).pop()
        if rule := field.metadata.get("rule"):
            wrong = RULES[rule.func](**rule.keywords).wrong
        elif get_origin(hints[field.name]) is Literal:
            wrong = choice(kind).wrong
        else:
            wrong = KINDS[kind]().wrong
        for value in wrong:
            if value is None and optional:
                continue
            with pytest.raises(
                (TypeError, ValueError), match=f"{field.name}.* got "
            ):
                type(config)(**vars(config) | {field.name: value})
