"""Fields of a config that carry their rules, and the check of all of them."""

from collections.abc import Callable
from dataclasses import MISSING, field, fields
from functools import partial
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from vitedu import require


def ruled(rule: Callable, default: Any = MISSING, **limits: Any) -> Any:
    """Return a field of a dataclass whose values a rule has to accept.

    Args:
        rule: Called as ``rule(name, value, **limits)``; it raises where the
            value is wrong, as the functions of `vitedu.require` do.
        default: The default of the field; if it is left out, the field has
            none.
        limits: More arguments of the rule.
    """
    return field(default=default, metadata={"rule": partial(rule, **limits)})


# What configs need most, as in ``size(768)`` and ``number(0.1, above=0)``.
size = partial(ruled, require.positive_int)
count = partial(ruled, require.integer, at_least=0)
rate = partial(ruled, require.rate)
number = partial(ruled, require.number)

_PLAIN = {bool: require.boolean, int: require.integer, float: require.number}


def check_fields(config: Any) -> None:
    """Check every field of a dataclass, those of a subclass included.

    A field obeys the rule that it was made with, even where a subclass gives
    it a different default. Without a rule, its annotation says what it may
    hold: True or False, an integer, a finite number, one of the words of a
    Literal, or an object of a class. None passes where the annotation allows
    it.

    Raises:
        TypeError: A field has the wrong type.
        ValueError: A field is outside its range.
    """
    hints, rules = get_type_hints(type(config)), {}
    for base in reversed(type(config).__mro__):
        for item in vars(base).get("__dataclass_fields__", {}).values():
            if "rule" in item.metadata:
                rules[item.name] = item.metadata["rule"]
    for item in fields(config):
        name, value = item.name, getattr(config, item.name)
        kinds = _members(hints[name])
        if value is None and NoneType in kinds:
            continue
        if name in rules:
            rules[name](name, value)
        elif len(kinds - {NoneType}) == 1:
            _check_kind(name, value, *(kinds - {NoneType}))


def _members(kind: Any) -> set:
    """Return what a union allows; for any other annotation, only itself."""
    is_union = get_origin(kind) in (Union, UnionType)
    return set(get_args(kind)) if is_union else {kind}


def _check_kind(name: str, value: Any, kind: Any) -> None:
    if get_origin(kind) is Literal:
        require.choice(name, value, get_args(kind))
    elif kind in _PLAIN:
        _PLAIN[kind](name, value)
    elif isinstance(kind, type) and kind is not Any:
        require.instance(name, value, kind)
