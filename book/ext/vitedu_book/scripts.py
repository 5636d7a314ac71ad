"""Leave out the scripts that no page needs; let no other script block."""

from typing import Any

from sphinx.application import Sphinx


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
    context["script_files"] = [
        script if pagename == "search" else _deferred(script)
        for script in context["script_files"]
        if not _is_unused(script)
    ]


def _deferred(script: Any) -> Any:
    if not script.filename:
        return script
    # A copy, because Sphinx hands the same scripts to every page.
    attributes = {**script.attributes, "defer": "defer"}
    return type(script)(
        script.filename, priority=script.priority, **attributes
    )


def _is_unused(script: Any) -> bool:
    body = script.attributes.get("body", "")
    return (
        # Thebe is off; its address is external, and its setup runs twice.
        "THEBE_JS_URL" in body
        or str(script.filename or "").endswith("sphinx-thebe.js")
        # Read by the version switcher only, which the book has not.
        or body.startswith("DOCUMENTATION_OPTIONS.pagename")
    )
