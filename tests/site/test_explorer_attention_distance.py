"""AttentionDistance in the browser: its numbers, its mouse, its keyboard."""

import base64
import re

import numpy as np
import pytest
import torch
from mounted import expect_published, explorer_of, published, stop_clock
from pages import start_explorers
from playwright.sync_api import Page, expect

from vitedu.analysis import attention_distance
from vitedu.widgets import AttentionDistance

CHAPTER = "chapters/16-looking-inside.html"
STEPS = [0, 100, 2000]
IMAGES, LAYERS, HEADS, ROWS, COLUMNS, PATCH = 2, 3, 5, 4, 3, 2
TOLERANCE = 1e-5


def make_maps(num_prefix_tokens: int = 1) -> np.ndarray:
    """Return weights that are already rounded as the page has them."""
    tokens = num_prefix_tokens + ROWS * COLUMNS
    shape = (len(STEPS), IMAGES, LAYERS, HEADS, tokens)
    rng = np.random.default_rng(0)
    return rng.dirichlet(np.full(tokens, 0.4), shape).astype(np.float16)


def distances(
    maps: np.ndarray, rows: int, columns: int, patch: int
) -> np.ndarray:
    """Return the mean distance of each query patch: its definition."""
    row, column = np.divmod(np.arange(rows * columns), columns)
    between = patch * np.hypot(row[:, None] - row, column[:, None] - column)
    among = maps[..., -len(row) :, -len(row) :].astype(np.float64)
    among /= among.sum(-1, keepdims=True)
    return (among * between).sum(-1)


def of_patches(maps: np.ndarray) -> np.ndarray:
    return distances(maps, ROWS, COLUMNS, PATCH)


def make(maps: np.ndarray | None = None, **arguments) -> AttentionDistance:
    images = np.random.default_rng(1).random(
        (IMAGES, ROWS * PATCH, COLUMNS * PATCH)
    )
    arguments = {
        "maps": make_maps() if maps is None else maps,
        "images": images,
        "patch_size": PATCH,
        "steps": STEPS,
        "image_names": ["first", "second"],
    } | arguments
    return AttentionDistance(**arguments)


def shown_distances(page: Page) -> np.ndarray:
    """Return what the dots stand for, (layer, head)."""
    dots = page.locator(".dot").evaluate_all(
        "dots => dots.map(({dataset: d}) => [d.layer, d.head, d.distance])"
    )
    table = np.array(dots, float)
    layers, heads = table[:, :2].max(0).astype(int) + 1
    return table[:, 2].reshape(layers, heads)


def dot(page: Page, layer: int, head: int):
    return page.locator(f'.dot[data-layer="{layer}"][data-head="{head}"]')


def patch(page: Page, row: int, column: int):
    return page.locator(f'.patch[data-row="{row}"][data-column="{column}"]')


def go_to_step(page: Page, step: int) -> None:
    slider = page.get_by_label("Step", exact=True)
    slider.press("Home")
    for _ in range(step):
        slider.press("ArrowRight")
    expect_published(explorer_of(page), step=step)


def test_every_head_has_the_distance_of_the_library(show):
    maps = make_maps()
    page = show(make(maps))
    for image, name in enumerate(["first", "second"]):
        page.get_by_label("Image", exact=True).select_option(name)
        expect_published(explorer_of(page), image=image)
        for step in range(len(STEPS)):
            go_to_step(page, step)
            shown = shown_distances(page)
            weights = torch.from_numpy(maps[step, image].astype("float64"))
            library = [
                attention_distance(
                    layer, grid_size=(ROWS, COLUMNS), patch_size=PATCH
                )
                for layer in weights
            ]
            expected = of_patches(maps[step, image]).mean(-1)
            np.testing.assert_allclose(shown, expected, atol=TOLERANCE)
            np.testing.assert_allclose(
                shown, torch.stack(library), atol=TOLERANCE
            )


