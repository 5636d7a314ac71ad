"""Other solutions of the exercises of chapter 19."""

import torch


def by_logsumexp(out_a, log_a, out_b, log_b):
    whole = torch.logaddexp(log_a, log_b)
    return (log_a - whole).exp() * out_a + (log_b - whole).exp() * out_b


def word_by_word(losses, counts, everywhere, processes):
    """Add up the words one at a time."""
    total = losses.new_zeros(())
    for loss, word in zip(losses.flatten(), counts.flatten(), strict=True):
        if word:
            total = total + loss / everywhere
    return total * processes


SOLUTIONS = {
    "19.2": by_logsumexp,
    "19.3": word_by_word,
}
