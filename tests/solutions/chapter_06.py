"""Other solutions of the exercises of chapter 6."""

import torch


def by_recursion(x, branches, norms, last_norm):
    if not branches:
        return last_norm(x)
    x = branches[0](norms[0](x)) + x
    return by_recursion(x, branches[1:], norms[1:], last_norm)


def norm_in_loops(x, gain, shift):
    out = torch.empty_like(x)
    for b, t in torch.cartesian_prod(*map(torch.arange, x.shape[:2])):
        token = x[b, t] - sum(x[b, t]) / x.shape[2]
        spread = (token @ token / x.shape[2] + 1e-6) ** 0.5
        out[b, t] = token / spread * gain + shift
    return out


SOLUTIONS = {
    "6.3": by_recursion,
    "6.4": norm_in_loops,
}
