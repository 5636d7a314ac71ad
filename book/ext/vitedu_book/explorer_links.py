"""Links from the text into an explorer, at the settings it speaks of.

`[no root](#explorer-softmax-scaling:head_dim=512&scale=none)` is what *Copy
link* gives behind the name of the page, and leads to that explorer from any
page of the book. Where it stands on several pages, the link names one, as in
`[...](08-decoder.ipynb#explorer-head-viewer:query=3)`.

The build stops at an explorer, a setting or a value that is not there.
"""

import json
import math
import re
from functools import cache
from typing import Any
from urllib.parse import parse_qsl, urlencode

from docutils import nodes
from myst_nb.sphinx_ import NbMetadataCollector
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.errors import SphinxError
from sphinx.transforms.post_transforms import SphinxPostTransform

PREFIX = "explorer-"
Facts = dict[str, Any]
_INTEGER = re.compile(r"-?\d{1,15}")
_NUMBER = re.compile(r"-?\d{1,15}(\.\d{1,20})?(e-?\d{1,2})?")


class BadExplorerLink(SphinxError):
    """A link to an explorer or a setting that is not there."""

    category = "A link to an explorer"


class ExplorerLinks(SphinxPostTransform):
    """Lead links to the pages of their explorers."""

    # Before MyST looks for their targets.
    default_priority = 5

    def run(self, **kwargs: Any) -> None:
        """Replace the links of one page."""
        for link in [*self.document.findall(addnodes.pending_xref)]:
            has_page = link.get("refdomain") == "doc"
            target = link.get("reftargetid" if has_page else "reftarget")
            if link.get("reftype") == "myst" and (target or "").startswith(
                PREFIX
            ):
                page = link["reftarget"] if has_page else None
                link.replace_self(self._resolved(link, target, page))

    def _resolved(
        self, link: nodes.Element, target: str, page: str | None
    ) -> nodes.reference:
        here = self.env.docname
        page, fragment = resolve(self.env, here, target, page)
        uri = ""
        if page != here:
            uri = self.app.builder.get_relative_uri(here, page)
        return nodes.reference(
            "", "", *link.children, refuri=f"{uri}#{fragment}", internal=True
        )


def setup(app: Sphinx) -> None:
    """Look at the links when all pages have been read."""
    app.add_post_transform(ExplorerLinks)


def resolve(
    env: BuildEnvironment, here: str, target: str, page: str | None = None
) -> tuple[str, str]:
    """Find what a link into an explorer means: a page, and a fragment of it.

    Args:
        env: In which the pages with explorers have been read.
        here: The page of the link.
        target: "explorer-NAME:SETTING=VALUE&...".
        page: Where the explorer stands; None where there is no choice.

    Raises:
        BadExplorerLink: An explorer, a setting or a value that is not there.
    """
    name, _, query = target.removeprefix(PREFIX).partition(":")
    texts = parse_qsl(query, keep_blank_values=True)
    try:
        page, settings = _find(env, name, page or here, given=bool(page))
        check_settings(name, settings, texts)
    except ValueError as error:
        raise BadExplorerLink(f"{here}, {target!r}: {error}") from None
    return page, f"{PREFIX}{name}{':' if texts else ''}{urlencode(texts)}"


def _find(
    env: BuildEnvironment, name: str, page: str, *, given: bool
) -> tuple[str, dict[str, Facts]]:
    """Return the page where an explorer stands, and its settings."""
    pages = {
        docname: found[name][1]
        for docname, found in explorers_in(env).items()
        if name in found
    }
    if page in pages:
        return page, pages[page]
    if len(pages) == 1 and not given:
        return pages.popitem()
    places = f"on {sorted(pages)}" if pages else "on no page"
    raise ValueError(f"the explorer {name!r} stands {places}")


def _state_of(data: dict[str, Any]) -> str:
    """Return the state of a page's widgets, as MyST-NB keeps it."""
    _, script = data.get("js_files", {}).get("ipywidgets_state", (None, {}))
    return script.get("body", "{}")


def explorers_in(
    env: BuildEnvironment,
) -> dict[str, dict[str, tuple[str, dict[str, Facts]]]]:
    """Return the explorers that can be linked into.

    Returns:
        Page -> name of an explorer -> (its model, what it remembers).
    """
    return {
        docname: _explorers_of(_state_of(data))
        for docname, data in NbMetadataCollector.get_doc_data(env).items()
    }


@cache
def _explorers_of(state: str) -> dict[str, tuple[str, dict[str, Facts]]]:
    found = {}
    for key, model in json.loads(state).get("state", {}).items():
        if settings := model.get("state", {}).get("_schema"):
            name = model["state"]["_anywidget_id"].split(".")[-2]
            found[name.replace("_", "-")] = key, settings
    return found


def check_settings(
    name: str, settings: dict[str, Facts], texts: list[tuple[str, str]]
) -> None:
    """Refuse what an explorer would ignore in an address.

    Args:
        name: Of the explorer.
        settings: What it remembers, from its `_schema`.
        texts: Pairs of a setting and how its value is written.

    Raises:
        ValueError: A setting or a value that it does not have.
    """
    for setting, text in texts:
        if setting not in settings:
            raise ValueError(
                f"{name} has the settings {sorted(settings)}, not {setting!r}"
            )
        facts = settings[setting]
        if not is_offered(facts, text):
            rule = {k: v for k, v in facts.items() if k != "start"}
            raise ValueError(f"{setting} must fit {rule}, got {text!r}")


def is_offered(facts: Facts, text: str) -> bool:
    """Tell whether an address may say this; `settingValue` in tools.js."""
    match facts["kind"]:
        case "flag":
            return text in ("true", "false")
        case "choice":
            return text in facts["options"]
        case "text":
            fits = facts["low"] <= len(text) <= facts["high"]
            return fits and {*text} <= {*facts["letters"]}
        case "list":
            parts = text.split("_") if text else []
            found = [_number(facts, part) for part in parts]
            return None not in found and found == sorted({*found})
        case "words":
            parts = text.split("_") if text else []
            known = {*parts} <= {*facts["options"]}
            once = facts.get("repeats") or len(parts) == len({*parts})
            return known and once and len(parts) <= facts.get("high", math.inf)
        case "array":
            whole = facts["dtype"] != "float32"
            one = {"low": 0, "high": 1} | facts
            one["kind"] = "integer" if whole else "number"
            bits = facts["dtype"] == "bool"
            parts = list(text) if bits else text.split("_")
            return len(parts) == len(facts["start"]) and all(
                _number(one, part) is not None for part in parts
            )
        case _:
            return _number(facts, text) is not None


def _number(facts: Facts, text: str) -> float | None:
    pattern = _NUMBER if facts["kind"] == "number" else _INTEGER
    if not pattern.fullmatch(text):
        return None
    number = float(text)
    fits = (
        facts["low"] <= number <= facts["high"]
        and not ("step" in facts and (number - facts["low"]) % facts["step"])
        and number in facts.get("options", [number])
    )
    return number if fits else None