def test_every_patch_has_its_weights_and_its_distance(show):
    maps = make_maps()
    page = show(make(maps, layer=2, head=4, image=1))
    expected = of_patches(maps)[-1, 1, 2, 4]
    for row in range(ROWS):
        for column in range(COLUMNS):
            patch(page, row, column).click()
            expect_published(explorer_of(page), row=row, column=column)
            query = row * COLUMNS + column
            values = published(explorer_of(page))
            assert float(values["patchDistance"]) == pytest.approx(
                expected[query], abs=TOLERANCE
            )
            weights = page.locator(".patch").evaluate_all(
                "marks => marks.map((mark) => Number(mark.dataset.weight))"
            )
            np.testing.assert_array_equal(
                weights, maps[-1, 1, 2, 4, 1 + query, 1:].astype(float)
            )


def test_the_area_of_a_square_is_its_weight(show):
    maps = make_maps()
    page = show(make(maps, row=1, column=2))
    path = page.locator(".squares").get_attribute("d")
    sides = np.array(re.findall(r"h([\d.]+)v", path), float)
    weights = maps[-1, 0, 0, 0, 1 + 5, 1:].astype(float)
    np.testing.assert_allclose(
        np.square(sides) / np.square(sides).max(),
        weights / weights.max(),
        atol=1e-4,
    )


def test_the_reference_values_of_a_vit_with_16_pixel_patches(show):
    side = 14
    row, column = np.divmod(np.arange(side * side), side)
    near = (abs(row[:, None] - row) <= 1) & (
        abs(column[:, None] - column) <= 1
    )
    heads = [np.eye(side * side), near, np.ones_like(near)]
    maps = np.zeros((1, 1, 1, 3, 197, 197))
    maps[0, 0, 0, :, 0, 0] = 1
    maps[0, 0, 0, :, 1:, 1:] = [
        head / head.sum(-1, keepdims=True) for head in heads
    ]
    page = show(
        AttentionDistance(
            maps, np.zeros((1, 224, 224)), patch_size=16, steps=[0]
        )
    )
    identity, neighbourhood, uniform = shown_distances(page)[0]
    assert identity == 0
    assert neighbourhood == pytest.approx(16.7, abs=0.05)
    assert uniform == pytest.approx(116.5, abs=0.05)
    assert float(published(explorer_of(page))["uniform"]) == pytest.approx(
        uniform, abs=TOLERANCE
    )


def test_a_row_without_weight_on_patches_counts_as_zero(show):
    maps = make_maps().astype(np.float64)
    maps[..., 1:, :] = 0
    maps[..., 1:, 0] = 1
    page = show(make(maps))
    np.testing.assert_array_equal(shown_distances(page), 0)
    assert published(explorer_of(page))["patchDistance"] == 0


def test_a_click_on_a_dot_chooses_its_head(show):
    maps = make_maps()
    page = show(make(maps))
    dot(page, 1, 3).click()
    expect_published(explorer_of(page), layer=1, head=3)
    expect(dot(page, 1, 3)).to_have_attribute("aria-checked", "true")
    expect(page.locator(".dot[aria-checked=true]")).to_have_count(1)
    distance = of_patches(maps)[-1, 0, 1, 3].mean()
    expect(page.locator(".vitedu-reading")).to_contain_text(
        f"Over all patches of this image: {distance:.2f} px"
    )
    expect(page.get_by_text("Where layer 2, head 4 looks")).to_be_visible()


def test_a_click_beside_a_dot_chooses_the_nearest(show):
    page = show(make())
    box = dot(page, 2, 3).locator(".ring").bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] + 4)
    expect(dot(page, 2, 3)).to_have_attribute("aria-checked", "true")


def nearly_uniform() -> np.ndarray:
    maps = make_maps().astype(np.float64)
    return 0.95 / maps.shape[-1] + 0.05 * maps


def with_a_head_that_looks_only_at_itself() -> np.ndarray:
    maps = make_maps()
    maps[:, :, 0, 0] = np.eye(maps.shape[-1])
    return maps


@pytest.mark.parametrize("narrow", [True, False])
def test_the_axis_starts_at_zero_or_says_that_it_does_not(show, narrow):
    maps = with_a_head_that_looks_only_at_itself()
    page = show(make(nearly_uniform() if narrow else maps))
    notes = page.locator(".vitedu-panel-note").all_inner_texts()
    assert any("does not start at 0" in note for note in notes) == narrow
    low, high = (
        page.locator(".dot").evaluate_all(
            f"dots => Math.{end}(...dots.map(dot => "
            "dot.getBoundingClientRect().y))"
        )
        for end in ("min", "max")
    )
    # The dots use the height of the plot in both cases.
    height = page.locator(".plot").bounding_box()["height"]
    assert high - low > 0.25 * height


