"""Write the widgets of a page to a script file of its own.

MyST-NB puts their state into the head of the page, where the browser has to
read all of it before it can draw the first line of text. In that state their
modules are texts, which only a page that may run any text could start. Here
the page gets the widget host, which loads the state when a reader needs it.
Bytes that a widget only refers to get files of their own, beside the state.
"""

import hashlib
import json
import re
import shutil
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

HOST = "widget-host.js"
STATE_TYPE = "application/vnd.jupyter.widget-state+json"
STATE = "globalThis.viteduWidgetState"
EXPORT = re.compile(r"^export (?:default )?", re.MULTILINE)
IMPORT = re.compile(r"^import\b", re.MULTILINE)


def setup(app: Sphinx) -> None:
    """Run after MyST-NB added the scripts of the page (500)."""
    app.connect("html-page-context", move_state, priority=800)


def move_state(
    app: Sphinx, pagename: str, _: str, context: dict[str, Any], *rest: Any
) -> None:
    """Replace the state in the page by the host, and the state's address.

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
        write_states(json.loads(script.attributes["body"]), path)
        scripts.remove(script)
        address = context["pathto"](f"_static/{name}", resource=True)
        state = {"data-state": f"{address}?v={version_of(path)}"}
        app.add_js_file(HOST, defer="defer", **state)


def version_of(path: Path) -> str:
    """Return what tells a file from an older one in a browser's cache."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:8]


def write_states(saved: dict[str, Any], path: Path) -> None:
    """Write saved widgets to a script.

    A model that holds bytes for others becomes a script in the folder beside
    it, and its state the name of that file.
    """
    folder = path.with_suffix("")
    shutil.rmtree(folder, ignore_errors=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    for key, model in saved["state"].items():
        if model.get("buffers") and model["model_module"] != "anywidget":
            folder.mkdir(exist_ok=True)
            own = f"{STATE}.state[{json.dumps(key)}] = {json.dumps(model)};\n"
            name = f"{hashlib.sha256(own.encode()).hexdigest()[:16]}.js"
            (folder / name).write_text(own, encoding="utf-8")
            saved["state"][key] = {"file": f"{folder.name}/{name}"}
    text = "".join(scripts_of(saved))
    if folder.exists():
        text += f"{STATE}.address = document.currentScript.src;\n"
    path.write_text(text, encoding="utf-8")


def scripts_of(saved: dict[str, Any]) -> list[str]:
    """Return classic scripts that hold saved widgets, their state last.

    Each module stands there once, as a function that returns what the module
    exports; the state has its name only.

    Raises:
        ValueError: A module imports, or does not export exactly once.
    """
    modules: dict[str, str] = {}
    for model in saved["state"].values():
        state = model.get("state", {})
        if "_esm" in state:
            text = state["_esm"]
            name = hashlib.sha256(text.encode()).hexdigest()[:16]
            modules[name], state["_esm"] = _as_function(text), name
    return [
        *(
            "(globalThis.viteduWidgetModules ??= {})"
            f"[{json.dumps(name)}] = {function};\n"
            for name, function in modules.items()
        ),
        f"{STATE} = {json.dumps(saved)};\n",
    ]


def _as_function(module: str) -> str:
    exports = len(EXPORT.findall(module))
    if exports != 1 or IMPORT.search(module):
        raise ValueError(
            "_esm must import nothing and have one line that begins with "
            f"'export', got {exports} such lines in {module[:40]!r}..."
        )
    body = EXPORT.sub("return ", module)
    return f'async () => {{\n"use strict";\n{body}\n}}'
