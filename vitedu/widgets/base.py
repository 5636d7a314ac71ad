"""What all explorers share: loading their scripts, checking their inputs."""

import json
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import anywidget
import numpy as np
import traitlets
from ipywidgets import Widget
from traitlets import Bytes, HasTraits, TraitType

from vitedu.widgets import modules

DTYPES = ("float64", "float32", "float16", "int32", "uint8", "bool")


class Explorer(anywidget.AnyWidget):
    """An interactive figure that computes and draws in the browser.

    A subclass sets `files`, the name of its script in this folder. A page
    gets the script and all that it imports as one module, and the style
    sheets that have the names of these files.

    Raises:
        TypeError: An argument that is not a trait, or a missing array.
    """

    files: str
    remembers: tuple[str, ...] = ()
    _made = False

    _schema = traitlets.Dict(read_only=True).tag(sync=True)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        # An instance gets a subclass of its own when anywidget adds traits
        # to it; that one must keep them.
        if "files" in cls.__dict__:
            script = f"{cls.files}.js"
            cls._esm = modules.joined(script)
            cls._css = modules.styles(script)
        super().__init_subclass__(**kwargs)

    def __init__(self, **traits: Any) -> None:
        name = type(self).__name__
        for given in traits:
            if not self.has_trait(given):
                raise TypeError(f"{name} has no argument {given!r}")
        for trait in self.traits(required=True):
            if trait not in traits:
                raise TypeError(f"{name} needs the argument {trait!r}")
        super().__init__(**traits)
        self._made = True

    # Asked for when all traits have the values that the explorer opens with.
    @traitlets.default("_schema")
    def _settings(self) -> dict[str, dict[str, Any]]:
        traits, narrower = self.traits(), self._offered()
        return {
            name: _facts(traits[name], getattr(self, name))
            | narrower.get(name, {})
            for name in self.remembers
        }

    def _offered(self) -> dict[str, dict[str, Any]]:
        """Return the values allowed for settings whose traits allow more."""
        return {}

    def _only_once(self, proposal: Any) -> Any:
        """Pass a proposed value on, unless the explorer already exists."""
        if self._made:
            raise ValueError(
                f"{proposal['trait'].name} cannot change once the explorer "
                "is made; make another"
            )
        return proposal["value"]

    def __repr__(self) -> str:
        # Without an address in it: two runs of a chapter print the same.
        return f"{type(self).__name__}()"


class Later(Widget):
    """Bytes that a page loads when an explorer asks for them.

    The explorer refers to it in a trait. On the site it is a file of its own.

    Args:
        data: The bytes.
    """

    data = Bytes().tag(sync=True)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.data)} bytes)"


class Number(TraitType):
    """A finite real number in [low, high], synchronised with the page."""

    def __init__(self, default: float, *, low: float, high: float) -> None:
        super().__init__(default)
        self.low, self.high = low, high
        self.tag(sync=True)

    def validate(self, obj: HasTraits | None, value: Any) -> float:
        if not isinstance(value, Real) or isinstance(value, bool):
            raise TypeError(f"{self.name} must be a number, got {value!r}")
        _check_interval(self, value)
        return float(value)


class Integer(TraitType):
    """An integer in [low, high], synchronised with the page."""

    def __init__(self, default: int, *, low: int, high: int) -> None:
        super().__init__(default)
        self.low, self.high = low, high
        self.tag(sync=True)

    def validate(self, obj: HasTraits | None, value: Any) -> int:
        if not isinstance(value, Integral) or isinstance(value, bool):
            raise TypeError(f"{self.name} must be an integer, got {value!r}")
        _check_interval(self, value)
        return int(value)


class Flag(TraitType):
    """True or False, synchronised with the page."""

    def __init__(self, default: bool) -> None:
        super().__init__(default)
        self.tag(sync=True)

    def validate(self, obj: HasTraits | None, value: Any) -> bool:
        if not isinstance(value, bool):
            raise TypeError(
                f"{self.name} must be True or False, got {value!r}"
            )
        return value


class Choice(TraitType):
    """One of a few words, synchronised with the page, by default the first."""

    def __init__(self, *options: str) -> None:
        super().__init__(options[0])
        self.options = options
        self.tag(sync=True)

    def validate(self, obj: HasTraits | None, value: Any) -> str:
        if value not in self.options:
            raise ValueError(
                f"{self.name} must be one of {self.options}, got {value!r}"
            )
        return value