def test_a_mouse_that_rests_chooses_and_one_that_passes_does_not(show):
    page = show(make())
    stop_clock(page)
    box = dot(page, 2, 0).bounding_box()
    middle = (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.move(*middle)
    page.clock.run_for(60)
    page.mouse.move(5, 5)
    page.clock.run_for(500)
    expect_published(explorer_of(page), layer=0, head=0)
    page.mouse.move(*middle)
    page.clock.run_for(500)
    expect_published(explorer_of(page), layer=2, head=0)


def test_after_a_click_no_rest_takes_the_head_back(show):
    page = show(make())
    stop_clock(page)
    dot(page, 2, 0).click()
    page.keyboard.press("ArrowLeft")
    page.clock.run_for(500)
    expect_published(explorer_of(page), layer=1, head=0)


def test_arrow_keys_go_from_head_to_head(show):
    maps = make_maps()
    page = show(make(maps, layer=1, head=2))
    order = list(np.argsort(of_patches(maps)[-1, 0, 1].mean(-1)))
    expect(page.locator(".dot[tabindex='0']")).to_have_count(1)
    dot(page, 1, 2).focus()
    page.keyboard.press("ArrowRight")
    expect_published(explorer_of(page), layer=2, head=2)
    expect(dot(page, 2, 2)).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect_published(explorer_of(page), layer=2, head=2)
    page.keyboard.press("ArrowLeft")
    expect_published(explorer_of(page), layer=1, head=2)
    for _ in range(HEADS):
        page.keyboard.press("ArrowDown")
    expect_published(explorer_of(page), layer=1, head=order[0])
    for head in order[1:]:
        page.keyboard.press("ArrowUp")
        expect_published(explorer_of(page), layer=1, head=head)
    expect(page.locator(".dot[tabindex='0']")).to_have_count(1)
    expect(dot(page, 1, order[-1])).to_have_attribute("tabindex", "0")


def test_a_dot_is_named_by_layer_head_and_distance(show):
    maps = make_maps()
    page = show(make(maps))
    distance = of_patches(maps)[-1, 0, 1, 2].mean()
    name = f"layer 2, head 3: {distance:.2f} pixels"
    expect(page.get_by_role("radio", name=name)).to_have_count(1)


def test_arrow_keys_go_from_patch_to_patch_and_stop_at_the_edge(show):
    page = show(make(row=1, column=1))
    patch(page, 1, 1).focus()
    for key, row, column in [
        ("ArrowDown", 2, 1),
        ("ArrowRight", 2, 2),
        ("ArrowRight", 2, 2),
        ("ArrowUp", 1, 2),
        ("ArrowUp", 0, 2),
        ("ArrowUp", 0, 2),
        ("ArrowLeft", 0, 1),
    ]:
        page.keyboard.press(key)
        expect_published(explorer_of(page), row=row, column=column)
        expect(patch(page, row, column)).to_be_focused()


def test_the_class_token_has_weights_but_no_distance(show):
    maps = make_maps()
    page = show(make(maps, layer=1, head=1))
    expect(page.locator(".reach")).to_be_visible()
    page.get_by_label("Query", exact=True).select_option("class token")
    expect_published(explorer_of(page), query="class token")
    values = published(explorer_of(page))
    weights = maps[-1, 0, 1, 1, 0].astype(float)
    assert values["patchDistance"] == ""
    assert int(values["most"]) == weights[1:].argmax()
    shown = page.locator(".patch").evaluate_all(
        "marks => marks.map((mark) => Number(mark.dataset.weight))"
    )
    np.testing.assert_array_equal(shown, weights[1:])
    expect(page.locator(".vitedu-reading")).to_contain_text(
        "its distance is not defined"
    )
    expect(page.locator(".reach")).to_be_hidden()
    expect(page.locator(".patch[aria-checked=true]")).to_have_count(0)
    patch(page, 0, 0).click()
    expect_published(explorer_of(page), query="patch", row=0, column=0)
    page.locator(".tile").click()
    expect_published(explorer_of(page), query="class token")
    patch(page, 0, 0).press(" ")
    expect_published(explorer_of(page), query="patch")


def test_without_a_class_token_nothing_offers_one(show):
    maps = make_maps(0)
    page = show(make(maps, num_prefix_tokens=0))
    expect(page.get_by_label("Query", exact=True)).to_have_count(0)
    expect(page.locator(".tile")).to_have_count(0)
    np.testing.assert_allclose(
        shown_distances(page),
        of_patches(maps[-1, 0]).mean(-1),
        atol=TOLERANCE,
    )


def test_a_distillation_token_is_left_out_too(show):
    maps = make_maps(2)
    page = show(make(maps, num_prefix_tokens=2))
    np.testing.assert_allclose(
        shown_distances(page),
        of_patches(maps[-1, 0]).mean(-1),
        atol=TOLERANCE,
    )


def test_the_dots_can_show_the_average_over_many_images(show):
    mean = np.random.default_rng(3).random((len(STEPS), LAYERS, HEADS)) * 5
    maps = make_maps()
    page = show(make(maps, mean_distance=mean, layer=2, head=1))
    for step in range(len(STEPS)):
        go_to_step(page, step)
        np.testing.assert_allclose(
            shown_distances(page), mean[step], atol=TOLERANCE
        )
    expect(page.locator(".vitedu-reading")).to_contain_text(
        f"Average over many images: {mean[-1, 2, 1]:.2f} px."
    )
    page.get_by_label("Dots show", exact=True).select_option("image")
    expect_published(explorer_of(page), step=len(STEPS) - 1)
    expect(page.locator(".vitedu-reading")).not_to_contain_text("many images")
    np.testing.assert_allclose(
        shown_distances(page),
        of_patches(maps[-1, 0]).mean(-1),
        atol=TOLERANCE,
    )


def test_the_step_slider_says_the_step_and_moves_the_dots(show):
    page = show(make(), reduced_motion="reduce")
    before = dot(page, 0, 0).bounding_box()["y"]
    go_to_step(page, 1)
    expect(page.get_by_label("Step", exact=True)).to_have_attribute(
        "aria-valuetext", "100"
    )
    assert dot(page, 0, 0).bounding_box()["y"] != before


def test_a_line_goes_from_each_head_untrained_to_the_same_head_now(show):
    page = show(make(), reduced_motion="reduce")

    def dots() -> np.ndarray:
        return np.array(
            page.locator(".dot").evaluate_all(
                "dots => dots.map(({ style: { transform } }) => {"
                " const { e, f } = new DOMMatrix(transform);"
                " return [e, f]; })"
            )
        )

    def numbers(kind: str) -> np.ndarray:
        path = page.locator(f".{kind}").get_attribute("d")
        found = re.findall(r"M(\S+) ([\d.]+)[Vh]([\d.]+)", path)
        return np.array(found, float)

    go_to_step(page, 0)
    untrained = dots()
    go_to_step(page, 2)
    now = dots()
    assert np.abs(now - untrained)[:, 1].min() > 0
    np.testing.assert_allclose(numbers("ghosts")[:, :2], untrained, rtol=1e-5)
    np.testing.assert_allclose(
        numbers("stems"), np.column_stack([untrained, now[:, 1]]), rtol=1e-5
    )


@pytest.mark.parametrize(
    ("motion", "duration"), [("reduce", "0s"), ("no-preference", "0.4s")]
)
def test_dots_glide_unless_less_motion_is_asked_for(show, motion, duration):
    # Without the book's own rule: JupyterLab does not have it.
    page = show(make(), book_css=False, reduced_motion=motion)
    expect(dot(page, 0, 0)).to_have_css("transition-duration", duration)


def test_dots_follow_a_slider_that_is_dragged_at_once(show):
    page = show(make())
    page.get_by_label("Step", exact=True).hover()
    page.mouse.down()
    for moving in (dot(page, 0, 0), page.locator(".stems")):
        expect(moving).to_have_css("transition-duration", "0s")
    page.mouse.up()
    expect(dot(page, 0, 0)).to_have_css("transition-duration", "0.4s")


def test_the_baseline_is_uniform_attention_and_labelled(show):
    maps = make_maps()
    page = show(make(maps))
    uniform = of_patches(np.ones(maps.shape[-2:])).mean()
    assert float(published(explorer_of(page))["uniform"]) == pytest.approx(
        uniform, abs=TOLERANCE
    )
    expect(page.locator(".plot")).to_contain_text(f"{uniform:.2f} px")


def test_what_is_said_is_what_is_written(show):
    page = show(make())
    dot(page, 1, 0).click()
    written = page.locator(".vitedu-reading")
    expect(written).to_contain_text("Layer 2, head 1")
    expect(page.locator("[aria-live=polite]")).to_have_text(
        written.text_content()
    )


def test_two_views_of_a_model_move_together(show):
    page = show(make(), views=2)
    first, second = page.locator(".vitedu-distance").all()
    first.locator('.dot[data-layer="2"][data-head="3"]').click()
    expect(second).to_have_attribute("data-layer", "2")
    expect(second).to_have_attribute("data-head", "3")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 900])
