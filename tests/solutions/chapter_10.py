"""Other solutions of the exercises of chapter 10."""

import math

import torch


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


SOLUTIONS = {
    "10.2": drawing(),
    "10.3": with_lists,
}
