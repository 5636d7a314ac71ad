"""The site in another language, from the executed English book.

    python -m tools.site_in zh

It writes the sources of the edition into `_build/zh/source`: the chapters as
they were executed, with the words of `book/zh`. Then it builds them, without
executing anything, into the folder `zh` of the English site, which must be
there. If a text is missing or stale, it says which and builds nothing.

`book/zh/NN-name.md` has the text of a chapter (translated.py),
`book/zh/pages` that of the other pages, in the same form, with a piece for
each heading; `book/zh/phrases` has all short texts, tables of English
phrases and Chinese ones, and `book/zh/explorers.json` those of the explorers.
"""

import hashlib
import html
import json
import os
import pickle
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import nbformat
import yaml
from myst_nb.core.read import read_myst_markdown_notebook
from nbformat import NotebookNode
from vitedu_book.code_names import COUNTED
from vitedu_book.languages import ANCHORS, HEADINGS, NAMES
from vitedu_book.teaching import slug

from tools.executed import open_cache
from tools.folders import anew
from tools.shrink import shrink
from tools.translated import comments_in, read, remarks, translated
from vitedu.atomic_files import write_whole
from vitedu.book.outputs import Say, lines_in, shown_in
from vitedu.book.phrases import Phrases

ROOT = Path(__file__).parent.parent
BUILD = ROOT / "_build"
SITE = BUILD / "html"
STAMP = "stamp"
# Pages that stay in English: they are written from docstrings.
IN_ENGLISH = ("book/api",)
# What the sources have as it is.
LINKED = ("vitedu", "tools", "constraints.txt")
HEADING = re.compile(r"^#{1,4} +(.+?) *$", re.MULTILINE)
FENCED = re.compile(r"^(`{3,}|~{3,}).*?^\1[`~]*$", re.MULTILINE | re.DOTALL)
WIDGETS = "application/vnd.jupyter.widget-state+json"
VIEW = "application/vnd.jupyter.widget-view+json"
# Words of an explorer, each file of them on a line of its script.
WORDS = re.compile(r"^const (\$\w+_words) = (\{.*\});$", re.MULTILINE)
PIECE = r'"(?:[^"\\\n]|\\.)*"'
LITERAL = re.compile(rf"{PIECE}(?:\s*\+\s*{PIECE})*(?P<key>\s*:)?")
NO_PHRASES = "const PHRASES = new Map();"
TABLE = "explorers.json"
SEARCH = "search.js"  # the one script of the site that says something
SKIPPED = re.compile(
    r"(<(pre|code|script|style|textarea)\b.*?</\2>)", re.DOTALL
)
TEXT = re.compile(r">([^<>]*[A-Za-z]{2}[^<>]*)<")
ATTRIBUTE = re.compile(
    r'\b(aria-label|title|placeholder|alt|content)="([^"]*[A-Za-z]{2}[^"]*)"'
)

# Files that a page shows, and their docstrings.
SHOWN = "book/one-file/*.py"
DOCSTRING = re.compile(r'"""(.*?)"""', re.DOTALL)

# What a drawing says, other than numbers and names of modules.
DRAWN = re.compile(
    r'(<text(?! class="(?:number|module)")[^>]*>|<title>|aria-label=")'
    r'([^<"]+)'
)


class Incomplete(Exception):
    """A translation that lacks something; the text says what."""


class Edition:
    """An edition in another language, and what it lacks.

    Args:
        language: Its folder in `book`.

    Attributes:
        told: What is missing or stale, a line each.
    """

    def __init__(self, language: str) -> None:
        self.language = language
        self.folder = ROOT / "book" / language
        self.told: list[str] = []
        self.tables = sorted((self.folder / "phrases").glob("**/*.json"))
        text = (self.folder / TABLE).read_text(encoding="utf-8")
        self.explorers = json.loads(text)
        self.headings: dict[str, str] = {}

    def heading(self, english: str) -> str:
        """Return a heading of a page in the other language."""
        return self.headings.get(english, english)

    def learn(self, english: str, other: str) -> None:
        """Note which heading of a text is which."""
        pairs = zip(headings(english), headings(other), strict=True)
        for one, two in pairs:
            self.headings.setdefault(one, two)

    @contextmanager
    def saying(self, where: str) -> Iterator[Say]:
        """Give what says phrases, those of the file's own table first.

        What it does not know is missing when this ends.
        """
        own = self.folder / "phrases" / Path(where).with_suffix(".json")
        say = Phrases.read(sorted(self.tables, key=lambda path: path != own))

        def plain(text: str) -> str:
            return say(" ".join(text.split()) if text.strip() else text)

        yield plain if "/" in where else say
        self.told += [f"{where}: no phrase for {x!r}" for x in say.missed]


