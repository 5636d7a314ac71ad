"""Other solutions of the exercises of chapter 7."""

import torch


def in_recursion(x, blocks, norm, mask):
    if not blocks:
        return norm(x)
    return in_recursion(blocks[0](x, mask), blocks[1:], norm, mask)


def by_einsum(out, real):
    """Multiply each sentence by the shares of its words."""
    shares = real.to(out) / real.sum(dim=1, keepdim=True)
    return torch.einsum("btd,bt->bd", out, shares)


SOLUTIONS = {
    "7.2": in_recursion,
    "7.3": by_einsum,
}
