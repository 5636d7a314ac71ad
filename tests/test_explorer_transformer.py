"""The Transformer of the explorers, and its searches, against `vitedu`."""

import numpy as np
import pytest
import torch
from javascript import numbers, run
from translators import (
    SEARCH,
    make_explorer,
    make_model,
    source,
    trained_model,
)

from vitedu.analysis.attention_maps import capture_attention
from vitedu.book.page_weights import page_weights, rounded_to_half
from vitedu.config import TransformerConfig
from vitedu.decoding.search import beam_search, greedy_search
from vitedu.transformer import Transformer
from vitedu.widgets import DecodingSteps
from vitedu.widgets.base import _to_page

LOG_PROBS = 1e-3
SRC, TGT = [3, 9, 4, 9, 12, 5, 6], [1, 7, 7, 10, 4, 3, 8, 11, 5, 9, 6]
SIZES = {
    "src_vocab_size": 13,
    "tgt_vocab_size": 13,
    "d_model": 30,
    "d_ff": 41,
    "num_heads": 3,
    "num_layers": 2,
}
# Besides those of test_explorer_follow_sentence, which looks at every stage.
CHOICES = {
    "as in 2017": {},
    "other sizes": {
        "head_dim": 7,
        "value_dim": 5,
        "qkv_bias": True,
        "embedding_norm": True,
        "final_norm": True,
        "layer_norm_eps": 1e-2,
    },
    "untied": {
        "src_vocab_size": 17,
        "tie_source": False,
        "tie_output": False,
        "embedding_scale": "none",
        "positions": "none",
    },
    "no norm": {"norm_first": True, "final_norm": False, "num_layers": 1},
}
# A second step from the same past must not disturb the first.
READ_AND_WRITE = """(() => {
  const { get } = modelOf(sent);
  const model = makeTransformer({
    weights: get("weights"), layout: sent.layout, config: sent.config,
  });
  const { blocks: read, memory } = model.encode(src);
  const looks = (branches) => branches.map(({ weights }) => weights);
  let past = model.nothing;
  const steps = tgt.map((id) => {
    model.step(memory, past, 2);
    const { logits, past: now, blocks } = model.step(memory, past, id);
    past = now;
    return {
      logits, own: looks(blocks.map(({ decoder }) => decoder)),
      cross: looks(blocks.map(({ cross }) => cross)),
    };
  });
  return {
    encoder: read.map(({ attention }) => looks(attention)), steps,
  };
})()"""


def of_heads(rows: list) -> np.ndarray:
    """Put rows of each query, which may grow, into (head, query, key)."""
    longest = len(rows[-1][0])
    filled = [
        [[*head, *(longest - len(head)) * [0]] for head in row] for row in rows
    ]
    return np.swapaxes(filled, 0, 1)


@pytest.mark.parametrize("choice", CHOICES)
def test_logits_and_maps_are_those_of_the_model(choice):
    torch.manual_seed(3)
    model = Transformer(TransformerConfig(**SIZES | CHOICES[choice]))
    with torch.no_grad():
        for weight in model.parameters():
            # So that gains, biases and tables of 0 and 1 count, too.
            weight += 0.3 * torch.randn_like(weight)
    model = rounded_to_half(model).eval()
    sent = page_weights(model)
    sent["weights"] = _to_page(sent["weights"], None)
    found = run(
        "transformer_model", READ_AND_WRITE, sent=sent, src=SRC, tgt=TGT
    )
    src, tgt = torch.tensor([SRC]), torch.tensor([TGT])
    with torch.no_grad(), capture_attention(model) as maps:
        logits = model(src, tgt)[0].numpy()
    steps = found["steps"]
    np.testing.assert_allclose(
        [step["logits"] for step in steps],
        logits,
        atol=1e-4 * np.abs(logits).max(),
    )
    for layer in range(model.config.num_layers):
        for name, rows in {
            f"encoder.blocks.{layer}.attn": found["encoder"][layer],
            **{
                f"decoder.blocks.{layer}.{name}": [
                    step[branch][layer] for step in steps
                ]
                for name, branch in (("attn", "own"), ("cross_attn", "cross"))
            },
        }.items():
            np.testing.assert_allclose(
                of_heads(rows), maps[name][0], atol=1e-5, err_msg=name
            )


def flat_model() -> Transformer:
    """Make a model whose sentences end everywhere, and overtake others."""
    model = make_model(4, num_layers=1, norm_first=True)
    with torch.no_grad():
        model.generator.weight.mul_(0.25)
        model.generator.weight[2] += 0.25
    return rounded_to_half(model)


