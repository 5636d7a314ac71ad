"""Ask a patch of a photograph: which are like it, where do its heads look?"""

from collections.abc import Mapping, Sequence
from typing import Any

import traitlets
from ipywidgets import widget_serialization

from vitedu.widgets.base import Explorer, Flag, Integer, Later, index_below

# Patches that can be asked.
QUERIES = 64
KINDS = ("trained", "drawn")
_FIXED = ("photographs", "later", "num_layers", "num_heads", "settings")
_MOST = 64


class AskPatch(Explorer):
    """A photograph, lit where a Vision Transformer finds what is asked for.

    The reader points at a patch. The page shows how similar the others are
    after a layer, where each head of each layer looks from there, and what in
    a second photograph is most similar, with trained weights or with random
    ones. What the explorer is made of is fixed; what it shows can be set and
    linked at any time. All of these count from 0.

    `asked_patches.asked_patches` makes the arguments.

    Args:
        photographs: What the page says of each, with its "name".
        data: Bytes that the page loads when it needs them: "NAME", the file
            of a photograph; "KIND NAME", the maps and cosines there, of KIND
            "trained" and "drawn"; "KIND NAME SECOND", the cosines between
            two photographs.
        num_layers: Blocks of both networks.
        num_heads: Heads of a block.
        settings: For each button, the words on it, what it sets, and what the
            tour says of that.
        view: What to show at first: `photograph`; `query`, one of 64 patches
            in 8 rows; `layer`; `head`; `drawn`, True for random weights;
            `second`, another photograph, or "" for the head, enlarged. The
            default is the first photograph, the patch asked there first, and
            the layer after three quarters of the network.

    Raises:
        TypeError: An argument of the wrong type, or one that is unknown.
        ValueError: `data` that do not match the photographs; a view that does
            not exist.
    """

    files = "ask_patch"
    remembers = ("photograph", "query", "layer", "head", "drawn", "second")

    # No dicts: a notebook forgets their order.
    photographs = traitlets.List().tag(sync=True)
    later = traitlets.Dict().tag(sync=True, **widget_serialization)
    num_layers = Integer(1, low=1, high=_MOST)
    num_heads = Integer(1, low=1, high=_MOST)
    settings = traitlets.List().tag(sync=True)

    photograph = traitlets.Unicode().tag(sync=True)
    query = Integer(0, low=0, high=QUERIES - 1)
    layer = Integer(0, low=0, high=_MOST - 1)
    head = Integer(0, low=0, high=_MOST - 1)
    drawn = Flag(False)
    second = traitlets.Unicode("").tag(sync=True)

    def __init__(
        self,
        photographs: Sequence[Mapping[str, Any]],
        data: Mapping[str, bytes],
        num_layers: int,
        num_heads: int,
        *,
        settings: Sequence[tuple[str, Mapping[str, Any], str]] = (),
        **view: Any,
    ) -> None:
        needed = _needed([about["name"] for about in photographs])
        if data.keys() != needed:
            other = min(data.keys() ^ needed)
            raise ValueError(
                f"data must have one entry for each of {sorted(needed)}, "
                f"got {'another' if other in data else 'none'} for {other!r}"
            )
        super().__init__(
            photographs=list(photographs),
            later={name: Later(data=part) for name, part in data.items()},
            num_layers=num_layers,
            num_heads=num_heads,
            settings=list(settings),
            **view,
        )

    @traitlets.default("photograph")
    def _first(self) -> str:
        return self.photographs[0]["name"]

    @traitlets.default("query")
    def _asked_first(self) -> int:
        return next(
            about["query"]
            for about in self.photographs
            if about["name"] == self.photograph
        )

    @traitlets.default("layer")
    def _late(self) -> int:
        return max(0, 3 * self.num_layers // 4 - 1)

    def _offered(self) -> dict[str, dict[str, Any]]:
        return {
            "photograph": {"options": self._names()},
            "layer": {"high": self.num_layers - 1},
            "head": {"high": self.num_heads - 1},
            "second": {"options": ["", *self._names()]},
        }

    def _names(self) -> list[str]:
        return [about["name"] for about in self.photographs]

    @traitlets.validate(*_FIXED)
    def _check_fixed(self, proposal: Any) -> Any:
        return self._only_once(proposal)

    @traitlets.validate("layer", "head")
    def _check_index(self, proposal: Any) -> int:
        sizes = {"layer": self.num_layers, "head": self.num_heads}
        return index_below(sizes[proposal["trait"].name], proposal)

    @traitlets.validate("photograph", "second")
    def _check_name(self, proposal: Any) -> str:
        name, value = proposal["trait"].name, proposal["value"]
        options = [*self._names(), *[""] * (name == "second")]
        if value not in options:
            raise ValueError(f"{name} must be one of {options}, got {value!r}")
        return value


def _needed(names: Sequence[str]) -> set[str]:
    """Return what `data` must hold for these photographs."""
    pairs = {
        f"{kind} {name} {second}" if name != second else f"{kind} {name}"
        for kind in KINDS
        for name in names
        for second in names
    }
    return {*names, *pairs}
