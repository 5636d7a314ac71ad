"""Every stage of the explorer that follows a sentence, against `vitedu`."""

from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import torch
from javascript import numbers, run
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


@cache
def kept() -> Transformer:
    return load_transformer(KEPT)[0]


MODELS = {
    "the book's": kept,
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
each_model = pytest.mark.parametrize("name", MODELS)


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


def views_of(model: Transformer, **more) -> list[dict]:
    """Return every stage, in the last block and the first head."""
    layer, head = model.config.num_layers - 1, 1
    return [
        {"stage": stage, "attention": kind, "layer": layer, "head": head}
        | {"row": 0, "column": 0, **more}
        for stage, kind in product(STAGES, ("encoder", "decoder", "cross"))
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

    handles = [
        module.register_forward_hook(catch(name))
        for name, module in model.named_modules()
    ]
    model(source(NUMBER), torch.tensor([WRITTEN]))
    for handle in handles:
        handle.remove()
    return caught


@torch.no_grad()
def expected_of(model, caught, view) -> np.ndarray:
    """Return a stage as the library computes it."""
    kind, layer, head = view["attention"], view["layer"], view["head"]
    stack = "encoder" if kind == "encoder" else "decoder"
    block = f"{stack}.blocks.{layer}"
    name = f"{block}.{'cross_attn' if kind == 'cross' else 'attn'}"
    attention = model.get_submodule(name)
    norm = f"{block}.norm{2 if kind == 'cross' else 1}"
    last_norm = f"{block}.norm{2 if kind == 'encoder' else 3}"
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
    sides = {"sign": "src_embed", "word": "tgt_embed"}
    stage = view["stage"]
    if stage.split()[0].rstrip("s") in sides:
        side = sides[stage.split()[0].rstrip("s")]
        if stage.endswith("positions"):
            return caught[f"{side}.norm"][0].numpy()
        scale = getattr(model, side).scale
        return (scale * caught[f"{side}.tokens"][1]).numpy()
    # What leaves a branch enters the next one, or leaves the block.
    following = {
        "encoder": f"{block}.norm2",
        "decoder": f"{block}.norm2",
        "cross": f"{block}.norm3",
    }[kind]
    found = {
        "norm": caught[norm][1],
        "query": q,
        "key": k,
        "value": v,
        "scores": scores,
        "mask": masked,
        "softmax": masked.softmax(dim=-1),
        "mix": caught[f"{name}.proj"][0][:, head * width : (head + 1) * width],
        "projection": caught[name][1],
        "sum": caught[following if first else norm][0],
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
    return found[stage].numpy()


@each_model
def test_every_stage_is_that_of_the_library(name):
    model = MODELS[name]()
    views = views_of(model)
    caught = caught_in(model)
    for view, shown in zip(views, opened(model, views), strict=True):
        expected = expected_of(model, caught, view)
        assert (shown["rows"], shown["columns"]) == expected.shape, view
        np.testing.assert_allclose(
            numbers(shown["data"], *expected.shape),
            expected,
            atol=1e-4 * max(1, np.abs(expected[expected > -1e9]).max()),
            err_msg=str(view),
        )


@each_model
def test_each_stage_names_a_line_of_the_library(name):
    model = MODELS[name]()
    for shown in opened(model, views_of(model)):
        lines = (LIBRARY / shown["file"]).read_text().splitlines()
        assert shown["line"] in [line.strip() for line in lines], shown
