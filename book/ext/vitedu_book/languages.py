"""What an edition in another language needs, and the way to it.

`tools/site_in.py` writes the sources of such an edition and builds them into
the folder of its language. Its headings keep the addresses that they have in
English (`book/anchors.json`), so that a page and its translation can name
each other's places, and the parts of the extension that know headings by
their English words still find them (`book/headings.json`).
"""

import json
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.transforms import SphinxTransform

from . import teaching

# Folder of a language -> its name, in itself; and what it is to a browser.
NAMES = {"zh": "中文"}
TAGS = {"en": "en", "zh": "zh-Hans"}
ENGLISH = "English"
ANCHORS, HEADINGS = "book/anchors.json", "book/headings.json"


@dataclass(frozen=True)
class Other:
    """A page in another language.

    Attributes:
        tag: Of the language, for a browser.
        name: Of the language, in itself.
        address: From the page that names it.
    """

    tag: str
    name: str
    address: str


class KeepAnchors(SphinxTransform):
    """Give each section the id and the slug that it has in English."""

    default_priority = 870  # before MyST resolves links to slugs (879)

    def apply(self, **kwargs: Any) -> None:
        """Work on one page."""
        kept = self.config.vitedu_anchors.get(self.env.docname)
        slugs = getattr(self.document, "myst_slugs", None)
        if not kept or not slugs or len(kept) != len(slugs):
            return
        by_id = {
            name: node
            for node in self.document.findall(nodes.section)
            for name in node["ids"]
        }
        found = list(slugs.values())
        slugs.clear()
        for (slug, new), (line, old, text) in zip(kept, found, strict=True):
            slugs[slug] = line, new, text
            if node := by_id.get(old):
                rest = (name for name in node["ids"] if name not in (old, new))
                node["ids"] = [new, *rest]
                self.document.ids[new] = node
                for name, known in self.document.nameids.items():
                    if known == old:
                        self.document.nameids[name] = new


def setup(app: Sphinx) -> None:
    """Run on reading, and tell each page of its translations."""
    app.add_config_value("vitedu_anchors", {}, "env", (dict,))
    app.add_transform(KeepAnchors)
    app.connect("config-inited", read_headings)
    app.connect("html-page-context", lead_over)


def read_headings(app: Sphinx, config: Config) -> None:
    """Learn what the headings are in English, in another edition."""
    folder = Path(app.srcdir)
    if (folder / ANCHORS).is_file():
        text = (folder / ANCHORS).read_text(encoding="utf-8")
        config.vitedu_anchors = json.loads(text)
        text = (folder / HEADINGS).read_text(encoding="utf-8")
        teaching.ENGLISH.update(json.loads(text))


def folder_of(config: Config) -> str:
    """Return the folder of the language of an edition; "" for English."""
    language = (config.language or "en").partition("_")[0]
    return language if language in NAMES else ""


def translations(app: Sphinx) -> list[str]:
    """Return the folders of the languages into which a book is translated."""
    book = Path(app.srcdir, "book")
    return [name for name in NAMES if (book / name / "phrases").is_dir()]


def lead_over(
    app: Sphinx, pagename: str, _: str, context: dict[str, Any], *rest: Any
) -> None:
    """Give the templates the same page in other languages."""
    here = folder_of(app.config)
    page = app.builder.get_target_uri(pagename)
    up = "../" * page.count("/")
    if here:
        context["others"] = [Other("en", ENGLISH, f"{up}../{page}")]
    else:
        context["others"] = [
            Other(TAGS[name], NAMES[name], f"{up}{name}/{page}")
            for name in translations(app)
        ]
    address = app.config.html_baseurl
    if (
        not address
        or not context["others"]
        or pagename not in app.config.external_site_map
    ):
        return
    top = address.removesuffix(f"{here}/") if here else address
    folders = {"en": "", **{name: f"{name}/" for name in NAMES}}
    context["metatags"] = context.get("metatags", "") + "".join(
        f'\n<link rel="alternate" hreflang="{TAGS[name]}" '
        f'href="{escape(top + folder + page)}" />'
        for name, folder in folders.items()
    )
