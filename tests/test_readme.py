"""The examples of the README run as they stand."""

import re

import torch


def test_the_examples_run(root):
    text = (root / "README.md").read_text(encoding="utf-8")
    examples = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(examples) == 2
    torch.manual_seed(0)
    names = {}
    for example in examples:
        exec(example, names)
    assert names["logits"].shape == (1, 10)
    # Attention that knows nothing yet is nearly even: 116.5 pixels.
    assert names["pixels"].shape == (12,)
    assert (names["pixels"] - 116.5).abs().max() < 2
    assert names["found"].best.shape == (2, 5)
