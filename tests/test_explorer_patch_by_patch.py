"""What the explorer PatchByPatch finds in the arrays that it was given."""

import re

import numpy as np
from explorers import (
    arrays_of,
    followed_picture,
    patch_by_patch,
    walking_model,
)
from javascript import run, state_of
from test_followed_photograph import HALF, looked

from vitedu.book.followed_photograph import followed_tokens
from vitedu.config import ViTConfig
from vitedu.vit import VisionTransformer

SCRIPTS = "patch_by_patch_maths patch_by_patch"
FOUND = """(async () => {
  const given = await givenBy(read, state);
  return views.map((view) => {
    const found = compute(fit(view, given), given);
    return { ...found, said: say(found) };
  });
})()"""
VIEW = {"stage": "depth", "block": 2, "head": 3, "token": 7}


def in_page(*changes: dict) -> list[dict]:
    views = [VIEW | change for change in changes]
    return run(SCRIPTS, FOUND, state=state_of(patch_by_patch()), views=views)


def row_and_column(token: int) -> tuple[int, int]:
    return divmod(followed_tokens()[token] - 1, 16)


def near(found, expected, **slack) -> None:
    np.testing.assert_allclose(found, expected, **{"rtol": HALF} | slack)


def test_a_token_is_followed_to_its_numbers_at_each_stage():
    sent = arrays_of(followed_picture())
    numbers, lengths = sent["numbers"][7], sent["lengths"]
    at = followed_tokens()[7]
    block = 2 + 6 * 1  # the first step of block 2
    expected = {
        "tokens": [0],
        "class token": [0],
        "first norm": [1 + 6, block],
        "first sum": [1 + 6, block + 1, block + 2],
        "second norm": [block + 2, block + 3],
        "second sum": [block + 2, block + 4, block + 5],
        "depth": [block + 5],
        "answer": [-2, -1],
    }
    found = in_page(*({"stage": stage} for stage in expected))
    for steps, shown in zip(expected.values(), found, strict=True):
        rows = shown["rows"]
        near([row["values"] for row in rows], numbers[steps])
        near([row["length"] for row in rows], lengths[steps, at])
    (placed,) = in_page({"stage": "positions"})
    before, position, after = (row["values"] for row in placed["rows"])
    near(np.add(before, position), after, atol=1e-6)
    near([before, after], numbers[:2])


def test_an_image_and_its_patches_have_their_own_numbers():
    sent = arrays_of(followed_picture())
    image, patches = in_page({"stage": "image"}, {"stage": "patches"})
    near(patches["pixels"], sent["pixels"][6])
    first = ", ".join(f"{n:.2f}" for n in sent["pixels"][6][:3])
    assert patches["said"]["first"] == first.replace("-", "−")
    assert image["said"]["count"] == "3,072"
    assert (image["row"], image["column"]) == row_and_column(7)


def test_a_head_looks_where_the_library_says():
    _, _, weights = looked(walking_model())
    tokens = (0, 7)
    found = in_page(*({"stage": "attention", "token": it} for it in tokens))
    for token, one in zip(tokens, found, strict=True):
        at, looks = followed_tokens()[token], one["looks"]
        mine = weights[1, 2, at].numpy()
        keys, shown = zip(*looks["listed"], strict=True)
        near(shown, mine[list(keys)], atol=1e-6)
        near(looks["largest"], mine.max())
        assert len({*keys}) == len(keys)
        assert {at, 0} <= {*keys}
        near(looks["own"], mine[at], atol=1e-6)
        near(looks["ofClass"], mine[0], atol=1e-6)
        cover = np.square(one["cover"]["values"]) * mine.max()
        assert np.abs(cover - mine[1:]).max() <= 0.026 * mine.max()


def test_its_course_is_that_of_the_tokens():
    _, depths, _ = looked(walking_model())
    unit = depths / depths.norm(dim=-1, keepdim=True)
    rows, columns = np.divmod(np.arange(256), 16)
    tokens = (0, 4, 7)
    found = in_page(*({"token": token} for token in tokens))
    for token, one in zip(tokens, found, strict=True):
        at, course = followed_tokens()[token], one["course"]
        near(course["lengths"], depths[:, at].norm(dim=-1))
        cosines = (unit[:, 1:] @ unit[:, at, :, None])[..., 0].numpy()
        near(one["cosines"], cosines[2], rtol=0, atol=0.0051)
        if not token:
            assert course["near"] == []
            near(course["all"], cosines.mean(1), rtol=0, atol=0.0051)
            continue
        row, column = row_and_column(token)
        apart = np.maximum(abs(rows - row), abs(columns - column))
        for name, wanted in (("near", apart == 1), ("all", apart > 0)):
            expected = cosines[:, wanted].mean(axis=1)
            near(course[name], expected, rtol=0, atol=0.0051)


def test_the_photograph_is_covered_with_what_the_stage_is_about():
    sent = arrays_of(followed_picture())
    depths = {"tokens": 0, "class token": 0, "positions": 1, "depth": 3}
    depths |= {"answer": -1}
    steps = {"first norm": 7, "first sum": 9, "second norm": 10}
    steps |= {"second sum": 12}
    covers = [
        found["cover"]
        for found in in_page(*({"stage": at} for at in (*depths, *steps)))
    ]
    for depth, cover in zip(depths.values(), covers, strict=False):
        assert cover["kind"] == "colours"
        assert cover["colours"] == sent["colours"][depth].tolist()
    for step, cover in zip(steps.values(), covers[len(depths) :], strict=True):
        lengths = sent["lengths"][step, 1:].astype(float)
        low, high = lengths.min(), lengths.max()
        near(cover["values"], (lengths - low) / (high - low), atol=1e-6)
        near([cover["least"], cover["most"]], [low, high])


def test_shapes_are_those_of_the_models():
    stages = [
        *("image", "patches", "tokens", "positions", "attention"),
        *("first sum", "depth", "answer"),
    ]
    found = in_page(*({"stage": stage} for stage in stages))
    usual = VisionTransformer(ViTConfig.b16(num_layers=1))
    for name, model, layers in (
        ("shape", walking_model(), 4),
        ("base", usual, 12),
    ):
        config = model.config
        side, patches = config.image_shape[0], config.num_patches
        inside = [patches + 1, config.d_model]
        assert [one[name] for one in found] == [
            [side, side, 3],
            [patches, 3 * config.patch_shape[0] ** 2],
            [patches, config.d_model],
            inside,
            [config.num_heads, patches + 1, patches + 1],
            inside,
            [layers + 1, *inside],
            [1, config.d_model],
        ]


def test_the_class_token_cannot_be_followed_before_it_is_there():
    stages = ("image", "patches", "tokens", "class token")
    found = in_page(*({"stage": stage, "token": 0} for stage in stages))
    assert [one["view"]["token"] for one in found] == [6, 6, 6, 0]


def test_every_stage_has_a_sentence_without_gaps():
    stages = patch_by_patch().traits()["stage"].options
    views = [{"stage": s, "token": t} for s in stages for t in (0, 7)]
    for found in in_page(*views):
        reading = found["said"]["reading"]
        assert not re.search(r"undefined|\{|  ", reading), reading
        assert re.search(r"\d", reading), reading
