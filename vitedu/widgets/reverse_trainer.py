"""A small encoder that is trained in the page to reverse letters."""

from typing import Any

import traitlets

from vitedu.widgets.base import Explorer, Flag, Integer, Number

HEADS = (1, 2, 4)


class ReverseTrainer(Explorer):
    """An encoder of one block learns to reverse ten letters, in the browser.

    It reads ten letters out of eight kinds, and at each position it predicts
    the letter at the mirrored position. The page computes all of it: initial
    weights, forward and backward pass, Adam. A change of any setting starts a
    new run; the same settings always give the same run.

    The network is a pre-norm `EncoderBlock` (d_model 32, d_ff 64, ReLU)
    between an embedding and a `LayerNorm` with a linear layer: 9,128
    parameters. It sees a batch of 16 new sequences per step, for at most 2,000
    steps. Adam has a linear warm-up of 50 steps.

    Args:
        positions: Whether sinusoids of the positions are added to the letters.
        scaled: Whether scores are divided by the square root of head_dim.
        num_heads: Attention heads: 1, 2 or 4.
        learning_rate: After the warm-up, in [1e-4, 0.1].
        seed: Seed of weights and sequences, in [0, 2**32 - 1].

    Raises:
        TypeError: An argument of the wrong type, or one that is unknown.
        ValueError: A number outside its range.
    """

    files = "reverse_trainer"
    remembers = ("positions", "scaled", "num_heads", "learning_rate", "seed")

    positions = Flag(True)
    scaled = Flag(True)
    num_heads = Integer(1, low=1, high=4)
    learning_rate = Number(1e-3, low=1e-4, high=0.1)
    seed = Integer(0, low=0, high=2**32 - 1)

    def _offered(self) -> dict[str, dict[str, Any]]:
        return {"num_heads": {"options": list(HEADS)}}

    @traitlets.validate("num_heads")
    def _check_heads(self, proposal: Any) -> int:
        if proposal["value"] not in HEADS:
            raise ValueError(
                f"num_heads must be one of {HEADS}, got {proposal['value']}"
            )
        return proposal["value"]
