"""The reference of the library: whole, readable, and linked."""

import ast
import re
from collections import Counter
from html import unescape

from pages import CHAPTERS, PAGES, ROOT, parsed, read
from vitedu_book.code_map import direct, rooms
from vitedu_book.library import builds_on, index

LIBRARY = ROOT / "vitedu"
REFERENCE = [path for path in PAGES if path.startswith("book/api/")]
GROUPS = [path for path in REFERENCE if not path.endswith("/index.html")]
ATTENTION = "book/api/attention.html"
# Traces of a type, a field or a link that autodoc could not write.
UNREADABLE = re.compile(
    r"_Buffer|jaxtyping\.|typing\.|<(?:class|function|factory)\b|object at|"
    r":\w+:`|`|Alias for"
)


def modules() -> dict[str, ast.Module]:
    """Return every module of the library, by its full name."""
    found = {}
    for path in sorted(LIBRARY.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        if "exercises" in parts:  # objects of the chapters, not of a library
            continue
        name = ".".join(part for part in parts if part != "__init__")
        found[name] = ast.parse(path.read_text(encoding="utf-8"))
    return found


PUBLIC = {
    f"{name}.{node.name}": ast.get_docstring(node) or ""
    for name, tree in modules().items()
    for node in tree.body
    if isinstance(node, ast.FunctionDef | ast.ClassDef)
    and not node.name.startswith("_")
}


def test_every_public_object_is_documented_once(site):
    places = Counter(
        name
        for path in REFERENCE
        for name in read(site.folder / path).ids
        if name.removeprefix("module-").startswith("vitedu.")
    )
    assert max(places.values()) == 1
    documented = {name for name in places if not name.startswith("module-")}
    # Methods and properties stand below their class.
    inside = {n for n in documented if n.rsplit(".", 1)[0] in PUBLIC}
    # A function that is made of another one has no definition to find.
    made = {f"vitedu.fields.{name}" for name in ("count", "number", "rate")}
    assert documented - inside == {*PUBLIC, *made, "vitedu.fields.size"}
    sections = {n[7:] for n in places if n.startswith("module-")}
    listed = [name for group in index(LIBRARY).values() for name in group]
    assert sections == {f"vitedu.{name}" for name in listed}


def test_signatures_and_fields_can_be_read(site):
    for path in GROUPS:
        page = (site.folder / path).read_text(encoding="utf-8")
        article = page.partition("<article")[2].partition("</article")[0]
        text = unescape(re.sub("<[^>]*>", "", article))
        assert UNREADABLE.findall(text) == [], path
    page = parsed(site.folder / ATTENTION)
    name = "vitedu.attention.scaled_dot_product_attention"
    lines = page.find(id=name).get_text().split(",")
    words = ["".join(line.split()) for line in lines]
    assert words[0].startswith("scaled_dot_product_attention(q:Float[Tensor")
    assert "scale:float|None=None" in words
    assert '"batchheadsqueryhead_dim"]' in words
    name = "vitedu.attention.attention_weights"
    fields = page.find(id=name).find_next_sibling("dd")
    fields = fields.select_one("dl.field-list")
    terms = [
        term.get_text(strip=True) for term in fields.select(":scope > dt")
    ]
    assert [term.rstrip(":") for term in terms] == [
        *("Parameters", "Returns", "Raises"),
        *("Source", "Deviates", "Derived in"),
    ]
    said = fields.select(":scope > dd")
    assert said[4].get_text().strip().endswith("fused attention.")
    assert said[5].a.get_text().startswith("3. ")


def test_chapters_are_linked_from_what_they_derive(site):
    for name, text in PUBLIC.items():
        derived = re.findall(r"^Derived in: (.*)$", text, re.MULTILINE)
        [path] = [p for p in GROUPS if name in read(site.folder / p).ids]
        links = read(site.folder / path).links
        for chapter in ", ".join(derived).split(", "):
            if chapter:
                assert f"../../chapters/{chapter}.html" in links, name


def test_chapters_lead_to_the_reference(site):
    target = "../book/api/attention.html#vitedu.attention."
    assert any(target in x for x in read(site.folder / CHAPTERS[2]).links)


def test_overview_lists_the_modules_in_reading_order_and_on_a_map(site):
    page = parsed(site.folder / "book/api/index.html")
    rows = page.select("table.library-modules tbody tr")
    assert [
        [" ".join(cell.get_text().split()) for cell in row.select("td")[:2]]
        for row in rows
    ] == [
        [name, " ".join(words.split())]
        for group in index(LIBRARY).values()
        for name, words in group.items()
    ]
    links = {a.get_text(): a["href"] for a in page.select(".library-map a")}
    tops = {name.split(".")[0] for name in builds_on(LIBRARY)}
    assert {*links} == tops - {"require", "widgets"}
    for name, address in links.items():
        ids = read(site.folder / "book/api" / address).ids
        assert any(f"{x}.".startswith(f"module-vitedu.{name}.") for x in ids)


def test_an_arrow_is_what_does_not_follow_from_others():
    needs = {"a": {"b", "c"}, "b": {"c"}, "c": set()}
    assert direct(needs) == {"a": {"b"}, "b": {"c"}, "c": set()}
    inside = {"a.x": ["a.y", "b.z", "require"], "a.y": [], "b.z": ["c"]}
    assert rooms(inside) == {"a": {"b"}, "b": {"c"}}


def test_an_object_is_in_the_contents_and_its_source_one_click_away(site):
    page = parsed(site.folder / ATTENTION)
    entries = [link.get_text() for link in page.select("nav.page-toc a")]
    assert "causal_mask()" in entries
    link = page.find(id="vitedu.masks.causal_mask").select_one(
        "a:has(.viewcode-link)"
    )
    assert link["href"] == "../../_modules/vitedu/masks.html#causal_mask"
    source = parsed(site.folder / "_modules/vitedu/masks.html")
    assert "def causal_mask(" in source.find(id="causal_mask").get_text()
