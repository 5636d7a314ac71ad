"""Every stage of the explorer that follows a sentence, against `vitedu`."""

from itertools import product
from pathlib import Path

import numpy as np
import pytest
import torch
from javascript import expect_written_out, numbers, run
from translators import make_model, source

import vitedu
from vitedu.book.page_weights import page_weights
from vitedu.masks import causal_mask
from vitedu.pretrained.models import load_transformer
from vitedu.transformer import Transformer
from vitedu.widgets.base import _to_page
from vitedu.widgets.follow_sentence import STAGES

LIBRARY = Path(vitedu.__file__).parent
KEPT = LIBRARY.parent / "book/data/translator.safetensors"
SCRIPTS = (
    "transformer_model matrices opened_stage numeral_words translation "
    "translation_search follow_sentence_stages"
)
# Stack, attention, its norm and that of the network behind it.
ATTENTIONS = {
    "encoder": ("encoder", "attn", 1, 2),
    "decoder": ("decoder", "attn", 1, 3),
    "cross": ("decoder", "cross_attn", 2, 3),
}
# A sentence that no search would write, and the number.
WRITTEN = [1, 7, 20, 4, 31, 20]
NUMBER = 34_007
READING = """
const { get } = modelOf(sent);
const model = makeTransformer({
  weights: get("weights"), layout: sent.layout, config: sent.config,
});
const encoded = model.encode(src);
let past = model.nothing;
const states = written.map((id) => {
  const state = model.step(encoded.memory, past, id);
  past = state.past;
  return state;
});
const opened = views.map((view) =>
  openStage(model, { encoded, states }, view));
return opened.map(({ matrix, ...rest }) => ({ ...rest, ...matrix }));
"""


MODELS = {
    "the book's": lambda: load_transformer(KEPT)[0],
    "norms first": lambda: make_model(norm_first=True, activation="gelu"),
    "other sizes": lambda: make_model(
        head_dim=7,
        value_dim=5,
        scale=0.2,
        qkv_bias=True,
        proj_bias=True,
        positions="learned",
        max_len=23,
        embedding_scale="logits",
        tie_output=True,
        final_norm=True,
    ),
}


def opened(model: Transformer, views: list[dict]) -> list[dict]:
    """Return what the page opens."""
    sent = page_weights(model)
    sent["weights"] = _to_page(sent["weights"], None)
    return run(
        SCRIPTS,
        f"(() => {{ {READING} }})()",
        sent=sent,
        src=source(NUMBER)[0].tolist(),
        written=WRITTEN,
        views=views,
    )


def views_of(model: Transformer) -> list[dict]:
    """Return every stage, in the last block and the second head."""
    where = {"layer": model.config.num_layers - 1, "head": 1}
    return [
        where | {"stage": stage, "attention": kind, "row": 3, "column": 2}
        for stage, kind in product(STAGES, ATTENTIONS)
        if stage != "last" or model.config.has_final_norm
    ]


@torch.no_grad()
def caught_in(model: Transformer) -> dict[str, tuple]:
    """Return what entered and what left each module, caught by hooks."""
    caught = {}

    def catch(name):
        def hook(module, inputs, output):
            caught[name] = inputs[0][0], output[0]

        return hook

    for name, module in model.named_modules():
        module.register_forward_hook(catch(name))
    model(source(NUMBER), torch.tensor([WRITTEN]))
    return caught


@torch.no_grad()
def expected_of(model, caught, view) -> np.ndarray:
    """Return a stage as the library computes it."""
    kind, layer, head = view["attention"], view["layer"], view["head"]
    stack, own, number, last_number = ATTENTIONS[kind]
    block = f"{stack}.blocks.{layer}"
    name, norm = f"{block}.{own}", f"{block}.norm{number}"
    last_norm = f"{block}.norm{last_number}"
    attention = model.get_submodule(name)
    first = model.config.norm_first
    widths = attention.head_dim, attention.head_dim, attention.value_dim
    x = caught[name][0]
    memory = caught["encoder.norm"][1] if kind == "cross" else x
    parts = zip(
        attention.qkv_weights(),
        (0, 0, 0)
        if attention.qkv.bias is None
        else attention.qkv.bias.split(attention._widths()),
        (x, memory, memory),
        widths,
        strict=True,
    )
    q, k, v = (
        (inputs @ weight.T + bias)[:, head * width : (head + 1) * width]
        for weight, bias, inputs, width in parts
    )
    scale = attention.scale or widths[0] ** -0.5
    scores = scale * q @ k.T
    seen = torch.ones_like(scores, dtype=torch.bool)
    if kind == "decoder":
        seen = causal_mask(len(scores))[0, 0]
    masked = scores.masked_fill(~seen, -torch.inf)
    width = widths[2]
    logits = caught["generator"][1]
    if model.config.embedding_scale == "logits":
        logits = logits * model.config.d_model**-0.5
    found = {
        "signs": model.src_embed.scale * caught["src_embed.tokens"][1],
        "sign positions": caught["src_embed.norm"][0],
        "words": model.tgt_embed.scale * caught["tgt_embed.tokens"][1],
        "word positions": caught["tgt_embed.norm"][0],
        "norm": caught[norm][1],
        "query": q,
        "key": k,
        "value": v,
        "scores": scores,
        "mask": masked,
        "softmax": masked.softmax(dim=-1),
        "mix": caught[f"{name}.proj"][0][:, head * width : (head + 1) * width],
        "projection": caught[name][1],
        # What leaves a branch enters the next one.
        "sum": caught[f"{block}.norm{number + 1}" if first else norm][0],
        "forward norm": caught[last_norm][1],
        "hidden": caught[f"{block}.mlp.fc1"][1],
        "active": caught[f"{block}.mlp.act"][1],
        "narrowed": caught[f"{block}.mlp"][1],
        "forward sum": caught[block][1] if first else caught[last_norm][0],
        "memory": caught["encoder.norm"][1],
        "last": caught["decoder.norm"][1],
        "logits": logits,
        "chances": logits.softmax(dim=-1),
    }
    return found[view["stage"]].numpy()


@pytest.mark.parametrize("name", MODELS)
def test_every_stage_and_its_line_are_those_of_the_library(name):
    model = MODELS[name]()
    views, caught = views_of(model), caught_in(model)
    for view, shown in zip(views, opened(model, views), strict=True):
        expected = expected_of(model, caught, view)
        assert (shown["rows"], shown["columns"]) == expected.shape, view
        np.testing.assert_allclose(
            numbers(shown["data"], *expected.shape),
            expected,
            atol=1e-4 * max(1, np.abs(expected[expected > -1e9]).max()),
            err_msg=str(view),
        )
        lines = (LIBRARY / shown["file"]).read_text().splitlines()
        assert shown["line"] in [line.strip() for line in lines], shown
        expect_written_out(shown["made"], shown["value"], view)
