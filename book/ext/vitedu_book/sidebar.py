"""Make the list of pages cheap that stands beside every page.

For each page Sphinx copies the contents of all pages, down to the last
function of the reference, and then drops everything but their titles.
"""

from typing import Any
from weakref import WeakKeyDictionary

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment


class Titles(dict[str, nodes.bullet_list]):
    """The contents of each page, cut to its title and the pages below it."""

    def __init__(self, whole: dict[str, nodes.bullet_list]) -> None:
        super().__init__()
        self.whole = whole

    def __missing__(self, name: str) -> nodes.bullet_list:
        """Cut as Sphinx does for a list of titles, but once a page."""
        self[name] = contents = self.whole[name].deepcopy()
        for title in contents:
            below = list(title.findall(addnodes.toctree))
            title[1:] = [nodes.bullet_list("", *below)] if below else []
        return contents


_titles: WeakKeyDictionary[BuildEnvironment, Titles] = WeakKeyDictionary()


def setup(app: Sphinx) -> None:
    """Run before the theme makes the sidebar (500)."""
    app.connect("html-page-context", lighten, priority=400)


def lighten(
    app: Sphinx,
    pagename: str,
    templatename: str,
    context: dict[str, Any],
    doctree: nodes.document | None,
) -> None:
    """Let the page's list of titles be made from titles."""
    env, listed = app.env, context["toctree"]
    titles = _titles.setdefault(env, Titles(env.tocs))

    def toctree(*, titles_only: bool = False, **options: Any) -> str:
        whole = env.tocs
        try:
            env.tocs = titles if titles_only else whole
            return listed(titles_only=titles_only, **options)
        finally:
            env.tocs = whole

    context["toctree"] = toctree
