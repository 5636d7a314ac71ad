"""Reach in the browser: its columns, its table, its sentence."""

import pytest
from mounted import expect_published, explorer_of, published, settle
from playwright.sync_api import Page, expect

from vitedu.analysis.complexity import layer_flops, path_length
from vitedu.widgets import Reach


def reading(page: Page) -> str:
    return page.locator(".vitedu-reading").text_content()


def test_it_opens_on_the_wall_and_gaps_break_through(show):
    page = show(Reach())
    assert "depends on 9 of 25 tokens, 17 to 25" in reading(page)
    assert "out of reach: it would take 12 layers" in reading(page)
    page.get_by_label("Kind of layer").select_option("dilated convolution")
    expect(page.locator(".vitedu-reading")).to_contain_text(
        "within reach, since 3 layers are enough"
    )


def test_what_is_filled_is_what_reaches_the_output(show):
    page = show(Reach(num_tokens=12, window=2, num_layers=2, place=7))
    shown = published(explorer_of(page))
    assert shown["reached"] == [0] * 4 + [1] * 3 + [0] * 5
    # Three inputs, two tokens between, one output.
    expect(page.locator(".picture .sees")).to_have_count(6)
    expect(page.locator(".picture .blind")).to_have_count(30)
    expect(page.locator(".picture .output")).to_have_count(1)


def test_a_tap_on_a_column_chooses_its_output(show):
    page = show(Reach(num_tokens=10), width=390, has_touch=True)
    box = page.locator(".picture svg").bounding_box()
    side = 8
    step = (box["width"] - 2 * side) / 10
    for place in (1, 4, 10):
        x = box["x"] + side + (place - 0.5) * step
        page.touchscreen.tap(x, box["y"] + 60)
        expect_published(explorer_of(page), place=place)


def test_a_tap_chooses_its_output_in_full_screen(show):
    page = show(Reach(num_tokens=10), width=1280, has_touch=True)
    page.get_by_role("button", name="Full screen").click()
    enlarged = page.locator(".vitedu-large .picture svg")
    expect(enlarged).to_be_visible()
    settle(page)
    box = enlarged.bounding_box()
    page.touchscreen.tap(box["x"] + 0.85 * box["width"], box["y"] + 90)
    expect_published(explorer_of(page), place=9)


def test_the_table_has_the_numbers_of_the_library(show):
    page = show(Reach(num_tokens=40, window=4, d_model=32, place=20))
    rows = {
        row.locator("th").text_content(): row.locator("td").all_text_contents()
        for row in page.locator("tbody tr").all()
    }
    expected = {
        "recurrent": ("recurrent", {}, {}, 20),
        "windows": ("convolution", {"window": 4}, {}, 13),
        "windows with gaps": (
            "convolution",
            {"window": 4},
            {"dilated": True},
            20,
        ),
        "attention": ("attention", {}, {}, 40),
    }
    for name, (kind, window, gaps, sees) in expected.items():
        path = path_length(kind, 20, **window, **gaps)
        in_turn = 40 if kind == "recurrent" else 1
        *counts, shown = rows.pop(name)
        assert counts == [str(n) for n in (sees, path, in_turn)]
        operations = layer_flops(kind, 40, 32, **window) / 1e6
        assert float(shown) == pytest.approx(operations, rel=0.005)
    assert not rows
    expect(page.locator("tr.chosen th")).to_have_text("windows")


def test_the_last_output_stays_within_the_sequence(show):
    page = show(Reach(place=20))
    page.get_by_label("Tokens", exact=True).press("Home")
    expect_published(explorer_of(page), num_tokens=2, place=2)
    page.get_by_label("Tokens", exact=True).press("End")
    expect_published(explorer_of(page), num_tokens=64, place=20)
