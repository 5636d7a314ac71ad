"""What the explorers compute in the page is what `vitedu` computes."""

from itertools import product

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from javascript import numbers, run
from torch import nn

from vitedu import mask_formats
from vitedu.attention import attention_weights, scaled_dot_product_attention
from vitedu.data.numerals import chinese_numeral, draw_numbers, english_numeral
from vitedu.masks import causal_mask, padding_mask
from vitedu.positions import sinusoidal_table
from vitedu.widgets.base import DTYPES, _to_page
from vitedu.widgets.mask_editor import CONVENTIONS, FILL_VALUES, METHODS

RNG = np.random.default_rng(0)
# The page computes in double precision.
TIGHT = 1e-9


def same(found, expected, tolerance: float = TIGHT, name: str = "") -> None:
    expected = np.asarray(expected, np.float64)
    np.testing.assert_allclose(
        numbers(found, *expected.shape),
        expected,
        rtol=tolerance,
        atol=tolerance,
        err_msg=name,
    )


def all_same(found: dict, expected: dict, tolerance: float = TIGHT) -> None:
    for name, value in expected.items():
        same(found[name], value, tolerance, name)


def double(array) -> torch.Tensor:
    return torch.tensor(np.asarray(array), dtype=torch.float64)


def test_arrays_arrive_as_they_were_sent():
    arrays = {
        dtype: np.array(
            [0, 1, 1, 0, 1, 0, 1]
            if dtype in ("int32", "uint8", "bool")
            else [0, 1, 3, 65504, 6e-8, -1.5, 1e-3],
            dtype,
        )
        for dtype in DTYPES
    }
    found = run(
        "",
        "names.map((name) => decodeArray(modelOf(sent).get(name)))",
        names=[*arrays],
        sent={name: _to_page(it, None) for name, it in arrays.items()},
    )
    for array, arrived in zip(arrays.values(), found, strict=True):
        np.testing.assert_array_equal(numbers(arrived["data"]), array)
        assert arrived["shape"] == [7]


def test_random_numbers_are_uniform_and_normal_and_fixed_by_the_seed():
    draws = run(
        "",
        "[[uniformNumbers, 3], [normalNumbers, 3], [normalNumbers, 3],"
        " [normalNumbers, 4]].map(([make, seed]) => {"
        " const next = make(seed);"
        " return Array.from({ length: 100_000 }, () => next()); })",
    )
    uniform, normal, again, other = map(numbers, draws)
    assert uniform.min() >= 0
    assert uniform.max() < 1
    assert abs(uniform.mean() - 0.5) < 0.005
    assert abs(uniform.var() - 1 / 12) < 0.002
    assert abs(normal.mean()) < 0.015
    assert abs(normal.var() - 1) < 0.015
    assert abs((normal**4).mean() - 3) < 0.08
    for series in (uniform, normal):
        assert abs(np.corrcoef(series[:-1], series[1:])[0, 1]) < 0.015
    np.testing.assert_array_equal(normal, again)
    assert (normal != other).all()


@pytest.mark.parametrize(
    ("head_dim", "num_keys", "scale"),
    [(1, 2, 1.0), (5, 256, 0.4), (33, 97, 1.0), (64, 16, 1 / 8), (90, 3, 2)],
)
def test_scores_weights_and_gradients_of_many_queries(
    head_dim, num_keys, scale
):
    queries, most = 64, 256
    # Other sizes before it leave traces in what is kept, and none here.
    shown, drawn = run(
        "softmax_scaling_maths",
        "(() => { const draw = makeDraw(7);"
        " readings(draw, 70, 40, 1);"
        " while (draw.prepare());"
        " const next = normalNumbers(7);"
        " return [readings(draw, headDim, keys, scale),"
        " Array.from({ length: headDim * 640 }, () => next())]; })()",
        headDim=head_dim,
        keys=num_keys,
        scale=scale,
    )
    # A dimension is drawn for all at once, so that more of them append.
    columns = double(drawn).view(head_dim, 2 * (queries + most)).T
    q, u, k, v = columns.split([queries, queries, most, most])
    k, v = k[:num_keys], v[:num_keys]
    q = q.clone().requires_grad_()
    out = scaled_dot_product_attention(
        q[None, None], k[None, None], v[None, None], scale=scale
    )
    (u * out[0, 0]).sum().backward()
    scores = (q @ k.T * scale).detach()
    weights = attention_weights(
        q.detach()[None, None], k[None, None], scale=scale
    )[0, 0]
    norms = q.grad.norm(dim=-1)
    expected = {
        "scores": scores[0],
        "weights": weights[0],
        "scoreStd": scores[0].std(correction=0),
        "scoreStdAll": scores.std(correction=0),
        "theoryStd": head_dim**0.5 * scale,
        "entropy": torch.special.entr(weights).sum(-1).mean(),
        "maxEntropy": np.log(num_keys),
        "gradNorms": norms,
        "gradP10": norms.quantile(0.1),
        "gradMedian": norms.quantile(0.5),
        "deadShare": (norms < 1e-3).double().mean(),
    }
    all_same(shown, expected)


