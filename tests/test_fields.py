"""Rules that stand with the fields of a config, also of a reader's own."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Optional

import pytest
from helpers import refuses

from vitedu import require
from vitedu.config import TrainConfig, ViTConfig
from vitedu.fields import check_fields, count, number, rate, ruled, size


@dataclass(frozen=True, kw_only=True)
class Recipe(TrainConfig):
    """A reader's own recipe; names say nothing about what is allowed."""

    label_rate: float = rate(0.1)
    droplet_size: float = 3.0
    largest: float = number(2.0, above=1, below=9)
    rounds: int = count(0)
    seed: int | None = ruled(require.seed, None)
    step: int = -1
    shuffled: bool = True
    order: Literal["up", "down"] = "up"
    folder: Path | None = None
    mark: Optional[str] = None  # noqa: UP045 - the older way to write it
    anything: Any = None
    late: "float | None" = None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("droplet_size", 7.0),
        ("droplet_size", -1),
        ("label_rate", 0),
        ("largest", 8.9),
        ("rounds", 0),
        ("seed", None),
        ("seed", 2**64 - 1),
        ("step", -3),
        ("order", "down"),
        ("folder", Path("a")),
        ("mark", "x"),
        ("anything", [3]),
        ("late", 0.5),
    ],
)
def test_a_readers_fields_take_what_they_allow(name, value):
    assert getattr(Recipe(num_epochs=1, **{name: value}), name) == value


@pytest.mark.parametrize(
    ("name", "value", "error", "message"),
    [
        ("label_rate", 7.0, ValueError, "must be below 1, got 7.0"),
        ("droplet_size", float("inf"), ValueError, "must be finite, got inf"),
        ("droplet_size", "3", TypeError, "must be a number, got '3'"),
        ("droplet_size", None, TypeError, "must be a number, got None"),
        ("largest", 9, ValueError, "must be below 9, got 9"),
        ("rounds", -1, ValueError, "must be at least 0, got -1"),
        ("seed", 2**64, ValueError, "must be below 2**64, got "),
        ("step", 0.5, TypeError, "must be an integer, got 0.5"),
        ("shuffled", 1, TypeError, "must be True or False, got 1"),
        ("order", "left", ValueError, "must be one of ('up', 'down'), got "),
        ("folder", "a", TypeError, "must be a Path, got str"),
        ("mark", 3, TypeError, "must be a str, got int"),
        ("late", "0.5", TypeError, "must be a number, got '0.5'"),
        ("warmup", 1.0, ValueError, "must be below 1, got 1.0"),
    ],
)
def test_a_readers_fields_refuse_the_rest(name, value, error, message):
    with refuses(error, f"{name} {message}"):
        Recipe(num_epochs=1, **{name: value})


def test_a_new_default_keeps_the_rule():
    @dataclass(frozen=True, kw_only=True)
    class Wet(ViTConfig):
        dropout: float = 0.3
        drop_path: float = number(1.0, at_least=0)

    assert Wet().dropout == 0.3
    assert Wet().drop_path == 1.0
    with refuses(ValueError, "dropout must be below 1, got 1.5"):
        Wet(dropout=1.5)


def test_rules_that_join_fields_are_extended():
    @dataclass(frozen=True, kw_only=True)
    class Even(ViTConfig):
        def validate(self) -> None:
            super().validate()
            if self.num_layers % 2:
                raise ValueError(f"num_layers is odd: {self.num_layers}")

    assert Even(num_layers=2).num_layers == 2
    with refuses(ValueError, "num_layers is odd: 3"):
        Even(num_layers=3)
    with refuses(ValueError, "image_size must be divisible by patch_size"):
        Even(num_layers=2, patch_size=5)
    with refuses(TypeError, "num_layers must be an integer"):
        Even(num_layers=2.0)


def test_any_dataclass_may_have_such_fields():
    @dataclass
    class Grid:
        rows: int = size()
        columns: int = size(3)

        def __post_init__(self) -> None:
            check_fields(self)

    assert Grid(2).columns == 3
    with refuses(ValueError, "rows must be at least 1, got 0"):
        Grid(0)
