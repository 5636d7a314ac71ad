"""The chapters in another language: the same but for the words."""

import re

import nbformat
import pytest
from chapter_files import CHAPTERS, read

from tools import editions, translated

each_chapter = pytest.mark.parametrize(
    "path", CHAPTERS, ids=lambda path: path.stem
)
ENGLISH = """# 3. Title

Why?

*23 minutes* · 5 more in deeper sections · 26 for exercises · runs in 12 s"""
CHINESE = """# 3. 标题

为何。

*20 分钟* · 选读另需 4 分钟 · 练习 26 分钟 · 运行 99 秒"""
# What a text has besides words.
KEPT = {
    "headings": r"^#+ ",
    "formulas": r"\$\$.+?\$\$|\$[^$\n]+\$",
    "addresses": r"\]\(([^)]+)\)",
    "citations": r"\{cite:\w\}`[^`]+`",
    "fences": r"^(?:`{3,}|:{3,})\{?\w*",
    "options": r"^:[\w-]+:.*$",
}
WORDS = re.compile(r"\\text\{[^}]*\}")  # in a formula
CLAIM = re.compile(r"\[([^]]+)\]\(#(claim-[\w-]+)\)")
COUNTS = "zero one two three four five six seven eight nine ten eleven twelve"
ROLE = re.compile(r"(?<![A-Za-z_.`])\{[\w:.]+\}`(?:[^`<]*<)?([^`>]+)>?`")


def claims(text):
    """Return which claims are linked, with the number that stands there."""
    digits = {word: str(i) for i, word in enumerate(COUNTS.split())}
    digits["no"] = digits["none"] = "0"
    found = []
    for said, name in CLAIM.findall(text):
        plain = re.sub(
            r"[a-z]+", lambda it: digits.get(it[0], it[0]), said.lower()
        )
        number = re.search(r"[\d.,]*\d(?:e[-+]?\d+)?", plain)
        found.append((name, number and number[0]))
    return sorted(found, key=str)


def chapter():
    notebook = nbformat.v4.new_notebook()
    picture = {"image": {"alt": "A line that rises."}}
    notebook.cells = [
        nbformat.v4.new_markdown_cell(ENGLISH, id="title"),
        nbformat.v4.new_code_cell(
            "plot()",
            id="figure",
            metadata={"caption": "A line.", "mystnb": picture},
        ),
        nbformat.v4.new_code_cell("x = 1", id="code"),
        nbformat.v4.new_markdown_cell("The *end*.", id="end"),
    ]
    return notebook


def written(tmp_path, change=lambda name, text: text, more=""):
    said = {
        "title": CHINESE,
        "figure:caption": "一条线。",
        "figure:alt": "一条上升的线。",
        "end": "**完**。",
    }
    pieces = []
    for name, english in translated.texts(chapter()):
        text = change(name, said[name])
        if text is not None:
            mark = f"<!-- {name} {translated.digest(english)} -->"
            pieces.append(f"{mark}\n{text}\n")
    path = tmp_path / "03-title.md"
    path.write_text("\n".join([*pieces, more]), encoding="utf-8")
    return path


def test_texts_captions_and_descriptions_change_and_code_does_not(tmp_path):
    before = chapter()
    edition = translated.translated(before, written(tmp_path))
    nbformat.validate(edition)
    title, figure, code, end = edition.cells
    assert title.source.startswith("# 3. 标题\n")
    assert figure.metadata.caption == "一条线。"
    assert figure.metadata.mystnb.image.alt == "一条上升的线。"
    assert (figure.source, code.source) == ("plot()", "x = 1")
    assert end.source == "**完**。"
    assert before == chapter()


def test_times_are_those_that_were_measured(tmp_path):
    edition = translated.translated(chapter(), written(tmp_path))
    last = edition.cells[0].source.splitlines()[-1]
    assert last == ("*23 分钟* · 选读另需 5 分钟 · 练习 26 分钟 · 运行 12 秒")
    slower = chapter()
    slower.cells[0].source = ENGLISH.replace("12 s", "31 s")
    edition = translated.translated(slower, written(tmp_path))
    assert edition.cells[0].source.endswith("运行 31 秒")


def test_chinese_that_still_holds_is_marked(tmp_path, monkeypatch):
    folder = tmp_path / "book" / "zh"
    folder.mkdir(parents=True)
    path = written(folder)
    reworded = chapter()
    reworded.cells[1].metadata.caption = "A line that one drew."
    reworded.cells[3].source = "The *very end*."
    (tmp_path / "chapters").mkdir()
    nbformat.write(reworded, tmp_path / "chapters" / "03-title.ipynb")
    monkeypatch.setattr(translated, "ROOT", tmp_path)
    with pytest.raises(ValueError, match="CELL must be a stale cell"):
        translated.carry("03-title", "zh", ["title"])
    assert translated.carry("03-title", "zh", ["end"]) == ["end"]
    assert [
        remark.split()[0]
        for remark in translated.remarks(reworded, translated.read(path))
    ] == ["figure:caption"]
    assert translated.carry("03-title", "zh", []) == ["figure:caption"]
    edition = translated.translated(reworded, path)
    assert edition.cells[3].source == "**完**。"
    with pytest.raises(ValueError, match="NAME must be a chapter"):
        translated.carry("04-none", "zh", [])


def test_what_is_not_up_to_date_is_named(tmp_path):
    changed = chapter()
    changed.cells[3].source = "The very *end*."
    now = translated.digest("The very *end*.")
    with pytest.raises(ValueError, match=f"got: end is stale, now {now}$"):
        translated.translated(changed, written(tmp_path))
    path = written(
        tmp_path, lambda name, text: text if name != "figure:alt" else None
    )
    with pytest.raises(ValueError, match="got: figure:alt is missing"):
        translated.translated(chapter(), path)
    path = written(tmp_path, more="<!-- other 00000000 -->\n别的\n")
    with pytest.raises(ValueError, match=r"got: other is no cell$"):
        translated.translated(chapter(), path)


@pytest.mark.parametrize("language", translated.LANGUAGES)
@each_chapter
def test_a_translation_keeps_what_is_no_word(path, language):
    cells = translated.read(translated.translation_of(path.stem, language))
    for name, english in translated.texts(read(path)):
        known, text = cells.get(name, ("", ""))
        if known != translated.digest(english):
            continue  # the English never waits for a translation
        bare = [WORDS.sub(r"\\text{}", said) for said in (text, english)]
        for what, pattern in KEPT.items():
            found, expected = (
                sorted(re.findall(pattern, said, re.MULTILINE | re.DOTALL))
                if what == "formulas"
                else sorted(re.findall(pattern, said, re.MULTILINE))
                for said in bare
            )
            assert found == expected, f"{name}: {what}"
        assert claims(text) == claims(english), name
        assert sorted(ROLE.findall(text)) == sorted(ROLE.findall(english)), (
            name
        )
        plain, wanted = (
            set(re.findall(r"`([^`\n]+)`", ROLE.sub("", said)))
            for said in (text, english)
        )
        assert plain == wanted, f"{name}: code"


@each_chapter
def test_students_get_no_solutions_in_chinese(path):
    there = translated.translation_of(path.stem, "zh")
    if translated.remarks(read(path), translated.read(there)):
        pytest.skip("not up to date")
    edition = editions.student(translated.translated(read(path), there))
    text = "\n".join(cell.source for cell in edition.cells)
    assert "练习" in text
    assert "{admonition} 解答" not in text
    assert "must_accept" not in text