class Array(TraitType):
    """A numpy array that travels to the page as its raw bytes.

    `axes` names the axes, one word each; a word that is a number fixes the
    size of its axis: "key 2". The array is kept read-only in `dtype`, so what
    Python reads back is exactly what the page computes with. Without a
    default the array must be given.
    """

    def __init__(
        self,
        axes: str,
        *,
        dtype: str = "float32",
        default: Sequence | None = None,
    ) -> None:
        if dtype not in DTYPES:
            raise ValueError(f"dtype must be one of {DTYPES}, got {dtype!r}")
        self.axes, self.dtype = axes.split(), dtype
        if default is None:
            super().__init__()
        else:
            super().__init__(_frozen(np.array(default, dtype)))
        self.tag(
            sync=True,
            to_json=_to_page,
            from_json=_from_page,
            required=default is None,
        )

    def validate(self, obj: HasTraits | None, value: Any) -> np.ndarray:
        if not isinstance(value, np.ndarray):
            raise TypeError(
                f"{self.name} must be a numpy array, "
                f"got {type(value).__name__}"
            )
        self._check_shape(value.shape)
        self._check_dtype(value.dtype)
        with np.errstate(over="ignore"):
            kept = value.astype(self.dtype)
        wrapped = kept.dtype.kind in "iu" and (kept != value).any()
        if wrapped or not np.isfinite(kept).all():
            raise ValueError(
                f"{self.name} must be finite numbers within {self.dtype}, "
                f"got values from {value.min()} to {value.max()}"
            )
        return _frozen(kept)

    def _check_shape(self, shape: tuple[int, ...]) -> None:
        fits = len(shape) == len(self.axes) and all(
            size == int(axis) if axis.isdigit() else size > 0
            for size, axis in zip(shape, self.axes, strict=True)
        )
        if not fits:
            raise ValueError(
                f"{self.name} must have the axes ({' '.join(self.axes)}), "
                f"none empty, got shape {shape}"
            )

    def _check_dtype(self, dtype: np.dtype) -> None:
        # A cast within the kind (float64 to float32) rounds; a cast from
        # float to integer would cut digits off in silence.
        if not np.can_cast(dtype, self.dtype, casting="same_kind"):
            raise TypeError(
                f"{self.name} must be convertible to {self.dtype}, got {dtype}"
            )


def checked_words(name: str, words: Sequence[str]) -> list[str]:
    """Return words as a list.

    Raises:
        TypeError: `words` is not a sequence of strings.
        ValueError: One of them is blank.
    """
    if isinstance(words, str) or not isinstance(words, Sequence):
        raise TypeError(f"{name} must be a list of strings, got {words!r}")
    for word in words:
        if not isinstance(word, str):
            raise TypeError(f"{name} must be strings, got {word!r}")
        if not word.strip():
            raise ValueError(f"{name} must not be blank, got {word!r}")
    return list(words)


def index_below(size: int, proposal: Any) -> int:
    """Pass a proposed index on if it is one of `size` things."""
    name, value = proposal["trait"].name, proposal["value"]
    if value >= size:
        raise ValueError(f"{name} must lie in [0, {size - 1}], got {value}")
    return value


def _facts(trait: TraitType, value: Any) -> dict[str, Any]:
    """What the page has to know about a setting."""
    match trait:
        case Number() | Integer():
            kind = "number" if isinstance(trait, Number) else "integer"
            facts = {"kind": kind, "low": trait.low, "high": trait.high}
        case Flag():
            facts = {"kind": "flag"}
        case Choice():
            facts = {"kind": "choice", "options": list(trait.options)}
        case Array():
            facts = {"kind": "array", "dtype": trait.dtype}
            facts["shape"] = list(value.shape)
            # As short as the type of its numbers allows.
            value = [json.loads(str(number)) for number in (value + 0).ravel()]
        case traitlets.List():
            words = isinstance(trait._trait, traitlets.Unicode)
            facts = {"kind": "words" if words else "list"}
            value = list(value)
        case _:
            facts = {"kind": "choice"}
    return facts | {"start": value}


def _check_interval(trait: Number | Integer, value: float) -> None:
    # Written so that NaN fails too.
    if not trait.low <= value <= trait.high:
        raise ValueError(
            f"{trait.name} must lie in [{trait.low}, {trait.high}], "
            f"got {value}"
        )


def _frozen(array: np.ndarray) -> np.ndarray:
    array.setflags(write=False)
    return array


def _to_page(array: np.ndarray, widget: Explorer) -> dict[str, Any]:
    """The form that `decodeArray` in core/arrays.js reads (little-endian)."""
    little = array.astype(array.dtype.newbyteorder("<"))
    return {
        "data": little.tobytes(),
        "shape": list(array.shape),
        "dtype": array.dtype.name,
    }


def _from_page(wire: dict[str, Any], widget: Explorer) -> np.ndarray:
    """The way back, from `encodeArray` in core/arrays.js."""
    dtype = np.dtype(wire["dtype"]).newbyteorder("<")
    return np.frombuffer(wire["data"], dtype).reshape(wire["shape"])
