"""What a site needs on a host: see book/hosting.md.

`SITE_URL` in the environment is the address where the site will stand. With
it come the things that need a whole address: links to the canonical page, a
map of the site, and a policy in each page for hosts that send no headers.
`REPOSITORY_URL` is the address of the book's repository. With it come links
to the source, and from each chapter to places where it can be run.
"""

import os
import re
import shutil
from fnmatch import fnmatchcase
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from sphinx.application import Sphinx
from sphinx.builders.html import BuildInfo
from sphinx.config import Config
from sphinx.environment import CONFIG_OK
from sphinx.errors import ConfigError

from .languages import translations

HEADERS = Path(__file__).parents[2] / "hosting" / "_headers"
REPOSITORY = re.compile(r"https://(github|gitlab)\.com/[\w.-]+/[\w.-]+/?")


def setup(app: Sphinx) -> None:
    """Connect what the site needs."""
    app.connect("config-inited", set_address)
    app.connect("config-inited", set_repository)
    app.connect("builder-inited", forget_sources)
    app.connect("html-page-context", add_policy)
    app.connect("build-finished", write_map)


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
    config.notfound_urls_prefix = urlsplit(config.html_baseurl).path


def set_repository(app: Sphinx, config: Config) -> None:
    """Take the address of the repository from the environment.

    The theme then shows the buttons: Binder, and Colab for GitHub alone.

    Raises:
        ConfigError: It is no whole address of a repository that the theme
            knows.
    """
    options = config.html_theme_options
    address = os.environ.get("REPOSITORY_URL") or options.get("repository_url")
    if not address:
        return
    if not REPOSITORY.fullmatch(address):
        raise ConfigError(
            "REPOSITORY_URL must be an address such as "
            f"https://github.com/someone/book, got {address!r}"
        )
    address = address.rstrip("/").removesuffix(".git")
    places = {
        "notebook_interface": "jupyterlab",
        "binderhub_url": "https://mybinder.org",
    }
    if urlsplit(address).netloc == "github.com":
        places["colab_url"] = "https://colab.research.google.com"
    config.html_theme_options = {
        "repository_branch": "main",
        **options,
        "repository_url": address,
        "launch_buttons": places,
    }


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


def add_policy(
    app: Sphinx, pagename: str, _: str, context: dict[str, Any], *rest: Any
) -> None:
    """Put the policy for scripts into a page that has an address."""
    if tag := policy_tag(app, pagename):
        context["metatags"] = f"{tag}\n{context.get('metatags', '')}"


def policy_tag(app: Sphinx, page: str) -> str:
    """Return an element that holds the policy of a page, if it needs one."""
    if not app.config.html_baseurl:
        return ""
    content = escape(_policy(page), quote=True)
    return f'<meta http-equiv="Content-Security-Policy" content="{content}" />'


def _policy(page: str) -> str:
    """Return the policy of a page, less what counts in a header only."""
    policies = [
        re.search(r"Content-Security-Policy: (.*)", rule)[1]
        for rule in re.split(r"^(?=/)", HEADERS.read_text("utf-8"), flags=re.M)
        if fnmatchcase(f"/{page}.html", rule.partition("\n")[0])
    ]
    return re.sub(r"; frame-ancestors [^;]*", "", policies[-1])


def write_map(app: Sphinx, exception: Exception | None) -> None:
    """Write what names all pages by their whole addresses.

    After a build of one page, sphinx-sitemap would name that page alone.
    """
    if exception is not None or app.builder.format != "html":
        return
    address = app.config.html_baseurl
    pages = [
        address + app.builder.get_target_uri(name)
        for name in sorted(app.config.external_site_map)
    ]
    locations = "\n".join(
        f"<url><loc>{escape(page)}</loc></url>" for page in pages
    )
    maps = [f"{address}sitemap.xml"]
    maps += [f"{address}{name}/sitemap.xml" for name in translations(app)]
    lines = "".join(f"Sitemap: {one}\n" for one in maps)
    texts = {
        "sitemap.xml": '<?xml version="1.0" encoding="utf-8"?>\n'
        '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n'
        f"{locations}\n</urlset>\n",
        "robots.txt": f"User-agent: *\nDisallow:\n\n{lines}",
    }
    for name, text in texts.items():
        path = Path(app.outdir, name)
        path.unlink(missing_ok=True)  # of a build with another address
        if address:
            path.write_text(text, encoding="utf-8")
