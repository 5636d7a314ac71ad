"""Other solutions of the exercises of chapter 17."""

from bisect import bisect_left

import torch


def by_ratio(sizes, accuracies, wanted):
    """Solve it with a power of the ratio of two sizes."""
    best = accuracies.cummax(dim=0).values
    high = bisect_left(best.tolist(), wanted - 1e-9)
    if high in (0, len(sizes)):
        return sizes[0] if high == 0 else sizes.new_tensor(torch.inf)
    low, y = high - 1, accuracies
    share = (wanted - y[low]) / (y[high] - y[low])
    return sizes[low] * (sizes[high] / sizes[low]) ** share


def by_rank(labels, shots, order):
    """Solve it with the rank of each image in its class."""
    hot = torch.nn.functional.one_hot(labels[order])
    rank = (hot.cumsum(dim=0) * hot).sum(dim=1)
    return order[rank <= shots].sort().values


SOLUTIONS = {
    "17.2": by_ratio,
    "17.3": by_rank,
}
