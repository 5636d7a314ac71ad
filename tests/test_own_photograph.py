"""The network that runs in the page, against `vitedu`, in Node."""

import base64
import json
import re
import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from javascript import numbers, run
from networks import header_of, rounded, small_network, unpacked
from vitedu_book.networks import PARTS, add_network

from tools import kernel
from vitedu.analysis.attention_maps import capture_attention
from vitedu.book import page_network
from vitedu.book.page_network import pack_network
from vitedu.data.photographs import (
    IMAGENET,
    photograph,
    preprocess,
)
from vitedu.widgets import OwnPhotograph

SCRIPTS = "own_photograph_loading " + " ".join(
    f"own_photograph_{name}" for name in ("plain", "network", "pixels")
)
KINDS = ("relaxed", "simd", "plain")
# Fewer tokens than one block of rows, the learned table itself, more.
GRIDS = (3, 5, 17)
PATCH = 4
PART = re.compile(r'viteduNetworkPart = \{ of: (\d+), data: "(.*)" \};\n')
START = """(async () => {
  const { readFileSync, writeFileSync } =
    process.getBuiltinModule("fs");
  const floats = (name) =>
    new Float32Array(new Uint8Array(readFileSync(`${folder}/${name}`)).buffer);
  const file = new Uint8Array(readFileSync(`${folder}/network.bin`));
  const header = readHeader(file);
"""
RUN = """
  const network = await makeNetwork(file, header, grids, [kind]);
  const write = (name, array) => writeFileSync(`${folder}/${name}`, array);
  for (const grid of grids) {
    await network.run(floats(`${grid}.image`), grid);
    for (let layer = 0; layer < header.config.num_layers; layer += 1) {
      write(`${grid}.${layer}.tokens`, network.tokens(grid, layer));
      write(`${grid}.${layer}.rows`, network.attention(grid, layer, patch));
      write(`${grid}.${layer}.alike`, network.similarity(grid, layer, patch));
    }
  }
  return network.kind;
})()"""


def run_network(kind: str, packed: bytes, images: dict, folder: Path) -> None:
    """Let Node see an image for each grid; it writes what it saw."""
    (folder / "network.bin").write_bytes(packed)
    for grid, image in images.items():
        image.numpy().tofile(folder / f"{grid}.image")
    given = {"folder": str(folder), "grids": [*images], "patch": PATCH}
    assert run(SCRIPTS, START + RUN, kind=kind, **given) == kind


