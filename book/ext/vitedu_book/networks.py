"""The network that explorers load for the reader's own photographs.

A page that shows such an explorer names the file. It is packed once and kept
in `_build/networks`; the site gets a copy. A build without the weights names
none, and the explorers say so.
"""

import base64
import re
import shutil
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

FOLDER = "networks"
NAMED = re.compile(r'"network": "([\w.-]+)"')
# From disk a page can load scripts alone, and a reader wants to see progress.
PARTS = 12


def setup(app: Sphinx) -> None:
    """Look at the widgets of a page before they leave it (800)."""
    app.connect("html-page-context", add_network, priority=700)


def add_network(
    app: Sphinx, pagename: str, _: str, context: dict[str, Any], *rest: Any
) -> None:
    """Put what the widgets of a page name into the site."""
    bodies = [
        getattr(script, "attributes", {}).get("body") or ""
        for script in context["script_files"]
    ]
    for name in {name for body in bodies for name in NAMED.findall(body)}:
        kept = Path(app.outdir).parent / FOLDER
        if not (kept / f"{name}.bin").is_file():
            # It takes seconds to load, and most builds do without.
            from vitedu.book.page_network import pack_packaged

            shutil.rmtree(kept, ignore_errors=True)  # of earlier libraries
            write_network(kept, name, pack_packaged())
        site = Path(app.outdir, "_static", FOLDER)
        if not (site / f"{name}.bin").is_file():
            shutil.rmtree(site, ignore_errors=True)
            shutil.copytree(kept, site)


def write_network(folder: Path, name: str, packed: bytes) -> None:
    """Write scripts that hold a file in base 64, then the file, `name`.bin."""
    # Other books that are built with these modules have no such library.
    from vitedu.atomic_files import write_whole

    folder.mkdir(parents=True, exist_ok=True)
    size = -(-len(packed) // PARTS)
    for part in range(PARTS):
        piece = packed[part * size : (part + 1) * size]
        text = base64.b64encode(piece).decode()
        script = f'viteduNetworkPart = {{ of: {PARTS}, data: "{text}" }};\n'
        write_whole(folder / f"{name}.{part}.js", script.encode())
    write_whole(folder / f"{name}.bin", packed)
