"""Other solutions of the exercises of chapter 16."""

from functools import reduce

import torch


def without_loops(weights, grid_size, patch_size):
    """Take the distances from coordinates, all pairs at once."""
    centres = torch.stack(
        torch.meshgrid(*map(torch.arange, grid_size), indexing="ij"), dim=-1
    )
    centres = patch_size * centres.flatten(0, 1).to(weights)
    far = (centres[:, None] - centres).norm(dim=-1)
    among = weights[:, :, 1:, 1:]
    return ((among * far).sum(-1) / among.sum(-1)).mean(0)


def as_matrices(maps, kept):
    """Multiply whole layers, the last one first."""
    mixed = (1 - kept[:, None, None, None]) * maps.mean(dim=2)
    mixed.diagonal(dim1=-2, dim2=-1).add_(kept[:, None, None])
    return reduce(torch.matmul, mixed.flip(0))[:, 0, 1:]


def row_by_row(maps, dropped):
    """Share out one row at a time, the last layer first."""
    product = torch.eye(maps.shape[-1]).to(maps)
    for layer in maps.mean(dim=1).flip(0):
        rows = layer.clone()
        rows[layer < torch.quantile(layer, dropped)] = 0
        rows.diagonal().add_(1)
        for row in rows:
            row /= row.sum()
        product = product @ rows
    return product


SOLUTIONS = {
    "16.2": without_loops,
    "16.3": as_matrices,
    "16.4": row_by_row,
}
