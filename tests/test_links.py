"""The form of every address, DOI and arXiv number in the book."""

import re

import pytest

ADDRESS = re.compile(r"https?://[^\s)>\]\"'`\\]+")
ARXIV = re.compile(r"\b(\d\d)(0[1-9]|1[0-2])\.(\d{4,5})(v\d+)?\b")
DOI = re.compile(r"10\.\d{4,9}/[^\s{}]+")
# Names of formats, which nobody asks for, and the reader's own machine.
EXCEPTIONS = (
    "http://purl.org/dc/",
    "http://www.idpf.org/",
    "http://www.sitemaps.org/",
    "http://www.w3.org/",
    "http://127.0.0.1",
)
FOLDERS = (
    "book",
    "chapters",
    "vitedu",
    "tools",
    "README.md",
    "CONTRIBUTING.md",
)
TEXTS = {".md", ".ipynb", ".yml", ".py", ".js", ".css", ".html", ".bib"}


def texts(root):
    """Yield the texts of the book that may hold addresses."""
    for name in FOLDERS:
        top = root / name
        for path in [top, *top.rglob("*")]:
            ours = "minisearch" not in path.parts
            if ours and path.suffix in TEXTS and path.is_file():
                yield path, path.read_text(encoding="utf-8")


def test_every_address_is_asked_by_https(root):
    found = {
        (path.name, address)
        for path, text in texts(root)
        for address in ADDRESS.findall(text)
    }
    assert len(found) > 30
    assert {
        (path, address)
        for path, address in found
        if not address.startswith(("https://", *EXCEPTIONS))
    } == set()


def wrong_numbers(fields):
    """Return what in an entry of the references has not the right form."""
    url, note = fields.get("url", ""), fields.get("note", "")
    numbers = [url.rsplit("/", 1)[-1]] if "arxiv.org" in url else []
    numbers += re.findall(r"arXiv preprint (\S+)", note)
    wrong = [n for n in numbers if not ARXIV.fullmatch(n)]
    dois = [fields["doi"]] if "doi" in fields else []
    dois += re.findall(r"doi\.org/(.*)", url)
    wrong += [doi for doi in dois if not DOI.fullmatch(doi)]
    if "arxiv.org" in url and "arxiv.org/abs/" not in url:
        wrong.append(url)
    return wrong


@pytest.mark.parametrize(
    "fields",
    [
        {"url": "https://arxiv.org/abs/1713.03762"},
        {"url": "https://arxiv.org/pdf/1706.03762"},
        {"note": "arXiv preprint 170.03762"},
        {"doi": "10.1/x"},
    ],
)
def test_a_wrong_number_is_found(fields):
    assert wrong_numbers(fields)
