"""Write the state of the widgets of a page to a script file of its own.

MyST-NB puts it into the head of the page, where the browser has to read all
of it before it can draw the first line of text.
"""

from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

STATE_TYPE = "application/vnd.jupyter.widget-state+json"


def setup(app: Sphinx) -> None:
    """Run after MyST-NB added the scripts of the page (500)."""
    app.connect("html-page-context", move_state, priority=800)


def move_state(
    app: Sphinx,
    pagename: str,
    templatename: str,
    context: dict[str, Any],
    doctree: Any,
) -> None:
    """Replace the state in the page by a deferred script that holds it.

    A classic script, not a fetch of JSON, so that it works from disk too.
    """
    scripts = context["script_files"]
    states = [
        script
        for script in scripts
        if getattr(script, "attributes", {}).get("type") == STATE_TYPE
    ]
    for script in states:
        name = f"widget-state/{pagename}.js"
        path = Path(app.outdir, "_static", name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(
            f"globalThis.viteduWidgetState = {script.attributes['body']};\n",
            encoding="utf-8",
        )
        scripts.remove(script)
        app.add_js_file(name, defer="defer", priority=script.priority - 1)
