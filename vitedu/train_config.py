"""How a model is trained: the numbers of a recipe."""

from dataclasses import dataclass
from typing import Literal, Self

from vitedu import require


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """How a model is trained: AdamW with a one-cycle learning rate.

    Attributes:
        num_epochs: Passes over the training data.
        learning_rate: The highest rate, reached after the warm-up.
        warmup: Share of the steps in which the rate rises, in (0, 1).
        weight_decay: Decoupled decay of the weights of linear maps and
            convolutions; see `decay_all`.
        label_smoothing: Share of the target spread over all classes, in
            [0, 1).
        max_grad_norm: Longer gradients are shortened to this length.
        pad_id: Places with this target are padding and do not count; None
            means that all count.
        accumulation: Micro-batches into which each batch is cut, in each
            process. Gradients, steps and losses stay those of the whole
            batch, up to rounding and to what is drawn at random; the memory
            for activations is that of one part.
        precision: Type of number in which outputs are computed, by
            `torch.autocast`: "float32" or "bfloat16". Weights, gradients,
            the optimiser and the loss stay in the dtype of the weights.
        decay_all: Let every parameter decay. If not, these are spared:
            biases and norms, that is, all with fewer than two axes; learned
            tokens and positions, known by their names; tables of embeddings,
            also where they serve as the output map.

    Raises:
        TypeError: A field has the wrong type.
        ValueError: A field is outside its range.

    Source: Loshchilov & Hutter 2019 (AdamW); Smith & Topin 2018 (one cycle).
    Deviates: AdamW's paper decays every parameter, which `decay_all` does;
        what is spared without it is what timm spares, and the embeddings
        besides, as in the code of ViT's authors (big_vision). The schedule
        is PyTorch's `OneCycleLR`: half a wave of a cosine each way, from
        1/25 of the highest rate and down to 1/10,000 of that; while the rate
        rises, beta1 of AdamW falls from 0.95 to 0.85, and it rises again
        while the rate falls. ViT's authors warm up on a straight line
        and leave beta1 alone.
    Derived in: 14-training-a-vit
    """

    num_epochs: int
    learning_rate: float = 1e-3
    warmup: float = 0.2
    weight_decay: float = 0.05
    label_smoothing: float = 0.0
    max_grad_norm: float = 1.0
    pad_id: int | None = None
    accumulation: int = 1
    precision: Literal["float32", "bfloat16"] = "float32"
    decay_all: bool = False

    def __post_init__(self) -> None:
        require.positive_int("num_epochs", self.num_epochs)
        require.number("learning_rate", self.learning_rate, above=0)
        require.number("warmup", self.warmup, above=0, below=1)
        require.number("weight_decay", self.weight_decay, at_least=0)
        require.rate("label_smoothing", self.label_smoothing)
        require.number("max_grad_norm", self.max_grad_norm, above=0)
        if self.pad_id is not None:
            require.integer("pad_id", self.pad_id, at_least=0)
        require.positive_int("accumulation", self.accumulation)
        require.choice("precision", self.precision, ("float32", "bfloat16"))
        require.boolean("decay_all", self.decay_all)

    @classmethod
    def digits(cls, **changes) -> Self:
        """The recipe of chapter 14; chosen on validation images only.

        Every parameter decays: the stored results were computed so.
        """
        recipe = {
            "num_epochs": 28,
            "learning_rate": 4e-3,
            "weight_decay": 0.2,
            "label_smoothing": 0.05,
            "decay_all": True,
        }
        return cls(**(recipe | changes))

    @classmethod
    def numerals(cls, **changes) -> Self:
        """The recipe of chapter 9, for batches of 64 of 5,000 pairs.

        Every parameter decays: the stored results were computed so.
        """
        recipe = {
            "num_epochs": 20,
            "learning_rate": 3e-3,
            "warmup": 0.1,
            "weight_decay": 0.01,
            "pad_id": 0,
            "decay_all": True,
        }
        return cls(**(recipe | changes))
