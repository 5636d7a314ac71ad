"""What the Chinese site is made from: pages, lists, scripts, and its gaps."""

import ast
import json
import re
import shutil

import nbformat
import pytest
from chapter_files import CHAPTERS, ROOT, read
from jupyter_cache import get_cache
from jupyter_cache.base import CacheBundleIn
from myst_nb.core.read import read_myst_markdown_notebook
from vitedu_book import teaching

from tools import site_in, translated
from tools.site_in import (
    Edition,
    Incomplete,
    code_in,
    page_in,
    page_said,
    pieces,
    script_in,
    write_front,
)
from vitedu.book.phrases import Phrases

PAGES = [
    path.relative_to(ROOT).as_posix()
    for path in sorted(ROOT.glob("book/**/*.md"))
    if not path.relative_to(ROOT)
    .as_posix()
    .startswith(("book/api", "book/zh"))
]
# What a page has besides words.
KEPT = {
    "formulas": r"\$[^$\n]+\$",
    "addresses": r"\]\(([^)\s]+)\)",
    "citations": r"\{cite:\w\}`[^`]+`",
    "fences": r"^(?:`{3,}|:{3,})\{?[\w-]*",
    "labels": r"^\([\w-]+\)=$",
}
PAGE = (
    "Before.\n\n# Title\n\nText.\n\n```\n# no heading\n```\n\n## `x` & more\n"
)
WORDS = {
    "play": "Train",
    "both": "Two words",
    "kinds": {"ink": "ink"},
    "tour": [["Train", {"order": "Train"}, "Train"]],
    "without": ["Without"],
    "like": "Train",
}
SCRIPT = """
const PHRASES = new Map();
const $mine_words = {WORDS};
const STARTS = { "no root": { order: "ink" } };
const KINDS = { shape: "circle", note: "A way " + "to train" };
export default { render() { f("ink"); } };
""".replace("{WORDS}", json.dumps(WORDS))


@pytest.fixture
def edition(tmp_path, monkeypatch):
    """Return the edition in Chinese, in a copy that may be changed."""
    shutil.copytree(ROOT / "book/zh", tmp_path / "zh")
    one = Edition("zh")
    one.tables = [
        tmp_path / table.relative_to(ROOT / "book") for table in one.tables
    ]
    one.folder = tmp_path / "zh"
    monkeypatch.setattr(site_in, "ROOT", ROOT)
    return one


@pytest.fixture(autouse=True)
def headings():
    """Leave the addresses of headings as they were."""
    before = dict(teaching.ENGLISH)
    yield
    teaching.ENGLISH.clear()
    teaching.ENGLISH.update(before)


def test_a_page_has_a_piece_for_each_heading():
    found = pieces(PAGE)
    assert [name for name, _ in found] == ["top", "title", "x--more"]
    assert "".join(text for _, text in found) == PAGE
    assert "# no heading" in found[1][1]


@pytest.mark.parametrize("name", PAGES)
def test_a_page_in_chinese_is_whole_and_keeps_what_is_no_word(edition, name):
    english = (ROOT / name).read_text(encoding="utf-8")
    other = site_in.page_in(edition, name, english)
    if edition.told:
        pytest.skip("not up to date")
    for what, pattern in KEPT.items():
        found, wanted = (
            sorted(re.findall(pattern, text, re.MULTILINE))
            for text in (other, english)
        )
        if what == "addresses":  # Chinese readers may get some of their own
            found = [address for address in found if address in wanted]
        assert found == wanted, what
    assert len(site_in.headings(other)) == len(site_in.headings(english))


def test_an_edition_with_gaps_is_not_built(edition, tmp_path, monkeypatch):
    (edition.folder / "pages/ladder.md").unlink()
    table = edition.folder / "phrases/machines.json"
    phrases = json.loads(table.read_text(encoding="utf-8"))
    del phrases["photograph"]
    table.write_text(json.dumps(phrases), encoding="utf-8")
    monkeypatch.setattr(site_in, "chapter_in", lambda *_: None)
    source = tmp_path / "source"
    source.mkdir()
    with pytest.raises(Incomplete) as told:
        site_in.write_sources(edition, source)
    lines = str(told.value).splitlines()
    assert any(line.endswith("pages/ladder.md is missing") for line in lines)
    assert "machines: no phrase for 'photograph'" in lines


def test_a_list_is_said_with_the_headings_of_its_chapter(edition):
    edition.learn("# A\n\n## What is it?", "# 甲\n\n## 这是什么？")
    say = Phrases({"Ask.": "问。", "yes": "是"})
    content = [{"ask": "Ask.", "where": "What is it?", "options": ["yes"]}]
    assert site_in.list_in(edition, content, say, set()) == [
        {"ask": "问。", "where": "这是什么？", "options": ["是"]}
    ]
    guide = {"say": {"What is it?": "Ask."}, "at": ["yes"]}
    assert site_in.list_in(edition, guide, say, {"at"}) == {
        "say": {"这是什么？": "问。"},
        "at": ["yes"],
    }