MODELS = {
    "trained": trained_model,
    "random": lambda: make_model(1, norm_first=True),
    # Learned positions end the sentences.
    "short": lambda: make_model(
        3, positions="learned", max_len=17, activation="gelu"
    ),
    "flat": flat_model,
}
# Number, beam size, length penalty; a size of 0 is greedy search.
CASES = {
    "trained": [(26, 0, 0.0), (26, 3, 0.6), (96, 5, 1.0)],
    "random": [(12_005, 0, 0.0)],
    "short": [(7, 0, 0.0), (7, 2, 0.0)],
    "flat": [
        *((9, 1, 0.0), (9, 5, 0.0), (9, 5, 1.0)),
        *((12_005, 2, 0.0), (12_005, 2, 1.0), (12_005, 5, 1.0)),
    ],
}
SEARCHES = """(() => {
  const translator = translatorOf(modelOf(sent));
  return cases.map(([number, size, alpha]) => {
    const method = size ? "beam" : "greedy";
    const { found, steps } = search(
      writerOf(translator, number), { method, size, alpha, seed: 0 });
    const plainStep = ({ alive, candidates, ...rest }) => ({
      ...rest, alive: alive.map(({ ids, logProb }) => ({ ids, logProb })),
      candidates: candidates.map(({ row, id, chance, logProb, fate }) =>
        ({ row, id, chance, logProb, fate })),
    });
    return { found, steps: steps.map(plainStep) };
  });
})()"""


@pytest.mark.parametrize("name", MODELS)
def test_every_search_takes_the_steps_of_the_library(name):
    model = MODELS[name]()
    sent = make_explorer(DecodingSteps, model).get_state()
    all_shown = run(
        "transformer_model numeral_words translation translation_search",
        SEARCHES,
        sent=sent,
        cases=CASES[name],
    )
    limit = model.config.max_len or SEARCH["max_len"]
    for case, shown in zip(CASES[name], all_shown, strict=True):
        number, size, alpha = case
        how = SEARCH | {"max_len": limit}
        if size:
            how |= {"beam_size": size, "length_penalty": alpha}
        steps = []
        searched = (beam_search if size else greedy_search)(
            model, source(number), record=steps.append, **how
        )
        expect_found(shown["found"], searched)
        goes_on = [[SEARCH["bos_id"]]]
        for page_step, step in zip(shown["steps"], steps, strict=True):
            alive = [one["ids"] for one in page_step["alive"]]
            assert goes_on == alive
            expect_step(page_step, step)
            goes_on = [
                [*alive[one["row"]], one["id"]]
                for one in page_step["candidates"]
                if one["fate"] == "goes"
            ]
        assert goes_on == []
        cost = shown["steps"][-1]["cost"]
        assert cost["cached"] == sum(len(step.prefixes) for step in steps)
        assert cost["whole"] == sum(step.prefixes.numel() for step in steps)


def expect_found(shown: list[dict], found) -> None:
    """Compare the finished sentences with those of the library."""
    lengths = found.lengths[0].tolist()
    tokens = found.tokens[0].tolist()
    assert [one["ids"] for one in shown] == [
        words[:length] for words, length in zip(tokens, lengths, strict=True)
    ]
    for name, values in (("logProb", "log_probs"), ("score", "scores")):
        np.testing.assert_allclose(
            [one[name] for one in shown],
            getattr(found, values)[0],
            atol=LOG_PROBS,
        )


def expect_step(shown: dict, step) -> None:
    """Compare prefixes and candidates with what `record` has got."""
    assert [one["ids"] for one in shown["alive"]] == step.prefixes.tolist()
    np.testing.assert_allclose(
        [one["logProb"] for one in shown["alive"]],
        step.log_probs,
        atol=LOG_PROBS,
    )
    totals = step.log_probs[:, None] + step.next_log_probs
    best = totals.flatten().topk(len(shown["candidates"])).values
    rows, ids, chances, logs = (
        [one[name] for one in shown["candidates"]]
        for name in ("row", "id", "chance", "logProb")
    )
    np.testing.assert_allclose(logs, best, atol=LOG_PROBS)
    np.testing.assert_allclose(logs, totals[rows, ids], atol=LOG_PROBS)
    following = step.next_log_probs[rows, ids].exp()
    np.testing.assert_allclose(chances, following, atol=LOG_PROBS)


def test_words_are_drawn_as_often_as_their_chance_says():
    counts = run(
        "transformer_model translation_search",
        "(() => { const next = [{ logProbs: logSoftmax(logits, 0) }];"
        " const random = uniformNumbers(5); const counts = [0, 0, 0, 0];"
        " for (let n = 0; n < 20000; n += 1) {"
        "   const all = rankCandidates([{ ids: [], logProb: 0 }], next, 2);"
        "   counts[draw(all, random()).id] += 1; }"
        " return counts; })()",
        logits=[9.0, 1.0, 0.0, -1.0],
    )
    chances = (torch.tensor([1.0, 0.0, -1.0]) / 2).softmax(0)
    assert counts[0] == 0
    np.testing.assert_allclose(
        numbers(counts[1:]) / 20_000, chances, atol=0.015
    )
