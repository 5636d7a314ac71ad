"""What a site needs on a host: see book/hosting.md.

`SITE_URL` in the environment is the address where the site will stand. With
it come the things that need a whole address: links to the canonical page, a
map of the site, and a policy in each page for hosts that send no headers.
"""

import os
import re
import shutil
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from sphinx.application import Sphinx
from sphinx.builders.html import BuildInfo
from sphinx.config import Config
from sphinx.environment import CONFIG_OK
from sphinx.errors import ConfigError

HEADERS = Path(__file__).parents[2] / "hosting" / "_headers"
NOT_FOUND = "404"
NOT_FOUND_BODY = """<section><h1>There is no such page</h1>
<p>The address has a typing error, or the page has moved.</p>
<p>Begin with <a href="{first}">the first page of the book</a>, or
<a href="search.html">search it</a>. The chapters are listed beside this text.
</p></section>"""
# An address of a page, relative to the page it stands on.
RELATIVE = re.compile(
    r'( (?:href|src|action|data-content_root)=")'
    r"(?![a-z]+:|[/#])(?:\./)?"
)


def setup(app: Sphinx) -> None:
    """Connect what the site needs; the last steps work on written pages."""
    app.connect("config-inited", set_address)
    app.connect("builder-inited", forget_sources)
    app.connect("html-collect-pages", collect_not_found)
    # Before the page is described, and its styles are found.
    app.connect("html-page-context", add_policy, priority=400)
    app.connect("build-finished", finish)


def set_address(app: Sphinx, config: Config) -> None:
    """Take the address of the site from the environment.

    Raises:
        ConfigError: It is no whole address of a folder.
    """
    address = os.environ.get("SITE_URL") or config.html_baseurl
    if not address:
        return
    parts = urlsplit(address)
    if (
        parts.scheme not in ("http", "https")
        or not parts.netloc
        or parts.query
        or parts.fragment
    ):
        raise ConfigError(
            "SITE_URL must be an address such as https://example.org/book/, "
            f"got {address!r}"
        )
    config.html_baseurl = address.rstrip("/") + "/"


def forget_sources(app: Sphinx) -> None:
    """Have the pages of source code written again when all others are.

    Sphinx looks at the age of the source alone.
    """
    info = Path(app.outdir, ".buildinfo")
    if app.builder.format != "html" or not info.is_file():
        return
    with info.open(encoding="utf-8") as file:
        same = BuildInfo.load(file) == app.builder.build_info
    if not same or app.env.config_status != CONFIG_OK:
        shutil.rmtree(Path(app.outdir, "_modules"), ignore_errors=True)


def collect_not_found(
    app: Sphinx,
) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Add the page that a host shows in the place of one that is missing."""
    if app.builder.format == "html":
        first = app.builder.get_target_uri(app.config.root_doc)
        body = NOT_FOUND_BODY.format(first=first)
        context = {"title": "There is no such page", "body": body}
        yield NOT_FOUND, context, "page.html"


def add_policy(
    app: Sphinx,
    pagename: str,
    templatename: str,
    context: dict[str, Any],
    doctree: Any,
) -> None:
    """Put the policy for scripts into a page that has an address."""
    tags = context.get("metatags", "")
    if pagename == NOT_FOUND:
        tags += '<meta name="robots" content="noindex" />\n'
        context["pageurl"] = ""  # it stands for other addresses
    if app.config.html_baseurl:
        tags = (
            '<meta http-equiv="Content-Security-Policy" '
            f'content="{escape(_policy(), quote=True)}" />\n{tags}'
        )
    context["metatags"] = tags


def _policy() -> str:
    """Return the policy, less what a browser reads in a header only."""
    text = HEADERS.read_text(encoding="utf-8")
    policy = re.search(r"Content-Security-Policy: (.*)", text)[1]
    return re.sub(r"; frame-ancestors [^;]*", "", policy)


def finish(app: Sphinx, exception: Exception | None) -> None:
    """Write what has to name the place of the site."""
    if exception is not None or app.builder.format != "html":
        return
    address = app.config.html_baseurl
    _make_absolute(
        Path(app.outdir, f"{NOT_FOUND}.html"), urlsplit(address).path or "/"
    )
    pages = [
        address + app.builder.get_target_uri(name)
        for name in sorted(app.config.external_site_map)
    ]
    locations = "\n".join(
        f"<url><loc>{escape(page)}</loc></url>" for page in pages
    )
    texts = {
        "sitemap.xml": '<?xml version="1.0" encoding="utf-8"?>\n'
        '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n'
        f"{locations}\n</urlset>\n",
        "robots.txt": f"User-agent: *\nDisallow:\n\n"
        f"Sitemap: {address}sitemap.xml\n",
    }
    for name, text in texts.items():
        path = Path(app.outdir, name)
        path.unlink(missing_ok=True)  # of a build with another address
        if address:
            path.write_text(text, encoding="utf-8")


def _make_absolute(page: Path, folder: str) -> None:
    """Let the links of a page at the top work on a page at any depth."""
    text = page.read_text(encoding="utf-8")
    page.write_text(RELATIVE.sub(rf"\g<1>{folder}", text), encoding="utf-8")
