"""Leave out the scripts that no page needs; let no other script block.

No script stands in a page itself, so that a host may forbid those.
"""

import hashlib
import re
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

# Thebe is off, and its settings stand in the text of the page.
THEBE = re.compile(
    r'<script type="text/x-thebe-config">.*?</script>\s*'
    r"<script>kernelName = .*?</script>",
    re.DOTALL,
)


def setup(app: Sphinx) -> None:
    """Run after the extensions that add scripts (500) did so."""
    app.connect("html-page-context", drop_unused_scripts, priority=900)


def drop_unused_scripts(
    app: Sphinx,
    pagename: str,
    templatename: str,
    context: dict[str, Any],
    doctree: Any,
) -> None:
    """Keep the scripts in use, and run them after the page is drawn.

    The search page is left alone: a script in its body needs the others at
    once.
    """
    used = [s for s in context["script_files"] if not _is_unused(s)]
    scripts = _in_files(used, Path(app.outdir))
    if pagename != "search":
        scripts = [_deferred(script) for script in scripts]
    context["script_files"] = scripts
    context["body"] = THEBE.sub("", context.get("body", ""))


def _in_files(scripts: list[Any], site: Path) -> list[Any]:
    """Put a file in the place of the first script that has none.

    It holds all of them: they set what the scripts in files read.
    """
    bodies = {s.attributes["body"]: s for s in scripts if not s.filename}
    if not bodies:
        return scripts
    text = "\n".join(bodies) + "\n"
    name = hashlib.sha256(text.encode()).hexdigest()[:8]
    path = Path("_static", "settings", f"{name}.js")
    (site / path).parent.mkdir(parents=True, exist_ok=True)
    (site / path).write_text(text, encoding="utf-8")
    first = next(iter(bodies.values()))
    file = type(first)(path.as_posix(), priority=first.priority)
    kept = [s for s in scripts if s.filename or s is first]
    return [file if script is first else script for script in kept]


def _deferred(script: Any) -> Any:
    # A copy, because Sphinx hands the same scripts to every page.
    attributes = {**script.attributes, "defer": "defer"}
    return type(script)(
        script.filename, priority=script.priority, **attributes
    )


def _is_unused(script: Any) -> bool:
    body = script.attributes.get("body", "")
    return (
        # Thebe's address is external, and its setup runs twice.
        "THEBE_JS_URL" in body
        or str(script.filename or "").endswith("sphinx-thebe.js")
        # Read by the version switcher only, which the book has not.
        or body.startswith("DOCUMENTATION_OPTIONS.pagename")
    )
