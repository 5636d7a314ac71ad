"""The reference of the library: whole, readable, and linked."""

import ast
import re
from collections import Counter

import pytest
from pages import PAGES, ROOT, read
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


@pytest.mark.parametrize("path", GROUPS)
def test_reference_is_readable(open_page, path):
    text = open_page(path).locator("article").inner_text()
    assert UNREADABLE.findall(text) == []


def test_signature_has_the_axes_as_the_source_has_them(open_page):
    page = open_page(ATTENTION)
    name = "vitedu.attention.scaled_dot_product_attention"
    text = page.locator(f'dt[id="{name}"]').inner_text()
    assert text.splitlines()[0] == "scaled_dot_product_attention("
    lines = [line.strip() for line in text.splitlines()]
    assert 'q: Float[Tensor, "batch heads query head_dim"],' in lines
    assert "scale: float | None = None," in lines


def test_fields_say_what_the_docstring_says(open_page):
    page = open_page(ATTENTION)
    name = "vitedu.attention.attention_weights"
    fields = page.locator(f'dt[id="{name}"] + dd > dl.field-list')
    assert fields.locator("> dt").all_inner_texts() == [
        "Parameters",
        "Returns",
        "Raises",
        "Source",
        "Deviates",
        "Derived in",
    ]
    deviates = fields.locator("> dd").nth(4).inner_text()
    assert deviates.endswith("fused attention.")
    chapter = fields.locator("> dd a").last
    assert chapter.inner_text().startswith("3. ")


def test_chapters_are_linked_from_what_they_derive(site):
    for name, text in PUBLIC.items():
        derived = re.findall(r"^Derived in: (.*)$", text, re.MULTILINE)
        [path] = [p for p in GROUPS if name in read(site.folder / p).ids]
        links = read(site.folder / path).links
        for chapter in ", ".join(derived).split(", "):
            if chapter:
                assert f"../../chapters/{chapter}.html" in links, name


def test_names_in_a_chapter_lead_to_the_reference(site):
    page = "chapters/03-scaled-dot-product-attention.html"
    target = "../book/api/attention.html#vitedu.attention."
    links = [x for x in read(site.folder / page).links if target in x]
    assert links


def test_overview_lists_the_modules_in_reading_order(open_page):
    page = open_page("book/api/index.html")
    rows = page.locator("table.library-modules tbody tr").all_inner_texts()
    found = [[cell.strip() for cell in row.split("\t")] for row in rows]
    assert [cells[:2] for cells in found] == [
        [name, words]
        for group in index(LIBRARY).values()
        for name, words in group.items()
    ]


def test_the_map_leads_to_every_room(site, open_page):
    page = open_page("book/api/index.html")
    links = page.locator("svg.library-map a").evaluate_all(
        "(all) => all.map((a) => [a.textContent, a.getAttribute('href')])"
    )
    tops = {name.split(".")[0] for name in builds_on(LIBRARY)}
    assert {name for name, _ in links} == tops - {"require", "widgets"}
    for name, address in links:
        ids = read(site.folder / "book/api" / address).ids
        assert any(f"{x}.".startswith(f"module-vitedu.{name}.") for x in ids)


def test_an_arrow_is_what_does_not_follow_from_others():
    needs = {"a": {"b", "c"}, "b": {"c"}, "c": set()}
    assert direct(needs) == {"a": {"b"}, "b": {"c"}, "c": set()}
    inside = {"a.x": ["a.y", "b.z", "require"], "a.y": [], "b.z": ["c"]}
    assert rooms(inside) == {"a": {"b"}, "b": {"c"}}


def test_objects_are_in_the_contents_of_the_page(open_page):
    page = open_page(ATTENTION)
    page.get_by_role("button", name="Contents").click()
    entries = page.locator("nav.page-toc a:visible")
    assert "causal_mask()" in entries.all_inner_texts()


def test_source_of_an_object_is_one_click_away(open_page):
    page = open_page(ATTENTION)
    page.locator('dt[id="vitedu.masks.causal_mask"] .viewcode-link').click()
    page.wait_for_url("**/_modules/vitedu/masks.html#causal_mask")
    source = page.locator("#causal_mask").inner_text()
    assert "def causal_mask(" in source