def headings(text: str) -> list[str]:
    """Return the headings of a text in Markdown, in order."""
    return HEADING.findall(FENCED.sub("", text))


def pieces(text: str) -> list[tuple[str, str]]:
    """Return a page in pieces, from heading to heading, each with its name."""
    blocks = [found.span() for found in FENCED.finditer(text)]
    starts = [
        found.start()
        for found in HEADING.finditer(text)
        if not any(start <= found.start() < end for start, end in blocks)
    ]
    ends = [*starts[1:], len(text)]
    found = [
        (slug(text[start:].partition("\n")[0].lstrip("# ")), text[start:end])
        for start, end in zip(starts, ends, strict=True)
    ]
    top = text[: starts[0]] if starts else text
    return ([("top", top)] if top.strip() else []) + found


def page_remarks(english: str, cells: dict[str, tuple[str, str]]) -> list[str]:
    """Say which pieces of a page are missing, stale or unknown."""
    notebook = nbformat.v4.new_notebook()
    for name, text in pieces(english):
        cell = nbformat.v4.new_markdown_cell(text.strip())
        cell.id = name[:64]
        notebook.cells.append(cell)
    return remarks(notebook, {name[:64]: cell for name, cell in cells.items()})


def page_in(edition: Edition, name: str, english: str) -> str:
    """Return a page of Markdown in another language."""
    rest = f"pages/{name.removeprefix('book/')}"
    path, where = edition.folder / rest, f"book/{edition.language}/{rest}"
    if not path.exists():
        edition.told.append(f"{where} is missing")
        return english
    cells = read(path)
    told = page_remarks(english, cells)
    edition.told += [f"{where}: {line}" for line in told]
    if told:
        return english
    other = "\n\n".join(cells[name][1] for name, _ in pieces(english)) + "\n"
    edition.learn(english, other)
    return other


def chapter_in(edition: Edition, path: Path) -> NotebookNode | None:
    """Return an executed chapter in another language."""
    notebook = nbformat.read(path, as_version=4)
    try:
        _, executed = open_cache().merge_match_into_notebook(notebook)
    except KeyError:
        edition.told.append(f"{path.stem} is not executed")
        return None
    there = edition.folder / f"{path.stem}.md"
    try:
        other = translated(executed, there)
    except ValueError as error:
        edition.told.append(str(error))
        return None
    for before, after in zip(executed.cells, other.cells, strict=True):
        if before.cell_type == "markdown":
            edition.learn(before.source, after.source)
    with edition.saying(f"chapters/{path.stem}.ipynb") as say:
        outputs_in(edition, other, say)
        for cell in other.cells:
            if cell.cell_type == "code":
                cell.source = comments_in(cell.source, say)
    return other


def outputs_in(edition: Edition, notebook: NotebookNode, say: Say) -> None:
    """Say what the cells of a notebook show in another language."""
    for cell in notebook.cells:
        told = cell.metadata.get("mystnb", {})
        if "code_prompt_show" in told:
            name = COUNTED.sub("", told["code_prompt_show"])
            told["code_prompt_show"] = say(name)
        for output in cell.get("outputs", []):
            if output.output_type == "stream":
                output.text = lines_in(output.text, say)
            elif VIEW not in output.get("data", {VIEW: None}):
                output.data = shown_in(output.data, say)
    models = notebook.metadata.get("widgets", {}).get(WIDGETS, {})
    for model in models.get("state", {}).values():
        if "_esm" in (state := model.get("state", {})):
            state["_esm"] = script_in(edition.explorers, state)


