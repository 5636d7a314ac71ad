"""A Vision Transformer that looks at the reader's own photograph."""

from vitedu.widgets.base import Integer
from vitedu.widgets.loaded_network import LoadingExplorer

LAYERS, HEADS = 12, 6


class OwnPhotograph(LoadingExplorer):
    """A ViT-S/14 that runs in the page on the reader's own photograph.

    The page loads the network on request, and nothing afterwards. On the site
    it takes the files that the build wrote; in a notebook the running kernel
    sends what `pack` returns. The photograph stays where it is.

    It shows the first three principal components of the patches as colours,
    how similar each patch is to the one pointed at, and where a head looks
    from there. `layer` and `head`, which count from 0, can be set and linked
    at any time.

    Args:
        network: Name of the network among the site's files; empty where there
            is none, in which case the page says so.
        pack: Returns the network as `vitedu.book.page_network` packs it;
            called when a notebook's page asks.
        view: The initial `layer` and `head`, by these names.

    Raises:
        TypeError: An argument of the wrong type, or one that is unknown.
        ValueError: A layer or head that does not exist.
    """

    files = "own_photograph"
    remembers = ("layer", "head")

    layer = Integer(9, low=0, high=LAYERS - 1)
    head = Integer(0, low=0, high=HEADS - 1)
