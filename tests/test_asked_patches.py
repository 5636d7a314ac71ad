"""What a page is told of a patch is what the library finds."""

import io
import zlib
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from einops import reduce
from explorers import asked, asked_model
from javascript import numbers, run
from PIL import Image
from zoo_file import needs_file

from vitedu.analysis.attention_maps import capture_attention
from vitedu.book.asked_patches import asked_patches
from vitedu.config import ViTConfig
from vitedu.data.photographs import IMAGENET, photograph, preprocess
from vitedu.pretrained.zoo import pretrained_vit
from vitedu.vit import VisionTransformer

ROOT = Path(__file__).parent.parent
GRID = 24
# A rounded cosine is as far off as that, and a weight as a share of its row's
# largest; a bit for the sums of single precision.
COSINE, SHARE, SLACK = 1 / 40, 1 / 20, 1e-5
# As nested lists: what a page reads of some patches that can be asked.
READ = """(() => {
  const read = readAnswers(Uint8Array.from(answers).buffer, layers, heads);
  const between = readCosines(Int8Array.from(across), SQUARES);
  const each = (count, of) => Array.from({ length: count }, (_, at) => of(at));
  const ofRows = (of) => each(layers, (layer) => each(heads, (head) =>
    queries.map((query) => of(layer, head, query))));
  const ofLayers = (of) => each(layers, (layer) =>
    queries.map((query) => [...of(layer, query)]));
  return {
    cosines: ofLayers(read.cosines), across: ofLayers(between),
    largest: ofRows(read.largest),
    shares: ofRows((...row) => [...read.shares(...row)]),
    places: queries.map((query) => placeOfQuery(about, query)),
  };
})()"""


@torch.no_grad()
def look(model: VisionTransformer, name: str):
    """Return (layer, patch, d_model) tokens, (layer, head, patch, patch)."""
    side = GRID * model.config.patch_size
    image = preprocess(photograph(name), side, normalisation=IMAGENET)
    with capture_attention(model) as maps:
        features = model.layer_features(image[None])
    first = model.num_prefix_tokens
    tokens = torch.stack([found[0, first:] for found in features])
    weights = torch.stack([found[0] for found in maps.values()])
    return tokens.double(), weights[..., first:, first:].double()


def squares(values, how: str):
    """Reduce two by two patches, which stand in the last axis."""
    return reduce(
        values.unflatten(-1, (GRID, GRID)),
        "... (h p) (w q) -> ... (h w)",
        how,
        p=2,
        q=2,
    )


def expect_answers(given, kind, model, name, second, queries) -> None:
    """Compare what a page reads with what the library finds."""
    about = next(it for it in given["photographs"] if it["name"] == name)
    sizes = model.config.num_layers, model.config.num_heads

    def bytes_of(key: str) -> np.ndarray:
        return np.frombuffer(zlib.decompress(given["data"][key]), np.uint8)

    found = run(
        "ask_patch_maths",
        READ,
        answers=bytes_of(f"{kind} {name}"),
        across=bytes_of(f"{kind} {name} {second}").view(np.int8),
        layers=sizes[0],
        heads=sizes[1],
        queries=queries,
        about={axis: about[axis] for axis in ("row", "column")},
    )
    asks = len(queries)
    rows, columns = np.array(found["places"]).T
    assert {*rows % 3} == {about["row"] % 3}
    assert {*columns % 3} == {about["column"] % 3}
    np.testing.assert_array_equal(rows // 3 * 8 + columns // 3, queries)

    tokens, weights = look(model, name)
    others, _ = look(model, second)
    asking = tokens[:, rows * GRID + columns, None]
    cosines = F.cosine_similarity(asking, tokens[:, None], dim=-1)
    between = F.cosine_similarity(asking, others[:, None], dim=-1)
    for key, expected in (
        ("cosines", cosines),
        ("across", squares(between, "max")),
    ):
        shown = numbers(found[key], sizes[0], asks, expected.shape[-1])
        assert np.abs(shown - expected.numpy()).max() <= COSINE + SLACK, key
        np.testing.assert_array_equal(shown, np.round(shown * 20) / 20)

    expected = squares(weights[:, :, rows * GRID + columns], "sum").numpy()
    most = numbers(found["largest"], *sizes, asks)
    np.testing.assert_allclose(most, expected.max(-1), rtol=2**-11)
    shares = numbers(found["shares"], *sizes, asks, 144)
    off = np.abs(shares * most[..., None] - expected).max(-1)
    assert (off <= SHARE * most * (1 + 2**-10) + SLACK).all()
    # And they are those of the places: a map of another query is another.
    assert (np.abs(shares[:, :, 0] - shares[:, :, -1]).max(-1) > 0.2).any()


@pytest.mark.parametrize(
    ("name", "second"), [("cat", "astronaut"), ("astronaut", "cat")]
)
@pytest.mark.parametrize("kind", ["trained", "drawn"])
def test_a_page_reads_what_the_library_finds(kind, name, second):
    model = asked_model(["trained", "drawn"].index(kind))
    expect_answers(asked(), kind, model, name, second, [*range(64)])


@pytest.mark.soak
@needs_file
def test_a_page_reads_what_the_trained_network_finds():
    trained = pretrained_vit()
    torch.manual_seed(0)
    drawn = VisionTransformer(ViTConfig.s14()).eval()
    names = ("cat", "rocket")
    given = asked_patches(trained, drawn, names)
    queries = [*range(0, 64, 9)]
    for kind, model in (("trained", trained), ("drawn", drawn)):
        for name, second in (names, names[::-1]):
            expect_answers(given, kind, model, name, second, queries)
    # What a page loads before it shows anything.
    first = [given["data"][key] for key in ("cat", "trained cat")]
    assert sum(map(len, first)) < 325_000


def test_the_photograph_is_what_the_models_see():
    given = asked()
    for about in given["photographs"]:
        name = about["name"]
        image = preprocess(photograph(name), 48, normalisation=IMAGENET)
        expected = 255 * IMAGENET.undo(image).permute(1, 2, 0).numpy()
        file = io.BytesIO(given["data"][name])
        found = np.asarray(Image.open(file), np.float64)
        assert found.shape == (48, 48, 3)
        assert np.abs(found - expected).mean() < 10
        assert about["thumbnail"].startswith("data:image/jpeg;base64,")