def expected_of(model, images: torch.Tensor) -> list[dict]:
    """Return what each layer should show."""
    with torch.no_grad(), capture_attention(model) as maps:
        features = model.layer_features(images)
        tokens = [model.norm(layer)[0] for layer in features]
    return [
        {
            "tokens": layer,
            "rows": weights[0, :, 1 + PATCH],
            "alike": F.cosine_similarity(layer[1:], layer[1 + PATCH]),
        }
        for layer, weights in zip(tokens, maps.values(), strict=True)
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_every_layer_is_that_of_vitedu(kind, tmp_path):
    model = small_network()
    packed = pack_network(model)
    torch.manual_seed(1)
    images = {grid: torch.rand(1, 3, 4 * grid, 4 * grid) for grid in GRIDS}
    run_network(kind, packed, images, tmp_path)
    model = rounded(model, packed)
    for grid, image in images.items():
        for layer, expected in enumerate(expected_of(model, image)):
            for name, values in expected.items():
                found = np.fromfile(tmp_path / f"{grid}.{layer}.{name}", "f4")
                np.testing.assert_allclose(
                    found.reshape(values.shape),
                    values,
                    atol=2e-5,
                    err_msg=f"{grid} {layer} {name}",
                )


def test_the_kernel_is_what_its_source_became():
    kept = json.loads((kernel.FOLDER / kernel.DIGESTS).read_text("utf-8"))
    assert kept == kernel.digests()


def test_what_cannot_run_is_passed_over(tmp_path):
    (tmp_path / "network.bin").write_bytes(pack_network(small_network()))
    found = run(
        SCRIPTS,
        START
        + """
  const kinds = [];
  for (const kind of ["relaxed", "simd"]) {
    const [at] = header.arrays[`kernel.${kind}`];
    file[header.start + at + 8] = 255; // no such section
    kinds.push((await makeNetwork(file, header, grids)).kind);
  }
  return kinds;
})()""",
        folder=str(tmp_path),
        grids=[3],
    )
    assert found == ["simd", "plain"]


def test_a_notebook_gets_the_network_from_its_kernel():
    found = run(
        SCRIPTS,
        """(async () => {
          const listeners = new Set();
          const sent = [];
          const model = {
            on: (name, listener) => listeners.add(listener),
            off: (name, listener) => listeners.delete(listener),
            send: (message) => sent.push(message),
          };
          const control = new AbortController();
          const coming = fromKernel(model, control.signal);
          const [listener] = listeners;
          listener({ other: 1 }, []);
          const bytes = new DataView(new ArrayBuffer(9), 2, 5);
          listener({ network: true }, [bytes]);
          const { length } = await coming;
          const left = listeners.size;
          const stopped = fromKernel(model, control.signal);
          control.abort();
          const how = await stopped.catch((error) => error.name);
          return [sent, length, left, how, listeners.size];
        })()""",
    )
    message = {"network": True}
    assert found == [[message, message], 5, 0, "AbortError", 0]


def test_a_kernel_sends_the_network_when_it_is_asked():
    asked = []

    def pack() -> bytes:
        asked.append(True)
        return b"packed 9731"

    explorer, sent = OwnPhotograph("small", pack=pack), []
    explorer.send = lambda content, buffers: sent.append((content, buffers))
    explorer._handle_custom_msg({"network": True}, [])
    explorer._handle_custom_msg({"other": True}, [])
    assert sent == [({"network": True}, [b"packed 9731"])]
    assert asked == [True]
    assert "packed 9731" not in str(explorer.get_state())
    OwnPhotograph("small")._handle_custom_msg({"network": True}, [])


def test_a_build_without_the_weights_names_no_network(monkeypatch):
    def absent() -> Path:
        raise FileNotFoundError

    monkeypatch.setattr(page_network, "packaged_file", absent)
    assert page_network.page_network() == {}
    assert OwnPhotograph(**page_network.page_network()).network == ""


def test_a_site_gets_the_network_that_a_page_names(tmp_path, monkeypatch):
    packed, made = pack_network(small_network()), []

    def pack() -> bytes:
        made.append(True)
        return packed

    monkeypatch.setattr(page_network, "pack_packaged", pack)
    site = tmp_path / "html"
    app = SimpleNamespace(outdir=str(site))

    def build(*names: str) -> None:
        bodies = [f'{{"network": "{name}"}}' for name in names]
        scripts = [
            SimpleNamespace(attributes={"body": body})
            for body in ("{}", '{"network": ""}', *bodies)
        ]
        context = {"script_files": ["a.js", *scripts]}
        add_network(app, "chapters/one", "page.html", context, None)

    build()
    assert not site.exists()
    build("net-1")
    build("net-1")
    folder = site / "_static" / "networks"
    assert (folder / "net-1.bin").read_bytes() == packed
    scripts = [folder / f"net-1.{part}.js" for part in range(PARTS)]
    parts = [
        PART.fullmatch(script.read_text(encoding="utf-8"))
        for script in scripts
    ]
    assert b"".join(base64.b64decode(part[2]) for part in parts) == packed
    assert {int(part[1]) for part in parts} == {PARTS}
    shutil.rmtree(site)
    build("net-1")
    assert (folder / "net-1.bin").exists()
    assert made == [True]
    build("net-2")
    assert {path.name.split(".")[0] for path in folder.iterdir()} == {"net-2"}
    assert made == [True, True]


def test_a_packed_network_holds_the_weights_to_half_a_step():
    model = small_network()
    packed = pack_network(model)
    found = unpacked(packed)
    assert header_of(packed)["config"] == {
        "d_model": 128,
        "num_heads": 2,
        "num_layers": 3,
        "patch_size": 4,
        "mean": list(IMAGENET.mean),
        "std": list(IMAGENET.std),
    }
    for name, weight in rounded(model, packed).state_dict().items():
        exact = model.state_dict()[name]
        if name == "pos_embed.weight":
            weight, exact = weight[0], exact[0]
        if exact.ndim == 1:
            assert torch.equal(weight, exact), name
            continue
        rows = exact.flatten(1)
        off = (weight.flatten(1) - rows).abs().amax(1)
        assert (off <= rows.abs().amax(1) / 254 + 1e-6).all(), name
    assert {*found} > {"worker", "kernel.simd", "kernel.relaxed"}


@pytest.mark.parametrize(
    ("height", "width", "side"), [(140, 211, 56), (97, 30, 84)]
)
def test_a_centre_square_is_that_of_preprocess(height, width, side):
    image = photograph("china")[:, :height, :width]
    image = F.interpolate(image[None], (height, width))[0]
    whole = (255 * image).round().byte()
    # As a canvas has them.
    pixels = F.pad(whole, (0, 0, 0, 0, 0, 1), value=255).permute(1, 2, 0)
    found = run(
        SCRIPTS,
        "normalised(centreSquare({ data, width, height }, side), header)",
        data=pixels.numpy(),
        width=width,
        height=height,
        side=side,
        header={"mean": IMAGENET.mean, "std": IMAGENET.std},
    )
    expected = preprocess(whole / 255, side, normalisation=IMAGENET)
    np.testing.assert_allclose(
        numbers(found, 3, side, side), expected, atol=5e-4
    )


def test_components_are_those_of_a_singular_value_decomposition():
    generator = np.random.default_rng(0)
    # Few rows stand far out on one side.
    rows = generator.normal(size=(201, 8)) * 2.0 ** -np.arange(8)
    rows[:5] += generator.normal(size=8) * 3
    centred = rows - rows.mean(0)
    _, _, directions = np.linalg.svd(centred, full_matrices=False)
    expected = centred @ directions[:3].T
    expected *= np.sign((expected**3).sum(0))
    found = run(SCRIPTS, "principalComponents(rows, 8)", rows=rows)
    np.testing.assert_allclose(numbers(found, 201, 3), expected, atol=1e-4)
    colours = run(SCRIPTS, "asColours(rows)", rows=expected)
    low, high = np.quantile(expected, [0.01, 0.99], 0, method="nearest")
    shares = ((expected - low) / (high - low)).clip(0, 1)
    np.testing.assert_allclose(
        numbers(colours, 201, 3), 255 * shares, atol=0.51
    )


def test_photographs_look_as_they_do_to_the_network(tmp_path):
    try:
        model = page_network.pretrained_vit()
    except FileNotFoundError as error:
        pytest.skip(str(error))
    images = {
        grid: preprocess(photograph(name), 14 * grid, normalisation=IMAGENET)
        for name, grid in (("china", 16), ("cat", 32))
    }
    run_network("simd", pack_network(model), images, tmp_path)
    for grid, image in images.items():
        with torch.no_grad():
            expected = model.forward_features(image[None])[0]
        found = np.fromfile(tmp_path / f"{grid}.11.tokens", "f4")
        found = torch.tensor(found).reshape(expected.shape)
        cosines = F.cosine_similarity(found[1:], expected[1:])
        assert cosines.min() >= 0.99, grid
