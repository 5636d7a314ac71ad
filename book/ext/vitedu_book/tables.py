"""Tables have the widths that their page gives to them.

A browser shows the first rows of a table before it has read the last one.
Without widths, a later row may move the columns under the reader's eyes.
MyST marks each table of Markdown as one without, also where a directive has
`:widths:`.
"""

from docutils import nodes
from sphinx.application import Sphinx


def setup(app: Sphinx) -> None:
    """Work on each page when it has been read."""
    app.connect("doctree-read", keep_widths)


def keep_widths(app: Sphinx, doctree: nodes.document) -> None:
    """Take the mark from the tables that have widths."""
    for table in doctree.findall(nodes.table):
        classes = table["classes"]
        if "colwidths-given" in classes and "colwidths-auto" in classes:
            classes.remove("colwidths-auto")
