"""Other solutions of the exercises of chapter 21."""

import torch


def step_by_step(num_blocks, rate, decay):
    """Go down from the head, and turn the list round."""
    rates = [rate]
    for _ in range(num_blocks + 1):
        rates.append(rates[-1] * decay)
    return torch.tensor(rates[::-1], dtype=torch.float64)


def by_sorting(validation, test):
    """Sort the settings by their sum on the validation images."""
    order = sorted(range(len(test)), key=lambda i: -validation[i].sum())
    return test[order[0]].sum() / test.shape[1]


SOLUTIONS = {
    "21.2": step_by_step,
    "21.3": by_sorting,
}
