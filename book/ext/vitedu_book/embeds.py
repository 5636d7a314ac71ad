"""Write pages that show one explorer each, for other sites to frame.

`embed/NAME.html` has the explorer NAME as the book shows it, with the same
scripts. Any site may show these pages in a frame, and no other page of the
book (book/hosting/_headers).
"""

import shutil
from pathlib import Path

from sphinx.application import Sphinx

from .explorer_links import PREFIX, explorers_in
from .hosting import policy_tag
from .widget_state import version_of

FOLDER = "embed"
# They need a policy that a frame should not have.
WITHOUT = {"own-photograph", "teach-it"}


def setup(app: Sphinx) -> None:
    """Write them when the pages with explorers are complete."""
    app.connect("build-finished", write_pages)


def write_pages(app: Sphinx, exception: Exception | None) -> None:
    """Write all such pages."""
    if exception is not None or app.builder.format != "html":
        return
    shutil.rmtree(Path(app.outdir, FOLDER), ignore_errors=True)
    for docname, explorers in explorers_in(app.env).items():
        for name, (model, _) in explorers.items():
            path = Path(app.outdir, FOLDER, f"{name}.html")
            if name in WITHOUT or path.exists():
                continue
            state = f"_static/widget-state/{docname}.js"
            version = version_of(Path(app.outdir, state))
            path.parent.mkdir(exist_ok=True)
            text = app.builder.templates.render(
                "embed.html",
                {
                    "language": (app.config.language or "en").replace(
                        "_", "-"
                    ),
                    "policy": policy_tag(app, f"{FOLDER}/{name}"),
                    "book": app.config.html_theme_options["logo"]["text"],
                    "title": app.env.titles[docname].astext(),
                    "page": f"{docname}.html#{PREFIX}{name}",
                    "state": f"{state}?v={version}",
                    "model": model,
                },
            )
            path.write_text(text, encoding="utf-8")
