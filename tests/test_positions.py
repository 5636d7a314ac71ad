"""Position encodings and embeddings."""

import pytest
import torch
import torch.nn.functional as F
from helpers import assert_all_close, draw, gradients

from vitedu import positions
from vitedu.positions import (
    LearnedPositionEmbedding,
    SinusoidalPositionEncoding,
    SinusoidalPositionEncoding2d,
    interpolate_positions,
    sinusoidal_table,
    sinusoidal_table_2d,
)

GRID = (3, 5)
each_fixed = pytest.mark.parametrize(
    "make",
    [
        lambda: SinusoidalPositionEncoding(12, base=7),
        lambda: SinusoidalPositionEncoding2d(
            GRID, 12, num_prefix_tokens=2, base=7
        ),
    ],
    ids=["1d", "2d"],
)


def table_of(encoding, dtype=torch.float64):
    """Return what `encoding` has to add to 17 tokens."""
    if isinstance(encoding, SinusoidalPositionEncoding):
        return sinusoidal_table(17, 12, base=7, dtype=dtype)
    table = sinusoidal_table_2d(GRID, 12, base=7, dtype=dtype)
    return torch.cat([torch.zeros(2, 12, dtype=dtype), table])


@each_fixed
def test_each_token_gets_its_row(make):
    encoding, tokens = make(), draw(2, 17, 12)
    out, gradient = gradients(encoding, tokens)
    assert torch.equal(out, tokens + table_of(encoding))
    assert torch.equal(gradient, draw(2, 17, 12, seed=99))


@each_fixed
@pytest.mark.parametrize(
    "dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64]
)
def test_the_table_is_exact_in_the_dtype_of_the_tokens(make, dtype):
    encoding = make()
    encoding(draw(2, 17, 12).float())
    encoding.double()
    found = encoding(torch.zeros(2, 17, 12, dtype=dtype))
    assert found.dtype == dtype
    assert torch.equal(found[0], table_of(encoding, dtype))
    assert encoding(torch.zeros(2, 17, 12, device="meta")).is_meta


def test_sentences_of_any_length_and_start(monkeypatch):
    lengths = []

    def counted(length, *arguments, **options):
        lengths.append(length)
        return sinusoidal_table(length, *arguments, **options)

    monkeypatch.setattr(positions, "sinusoidal_table", counted)
    encoding, tokens = SinusoidalPositionEncoding(14), draw(2, 211, 14)
    by_steps = [encoding(tokens[:, [i]], i) for i in range(211)]
    assert torch.equal(torch.cat(by_steps, dim=1), encoding(tokens))
    assert lengths == [1, 2, 4, 8, 16, 32, 64, 128, 256]


def make(**options):
    torch.manual_seed(0)
    return LearnedPositionEmbedding(5, 7, **options).double()


def test_each_position_adds_its_own_vector():
    embedding, tokens = make(), draw(2, 5, 7)
    expected = tokens + torch.stack([embedding.weight[0]] * 2)
    assert torch.equal(embedding(tokens), expected)


def test_the_standard_deviation_is_what_was_asked_for():
    torch.manual_seed(0)
    weight = LearnedPositionEmbedding(211, 199, std=0.5).weight
    assert abs(weight.std().item() - 0.5) < 0.01
    assert abs(weight.mean().item()) < 0.01
    torch.manual_seed(0)
    default = LearnedPositionEmbedding(211, 199).weight
    assert abs(default.std().item() - 0.02) < 0.001


MODES = {
    "bicubic_antialias": {"mode": "bicubic", "antialias": True},
    "bicubic": {"mode": "bicubic"},
    "bilinear": {"mode": "bilinear", "align_corners": True},
}
each_mode = pytest.mark.parametrize("mode", MODES)
each_grid = pytest.mark.parametrize("grid", [(7, 11), (2, 3), (5, 3), (3, 1)])


def stretch(weight, grid, mode="bicubic_antialias"):
    return interpolate_positions(
        weight, GRID, grid, num_prefix_tokens=2, mode=mode
    )


@each_mode
@each_grid
def test_patches_are_stretched_as_an_image_and_the_prefix_is_kept(mode, grid):
    def by_hand(weight):
        image = weight[:, 2:].transpose(1, 2).reshape(1, 7, *GRID)
        image = F.interpolate(image, grid, **MODES[mode])
        return torch.cat([weight[:, :2], image.flatten(2).mT], dim=1)

    weight = draw(1, 17, 7)
    assert_all_close(
        gradients(lambda x: stretch(x, grid, mode), weight),
        gradients(by_hand, weight),
    )


@each_grid
def test_bilinear_is_the_code_of_the_authors(grid):
    from scipy import ndimage

    weight = draw(1, 17, 7)
    zoom = (grid[0] / GRID[0], grid[1] / GRID[1], 1)
    image = weight[0, 2:].reshape(*GRID, 7).numpy()
    expected = torch.from_numpy(ndimage.zoom(image, zoom, order=1))
    found = stretch(weight, grid, "bilinear")[0, 2:]
    assert_all_close((found,), (expected.reshape(-1, 7),))


@pytest.mark.parametrize("grid", [(7, 11), (2, 3)])
def test_bicubic_is_the_code_of_hugging_face(grid):
    from transformers import ViTConfig
    from transformers.models.vit.modeling_vit import ViTEmbeddings

    config = ViTConfig(
        image_size=20, patch_size=5, hidden_size=6, num_attention_heads=2
    )
    embeddings = ViTEmbeddings(config).double()
    embeddings.position_embeddings.data = draw(1, 17, 6)
    patches = torch.zeros(1, 1 + grid[0] * grid[1], 6)
    sides = (5 * grid[0], 5 * grid[1])
    expected = embeddings.interpolate_pos_encoding(patches, *sides)
    found = interpolate_positions(
        draw(1, 17, 6), (4, 4), grid, num_prefix_tokens=1, mode="bicubic"
    )
    assert_all_close((found,), (expected.detach(),))
