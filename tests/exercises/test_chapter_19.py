"""The exercises of chapter 19, scaling out."""

import pytest
import torch
from judging import expect_thought, expect_unfinished

from vitedu.attention import attention_weights
from vitedu.config import ViTConfig
from vitedu.counting import parameter_counts
from vitedu.exercises import chapter_19 as check


def test_bytes_sent_accepts_the_number():
    parameters = sum(parameter_counts(ViTConfig.b16()).values())
    # Two halves of the ring, 15 messages each, a sixteenth of the gradient.
    assert check.bytes_sent(2 * 15 * (2 * parameters) / 16)
    assert check.bytes_sent(324.6e6)


@pytest.mark.parametrize(
    ("answer", "thought"),
    [
        (649_257_420, "four bytes"),
        (162_314_355, "that is half of it"),
        (86_567_656, "is not it"),
        (173_135_312, "once"),
        (346_270_624, "not 2 * 16"),
        (2_597_029_680, "each of the others"),
        (5_194_059_360, "all sixteen send together"),
        (12, "is not it"),
    ],
)
def test_bytes_sent_names_the_mistake(answer, thought):
    expect_thought(check.bytes_sent(answer), thought)


def by_logsumexp(out_a, log_a, out_b, log_b):
    whole = torch.logaddexp(log_a, log_b)
    return (log_a - whole).exp() * out_a + (log_b - whole).exp() * out_b


def by_softmax(out_a, log_a, out_b, log_b):
    shares = torch.cat([log_a, log_b], dim=-1).softmax(dim=-1)
    return shares[:, :1] * out_a + shares[:, 1:] * out_b


@pytest.mark.parametrize("solution", [by_logsumexp, by_softmax])
def test_join_accepts_a_solution(solution):
    assert check.join(solution).right


def test_what_join_asks_for_is_attention():
    torch.manual_seed(0)
    q, k = torch.randn(1, 1, 5, 7), torch.randn(1, 1, 6, 7)
    v = torch.randn(6, 3)
    halves = []
    for keys, values in ((k[:, :, :2], v[:2]), (k[:, :, 2:], v[2:])):
        scores = (q @ keys.mT)[0, 0] * 7**-0.5
        halves += [
            attention_weights(q, keys)[0, 0] @ values,
            scores.logsumexp(-1, keepdim=True),
        ]
    whole = attention_weights(q, k)[0, 0] @ v
    torch.testing.assert_close(by_softmax(*halves), whole)


def shared(share):
    def solution(out_a, log_a, out_b, log_b):
        part = share(log_a, log_b)
        return part * out_a + (1 - part) * out_b

    return solution


@pytest.mark.parametrize(
    ("candidate", "thought"),
    [
        (lambda a, la, b, lb: (a + b) / 2, "the mean of both halves"),
        (lambda a, la, b, lb: a + b, "already a mean"),
        (shared(lambda a, b: a / (a + b)), "logarithms themselves"),
        (lambda a, la, b, lb: by_softmax(a, lb, b, la), "exchanged"),
        (
            lambda a, la, b, lb: torch.where(la > lb, a, b),
            "nothing of the other",
        ),
        (
            lambda a, la, b, lb: la.exp() * a + lb.exp() * b,
            "did not divide",
        ),
        (
            shared(lambda a, b: a.exp() / (a.exp() + b.exp())),
            "not finite",
        ),
        (
            shared(lambda a, b: torch.sigmoid(a.mean() - b.mean())),
            "each has its own",
        ),
        (lambda a, la, b, lb: by_softmax(a, la, b, lb)[:1], "the shape is"),
    ],
)
def test_join_names_the_mistake(candidate, thought):
    expect_thought(check.join(candidate), thought)


def word_by_word(losses, counts, everywhere, processes):
    """Add up the words one at a time."""
    total = losses.new_zeros(())
    for loss, word in zip(losses.flatten(), counts.flatten(), strict=True):
        if word:
            total = total + loss / everywhere
    return total * processes


def by_product(losses, counts, everywhere, processes):
    return (losses * counts).sum() / (everywhere / processes)


@pytest.mark.parametrize("solution", [word_by_word, by_product])
def test_loss_of_share_accepts_a_solution(solution):
    assert check.loss_of_share(solution).right


def test_the_losses_of_two_shares_average_to_that_of_the_batch():
    losses = torch.arange(12.0).reshape(3, 4)
    counts = losses % 3 > 0
    words = int(counts.sum())
    shares = [
        word_by_word(losses[rank::2], counts[rank::2], words, 2)
        for rank in range(2)
    ]
    assert sum(shares) / 2 == pytest.approx(losses[counts].mean().item())


@pytest.mark.parametrize(
    ("candidate", "thought"),
    [
        (lambda x, c, e, n: (x * c).mean() * n, "the smaller its loss"),
        (lambda x, c, e, n: x[c].sum() / e, "nothing makes up"),
        (lambda x, c, e, n: x[c].mean(), "would count too much"),
        (lambda x, c, e, n: x[c].mean() * n, "as well"),
        (lambda x, c, e, n: x[c].sum() * n, "nothing is divided"),
        (lambda x, c, e, n: x[c].sum() / e / n, "does that already"),
        (lambda x, c, e, n: x.sum() * n / e, "padding is in the sum"),
        (lambda x, c, e, n: x[c] * n / e, "the shape is"),
    ],
)
def test_loss_of_share_names_the_mistake(candidate, thought):
    expect_thought(check.loss_of_share(candidate), thought)


def test_unfinished_answers():
    expect_unfinished(check.bytes_sent, check.join)
    expect_thought(
        check.loss_of_share(lambda *inputs: None), "returned NoneType"
    )
