"""Proofs that two pieces of code compute the same."""

from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from vitedu import require
from vitedu.attention import scaled_dot_product_attention
from vitedu.masks import causal_mask

# Prime and pairwise different, so that no axis passes for another.
BATCH, HEADS, QUERY, KEY, HEAD_DIM = 2, 3, 5, 7, 11


def same(
    first: Callable[..., Tensor],
    second: Callable[..., Tensor],
    *inputs: Tensor,
    tolerance: float = 1e-10,
    **options,
) -> float:
    """Prove that two functions agree in outputs and gradients.

    Both get the same inputs in double precision. The gradients are those of a
    random weighting of the output, with respect to every input.

    Args:
        first: A function of `inputs`.
        second: Another function of `inputs`.
        inputs: Floating-point tensors.
        tolerance: Largest allowed difference.
        options: Passed on to both, unchanged.

    Returns:
        The largest difference found.

    Raises:
        AssertionError: Shapes differ, or numbers differ by more than
            `tolerance`, or one of the two outputs is not finite or is not a
            tensor.

    >>> x = torch.tensor([0.5, 2.0])
    >>> same(lambda x: x * x, lambda x: x**2, x)
    0.0
    >>> same(lambda x: x * x, lambda x: 2 * x, x)
    Traceback (most recent call last):
    AssertionError: output: differs by 0.75, more than 1e-10
    """
    outputs, gradients = zip(
        *(_run(f, inputs, options) for f in (first, second)), strict=True
    )
    largest = 0.0
    names = ["output", *(f"gradient {i}" for i in range(len(inputs)))]
    pairs = zip(
        names,
        (outputs[0], *gradients[0]),
        (outputs[1], *gradients[1]),
        strict=True,
    )
    for name, a, b in pairs:
        if a.shape != b.shape:
            raise AssertionError(
                f"{name}: shapes differ, {tuple(a.shape)} and {tuple(b.shape)}"
            )
        difference = (a - b).abs().max().item()
        if not difference <= tolerance:
            raise AssertionError(
                f"{name}: differs by {difference:.3g}, more than "
                f"{tolerance:.3g}"
            )
        largest = max(largest, difference)
    return largest


def _run(
    function: Callable[..., Tensor], inputs: tuple[Tensor, ...], options: dict
) -> tuple[Tensor, tuple[Tensor, ...]]:
    leaves = [x.detach().double().requires_grad_() for x in inputs]
    output = function(*leaves, **options)
    if not isinstance(output, Tensor):
        raise AssertionError(
            f"output: a tensor is asked for, got {type(output).__name__}"
        )
    generator = torch.Generator().manual_seed(0)
    upstream = torch.randn(
        output.shape, generator=generator, dtype=output.dtype
    )
    # An output without a history has the gradient zero everywhere.
    gradients = (
        torch.autograd.grad(output, leaves, upstream, allow_unused=True)
        if output.requires_grad
        else [None] * len(leaves)
    )
    return output.detach(), tuple(
        torch.zeros_like(x) if g is None else g
        for x, g in zip(leaves, gradients, strict=True)
    )


def attention_inputs(*, seed: int = 0) -> tuple[Tensor, Tensor, Tensor]:
    """Draw q, k, v with pairwise different prime sizes.

    >>> [tuple(x.shape) for x in attention_inputs()]
    [(2, 3, 5, 11), (2, 3, 7, 11), (2, 3, 7, 11)]
    """
    require.seed("seed", seed)
    generator = torch.Generator().manual_seed(seed)

    def draw(length: int) -> Tensor:
        shape = (BATCH, HEADS, length, HEAD_DIM)
        return torch.randn(shape, generator=generator, dtype=torch.float64)

    return draw(QUERY), draw(KEY), draw(KEY)


def attention_masks() -> Iterator[tuple[str, Tensor | None]]:
    """Yield the four masks that a proof of attention has to pass.

    >>> [name for name, _ in attention_masks()]
    ['none', 'causal', 'padding', 'dead row']
    """
    yield "none", None
    yield "causal", causal_mask(KEY)[:, :, -QUERY:]
    padding = torch.arange(KEY) < torch.tensor([[KEY], [KEY - 3]])
    yield "padding", padding[:, None, None, :]
    dead_row = torch.ones(1, 1, QUERY, KEY, dtype=torch.bool)
    dead_row[:, :, 1] = False
    yield "dead row", dead_row


def same_attention(candidate: Callable[..., Tensor]) -> dict[str, float]:
    """Prove that ``candidate(q, k, v, mask)`` is the library's attention.

    Returns:
        The largest difference for each mask: none, causal, padding, dead row.

    Raises:
        AssertionError: The two differ; the message names the mask.

    >>> max(same_attention(scaled_dot_product_attention).values())
    0.0
    >>> same_attention(lambda q, k, v, mask: (q @ k.mT).softmax(-1) @ v)
    Traceback (most recent call last):
    AssertionError: mask none: output: differs by 1.75, more than 1e-10
    """
    found = {}
    for name, mask in attention_masks():
        try:
            found[name] = same(
                candidate,
                scaled_dot_product_attention,
                *attention_inputs(),
                mask=mask,
            )
        except AssertionError as error:
            raise AssertionError(f"mask {name}: {error}") from None
    return found
