"""The page on versions shows the rows of the committed file."""

import re
from html import unescape

from pages import ROOT
from vitedu_book import versions


def test_the_page_shows_what_the_file_holds(site):
    page = site.folder / "book" / "reproducible.html"
    cells = re.findall(r"<td><p>(.*?)</p></td>", page.read_text("utf-8"))
    shown = [unescape(cell) for cell in cells]
    rows = versions.read(ROOT)
    tables = (versions.packages(rows), versions.results(rows))
    wanted = [
        cell.strip()
        for table in tables
        for line in table.splitlines()[2:]
        for cell in line[1:-1].split("|")
        if cell.strip()
    ]
    assert wanted
    assert shown == wanted
