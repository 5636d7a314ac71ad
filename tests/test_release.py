"""What the release puts into a site: files that work, and links to them."""

import csv
import io
import zipfile

import nbformat
from chapter_files import CHAPTERS

from tools import editions, release

PAGE = """<td><span data-download="notebooks.zip"><code>make notebooks</code>
</span></td><td><span data-download="book.epub"><code>make epub</code></span>
</td>""".replace("\n", "")


def test_a_page_links_to_the_files_that_are_there(tmp_path):
    page, folder = tmp_path / "downloads.html", tmp_path / "downloads"
    folder.mkdir()
    editions.pack(folder / "notebooks.zip", edition="chapters")
    for _ in range(2):
        page.write_text(PAGE, encoding="utf-8")
        release.link(page, folder)
        size = (folder / "notebooks.zip").stat().st_size / 1e6
        assert page.read_text(encoding="utf-8") == (
            '<td><span data-download="notebooks.zip">'
            '<a href="../downloads/notebooks.zip" download>Download</a> '
            f"({size:.1f} MB)</span></td>"
            '<td><span data-download="book.epub"><code>make epub</code></span>'
            "</td>"
        )
    # A later release has another size.
    with (folder / "notebooks.zip").open("ab") as file:
        file.write(bytes(300_000))
    release.link(page, folder, "zh")
    assert f"下载</a> ({size + 0.3:.1f} MB)" in page.read_text("utf-8")


def test_whoever_learns_alone_gets_the_solutions(tmp_path):
    path = tmp_path / "notebooks.zip"
    editions.pack(path, edition="chapters")
    with zipfile.ZipFile(path) as archive:
        for chapter in CHAPTERS:
            text = archive.read(f"chapters/{chapter.name}").decode()
            notebook = nbformat.reads(text, as_version=4)
            assert notebook == nbformat.read(chapter, as_version=4)


def test_questions_of_several_chapters_become_one_file(tmp_path):
    from vitedu_book.quizzes import gift, read_quiz, table

    files = {"gift": [], "csv": []}
    for path in CHAPTERS[:2]:
        name = path.stem
        quiz = path.parents[1] / f"book/quizzes/{name}.yml"
        for kind, write in (("gift", gift), ("csv", table)):
            file = tmp_path / f"{name}.{kind}"
            file.write_text(write(name, read_quiz(quiz)), encoding="utf-8")
            files[kind].append(file)
    rows = [*csv.DictReader(io.StringIO(release.questions(files["csv"])))]
    assert [row["question"] for row in rows] == [*"12345"] * 2
    assert {row["chapter"] for row in rows} == {
        path.stem for path in CHAPTERS[:2]
    }
    assert release.questions(files["gift"]).count("\n::") == 9
