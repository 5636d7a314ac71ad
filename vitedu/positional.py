"""Where a token is: position embeddings."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from vitedu import require


class LearnedPositionEmbedding(nn.Module):
    """Add one learned vector per position to the tokens.

    Args:
        num_positions: Length of every sequence, class token included.
        d_model: Width of a token.
        std: Standard deviation of the initial vectors. Tokens whose patch
            part is larger than this hardly know where they are at first.

    Raises:
        TypeError, ValueError: Sizes that are no positive integers, a negative
            `std`, or tokens of another shape than (batch, num_positions,
            d_model). A shorter sequence is refused: its positions would be
            those of another grid.

    Source: Dosovitskiy et al. 2021, section 3.1, equation 1; std 0.02 as in
        the authors' code.
    Derived in: 14-training-a-vit
    """

    def __init__(
        self, num_positions: int, d_model: int, *, std: float = 0.02
    ) -> None:
        super().__init__()
        require.positive_int("num_positions", num_positions)
        require.positive_int("d_model", d_model)
        require.number("std", std, at_least=0)
        self.weight = nn.Parameter(
            torch.randn(1, num_positions, d_model) * std
        )

    def forward(
        self, tokens: Float[Tensor, "batch position d_model"]
    ) -> Float[Tensor, "batch position d_model"]:
        require.rank("tokens", tokens, "batch position d_model")
        require.dtype_of("tokens", tokens, self.weight)
        if tokens.shape[1:] != self.weight.shape[1:]:
            raise ValueError(
                "tokens must have (position, d_model) = "
                f"{tuple(self.weight.shape[1:])}, "
                f"got {tuple(tokens.shape[1:])}"
            )
        return tokens + self.weight