SIZE = 5
DEAD_ROW = RNG.random((SIZE, SIZE)) < 0.5
DEAD_ROW[2] = False
RAW = RNG.uniform(-5, 5, (SIZE, SIZE)).astype(np.float32).astype(np.float64)
PADDING = padding_mask(torch.tensor([[1, 1, 1, 0, 0]]), pad_id=0).expand(
    1, 1, SIZE, SIZE
)
PRESETS = {
    "none": torch.ones(1, 1, SIZE, SIZE, dtype=torch.bool),
    "padding": PADDING,
    "causal": causal_mask(SIZE),
    "causal and padding": causal_mask(SIZE) & PADDING,
}
MASKS = {name: mask[0, 0].numpy() for name, mask in PRESETS.items()} | {
    "dead row": DEAD_ROW,
    "nothing": np.zeros((SIZE, SIZE), bool),
}
each_mask = pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)


def mask_readings(mask, cases: list[dict]) -> list[dict]:
    return run(
        "mask_editor_maths",
        "cases.map((how) => readings({ scores, mask, ...how }))",
        scores=RAW,
        mask=mask,
        cases=cases,
    )


def by_pytorch(mask, method, fill_value):
    """Masked scores and weights, with PyTorch's own operations."""
    scores, seen = double(RAW), torch.tensor(mask)
    if method == "multiply before softmax":
        masked = scores * seen
        return masked, masked.softmax(-1)
    if method == "multiply after softmax":
        return scores, scores.softmax(-1) * seen
    if method == "multiply after and renormalise":
        weights = scores.softmax(-1) * seen
        return scores, weights / weights.sum(-1, keepdim=True)
    number = {"-inf": -torch.inf, "-1e9": -1e9}.get(
        fill_value, torch.finfo(torch.float32).min
    )
    masked = scores.masked_fill(~seen, number)
    weights = masked.softmax(-1)
    return masked, weights * seen if "clear" in fill_value else weights


@each_mask
def test_every_way_to_mask(mask):
    cases = [
        {"method": method, "fillValue": fill, "convention": "vitedu"}
        for method, fill in product(METHODS, FILL_VALUES)
    ]
    found = mask_readings(mask, cases)
    for case, shown in zip(cases, found, strict=True):
        masked, weights = by_pytorch(mask, case["method"], case["fillValue"])
        name = str(case)
        same(shown["masked"], masked, name=name)
        same(shown["weights"], weights, name=name)
        same(shown["sums"], weights.sum(-1), name=name)
        leaks = (weights * torch.tensor(~mask)).sum(-1)
        same(shown["leaks"], leaks, name=name)
    q, k = double(RAW)[None, None], double(np.eye(SIZE))[None, None]
    ours = attention_weights(q, k, torch.tensor(mask)[None, None], scale=1.0)
    same(found[0]["weights"], ours[0, 0])


def multihead(attn_mask):
    """Weights of the real module, for scores that are given."""
    module = nn.MultiheadAttention(SIZE, 1, bias=False, batch_first=True)
    module.double()
    with torch.no_grad():
        module.in_proj_weight.copy_(torch.eye(SIZE).repeat(3, 1))
    q, k = double(RAW)[None] * SIZE**0.5, double(np.eye(SIZE))[None]
    return module(q, k, k, attn_mask=attn_mask)[1][0].detach()


def fused(attn_mask):
    q, k = double(RAW)[None], double(np.eye(SIZE))[None]
    return F.scaled_dot_product_attention(
        q, k, k, attn_mask=attn_mask, scale=1.0
    )[0]