def test_the_room_it_takes_does_not_change(show, width, theme):
    mean = np.ones((len(STEPS), LAYERS, HEADS))
    page = show(make(mean_distance=mean), width=width, theme=theme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    explorer = page.locator(".vitedu-distance")
    before = explorer.bounding_box()["height"]
    page.get_by_label("Query", exact=True).select_option("class token")
    expect_published(explorer_of(page), query="class token")
    assert explorer.bounding_box()["height"] == before


def saved_arrays(page: Page) -> dict[str, np.ndarray]:
    """Read the arrays of the chapter's explorer off the page's state."""
    states = page.evaluate(
        "() => Object.values(globalThis.viteduWidgetState.state)"
    )
    (model,) = [
        model
        for model in states
        if "AttentionDistance" in model["state"].get("_anywidget_id", "")
    ]
    arrays = {}
    for buffer in model["buffers"]:
        name = buffer["path"][0]
        form = model["state"][name]
        raw = base64.b64decode(buffer["data"])
        dtype = np.dtype(form["dtype"]).newbyteorder("<")
        arrays[name] = np.frombuffer(raw, dtype).reshape(form["shape"])
    return arrays | {"patch_size": model["state"]["patch_size"]}


SCALES = """() => {
  globalThis.scales = [];
  addEventListener("transitionrun", ({ target }) => {
    for (const animation of target.getAnimations()) {
      for (const { transform } of animation.effect.getKeyframes()) {
        if (!transform) continue;
        const { a, b, c, d } = new DOMMatrix(transform);
        scales.push([a, b, c, d]);
      }
    }
  });
}"""


def test_nothing_is_scaled_while_it_moves(show):
    # The browser keeps a picture of what moves, as large as the scale says:
    # with long lines made of short ones it stopped drawing for a minute.
    page = show(make())
    page.evaluate(SCALES)
    go_to_step(page, 1)
    page.wait_for_function(f"scales.length >= {2 * LAYERS * HEADS}")
    assert set(map(tuple, page.evaluate("scales"))) == {(1, 0, 0, 1)}


def test_the_chapter_shows_the_distances_of_its_maps(open_page):
    page = open_page(CHAPTER)
    start_explorers(page)
    expect(page.locator(".vitedu-distance")).to_have_count(1)
    saved = saved_arrays(page)
    maps, size = saved["maps"], saved["patch_size"]
    rows, columns = (side // size for side in saved["images"].shape[1:])
    if "mean_distance" in saved and maps.shape[0] == len(
        saved["mean_distance"]
    ):
        page.get_by_label("Dots show", exact=True).select_option("image")
    for step in range(len(maps)):
        go_to_step(page, step)
        expected = distances(maps[step, 0], rows, columns, size).mean(-1)
        np.testing.assert_allclose(
            shown_distances(page), expected, atol=TOLERANCE
        )


def test_the_chapter_can_be_read_by_mouse_and_keyboard(open_page):
    page = open_page(CHAPTER)
    start_explorers(page)
    reading = page.locator(".vitedu-distance .vitedu-reading")
    dot(page, 1, 0).click()
    expect(reading).to_have_text(re.compile("^Layer 2, head 1, patch in row"))
    page.keyboard.press("ArrowLeft")
    expect(reading).to_have_text(re.compile("^Layer 1, head 1, patch in row"))
    page.get_by_label("Query", exact=True).select_option("class token")
    expect(reading).to_have_text(re.compile("^Layer 1, head 1, class token"))
