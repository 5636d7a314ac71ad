"""The Transformer of the explorers: the same numbers as in Python."""

import base64
from pathlib import Path

import numpy as np
import pytest
import torch
from playwright.sync_api import Browser, Page

from vitedu.analysis import capture_attention
from vitedu.config import TransformerConfig
from vitedu.page_weights import page_weights, rounded_to_half
from vitedu.transformer import Transformer

SRC, TGT = [3, 9, 4, 9, 12, 5, 6], [1, 7, 7, 10, 4, 3, 8, 11, 5, 9, 6]
SIZES = {
    "src_vocab_size": 13,
    "tgt_vocab_size": 13,
    "d_model": 30,
    "d_ff": 41,
    "num_heads": 3,
    "num_layers": 2,
}
CHOICES = {
    "as in 2017": {},
    "pre-norm": {"norm_first": True, "activation": "gelu"},
    "biases": {"qkv_bias": True, "proj_bias": True, "embedding_norm": True},
    "untied": {
        "src_vocab_size": 17,
        "tie_source": False,
        "tie_output": False,
        "embedding_scale": "none",
        "positions": "none",
    },
    "shrunk logits": {"embedding_scale": "logits", "norm_first": True},
    "learned": {"positions": "learned", "max_len": 23, "tie_output": False},
    "wide heads": {"head_dim": 7, "value_dim": 5, "scale": 0.2},
    "norms": {"final_norm": True, "layer_norm_eps": 1e-2},
    "no norm": {"norm_first": True, "final_norm": False, "num_layers": 1},
}
RUN = """
([data, layout, config, src, tgt]) => {
  const bytes = Uint8Array.from(atob(data), (sign) => sign.charCodeAt(0));
  const weights = { data: new DataView(bytes.buffer), dtype: "float16",
    shape: [bytes.length / 2] };
  const model = makeTransformer({ weights, layout, config });
  const { maps, memory } = model.encode(src);
  let past = model.nothing;
  const steps = tgt.map((id) => {
    const { past: now, ...step } = model.step(memory, past, id);
    past = now;
    return step;
  });
  const plain = (value) => ArrayBuffer.isView(value) ? [...value]
    : Array.isArray(value) ? value.map(plain) : value;
  return {
    encoder: plain(maps), logits: plain(steps.map(({ logits }) => logits)),
    decoder: plain(steps.map(({ own }) => own)),
    cross: plain(steps.map(({ cross }) => cross)),
  };
}
"""


@pytest.fixture
def page(browser: Browser, root: Path):
    page = browser.new_page()
    for name in ("common", "transformer_model"):
        page.add_script_tag(path=root / f"vitedu/widgets/{name}.js")
    yield page
    page.close()


def make(**changes) -> Transformer:
    torch.manual_seed(3)
    model = Transformer(TransformerConfig(**SIZES | changes))
    with torch.no_grad():
        for weight in model.parameters():
            # So that gains, biases and tables of 0 and 1 count, too.
            weight += 0.3 * torch.randn_like(weight)
    return rounded_to_half(model).eval()


def in_page(page: Page, model: Transformer) -> dict[str, list]:
    sent = page_weights(model)
    data = base64.b64encode(sent["weights"].tobytes()).decode()
    return page.evaluate(RUN, [data, sent["layout"], sent["config"], SRC, TGT])


def triangle(steps: list, layer: int) -> np.ndarray:
    """Put rows of growing length into (head, query, key)."""
    full = np.zeros((len(steps[0][layer]), len(steps), len(steps)))
    for query, step in enumerate(steps):
        full[:, query, : query + 1] = step[layer]
    return full


@pytest.mark.parametrize("choice", CHOICES)
def test_logits_and_maps_are_those_of_the_model(page, choice):
    model = make(**CHOICES[choice])
    found = in_page(page, model)
    src, tgt = torch.tensor([SRC]), torch.tensor([TGT])
    with torch.no_grad(), capture_attention(model) as maps:
        logits = model(src, tgt)[0].numpy()
    size = np.abs(logits).max()
    np.testing.assert_allclose(found["logits"], logits, atol=1e-4 * size)
    for layer in range(model.config.num_layers):
        shown = {
            f"encoder.blocks.{layer}.attn": found["encoder"][layer],
            f"decoder.blocks.{layer}.attn": triangle(found["decoder"], layer),
            f"decoder.blocks.{layer}.cross_attn": np.swapaxes(
                [step[layer] for step in found["cross"]], 0, 1
            ),
        }
        for name, weights in shown.items():
            expected = maps[name][0].numpy()
            np.testing.assert_allclose(
                weights, expected, atol=1e-5, err_msg=name
            )


def test_steps_from_one_past_do_not_disturb_each_other(page):
    model = make()
    found = in_page(page, model)
    sent = page_weights(model)
    data = base64.b64encode(sent["weights"].tobytes()).decode()
    twice = RUN.replace(
        "model.step(memory, past, id);",
        ("(model.step(memory, past, 2), model.step(memory, past, id));"),
    )
    again = page.evaluate(
        twice, [data, sent["layout"], sent["config"], SRC, TGT]
    )
    assert again == found


def test_the_logarithms_of_probabilities_add_up_to_one(page):
    logits = [900.0, -3.0, 2.0, 899.5]
    found = page.evaluate("(logits) => [...logSoftmax(logits, 1)]", logits)
    expected = torch.tensor(logits, dtype=torch.float64).log_softmax(0)
    expected[1] = -torch.inf
    np.testing.assert_allclose(found, expected, atol=1e-12)
