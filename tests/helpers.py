"""What several test modules share."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import jaxtyping
import pytest
import torch
from hypothesis import settings
from torch import Tensor

# The tensors of the tests are tiny: a second thread costs more than it gives.
torch.set_num_threads(1)

# The same examples on every run.
PROPERTY = settings(max_examples=25, deadline=None, derandomize=True)


@contextmanager
def refuses(error: type[Exception], message: str) -> Iterator[None]:
    """Expect the library's own error, with `message` in its text.

    The checks of `typechecked` would come first, and readers do not have
    them: they are off in here.
    """
    jaxtyping.config.update("jaxtyping_disable", True)
    try:
        with pytest.raises(error, match=re.escape(message)):
            yield
    finally:
        jaxtyping.config.update("jaxtyping_disable", False)


def draw(*shape: int, seed: int = 0) -> Tensor:
    """Draw numbers in double precision."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=torch.float64)


def gradients(
    function: Callable[..., Tensor], *inputs: Tensor
) -> tuple[Tensor, ...]:
    """Return the output and its gradients for a random upstream."""
    leaves = [x.detach().clone().requires_grad_() for x in inputs]
    out = function(*leaves)
    upstream = draw(*out.shape, seed=99).to(out)
    return out.detach(), *torch.autograd.grad(out, leaves, upstream)


def assert_all_close(
    found: tuple[Tensor, ...],
    expected: tuple[Tensor, ...],
    tolerance: float = 1e-12,
) -> None:
    """Compare pairs of tensors; shapes and dtypes count."""
    for a, b in zip(found, expected, strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=tolerance)
