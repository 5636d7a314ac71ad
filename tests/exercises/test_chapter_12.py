"""The exercises of chapter 12, the class token and positions."""

from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from judging import expect_thought, expect_unfinished

from vitedu.config import ViTConfig
from vitedu.counting import parameter_counts
from vitedu.exercises import chapter_12 as check
from vitedu.patches import patchify, unpatchify
from vitedu.vit import VisionTransformer


def test_position_weights_accepts_the_number():
    config = ViTConfig.b16(distilled=True, image_size=384)
    assert check.position_weights(parameter_counts(config)["pos_embed"])
    assert check.position_weights(443_904.0)


@pytest.mark.parametrize(
    ("answer", "thought"),
    [
        (576 * 768, "Who else gets a position"),
        (577 * 768, "with one token in front of the patches"),
        (198 * 768, "for 224 x 224 pixels."),
        (197 * 768, "224 x 224 pixels, and with"),
        (578, "How many numbers has a row"),
        (26 * 768, "one side of the grid"),
        (2 * 576 * 768, "every token has one row"),
        (443_903, "is not it"),
    ],
)
def test_position_weights_names_the_mistake(answer, thought):
    expect_thought(check.position_weights(answer), thought)


def row_by_row(weight, order):
    """Solve it with a loop."""
    moved = weight.clone()
    for place, old in enumerate(order.tolist()):
        moved[0, 1 + place] = weight[0, 1 + old]
    return moved


def by_index(weight, order):
    """Solve it with one list of rows."""
    return weight[:, torch.cat([torch.zeros(1, dtype=int), order + 1])]


@pytest.mark.parametrize("solution", [row_by_row, by_index])
def test_shuffled_positions_accepts_a_solution(solution):
    assert check.shuffled_positions(solution).right


def test_the_solution_is_one():
    """The moved table makes a network read the shuffled image as before."""
    torch.manual_seed(0)
    small = ViTConfig.digits(num_layers=1, weights_init="pytorch")
    model = VisionTransformer(replace(small, position_std=1.0)).double().eval()
    images = torch.randn(2, 1, 8, 8, dtype=torch.float64)
    order = torch.randperm(16)
    shuffled = unpatchify(patchify(images, 2)[:, order], 2, (4, 4))
    with torch.no_grad():
        before, other = model(images), model(shuffled)
        weight = model.pos_embed.weight
        weight.copy_(row_by_row(weight, order))
        torch.testing.assert_close(model(shuffled), before)
    assert (other - before).abs().max() > 0.01


def rolled(weight, order):
    return by_index(weight, order).roll(-1, dims=1)


@pytest.mark.parametrize(
    ("answer", "thought"),
    [
        (lambda weight, order: weight, "this is the old table"),
        (lambda w, order: by_index(w, order.argsort()), "Follow one patch"),
        (
            lambda weight, order: by_index(weight, order - 1),
            "shuffled: the class token has its row, but",
        ),
        (
            lambda weight, order: by_index(weight, order.argsort() - 1),
            "two mistakes are left. The first: the class token has its row",
        ),
        (lambda weight, order: weight[:, order + 1], "token has gone"),
        (rolled, "stands behind them"),
    ],
)
def test_shuffled_positions_names_the_mistake(answer, thought):
    expect_thought(check.shuffled_positions(answer), thought)


def all_at_once(patches, class_token, positions):
    first = class_token.repeat(len(patches), 1, 1)
    tokens = torch.cat([first, patches], dim=1)
    return tokens + positions[: tokens.shape[1]]


def token_by_token(patches, class_token, positions):
    """Write every token into its place."""
    batch, count, width = patches.shape
    out = torch.empty(batch, 1 + count, width)
    for image in range(batch):
        out[image, 0] = class_token + positions[0]
        for patch in range(count):
            out[image, 1 + patch] = (
                patches[image, patch] + positions[1 + patch]
            )
    return out


def looked_up(patches, class_token, positions):
    """Look the rows up by their numbers, the first for the class token."""
    rows = F.embedding(torch.arange(1 + patches.shape[1]), positions)
    padded = F.pad(patches, (0, 0, 1, 0))
    padded[:, 0] = class_token
    return padded + rows


@pytest.mark.parametrize("solution", [all_at_once, token_by_token, looked_up])
def test_entering_tokens_accepts_a_solution(solution):
    assert check.entering_tokens(solution).right


def with_rows(choose):
    """Put the class token in front, and add these rows."""

    def front(patches, class_token, positions):
        first = class_token.expand(len(patches), 1, -1)
        tokens = torch.cat([first, patches], dim=1)
        return tokens + choose(positions, tokens)

    return front


def added_before(patches, class_token, positions):
    patches = patches + positions[: patches.shape[1]]
    first = class_token.expand(len(patches), 1, -1)
    return torch.cat([first, patches], dim=1)


def added_behind(patches, class_token, positions):
    patches = patches + positions[1 : 1 + patches.shape[1]]
    first = class_token.expand(len(patches), 1, -1)
    return torch.cat([first, patches], dim=1)


def last(patches, class_token, positions):
    ends = class_token.expand(len(patches), 1, -1)
    tokens = torch.cat([patches, ends], dim=1)
    return tokens + positions[: tokens.shape[1]]


def last_row_to_the_token(positions, tokens):
    rows = positions[: tokens.shape[1]]
    return torch.cat([rows[-1:], rows[:-1]])


def on_and_on(positions, tokens):
    places = torch.arange(tokens.shape[0] * tokens.shape[1])
    return positions[places.reshape(tokens.shape[:2])]


@pytest.mark.parametrize(
    ("answer", "thought"),
    [
        (
            with_rows(lambda rows, tokens: rows[: len(tokens), None]),
            "images 0 and 2 are the same image",
        ),
        (with_rows(lambda rows, tokens: rows[0]), "get the same row"),
        (added_behind, "the class token has no position"),
        (added_before, "before the class token was in front"),
        (with_rows(last_row_to_the_token), "one place further"),
        (last, "it has to be token 0"),
        (
            with_rows(lambda rows, tokens: rows[-tokens.shape[1] :]),
            "the last rows of the table",
        ),
        (with_rows(on_and_on), "run on from image to image"),
        (
            with_rows(lambda rows, tokens: 2 * rows[: tokens.shape[1]]),
            "positions twice",
        ),
        (with_rows(lambda rows, tokens: 0), "no positions are left"),
        (lambda patches, token, rows: patches + token, "the shape is (3, 5"),
        (
            with_rows(lambda rows, tokens: rows[: tokens.shape[1], None]),
            "stopped with RuntimeError",
        ),
    ],
)
def test_entering_tokens_names_the_mistake(answer, thought):
    expect_thought(check.entering_tokens(answer), thought)


def test_unfinished_answers():
    expect_unfinished(check.position_weights, check.shuffled_positions)
    expect_unfinished(check.position_weights, check.entering_tokens)