@each_mask
def test_masks_of_others_and_what_a_wrong_reader_makes_of_them(mask):
    ours = torch.tensor(mask)[None, None]
    true_hides = mask_formats.to_multihead(
        ours, batch=1, num_heads=1, query=SIZE
    )
    forms = {
        "vitedu": (ours, lambda form: multihead(form[0, 0])),
        "F.scaled_dot_product_attention": (
            mask_formats.to_fused(ours),
            lambda form: multihead(form[0, 0]),
        ),
        "nn.MultiheadAttention": (true_hides, fused),
        "additive": (
            mask_formats.to_additive(ours),
            lambda form: (
                double(RAW).masked_fill(form[0, 0] == 0, -1e9).softmax(-1)
            ),
        ),
        "integers": (ours.int(), lambda form: fused(form[0].double())),
    }
    assert list(forms) == list(CONVENTIONS)
    how = {"method": METHODS[0], "fillValue": FILL_VALUES[0]}
    found = mask_readings(
        mask,
        [
            how | {"convention": convention, "handedOver": True}
            for convention in CONVENTIONS
        ],
    )
    for (form, reader), shown in zip(forms.values(), found, strict=True):
        same(shown["written"], form.reshape(SIZE, SIZE).double())
        same(shown["weights"], reader(form), 1e-7)


def encodings(d_model, base, length, formula) -> np.ndarray:
    if formula == "paper":
        table = sinusoidal_table(
            length, d_model, base=base, dtype=torch.float64
        )
        return table.numpy()
    # The two that the book warns of, written down by their formulas.
    places = np.arange(length)[:, None]
    if formula == "rescaled":
        places = places / length * 200
    even = np.arange(0, d_model, 2)
    odd = even + (formula == "wrong exponent")
    table = np.empty((length, d_model))
    table[:, 0::2] = np.sin(places / base ** (even / d_model))
    table[:, 1::2] = np.cos(places / base ** (odd / d_model))
    return table


@pytest.mark.parametrize("formula", ["paper", "wrong exponent", "rescaled"])
@pytest.mark.parametrize(
    ("d_model", "base", "length", "p", "q"),
    [(4, 10.0, 11, 10, 0), (14, 777.0, 23, 7, 7), (128, 1e5, 200, 3, 150)],
)
def test_encodings_and_their_products(d_model, base, length, p, q, formula):
    shown, paper = run(
        "positional_encoding_maths",
        "(() => { const table = makeTable({ dModel, base, length, formula });"
        " return [readings(table, p, q), table.paper]; })()",
        dModel=d_model,
        base=base,
        length=length,
        formula=formula,
        p=p,
        q=q,
    )
    table = encodings(d_model, base, length, formula)
    longer = encodings(d_model, base, length + 1, formula)
    products = table @ table.T
    apart = [products.diagonal(offset) for offset in range(length)]
    norms = np.linalg.norm(table, axis=1)
    expected = {
        "encoding": table[p],
        "otherEncoding": table[q],
        "norm": norms[p],
        "otherNorm": norms[q],
        "norms": norms,
        "similarity": products[p],
        "otherSimilarity": products[q],
        "offset": q - p,
        "dotProduct": products[p, q],
        "smallest": [values.min() for values in apart],
        "largest": [values.max() for values in apart],
        "moved": np.linalg.norm(longer[p] - table[p]),
    }
    assert shown.keys() == expected.keys()
    all_same(shown, expected)
    ours = encodings(d_model, base, length, "paper")
    same(paper, ours @ ours[0])


def test_numerals():
    wanted = [
        *range(1200),
        *draw_numbers(1000, zero_rate=0.5),
        *draw_numbers(500, seed=1),
        10_000,
        99_999_999,
    ]
    found = run(
        "numeral_words",
        "wanted.map((n) => [chineseNumeral(n), englishWords(n)])",
        wanted=wanted,
    )
    for number, (chinese, english) in zip(wanted, found, strict=True):
        assert chinese == chinese_numeral(number)
        assert english == english_numeral(number).replace("-", " ").split()


def test_what_is_typed_and_how_chances_are_written():
    found = run(
        "numeral_words translation",
        "[['', '12a', '-5', '1.5', '一一', '一百万', '100000000', ' 1,2 ',"
        " '007']"
        ".map((text) => parseNumber(text).value ?? null),"
        " [0.9995, 0.99, 0.5, 0.05, 0.0005].map(percent)]",
    )
    assert found == [
        [None, None, None, None, None, 1_000_000, None, 12, 7],
        ["> 99.9%", "99.0%", "50%", "5.0%", "< 0.1%"],
    ]


def test_a_number_has_a_proper_minus_and_zero_has_none():
    code = "[[-0.001, 2], [-1.5, 2], [0.004, 1], [-10, 0]].map((it) =>"
    found = run("", f"{code} fixed(...it))")
    assert found == ["0.00", "−1.50", "0.0", "−10"]
