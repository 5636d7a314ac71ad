"""A note in the margin stands beside its paragraph, and below it on a phone.

A page writes the note first, so that the two begin on one line. Where there
is no margin, the paragraph has to come first.
"""

from docutils import nodes
from sphinx.application import Sphinx


def setup(app: Sphinx) -> None:
    """Keep each note together with what it stands beside."""
    app.connect("doctree-resolved", pair)


def pair(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Put each note and what follows it into one box."""
    if app.builder.format != "html":
        return
    for note in [*doctree.findall(nodes.sidebar)]:
        beside = note.next_node(descend=False, siblings=True)
        if beside is None or isinstance(beside, nodes.section | nodes.sidebar):
            continue
        box = nodes.container(classes=["noted"])
        # Not `replace_self`, which would make the box a note as well.
        note.parent[note.parent.index(note)] = box
        beside.parent.remove(beside)
        box += [note, beside]