def script_in(table: dict[str, Any], state: dict[str, Any]) -> str:
    """Return the script of an explorer with its words in another language.

    Its files of words are replaced. What else a reader sees, such as the name
    of a setting, is replaced where it is shown.

    Args:
        table: English -> the other language; under the name of an explorer,
            what differs there.
        state: Of its model.
    """
    own = state["_anywidget_id"].split(".")[-2]
    table = {**table, **table.get(own, {})}
    code = WORDS.sub("", state["_esm"])
    names = {
        *_texts({k: v for k, v in state.items() if k != "_esm"}),
        *map(_literal, LITERAL.finditer(code)),
        *re.findall(r"(?:^|[{,(])\s*\"?([\w ,/-]+)\"?:", code, re.M),
    }
    shown = [
        (name, table[name])
        for name in sorted(names)
        if type(table.get(name)) is str
    ]

    def words(found: re.Match[str]) -> str:
        said = json.dumps(
            said_in(table, json.loads(found[2])), ensure_ascii=False
        )
        return f"const {found[1]} = {said};"

    phrases = json.dumps(shown, ensure_ascii=False)
    return WORDS.sub(words, state["_esm"]).replace(
        NO_PHRASES, f"const PHRASES = new Map({phrases});", 1
    )


def said_in(table: dict[str, Any], words: Any) -> Any:
    """Return an explorer's words, and all words in them, said otherwise."""
    match words:
        case str() if type(said := table.get(words)) is str:
            return said
        case dict():
            return {name: said_in(table, one) for name, one in words.items()}
        case [str() as step, dict() as settings, *part]:  # of a tour
            return [said_in(table, step), settings, *part]
        case list():
            return [said_in(table, one) for one in words]
    return words


def _literal(found: re.Match[str]) -> str:
    return "".join(map(json.loads, re.findall(PIECE, found[0])))


