"""The exercises of chapter 10, decoding."""

import math

import pytest
import torch
from judging import expect_thought, expect_unfinished

from vitedu.exercises import chapter_10 as check


def test_tokens_through_decoder_accepts_the_number():
    passes = [[1] * t for t in range(1, 21)]
    count = sum((4 if t > 1 else 1) * len(x) for t, x in enumerate(passes, 1))
    assert check.tokens_through_decoder(count)
    assert check.tokens_through_decoder(837.0)


@pytest.mark.parametrize(
    ("answer", "thought"),
    [
        (4 * 210, "the first pass has one only"),
        (1 + 4 * 19, "that is with a cache"),
        (4 * 20, "with a cache, and with four"),
        (210, "greedy search"),
        (20, "number of passes"),
        (1 + 4 * (190 - 1), "the begin mark counts"),
        (4 * 190, "the begin mark counts"),
        (1 + 4 * (231 - 2), "no pass reads it"),
        (4 * 230, "no pass reads it"),
        (4 * 20 * 20, "only in the last"),
        (836, "is not it"),
    ],
)
def test_tokens_through_decoder_names_the_mistake(answer, thought):
    expect_thought(check.tokens_through_decoder(answer), thought)


def drawing(
    *, power=lambda p, t: p ** (1 / t), keep="likeliest", fill="nothing"
):
    """Work through rows in plain Python, a part wrong if asked for."""

    def candidate(log_probs, temperature, top_k):
        rows = []
        for row in log_probs.tolist():
            order = sorted(range(len(row)), key=row.__getitem__, reverse=True)
            kept = {
                "likeliest": order[:top_k],
                "unlikeliest": order[-top_k:],
                "all": order,
            }[keep]
            new = [power(math.exp(x), temperature) for x in row]
            total = sum(new[i] for i in (order if fill == "late" else kept))
            rows.append(
                [new[i] / total if i in kept else 0 for i in range(len(row))]
            )
        return torch.tensor(rows, dtype=log_probs.dtype)

    return candidate


def solution(log_probs, temperature, top_k):
    values, tokens = (log_probs / temperature).topk(top_k)
    nothing = torch.zeros_like(log_probs)
    return nothing.scatter(1, tokens, values.softmax(dim=-1))


def filled_with_zeros(log_probs, temperature, top_k):
    kept = torch.zeros_like(log_probs)
    values, tokens = log_probs.topk(top_k)
    kept.scatter_(1, tokens, values)
    return (kept / temperature).softmax(dim=-1)


def over_all_rows(log_probs, temperature, top_k):
    least = log_probs.flatten().sort(descending=True).values[top_k - 1]
    kept = torch.where(log_probs >= least, log_probs, -torch.inf)
    return (kept / temperature).softmax(dim=-1).nan_to_num()


def down_the_columns(log_probs, temperature, top_k):
    values, tokens = log_probs.topk(top_k)
    kept = torch.full_like(log_probs, -torch.inf).scatter(1, tokens, values)
    return (kept / temperature).softmax(dim=0).nan_to_num()


def filled(value):
    """Fill what stays out with a very small number of the caller's."""

    def candidate(log_probs, temperature, top_k):
        order = log_probs.argsort(dim=-1, descending=True)
        ranks = order.argsort(dim=-1)
        kept = torch.where(ranks < top_k, log_probs / temperature, value)
        return kept.softmax(dim=-1)

    return candidate


@pytest.mark.parametrize(
    "candidate",
    [
        drawing(),
        solution,
        filled(-torch.inf),
        filled(-1e9),
        filled(torch.finfo(torch.float64).min),
    ],
)
def test_chances_to_draw_accepts_a_solution(candidate):
    assert check.chances_to_draw(candidate).right


