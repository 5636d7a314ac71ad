"""Proofs that two pieces of code compute the same; verdicts on answers."""

import html
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

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
        second: Another one.
        inputs: Floating-point tensors.
        tolerance: Largest allowed difference.
        options: Passed on to both, unchanged.

    Returns:
        The largest difference found.

    Raises:
        AssertionError: Shapes differ, or a number does by more than
            `tolerance`, or one of the two is not finite or no tensor.

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
    if not _is_tensor(output):
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
    require.integer("seed", seed)
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
        AssertionError: It is not, with the mask named.

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


@dataclass(frozen=True)
class Verdict:
    """What a check says about an answer.

    Attributes:
        right: Whether the answer is right.
        message: Why, in a sentence or two.
    """

    right: bool
    message: str

    def __bool__(self) -> bool:
        return self.right

    def __repr__(self) -> str:
        return f"{'Right' if self.right else 'Not yet'}: {self.message}"

    def _repr_html_(self) -> str:
        # A paragraph wraps where plain text runs out of its box.
        start, message = repr(self).split(": ", 1)
        return f"<p><strong>{start}:</strong> {html.escape(message)}</p>"

    def must_be_right(self) -> "Verdict":
        """Return itself, or stop: for the solutions in the book."""
        if not self.right:
            raise AssertionError(self.message)
        return self


def judge_number(
    answer: object,
    right: float,
    why: str,
    wrong: dict[float, str],
    *,
    tolerance: float = 0.01,
) -> Verdict:
    """Judge a predicted number; name the thought behind a wrong one.

    Args:
        answer: What the reader says.
        right: The right number.
        why: What to say about it.
        wrong: Other numbers, and the thought that leads to each.
        tolerance: Relative distance that counts as equal; 0 for counts.

    >>> judge_number(4, right=16, why="4 * 4", wrong={4: "that is the root."})
    Not yet: that is the root.
    """
    if answer is None:
        return Verdict(False, "write your prediction into the cell first.")
    if isinstance(answer, bool) or not isinstance(answer, int | float):
        return Verdict(False, f"a number is asked for, not {answer!r}.")
    messages = {right: why, **wrong}
    nearest = min(messages, key=lambda value: abs(value - answer))
    if math.isclose(answer, nearest, rel_tol=tolerance):
        return Verdict(nearest == right, messages[nearest])
    return Verdict(False, f"{answer} is not it.")


def judge_function(
    candidate: Callable,
    right: Callable,
    wrong: dict[str, Callable],
    cases: dict[str, tuple],
) -> Verdict:
    """Judge a function by what it computes; name a wrong one's thought.

    Args:
        candidate: The reader's function. It gets copies of the inputs; what
            it raises is reported, and the random state stays as it was.
        right: A right function.
        wrong: A message for each mistake that has been foreseen, and a
            function that makes it.
        cases: Name -> inputs.
    """
    answers = []
    for case, inputs in cases.items():
        copies = [x.clone() if _is_tensor(x) else x for x in inputs]
        try:
            with torch.random.fork_rng(devices=[]):
                found = candidate(*copies)
        except Exception as error:
            return Verdict(
                False,
                f"{case}: your function stopped with "
                f"{type(error).__name__}: {error}",
            )
        expected = right(*inputs)
        if not _is_tensor(found):
            return Verdict(
                False,
                f"{case}: your function returned "
                f"{type(found).__name__}, a tensor is asked for.",
            )
        if any(
            not torch.equal(a, b)
            for a, b in zip(copies, inputs, strict=True)
            if _is_tensor(a)
        ):
            return Verdict(False, f"{case}: your function changed its input.")
        answers.append((found, inputs))
        if _close(found, expected):
            continue
        # Two mistakes may look alike in one case: all so far have to fit.
        for message, mistake in wrong.items():
            if all(_close(f, mistake(*given)) for f, given in answers):
                return Verdict(False, f"{case}: {message}")
        return Verdict(False, f"{case}: {_difference(found, expected)}")
    return Verdict(True, f"it passes all of {', '.join(cases)}.")


def _is_tensor(value: object) -> bool:
    return isinstance(value, Tensor)


def _close(found: Tensor, expected: Tensor) -> bool:
    return found.shape == expected.shape and torch.allclose(
        found.to(expected), expected, atol=1e-6
    )


def _difference(found: Tensor, expected: Tensor) -> str:
    if found.shape != expected.shape:
        return (
            f"the shape is {tuple(found.shape)}, "
            f"it should be {tuple(expected.shape)}."
        )
    if not found.isfinite().all():
        return "some numbers are not finite. Which row could cause that?"
    worst = (found.to(expected) - expected).abs().max().item()
    return f"the shape is right, but a number is off by {worst:.3g}."
