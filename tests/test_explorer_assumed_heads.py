"""A file read with other numbers of heads in the page, against `load_vit`."""

from dataclasses import replace

import numpy as np
import torch
from explorers import digit_model, followed
from javascript import run

from vitedu.data.digits import digits
from vitedu.pretrained.models import load_vit, save_vit

DATA = digits()
SCRIPTS = (
    "matrices digit_picture follow_digit_maths digit_parts assumed_heads_maths"
)
LOADED = """(() => {
  const bytes = new DataView(
    Uint8Array.from(Buffer.from(sent.weights, "base64")).buffer);
  const loaded = makeLoaded(
    bytes, sent.layout, sent.config, pictures, sent.labels);
  return divisors(sent.config.d_model).map((heads) => {
    const { reader, tally } = loaded(heads);
    while (tally.askNext());
    return { heads, logits: reader.run(pictures[1]).logits.data,
      said: tally.said, right: tally.right(),
      misfits: misfits(sent.layout, { ...sent.config, num_heads: heads }) };
  });
})()"""


@torch.no_grad()
def test_with_any_number_of_heads_it_answers_as_the_library_does(tmp_path):
    path = tmp_path / "model.safetensors"
    model = digit_model()
    save_vit(path, model)
    parts = followed()
    names = "weights", "layout", "config", "labels"
    found = run(
        SCRIPTS,
        LOADED,
        sent={name: parts[name] for name in names},
        pictures=parts["samples"].reshape(len(parts["samples"]), 64).tolist(),
    )
    assert [it["heads"] for it in found] == [1, 2, 3, 4, 6, 12]
    pixels = torch.tensor(parts["samples"] / 16).float()[:, None]
    images = (pixels - DATA.mean) / DATA.std
    labels = np.array(parts["labels"])
    for it in found:
        config = replace(model.config, num_heads=it["heads"])
        logits = load_vit(path, config)(images)
        np.testing.assert_allclose(it["logits"], logits[1], atol=1e-4)
        said = logits.argmax(dim=-1).numpy()
        assert it["said"] == said.tolist()
        assert it["right"] == (said == labels).sum()
        assert it["misfits"] == 0
    assert np.ptp([it["logits"] for it in found], axis=0).max() > 0.1


def test_an_array_of_another_shape_would_not_fit():
    parts = followed()
    layout = parts["layout"] | {"blocks.1.attn.qkv.weight": [0, 12, 36]}
    config = parts["config"]
    assert run(SCRIPTS, "misfits(l, c)", l=layout, c=config) == 1
