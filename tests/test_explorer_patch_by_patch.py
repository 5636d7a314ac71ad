"""What the explorer PatchByPatch finds in the arrays that it was given."""

import numpy as np
import pytest
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


@pytest.mark.parametrize("token", [0, 7])
def test_a_head_looks_where_the_library_says(token):
    (found,) = in_page({"stage": "attention", "token": token})
    _, _, weights = looked(walking_model())
    mine = weights[1, 2, followed_tokens()[token]].numpy()
    looks = found["looks"]
    keys, shown = zip(*looks["listed"], strict=True)
    near(shown, mine[list(keys)], atol=1e-6)
    near(looks["largest"], mine.max())
    assert len({*keys}) == len(keys)
    assert {followed_tokens()[token], 0} <= {*keys}
    near(looks["own"], mine[followed_tokens()[token]], atol=1e-6)
    near(looks["ofClass"], mine[0], atol=1e-6)
    cover = np.square(found["cover"]["values"]) * mine.max()
    assert np.abs(cover - mine[1:]).max() <= 0.026 * mine.max()


@pytest.mark.parametrize("token", [0, 4, 7])
def test_its_course_is_that_of_the_tokens(token):
    (found,) = in_page({"token": token})
    _, depths, _ = looked(walking_model())
    at = followed_tokens()[token]
    near(found["course"]["lengths"], depths[:, at].norm(dim=-1))
    unit = depths / depths.norm(dim=-1, keepdim=True)
    cosines = (unit[:, 1:] @ unit[:, at, :, None])[..., 0].numpy()
    near(found["cosines"], cosines[2], rtol=0, atol=0.0051)
    if not token:
        assert found["course"]["near"] == []
        near(found["course"]["all"], cosines.mean(1), rtol=0, atol=0.0051)
        return
    row, column = row_and_column(token)
    rows, columns = np.divmod(np.arange(256), 16)
    apart = np.maximum(abs(rows - row), abs(columns - column))
    for name, wanted in (("near", apart == 1), ("all", apart > 0)):
        expected = cosines[:, wanted].mean(axis=1)
        near(found["course"][name], expected, rtol=0, atol=0.0051)


def test_the_photograph_is_covered_with_what_the_stage_is_about():
    sent = arrays_of(followed_picture())
    depths = {"tokens": 0, "class token": 0, "positions": 1, "depth": 3}
    depths |= {"answer": -1}
    for stage, depth in depths.items():
        (found,) = in_page({"stage": stage})
        assert found["cover"]["kind"] == "colours"
        colours = sent["colours"][depth].tolist()
        assert found["cover"]["colours"] == colours
    steps = {"first norm": 7, "first sum": 9, "second norm": 10}
    steps |= {"second sum": 12}
    for stage, step in steps.items():
        (found,) = in_page({"stage": stage})
        lengths = sent["lengths"][step, 1:].astype(float)
        cover = found["cover"]
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
    for name, model in (("shape", walking_model()), ("base", usual)):
        config = model.config
        side, patches = config.image_shape[0], config.num_patches
        inside = patches + 1, config.d_model
        layers = 4 if name == "shape" else 12
        expected = [
            [side, side, 3],
            [patches, 3 * config.patch_shape[0] ** 2],
            [patches, config.d_model],
            [*inside],
            [config.num_heads, patches + 1, patches + 1],
            [*inside],
            [layers + 1, *inside],
            [1, config.d_model],
        ]
        assert [one[name] for one in found] == expected


def test_the_class_token_cannot_be_followed_before_it_is_there():
    found = in_page(
        *(
            {"stage": stage, "token": 0}
            for stage in ("image", "patches", "tokens", "class token")
        )
    )
    assert [one["view"]["token"] for one in found] == [6, 6, 6, 0]


def test_every_stage_has_a_sentence_without_gaps():
    stages = patch_by_patch().traits()["stage"].options
    views = [{"stage": s, "token": t} for s in stages for t in (0, 7)]
    for found in in_page(*views):
        reading = found["said"]["reading"]
        assert "undefined" not in reading
        assert "{" not in reading
        assert "  " not in reading
        assert any(sign.isdigit() for sign in reading)
