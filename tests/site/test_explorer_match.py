"""Matching scenes and sentences in the browser: what is drawn of a batch."""

import numpy as np
from explorers import match
from mounted import explorer_of, published, ready, settle
from playwright.sync_api import Page, expect


def numbers_of(page: Page, panel: str) -> np.ndarray:
    texts = page.locator(f".{panel}").all_text_contents()
    return np.array([float(text.replace("−", "-")) for text in texts])


def choose(page: Page, label: str, value: str) -> None:
    page.get_by_label(label, exact=True).select_option(label=value)
    settle(page)


def test_cells_and_bars_are_those_of_the_batch(show):
    page = show(match())
    shown = published(ready(page))
    cells = numbers_of(page, "of-matrix .value")
    np.testing.assert_allclose(cells, shown["cosines"], atol=0.0051)
    pair = numbers_of(page, "of-pair .number")
    np.testing.assert_allclose(
        pair, [shown["before"], shown["after"]], atol=0.00051
    )
    track = page.locator(".of-pair .track").first.get_attribute("width")
    levels = page.locator(".of-pair .level").evaluate_all(
        "all => all.map((bar) => Number(bar.getAttribute('width')))"
    )
    np.testing.assert_allclose(
        np.array(levels) / float(track), pair, atol=0.002
    )
    for axis, name in enumerate(("column", "row")):
        choose(page, "In the cells", f"softmax of each {name}")
        shares = numbers_of(page, "of-matrix .value").reshape(6, 6)
        np.testing.assert_allclose(shares.sum(axis), 1, atol=0.03)


def test_a_scene_is_drawn_as_it_is_composed(show):
    page = show(match())
    choose(page, "Scene: second", "3")
    expect(
        page.get_by_role("img", name="a two left of a three")
    ).to_be_visible()
    # The first row of the batch is the same drawing, smaller.
    big, small = (
        page.locator(f"{place} .ink").evaluate_all(
            "all => all.map((one) => one.getAttribute('d'))"
        )
        for place in (".of-scene", ".of-matrix .scene >> nth=0 >>")
    )
    assert big == small


def test_the_swapped_sentence_takes_its_place_in_the_batch(show):
    page = show(match())
    first = published(ready(page))
    heads = page.locator(".of-matrix .word")
    assert heads.all_text_contents()[:3] == ["2", "left of", "7"]
    page.get_by_label("Swap left and right").check()
    settle(page)
    assert heads.all_text_contents()[:3] == ["2", "right of", "7"]
    expect(page.locator(".of-pair .in-batch")).to_have_text(
        "a two right of a seven"
    )
    second = published(explorer_of(page))
    assert second["cosines"][0] == second["after"] == first["after"]
    assert second["cosines"][1:6] == first["cosines"][1:6]
