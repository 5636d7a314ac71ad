"""Other solutions of the exercises of chapter 4."""

import torch


def by_positions(tokens, pad_id):
    positions = torch.arange(tokens.shape[1])
    earlier = positions <= positions[:, None]
    return (earlier & (tokens != pad_id)[:, None]).unsqueeze(1)


def one_sentence_at_a_time(q, k, v, real):
    """Cut the padding off, so that nothing has to be hidden."""
    answers = []
    for i, words in enumerate(real):
        scores = q[i] @ k[i][:, words].mT / q.shape[-1] ** 0.5
        answers.append(scores.softmax(dim=-1) @ v[i][:, words])
    return torch.stack(answers)


SOLUTIONS = {
    "4.2": by_positions,
    "4.3": one_sentence_at_a_time,
}
