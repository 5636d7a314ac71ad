"""What explorers share whose page loads a trained network on request."""

from collections.abc import Callable
from typing import Any

import traitlets

from vitedu.widgets.base import Explorer


class LoadingExplorer(Explorer):
    """An explorer whose page loads a trained network when the reader asks.

    On the site the page takes the files that the build wrote; in a notebook
    the running kernel sends what `pack` returns. Nothing is loaded afterwards.

    Args:
        network: Name of the network among the site's files; empty where there
            is none, in which case the page says so.
        pack: Returns the network as `vitedu.book.page_network` packs it;
            called when a notebook's page asks.
        view: What to show at first.

    Raises:
        TypeError: An argument of the wrong type, or one that is unknown.
        ValueError: A view that does not exist.
    """

    network = traitlets.Unicode().tag(sync=True)

    def __init__(
        self,
        network: str = "",
        *,
        pack: Callable[[], bytes] | None = None,
        **view: Any,
    ) -> None:
        if not isinstance(network, str):
            raise TypeError(f"network must be a name, got {network!r}")
        if pack is not None and not callable(pack):
            raise TypeError(f"pack must be a function, got {pack!r}")
        super().__init__(network=network, **view)
        self._pack = pack
        self.on_msg(self._answer)

    @traitlets.validate("network")
    def _check_network(self, proposal: Any) -> str:
        return self._only_once(proposal)

    def _answer(self, widget: Any, content: Any, buffers: Any) -> None:
        """Send the network to a page that asks for it."""
        if content == {"network": True} and self._pack is not None:
            self.send({"network": True}, [self._pack()])