def _texts(value: Any) -> Iterator[str]:
    """Yield all texts in nested lists and objects, names included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield name
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)


def words_in(table: dict[str, str], script: str) -> str:
    """Return a script of the site with its words in another language."""

    def literal(part: re.Match[str]) -> str:
        said = table.get(_literal(part))
        if said is None or part["key"]:
            return part[0]
        return json.dumps(said)

    return LITERAL.sub(literal, script)


def list_in(edition: Edition, value: Any, say: Say, kept: set[str]) -> Any:
    """Return what a file of YAML holds, said in another language.

    Args:
        edition: In its language; it knows the headings.
        value: The content, or a part of it.
        say: Takes a phrase, returns what to say instead.
        kept: Keys whose values are names.
    """
    if isinstance(value, str):
        return say(value)
    if isinstance(value, list):
        return [list_in(edition, inner, say, kept) for inner in value]
    if not isinstance(value, dict):
        return value
    said = {}
    for key, inner in value.items():
        if key in kept:
            said[key] = inner
        elif key == "where":
            said[key] = edition.heading(inner)
        elif key == "say":
            said[key] = {edition.heading(k): say(v) for k, v in inner.items()}
        else:
            said[key] = list_in(edition, inner, say, kept)
    return said


# Files of YAML with words; keys whose values are names.
LISTS = {
    "book/quizzes/*.yml": set(),
    "book/teach/chapters/*.yml": set(),
    "book/machines/heads.yml": set(),
}


def write_sources(edition: Edition, source: Path) -> None:
    """Write what the edition is built from.

    Raises:
        Incomplete: Something is missing or stale.
    """
    for name in LINKED:
        (source / name).symlink_to(ROOT / name)
    (source / "chapters").mkdir()
    shutil.copytree(
        ROOT / "book",
        source / "book",
        ignore=lambda folder, names: {*NAMES, "__pycache__"} & {*names},
    )
    (source / "book/phrases").symlink_to(edition.folder / "phrases")
    for path in sorted(ROOT.glob("chapters/[0-9]*.ipynb")):
        notebook = chapter_in(edition, path)
        if notebook is not None:
            nbformat.write(notebook, source / "chapters" / path.name)
    write_pages(edition, source)
    write_lists(edition, source)
    write_drawings(edition, source)
    write_code(edition, source)
    write_configuration(edition, source)
    file = source / "book/web" / SEARCH
    text = words_in(edition.explorers, file.read_text(encoding="utf-8"))
    file.write_text(text, encoding="utf-8")
    if edition.told:
        raise Incomplete("\n".join(edition.told))
    write_front(edition, source / "book/index.md")
    write_anchors(edition, source)


def write_pages(edition: Edition, source: Path) -> None:
    """Write the pages of Markdown in the other language."""
    for path in sorted(ROOT.glob("book/**/*.md")):
        name = path.relative_to(ROOT).as_posix()
        if not name.startswith((*IN_ENGLISH, f"book/{edition.language}/")):
            text = page_in(edition, name, path.read_text(encoding="utf-8"))
            (source / name).write_text(text, encoding="utf-8")


def write_lists(edition: Edition, source: Path) -> None:
    """Write the files of YAML in the other language."""
    for pattern, kept in LISTS.items():
        for path in sorted(ROOT.glob(pattern)):
            name = path.relative_to(ROOT).as_posix()
            content = yaml.safe_load(path.read_text(encoding="utf-8"))
            with edition.saying(name.removeprefix("book/")) as say:
                said = list_in(edition, content, say, kept)
            text = yaml.safe_dump(said, allow_unicode=True, sort_keys=False)
            (source / name).write_text(text, encoding="utf-8")


def write_drawings(edition: Edition, source: Path) -> None:
    """Write the drawings of the two machines in the other language."""
    for path in sorted(ROOT.glob("book/machines/*.svg")):
        text = path.read_text(encoding="utf-8")
        with edition.saying("machines") as say:
            text = DRAWN.sub(lambda found: found[1] + say(found[2]), text)
        (source / path.relative_to(ROOT)).write_text(text, encoding="utf-8")


def code_in(text: str, say: Say) -> str:
    """Return Python with its docstrings and comments in another language."""

    def docstring(found: re.Match[str]) -> str:
        parts = [
            # What is indented is code, or shapes.
            part if part.startswith(" ") else say(part.rstrip())
            for part in found[1].split("\n\n")
        ]
        text = "\n\n".join(parts).rstrip()
        return f'"""{text}"""' if len(parts) == 1 else f'"""{text}\n"""'

    text = DOCSTRING.sub(docstring, text)
    return comments_in(text, say)


def write_code(edition: Edition, source: Path) -> None:
    """Write the files of Python that pages show in the other language."""
    for path in sorted(ROOT.glob(SHOWN)):
        name = path.relative_to(ROOT).as_posix()
        with edition.saying(name) as say:
            text = code_in(path.read_text(encoding="utf-8"), say)
        (source / name).write_text(text, encoding="utf-8")


def write_anchors(edition: Edition, source: Path) -> None:
    """Write which addresses the headings have in English."""
    with (BUILD / ".doctrees/environment.pickle").open("rb") as file:
        environment = pickle.load(file)  # of our own build
    anchors = {
        name: [
            [slug, id_] for slug, (_, id_, _) in found["myst_slugs"].items()
        ]
        for name, found in environment.metadata.items()
        if "myst_slugs" in found
    }
    english = {other: one for one, other in edition.headings.items()}
    for name, content in ((ANCHORS, anchors), (HEADINGS, english)):
        text = json.dumps(content, ensure_ascii=False, indent=0)
        (source / name).write_text(text, encoding="utf-8")


def write_front(edition: Edition, path: Path) -> None:
    """Write the front page as a notebook, executed as the English one."""
    # Not MyST-NB's own copy: it has no outputs where a build executed nothing.
    front = (ROOT / "book/index.md").read_text(encoding="utf-8")
    _, executed = open_cache().merge_match_into_notebook(
        read_myst_markdown_notebook(front)
    )
    notebook = read_myst_markdown_notebook(path.read_text(encoding="utf-8"))
    for kind in ("widgets", "kernelspec", "language_info"):
        if kind in executed.metadata:
            notebook.metadata[kind] = executed.metadata[kind]
    code = [
        [cell for cell in book.cells if cell.cell_type == "code"]
        for book in (notebook, executed)
    ]
    for cell, same in zip(*code, strict=True):
        cell.outputs, cell.execution_count = same.outputs, 1
    with edition.saying("pages/index.md") as say:
        outputs_in(edition, notebook, say)
    if edition.told:
        raise Incomplete("\n".join(edition.told))
    nbformat.write(notebook, path.with_suffix(".ipynb"))
    path.unlink()


def write_configuration(edition: Edition, source: Path) -> None:
    """Write what Jupyter Book reads first."""
    config = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text("utf-8"))
    sphinx = config["sphinx"]["config"]
    options = sphinx["html_theme_options"]
    config["execute"] = {"execute_notebooks": "off"}
    sphinx["language"] = {"zh": "zh_CN"}[edition.language]
    sphinx["notfound_urls_prefix"] = f"/{edition.language}/"
    context = sphinx["notfound_context"]
    with edition.saying("site/configuration") as say:
        sphinx["togglebutton_hint"] = say("Click to show")
        sphinx["togglebutton_hint_hide"] = say("Click to hide")
        config["title"] = options["logo"]["text"] = say(config["title"])
        config["author"] = say(config["author"])
        options["search_bar_text"] = say(options["search_bar_text"])
        context["title"] = say(context["title"])
        context["body"] = TEXT.sub(
            lambda found: f">{say(found[1])}<", context["body"]
        )
        for part in toc["parts"]:
            part["caption"] = say(part["caption"])
    for name, content in (("_config.yml", config), ("_toc.yml", toc)):
        text = yaml.safe_dump(content, allow_unicode=True, sort_keys=False)
        (source / name).write_text(text, encoding="utf-8")


def page_said(text: str, table: Phrases) -> str:
    """Return a built page with what the extension and the theme wrote said."""

    def said(text: str, *, quote: bool) -> str:
        return html.escape(table(html.unescape(text)), quote=quote)

    def node(found: re.Match[str]) -> str:
        return f">{said(found[1], quote=False)}<"

    def attribute(found: re.Match[str]) -> str:
        return f'{found[1]}="{said(found[2], quote=True)}"'

    parts = SKIPPED.split(text)
    del parts[2::3]  # the names of the elements that are left alone
    for number in range(0, len(parts), 2):
        texts = TEXT.sub(node, parts[number])
        parts[number] = ATTRIBUTE.sub(attribute, texts)
    return "".join(parts)


def build(edition: Edition, source: Path) -> None:
    """Build the sources of an edition, and put the site into the English one.

    Raises:
        SystemExit: The build fails.
    """
    target = source.parent
    environment = dict(os.environ)
    if address := environment.get("SITE_URL"):
        folder = f"{address.rstrip('/')}/{edition.language}/"
        environment["SITE_URL"] = folder
    command = [
        Path(sys.executable).with_name("jupyter-book"),
        *("build", "-W", "--keep-going", "--path-output", target, source),
    ]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(done.stdout[-3000:] + done.stderr[-6000:])
    built = target / "_build" / "html"
    table = Phrases.read([edition.folder / "phrases" / "site.json"])
    for page in built.rglob("*.html"):
        if "_static" in page.parts:
            continue
        before = page.read_text(encoding="utf-8")
        after = page_said(before, table)
        if after != before:
            write_whole(page, after.encode())
    shrink(built)
    with anew(SITE / edition.language) as part:
        shutil.copytree(built, part, dirs_exist_ok=True)


def state() -> str:
    """Return a digest of all that an edition is made from."""
    digest = hashlib.sha256(os.environ.get("SITE_URL", "").encode())
    files = [
        *ROOT.glob("book/**/*"),
        *ROOT.glob("chapters/*.ipynb"),
        *(ROOT / name for name in ("_config.yml", "_toc.yml")),
        *ROOT.glob("vitedu/**/*.py"),
        *ROOT.glob("vitedu/**/*.js"),
        *ROOT.glob("tools/*.py"),
        BUILD / "executed.json",
    ]
    for path in sorted(files):
        if path.is_file() and "__pycache__" not in path.parts:
            digest.update(str(path.relative_to(ROOT)).encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()


def main(language: str = "") -> None:
    """Write the sources, build them, and say where the site is."""
    if language not in NAMES:
        raise SystemExit(
            f"language must be {' or '.join(NAMES)}, got {language!r}"
        )
    edition = Edition(language)
    stamp = BUILD / language / STAMP
    site = SITE / language / "index.html"
    where = f"{SITE.name}/{language}/index.html"
    now = state()
    if site.exists() and stamp.exists() and stamp.read_text("utf-8") == now:
        print(f"The edition {language!r}, {where}, is up to date")
        return
    source = BUILD / language / "source"
    try:
        with anew(source) as part:
            write_sources(edition, part)
    except Incomplete as error:
        raise SystemExit(
            f"{error}\nThe edition {language!r} is not built."
        ) from None
    build(edition, source)
    write_whole(stamp, now.encode())
    print(f"The edition {language!r} is {where}")


if __name__ == "__main__":
    main(*sys.argv[1:])
