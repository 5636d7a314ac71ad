"""Other solutions of the exercises of chapter 12."""

import torch


def row_by_row(weight, order):
    """Solve it with a loop."""
    moved = weight.clone()
    for place, old in enumerate(order.tolist()):
        moved[0, 1 + place] = weight[0, 1 + old]
    return moved


def token_by_token(patches, class_token, positions):
    """Write every token into its place."""
    batch, count, width = patches.shape
    out = torch.empty(batch, 1 + count, width)
    for image in range(batch):
        out[image, 0] = class_token + positions[0]
        for patch in range(count):
            out[image, 1 + patch] = (
                patches[image, patch] + positions[1 + patch]
            )
    return out


SOLUTIONS = {
    "12.2": row_by_row,
    "12.3": token_by_token,
}