def test_words_of_an_explorer_change_and_names_do_not():
    table = {"Train": "训练", "Without": "没有", "Two words": "两个词"}
    table |= {"A way to train": "一种训练"}
    table |= {"ink": "墨迹", "no root": "无根", "circle": "圆"}
    table |= {"other": {"Train": "别的"}, "mine": {"Without": "去掉"}}
    state = {"_esm": SCRIPT, "_anywidget_id": "vitedu.mine.Mine"}
    script = script_in(table, state | {"order": "ink"})
    words = json.loads(re.search(r"_words = (.*);", script)[1])
    assert words == {
        "play": "训练",
        "both": "两个词",
        "kinds": {"ink": "墨迹"},
        "tour": [["训练", {"order": "Train"}, "Train"]],
        "without": ["去掉"],
        "like": "训练",
    }
    # What is no file of words changes where it is shown.
    assert '"no root": { order: "ink" }' in script
    assert 'shape: "circle"' in script
    shown = json.loads(re.search(r"new Map\((.*)\);", script)[1])
    assert dict(shown) == {
        "ink": "墨迹",
        "no root": "无根",
        "circle": "圆",
        "A way to train": "一种训练",
    }


@pytest.mark.parametrize("name", ["vit", "transformer"])
def test_code_in_chinese_is_the_same_code(edition, name):
    english = (ROOT / f"book/one-file/{name}.py").read_text(encoding="utf-8")
    with edition.saying(f"one-file/{name}") as say:
        chinese = code_in(english, say)
    assert edition.told == []
    assert "（第 6 章）" in chinese
    trees = ast.parse(english), ast.parse(chinese)
    for tree in trees:
        for node in ast.walk(tree):
            if isinstance(node, ast.Expr) and isinstance(
                node.value, ast.Constant
            ):
                node.value.value = ""  # a docstring
    assert ast.dump(trees[0]) == ast.dump(trees[1])


def test_the_front_page_has_what_the_english_one_showed(
    edition, tmp_path, monkeypatch
):
    front = ROOT / "book/index.md"
    notebook = read_myst_markdown_notebook(front.read_text("utf-8"))
    shown = nbformat.v4.new_output("stream", text="3\n")
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [shown], 1
    cache = get_cache(tmp_path / "cache")
    cache.cache_notebook_bundle(
        CacheBundleIn(notebook, str(front)), check_validity=False
    )
    monkeypatch.setattr(site_in, "open_cache", lambda: cache)
    page = tmp_path / "index.md"
    text = front.read_text("utf-8")
    page.write_text(page_in(edition, "book/index.md", text), "utf-8")
    write_front(edition, page)
    cells = nbformat.read(tmp_path / "index.ipynb", 4).cells
    outputs = [cell.outputs for cell in cells if cell.cell_type == "code"]
    assert outputs == [[shown]] * 2


def test_what_the_extension_wrote_is_said_and_code_is_not():
    table = Phrases({"Next": "下一页", "it's {1}": "是 {1}"})
    page = (
        '<a title="Next">Next</a><pre>Next</pre><p>it&#x27;s 3</p>'
        "<code>Next</code><script>Next</script><b>Nextly</b>"
    )
    assert page_said(page, table) == (
        '<a title="下一页">下一页</a><pre>Next</pre><p>是 3</p>'
        "<code>Next</code><script>Next</script><b>Nextly</b>"
    )


def test_each_heading_of_the_book_has_one_translation(edition):
    for path in CHAPTERS:
        there = translated.translation_of(path.stem, "zh")
        try:
            other = translated.translated(read(path), there)
        except ValueError:
            continue  # the English never waits for a translation
        for before, after in zip(read(path).cells, other.cells, strict=True):
            if before.cell_type == "markdown":
                edition.learn(before.source, after.source)
    found = list(edition.headings.values())
    assert len(found) == len(set(found)) > 200


def test_terms_are_those_of_the_glossary():
    text = (ROOT / "book/zh/pages/glossary.md").read_text(encoding="utf-8")
    known, heads, entries = {}, [], []
    for line in text.splitlines():
        if "<span" in line:
            said = re.sub("<[^>]*>", "", line.partition(" · ")[0])
            words = [w for w in re.split(r"[,，;；()（）\s]+", said) if w]
            known |= {head.lower(): words for head in heads}
            entries.append(set(heads))
            heads = []
        elif re.match(r"[A-Za-z]", line):
            heads.append(line.strip())
        elif line.startswith("```"):
            heads = []
    indexed = set(re.findall(r"\{term\}`(?:[^`<]* <)?([^`<>]*)>?`", text))
    assert [heads for heads in entries if not heads & indexed] == []
    used = {
        (other.partition("（")[0].strip(), term.lower())
        for path in ROOT.glob("book/zh/**/*.md")
        for other, term in re.findall(
            r"\{term\}`([^`<]*?)\s*<([^`>]*)>`", path.read_text("utf-8")
        )
    }
    assert len(used) > 100
    wrong = {
        (other, term)
        for other, term in used
        if other.lower() != term
        and not any(w in other or other in w for w in known.get(term, ()))
    }
    assert wrong == set()


def test_what_is_up_to_date_is_not_built_again(tmp_path, monkeypatch, capsys):
    for name in ("BUILD", "SITE"):
        monkeypatch.setattr(site_in, name, tmp_path / name)
    page = tmp_path / "SITE/zh/index.html"
    page.parent.mkdir(parents=True)
    page.touch()
    monkeypatch.setattr(site_in, "ROOT", ROOT)
    stamp = tmp_path / "BUILD/zh/stamp"
    stamp.parent.mkdir(parents=True)
    stamp.write_text(site_in.state(), encoding="utf-8")
    monkeypatch.setattr(site_in, "build", None)
    site_in.main("zh")
    assert "up to date" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="zh, got 'fr'"):
        site_in.main("fr")


def test_the_readme_in_chinese_is_up_to_date():
    english = (ROOT / "README.md").read_text(encoding="utf-8")
    cells = translated.read(ROOT / "README.zh.md")
    assert site_in.page_remarks(english, cells) == []
