"""What a program says, in another language.

A table has English phrases and their translations: `book/zh/phrases/*.json`.
Numbers do not count: "{1} of {2} are right" stands for all such sentences, and
the translation may swap the two. Where an English phrase has a name in braces,
any words may appear; they are translated if they are phrases themselves.
"""

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import vitedu
from vitedu import require
from vitedu.atomic_files import damage_named

FOLDER = Path(vitedu.__file__).parents[1] / "book"
_NUMBER = re.compile(
    r"(?<![\w.])\d+(?:,\d{3})*(?:\.\d+)?(?:e[-+]?\d+)?(?![\w])"
)
_PLACE = re.compile(r"\{(\w+)\}")
_WORDS = re.compile(r"[A-Za-z]{2}")
_SEVERAL = re.compile(r"[a-z]{2,} [a-z]{2,}")
_QUOTED = re.compile(r"`[^`]*`|'[^']*'|\"[^\"]*\"")
# Places where a reader's own words may stand, or those of another program.
_ANYTHING = ("answer", "apart", "error", "path")


def _numbered(text: str) -> tuple[str, list[str]]:
    """Return a text with placeholders for its numbers, and the numbers.

    >>> _numbered("3 of 1,024 tokens")
    ('{1} of {2} tokens', ['3', '1,024'])
    """
    found: list[str] = []

    def place(number: re.Match[str]) -> str:
        found.append(number[0])
        return f"{{{len(found)}}}"

    return _NUMBER.sub(place, text), found


class Phrases:
    """English phrases and their translations into another language.

    Args:
        table: English -> the other language. Both have the same placeholders.

    Attributes:
        missed: What was asked for and is not in the table, with placeholders
            instead of its numbers.

    Raises:
        ValueError: A phrase whose translation has different placeholders.

    >>> table = {"{1} of {2}": "{2} 分之 {1}", "no {what}": "没有{what}"}
    >>> say = Phrases(table)
    >>> say("3 of 4"), say("no 3 of 4"), say("a rest"), say.missed
    ('4 分之 3', '没有4 分之 3', 'a rest', ['a rest'])
    """

    def __init__(self, table: Mapping[str, str]) -> None:
        self.missed: list[str] = []
        self._said = dict(table)
        patterns = []
        for english, other in table.items():
            places = _PLACE.findall(english)
            if {*places} != {*_PLACE.findall(other)}:
                raise ValueError(
                    f"the places of {english!r} must be those of its "
                    f"translation, got {other!r}"
                )
            if any(not name.isdigit() for name in places):
                literal = len(_PLACE.sub("", english))
                patterns.append((literal, english, _pattern(english)))
        # The one that says most comes first.
        patterns.sort(key=lambda entry: -entry[0])
        self._patterns = [entry[1:] for entry in patterns]

    @classmethod
    def read(cls, paths: Iterable[Path]) -> "Phrases":
        """Return the union of several files; a phrase's first entry counts.

        Raises:
            ValueError: A damaged file.
        """
        table: dict[str, str] = {}
        for path in paths:
            with damage_named(path, "table of phrases"):
                entries = json.loads(path.read_text(encoding="utf-8"))
                if not isinstance(entries, dict) or not all(
                    isinstance(said, str) for said in entries.values()
                ):
                    raise ValueError("it must map texts to texts")
                for english, said in entries.items():
                    table.setdefault(english, said)
        return cls(table)

    def __call__(self, text: str) -> str:
        """Return the translation, or the text itself if none is known."""
        said = self._find(text)
        if said is None:
            template = _numbered(text)[0]
            if _WORDS.search(text) and template not in self.missed:
                self.missed.append(template)
            return text
        return said

    def _find(self, text: str) -> str | None:
        words = " ".join(text.split())
        if not re.search("[A-Za-z]", words):
            return text
        start = text[: len(text) - len(text.lstrip())]
        end = text[len(text.rstrip()) :]
        if (said := self._said.get(words)) is not None:
            return start + said + end
        template, numbers = _numbered(words)
        if (said := self._said.get(template)) is not None:
            parts = {str(at): x for at, x in enumerate(numbers, start=1)}
            return start + _filled(said, parts) + end
        said = self._sentences(words) or self._fitting(words)
        return None if said is None else start + said + end

    def _sentences(self, words: str) -> str | None:
        """Return several sentences, each of which is a phrase."""
        sentences = re.split(r"(?<=[.?]) (?=[A-Z0-9`])", words)
        if len(sentences) == 1:
            return None
        said = [self._find(sentence) for sentence in sentences]
        return None if None in said else "".join(said)

    def _fitting(self, words: str) -> str | None:
        """Return the translation of a phrase with named placeholders."""
        for english, pattern in self._patterns:
            if (found := pattern.fullmatch(words)) is None:
                continue
            bare = not _WORDS.search(_PLACE.sub("", english))
            parts: dict[str, str | None] = {}
            for group, part in found.groupdict().items():
                name = group.removeprefix("n")
                said = self._part(part)
                # Other English words in a place: it is another sentence.
                other = name not in _ANYTHING and _SEVERAL.search(
                    _QUOTED.sub("", part)
                )
                if said is None and not bare and not other:
                    said = part
                parts[name] = said
            if None not in parts.values():
                return _filled(self._said[english], parts)
        return None

    def _part(self, text: str) -> str | None:
        """Return what fills a placeholder: a phrase, or several in a list."""
        said = self._find(text)
        if said is None and not _WORDS.search(text):
            return text
        if said is None and ", " in text:
            listed = [self._find(one) for one in text.split(", ")]
            if None not in listed:
                return "、".join(listed)
        return said


def _filled(text: str, parts: Mapping[str, str | None]) -> str:
    return _PLACE.sub(lambda place: parts[place[1]] or "", text)


def _pattern(english: str) -> re.Pattern[str]:
    pieces = _PLACE.split(english)
    text = re.escape(pieces[0])
    seen: set[str] = set()
    for name, after in zip(pieces[1::2], pieces[2::2], strict=True):
        group = f"n{name}"
        if name in seen:
            text += f"(?P={group})"
        elif name.isdigit():
            text += f"(?P<{group}>{_NUMBER.pattern})"
        else:
            text += f"(?P<{group}>.+?)"
        seen.add(name)
        text += re.escape(after)
    return re.compile(text, re.DOTALL)


def phrases_of(language: str) -> Phrases:
    """Return all phrases of the book in a language.

    Raises:
        TypeError, ValueError: There are none in this language.
    """
    require.instance("language", language, str)
    folder = FOLDER / language / "phrases"
    paths = sorted(folder.glob("**/*.json")) if language.isalpha() else []
    if not paths:
        known = sorted(path.parent.name for path in FOLDER.glob("*/phrases"))
        raise ValueError(
            f"language must be 'en' or one of {known}, got {language!r}"
        )
    return Phrases.read(paths)
