"""How prose and code are cut for slides."""

import pytest
from bs4 import BeautifulSoup

from tools.slides.chapter import beats
from tools.slides.deck import Teacher
from tools.slides.parts import pieces
from tools.slides.prose import cleaned, opening, sentences


def paragraph(markup):
    return BeautifulSoup(f"<p>{markup}</p>", "html.parser").p


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        ("One. Two.", ["One.", "Two."]),
        ("Is it? It is.", ["Is it?", "It is."]),
        ("By 0.5, e.g. <i>f</i>. So", ["By 0.5, e.g. <i>f</i>.", "So"]),
        ("He said “no.” Then", ["He said “no.”", "Then"]),
        ("Ends. <code>f</code> runs.", ["Ends.", "<code>f</code> runs."]),
        ("<strong>Step.</strong> Do a. B.",
         ["<strong>Step.</strong> Do a.", "B."]),
        ("a &lt; b. So", ["a &lt; b.", "So"]),
        ("一，二。三？“四。”五（六。）七。",
         ["一，二。", "三？", "“四。”", "五（六。）", "七。"]),
        ("用 <code>f</code>。算 1.5。", ["用 <code>f</code>。", "算 1.5。"]),
        ("<strong>补位</strong>。一起算。完。",
         ["<strong>补位</strong>。一起算。", "完。"]),
    ],
)  # fmt: skip
def test_sentences_end_where_they_end(markup, expected):
    assert sentences(paragraph(markup)) == expected


def test_a_short_first_sentence_brings_the_second():
    assert opening(paragraph("It is. And so is that. No more.")) == (
        "It is. And so is that."
    )
    long = "This sentence says enough for itself, all alone."
    assert opening(paragraph(f"{long} And more.")) == long
    assert opening(paragraph("很短。第二句。第三句。")) == "很短。第二句。"
    long = "这一句已经说得够多，一句就够了。"
    assert opening(paragraph(f"{long}还有。")) == long


def test_a_paragraph_with_a_note_in_the_margin_is_said():
    chapter = cleaned(
        "<article><section><h2>Why?</h2><div class='noted'>"
        "<aside class='margin'><p>Aside.</p></aside><p>Because.</p></div>"
        "</section></article>"
    )
    [beat] = beats(chapter.find_all(True, recursive=False)[1:])
    assert [block.get_text() for block in beat.prose] == ["Because."]


def test_code_is_cut_between_functions_and_stays_whole():
    function = ["def f():", *["    x = 1"] * 12, "", ""]
    found = pieces(function * 3)
    assert [piece[0] for piece in found] == ["def f():"] * 3
    assert sum(map(len, found)) == 3 * 13


def test_a_teacher_says_something_to_a_heading_with_code():
    teacher = Teacher(say={"What's `head_dim`?": "Ask *a < b*, then `f`."})
    said = "<p><strong>Ask *a &lt; b*, then <code>f</code>.</strong></p>"
    assert teacher.says("what-s-head-dim") == said
    assert teacher.says("another") == ""
