"""Keep the text of a chapter whose weights are not installed.

Without the package that brings a trained network, the chapters that load it
cannot be executed. Their pages then say so, and have no code, figures or
checked numbers; all other pages are as ever.
"""

import json
import re
import textwrap
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.util import logging

LOADED = re.compile(r"\bpretrained_vit\(")
TICK = re.compile(r"\[([^\]]+)\]\(#claim-[a-z0-9-]+\)")
NOTE = """````{{note}}
This page loads a trained network, and was built without one. It has no
figures and no explorers, and nothing has checked the numbers in its text.

```text
{why}
```
````"""
logger = logging.getLogger(__name__)


def setup(app: Sphinx) -> None:
    """Look at each chapter before it is read."""
    app.connect("source-read", keep_text)


def why_not(notebook: dict) -> str:
    """Return why a chapter cannot be executed, or "" if it can."""
    code = (c for c in notebook["cells"] if c["cell_type"] == "code")
    if not any(LOADED.search("".join(cell["source"])) for cell in code):
        return ""
    from vitedu.pretrained.zoo import packaged_file  # PyTorch, in seconds

    try:
        packaged_file()
    except FileNotFoundError as error:
        return str(error)
    return ""


def without_weights(paths: list[Path]) -> dict[Path, str]:
    """Return those of the chapters that cannot be executed -> why."""
    found = {p: why_not(json.loads(p.read_text("utf-8"))) for p in paths}
    return {path: why for path, why in found.items() if why}


def keep_text(app: Sphinx, docname: str, source: list[str]) -> None:
    """Leave out all that a chapter without weights cannot compute."""
    if not app.env.doc2path(docname).endswith(".ipynb"):
        return
    notebook = json.loads(source[0])
    if not (why := why_not(notebook)):
        return
    logger.info(f"{docname} keeps its text alone: {why}")
    app.env.note_reread()  # they may be there next time
    cells = [c for c in notebook["cells"] if c["cell_type"] == "markdown"]
    for cell in cells:
        cell["source"] = TICK.sub(r"\1", "".join(cell["source"]))
    lines = textwrap.fill(why, 68, break_on_hyphens=False)
    cells[0]["source"] += f"\n\n{NOTE.format(why=lines)}"
    notebook["cells"] = cells
    notebook["metadata"]["mystnb"] = {"execution_mode": "off"}
    source[0] = json.dumps(notebook)