@pytest.mark.parametrize(
    ("candidate", "thought"),
    [
        (drawing(power=lambda p, t: p**t), "you multiply"),
        (drawing(power=lambda p, t: p / t), "the temperature has no effect"),
        (drawing(power=lambda p, t: p), "the temperature has no effect"),
        (drawing(keep="all"), "top_k is missing"),
        (drawing(keep="unlikeliest"), "the unlikeliest"),
        (drawing(fill="late"), "do not add up to 1"),
        (filled_with_zeros, "filled with zeros"),
        (over_all_rows, "each row has its own"),
        (down_the_columns, "over the prefixes"),
    ],
)
def test_chances_to_draw_names_the_mistake(candidate, thought):
    expect_thought(check.chances_to_draw(candidate), thought)


def searching(
    *,
    early=False,
    narrow=False,
    revive=False,
    count_all=False,
    score=lambda tokens, total: total / len(tokens),
    pick=max,
    with_begin=False,
):
    """Search with tensors, a part wrong if asked for."""

    def candidate(table, begin, end, max_len, beam_size):
        prefixes, totals = torch.tensor([[begin]]), torch.zeros(1).double()
        done = []
        for length in range(1, max_len + 1):
            sums = (totals[:, None] + table[prefixes[:, -1]]).flatten()
            order = sums.argsort(descending=True)
            rows, tokens = order // len(table), order % len(table)
            longer = torch.cat([prefixes[rows], tokens[:, None]], dim=1)
            ended = (tokens == end) | (length == max_len)
            ranks = torch.arange(len(order))
            for i in (ended & (count_all | (ranks < beam_size))).nonzero():
                answer = longer[i[0], 1:]
                done.append((score(answer, sums[order[i[0]]]), answer))
            if early and done:
                break
            going = ranks[revive | ~ended]
            if narrow:
                going = going[going < beam_size]
            going = going[:beam_size]
            prefixes, totals = longer[going], sums[order[going]]
        best = pick(done, key=lambda one: one[0])[1]
        return torch.cat([torch.tensor([begin]), best]) if with_begin else best

    return candidate


def first(found, key):
    return found[0]


def last(found, key):
    return found[-1]


def with_lists(table, begin, end, max_len, beam_size):
    """Search with sorted lists of (mean, words)."""
    chances, beam, found = table.tolist(), [(0.0, [begin])], []
    for step in range(max_len):
        grown = sorted(
            (total + chance, [*words, token])
            for total, words in beam
            for token, chance in enumerate(chances[words[-1]])
        )[::-1]
        for rank, (total, words) in enumerate(grown):
            stops = words[-1] == end or step + 1 == max_len
            if stops and rank < beam_size:
                found.append((total / (step + 1), words[1:]))
        beam = [x for x in grown if x[1][-1] != end][:beam_size]
    return torch.tensor(max(found)[1])


@pytest.mark.parametrize("solution", [searching(), with_lists])
def test_best_sentence_accepts_a_solution(solution):
    assert check.best_sentence(solution).right


@pytest.mark.parametrize(
    ("options", "thought"),
    [
        ({"early": True, "narrow": True}, "stops at the first sentence"),
        ({"early": True}, "stops at the first sentence"),
        ({"narrow": True}, "takes a place of the beam"),
        ({"revive": True}, "must not go on"),
        ({"count_all": True}, "only those among"),
        ({"score": lambda tokens, total: total}, "divide by the number"),
        (
            {"score": lambda tokens, total: total / (len(tokens) + 1)},
            "count the begin mark",
        ),
        (
            {
                "narrow": True,
                "score": lambda tokens, total: total / (len(tokens) + 1),
            },
            "5 of the answers are wrong",
        ),
        ({"pick": first}, "stops at the first sentence"),
        ({"pick": last}, "the last sentence that has ended"),
        ({"with_begin": True}, "begin mark is no part"),
    ],
)
def test_best_sentence_names_the_mistake(options, thought):
    expect_thought(check.best_sentence(searching(**options)), thought)


def test_unfinished_answers():
    expect_unfinished(check.tokens_through_decoder, check.chances_to_draw)
    expect_unfinished(check.tokens_through_decoder, check.best_sentence)
