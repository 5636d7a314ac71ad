"""A photograph, followed patch by patch through a Vision Transformer."""

from collections.abc import Sequence
from typing import Any

import traitlets
from ipywidgets import widget_serialization

from vitedu.widgets.base import Choice, Explorer, Integer, Later

STAGES = (
    *("image", "patches", "tokens", "class token", "positions"),
    *("first norm", "attention", "first sum", "second norm", "second sum"),
    *("depth", "answer"),
)
# Tokens that can be followed: the class token, and every fourth patch.
FOLLOWED = 17
_MOST, _WIDEST = 64, 4096
_FIXED = ("picture", "later", "layout", "num_layers", "num_heads")


class PatchByPatch(Explorer):
    """A photograph at each step of a Vision Transformer, with real numbers.

    What the explorer is made of is fixed; what it shows can be set and linked
    at any time.

    `followed_photograph.followed_photograph` makes the arguments.

    Args:
        picture: The photograph, as an address that holds it.
        data: All arrays, one after another, compressed; the page loads them.
        layout: For each array in `data`, its name, dtype and shape.
        num_layers: Blocks of the network.
        num_heads: Heads of a block.
        d_model: Numbers of a token.
        patch_size: Side of a patch in pixels.
        view: What to show at first: `stage`, one of twelve; `block` and
            `head`, counted from 1; `token`, 0 for the class token, or one of
            16 patches, row by row.

    Raises:
        TypeError: An argument of the wrong type, or one that is unknown.
        ValueError: A view that does not exist.
    """

    files = "patch_by_patch"
    remembers = ("stage", "block", "head", "token")

    picture = traitlets.Unicode().tag(sync=True)
    later = traitlets.Dict().tag(sync=True, **widget_serialization)
    layout = traitlets.List().tag(sync=True)
    num_layers = Integer(1, low=1, high=_MOST)
    num_heads = Integer(1, low=1, high=_MOST)
    d_model = Integer(1, low=1, high=_WIDEST)
    patch_size = Integer(1, low=1, high=_MOST)

    stage = Choice(*STAGES)
    block = Integer(1, low=1, high=_MOST)
    head = Integer(1, low=1, high=_MOST)
    token = Integer(6, low=0, high=FOLLOWED - 1)

    def __init__(
        self,
        picture: str,
        data: bytes,
        layout: Sequence[Sequence[Any]],
        num_layers: int,
        num_heads: int,
        **more: Any,
    ) -> None:
        super().__init__(
            picture=picture,
            later={"walk": Later(data=data)},
            layout=list(layout),
            num_layers=num_layers,
            num_heads=num_heads,
            **more,
        )

    def _offered(self) -> dict[str, dict[str, Any]]:
        return {
            "block": {"high": self.num_layers},
            "head": {"high": self.num_heads},
        }

    @traitlets.validate(*_FIXED)
    def _check_fixed(self, proposal: Any) -> Any:
        return self._only_once(proposal)

    @traitlets.validate("block", "head")
    def _check_number(self, proposal: Any) -> int:
        name, value = proposal["trait"].name, proposal["value"]
        most = {"block": self.num_layers, "head": self.num_heads}[name]
        if value > most:
            raise ValueError(f"{name} must lie in [1, {most}], got {value}")
        return value
