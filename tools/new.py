"""Write the skeleton of a chapter, an explorer or a module of the library.

    python -m tools.new chapter 20-its-name "Its title"
    python -m tools.new explorer its_name
    python -m tools.new module data.its_name "what the reference says of it"

A skeleton passes the tests, and says TODO where something is to be filled in.
`tools/templates` has the files of each kind under their paths in the project,
and in `lines.yml` what is added to others. After an error nothing is changed.
"""

import json
import keyword
import re
import subprocess
import sys
from pathlib import Path

import jupytext
import nbformat
import yaml
from vitedu_book.teaching import prose

from tools import time_boxes

ROOT = Path(__file__).parent.parent
TEMPLATES = Path(__file__).parent / "templates"
# What may stand in a heading and in a table.
_LINE = r"(?=.*[A-Za-z])[^\\\x00-\x1f]+"


def chapter(name: str, title: str) -> dict[str, str]:
    """Return the words of a chapter: in the templates -> in its files.

    Args:
        name: Of its notebook, "20-its-name"; 20 has to be the next number.
        title: Without the number.

    Raises:
        ValueError: An argument is something else.
    """
    last = max((ROOT / "chapters").glob("[0-9]*.ipynb"))
    before = int(last.stem[:2])
    number = f"{before + 1:02}"
    _match("NAME", name, rf"{number}(-[a-z0-9]+)+", f"{number}-its-name")
    _match("TITLE", title, _LINE, "a line of text")
    return {
        "NAME": name,
        "TITLE": title,
        "NN": number,
        "NUMBER": str(before + 1),
        "BEFORE": str(before),
        "LAST": last.stem,
        # As others call it, up to a colon.
        "PREVIOUS": prose(last)[2:].partition("\n")[0].partition(":")[0],
    }


def explorer(name: str) -> dict[str, str]:
    """Return the words of an explorer.

    Args:
        name: Of its module, "its_name".

    Raises:
        ValueError: The name is something else, or taken.
    """
    _match("NAME", name, r"[a-z]+(_[a-z0-9]+)*", "its_name")
    words = {
        "NAME": name,
        "CLASS": "".join(part.capitalize() for part in name.split("_")),
        "KEBAB": name.replace("_", "-"),
        "SPACED": name.replace("_", " "),
    }
    # A class or a style may have another name than its file.
    owned = re.compile(_filled(r'class CLASS\(|\(el, "KEBAB"', words))
    for path in (ROOT / "vitedu/widgets").glob("*.*"):
        if owned.search(path.read_text(encoding="utf-8")):
            raise ValueError(f"NAME must be free, got that of {path.name}")
    return words


def module(name: str, words: str) -> dict[str, str]:
    """Return the words of a module.

    Args:
        name: "room.its_name"; the floor above the rooms is full.
        words: What the reference says of it.

    Raises:
        ValueError: An argument is something else, or the name is taken.
    """
    _match("NAME", name, r"[a-z]+\.[a-z]+(_[a-z0-9]+)*", "data.its_name")
    _match("WORDS", words, _LINE, "a line of text")
    room, last = name.split(".")
    rooms = {path.parent.name for path in ROOT.glob("vitedu/*/__init__.py")}
    if room not in (rooms := sorted(rooms - {"widgets"})):
        raise ValueError(f"NAME must begin with one of {rooms}, got {name!r}")
    # The tests call it by its last name alone.
    if keyword.iskeyword(last) or [*ROOT.glob(f"vitedu/**/{last}.py")]:
        raise ValueError(f"NAME must end in a free word, got {name!r}")
    return {"NAME": last, "ROOM": room, "WORDS": json.dumps(words)}


def files(kind: str, words: dict[str, str]) -> dict[str, str]:
    """Return what is to be written: path in the project -> text.

    Args:
        kind: A folder of the templates.
        words: What stands in them -> what takes its place.

    Raises:
        ValueError: A file is there already, or no place for a line.
    """
    found, folder = {}, TEMPLATES / kind
    for template in sorted(folder.rglob("*.*")):
        if template.name == "lines.yml":
            continue
        path = _filled(template.relative_to(folder).as_posix(), words)
        text = _filled(template.read_text(encoding="utf-8"), words)
        if path.endswith(".ipynb.txt"):
            path, text = path.removesuffix(".txt"), _notebook(text)
        if (ROOT / path).exists():
            raise ValueError(f"NAME must be free, got that of {path}")
        found[path] = text
    lines = yaml.safe_load((folder / "lines.yml").read_text(encoding="utf-8"))
    for path, additions in lines.items():
        text = (ROOT / path).read_text(encoding="utf-8")
        for after, more in additions:
            places = [*re.finditer(_filled(after, words), text, re.MULTILINE)]
            if not places:
                raise ValueError(f"{path} must have lines like {after!r}")
            end = places[-1].end()
            text = text[:end] + _filled(more, words) + text[end:]
        found[path] = text
    return found


def write(found: dict[str, str]) -> None:
    """Write files, tidy them, run a chapter; after an error undo it all."""
    paths = [ROOT / name for name in found]
    before = {p: p.read_bytes() for p in paths if p.exists()}
    try:
        for path, text in zip(paths, found.values(), strict=True):
            path.write_text(text, encoding="utf-8")
        _tidy([path for path in paths if path.suffix == ".py"])
        for path in (path for path in paths if path.suffix == ".ipynb"):
            time_boxes.write(path, run=True)
    except BaseException:
        for path in paths:
            path.unlink(missing_ok=True)
            if path in before:
                path.write_bytes(before[path])
        raise


def _match(name: str, value: str, pattern: str, like: str) -> None:
    if not re.fullmatch(pattern, value):
        raise ValueError(f"{name} must be like {like}, got {value!r}")


def _filled(text: str, words: dict[str, str]) -> str:
    # In one go: a title may hold what is a word of a template.
    return re.sub("|".join(words), lambda found: words[found[0]], text)


def _notebook(text: str) -> str:
    notebook = jupytext.reads(text, fmt="py:percent")
    for cell in notebook.cells:
        cell.id = cell.metadata.pop("id")
    kernel = {"display_name": "Python 3", "language": "python"}
    notebook.metadata = {
        "kernelspec": kernel | {"name": "python3"},
        "language_info": {"name": "python"},
    }
    return nbformat.writes(notebook, indent=1, sort_keys=True) + "\n"


def _tidy(paths: list[Path]) -> None:
    """Sort the imports that were added, wrap long lines, and look."""
    ruff = [sys.executable, "-m", "ruff", "--quiet"]
    for how in ("check --fix-only --select I,RUF022", "format", "check"):
        subprocess.run([*ruff, *how.split(), *paths], cwd=ROOT, check=True)


def main(*words: str) -> None:
    """Write what the words of the command line ask for."""
    try:
        match words:
            case "chapter", name, title:
                found = files("chapter", chapter(name, title))
            case "explorer", name:
                found = files("explorer", explorer(name))
            case "module", name, said:
                found = files("module", module(name, said))
            case _:
                raise SystemExit(__doc__)
    except ValueError as error:
        raise SystemExit(f"nothing is written: {error}") from None
    write(found)
    print("Fill in what says TODO in", *found, sep="\n  ")


if __name__ == "__main__":
    main(*sys.argv[1:])
