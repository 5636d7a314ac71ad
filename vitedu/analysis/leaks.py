"""The leak meter: which inputs reach which outputs, and which should not.

An input token is changed, the function runs again, and the change of each
output is measured. In a causal model no output before the token may change,
and padding may not change the output of any real token.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Shaped
from torch import Tensor, nn

from vitedu import require


def leaks(
    function: Callable[[Tensor], Tensor],
    inputs: Shaped[Tensor, "batch length *features"],
    *,
    alternatives: Sequence[int] | None = None,
    model: nn.Module | None = None,
    training: bool | None = None,
    noise: float = 1.0,
    seed: int = 0,
) -> Float[Tensor, "perturbed output"]:
    """Report how much each output changes when one input token does.

    The token is changed in all sequences of the batch at once. Every run
    starts from the same random state, so that dropout falls on the same
    positions. Modes, buffers and the random state are put back afterwards.

    Args:
        function: Turns `inputs` into (batch, output, ...): a module, a method
            of one, or any other function.
        inputs: Tokens (batch, length, d_model), or ids (batch, length).
        alternatives: For ids: what replaces each one in turn;
            ``range(vocab_size)`` tries every id.
        model: The module that `function` runs, if `function` is neither a
            module nor a method of one. The state of a module that is not given
            here is not restored.
        training: Mode to measure in; None means the mode the model is in.
        noise: For tokens: standard deviation of what is added to each one,
            and then subtracted from it.
        seed: Seed of the noise, and of the random state in every run.

    Returns:
        Entry [i, j]: the largest absolute change at output j when input i
        changes. Exactly 0 means that output j does not depend on input i.

    Raises:
        TypeError: Arguments of the wrong type, outputs that are not floats.
        ValueError: Wrong axes, a token that nothing changes, a mode without
            a model, outputs that are NaN or differ between two equal runs.

    Derived in: 04-masking

    >>> running_sum = lambda tokens: tokens.cumsum(dim=1)
    >>> leaks(running_sum, torch.zeros(1, 3, 2)) > 0
    tensor([[ True,  True,  True],
            [False,  True,  True],
            [False, False,  True]])
    """
    meter = _Meter(function, alternatives, model, training, noise, seed)
    positions = torch.arange(_length(inputs), device=inputs.device)
    rows = meter.changes(inputs, [(positions == i)[None] for i in positions])
    return torch.stack([row.amax(dim=0) for row in rows])


def future_leak(changes: Float[Tensor, "perturbed output"]) -> float:
    """Return the largest change of an output before the changed input.

    Args:
        changes: What `leaks` returned, as many outputs as inputs.

    Returns:
        0 for a causal function.

    Raises:
        TypeError, ValueError: `changes` is not a square matrix of numbers.
    """
    require.floating("changes", changes)
    require.rank("changes", changes, "perturbed output")
    if changes.shape[0] != changes.shape[1] or not changes.numel():
        raise ValueError(
            "changes must have as many outputs as inputs, at least one, "
            f"got shape {tuple(changes.shape)}"
        )
    return changes.tril(-1).max().item()


def padding_leak(
    function: Callable[[Tensor], Tensor],
    inputs: Shaped[Tensor, "batch length *features"],
    real: Bool[Tensor, "batch length"],
    *,
    counted: Bool[Tensor, "batch output"] | None = None,
    alternatives: Sequence[int] | None = None,
    model: nn.Module | None = None,
    training: bool | None = None,
    noise: float = 1.0,
    seed: int = 0,
) -> float:
    """Return the largest change of real outputs when the padding changes.

    All padded tokens change at once. Outputs at padded positions do change,
    but they do not count, because a loss has to leave them out.

    Args:
        function: As for `leaks`, with a mask that stays the same. A function
            that makes its mask from the ids would see a word there now.
        inputs: Tokens (batch, length, d_model), or ids (batch, length).
        real: True where a token is real, as in a padding mask.
        counted: Which outputs count; None means those at real positions.
            Needed where the outputs belong to another sequence.
        alternatives: As for `leaks`; so are the arguments after it.

    Returns:
        0 if nothing real can see the padding.

    Raises:
        TypeError, ValueError: As for `leaks`, and masks that are not boolean,
            do not fit, or leave nothing to change or nothing to count.
    """
    meter = _Meter(function, alternatives, model, training, noise, seed)
    _length(inputs)
    _check_positions("real", real, inputs.shape[:2])
    if real.all():
        raise ValueError("real must mark some padding, got True everywhere")
    (change,) = meter.changes(inputs, [~real])
    counted = real if counted is None else counted
    _check_positions("counted", counted, change.shape)
    if not counted.any():
        raise ValueError("counted must hold an output, got False everywhere")
    return change[counted].max().item()


@dataclass(frozen=True)
class _Meter:
    """Runs a function on inputs and on changed inputs."""

    function: Callable[[Tensor], Tensor]
    alternatives: Sequence[int] | None
    model: nn.Module | None
    training: bool | None
    noise: float
    seed: int

    def __post_init__(self) -> None:
        require.function("function", self.function)
        require.instance("model", self.model, nn.Module, optional=True)
        require.number("noise", self.noise, above=0)
        require.seed("seed", self.seed)
        if self.training is not None:
            require.boolean("training", self.training)
            if self._module() is None:
                raise ValueError(
                    f"model must be given for training={self.training}"
                )

    def changes(self, inputs: Tensor, places: list[Tensor]) -> list[Tensor]:
        """Return the largest changes (batch, output) for each position."""
        variants = self._variants(inputs)
        before = self._run(inputs)
        if not torch.equal(before, self._run(inputs)):
            raise ValueError(
                "function must repeat its outputs, but two equal runs differ"
            )
        found = []
        for place in places:
            place = place.view(*place.shape, *[1] * (inputs.ndim - 2))
            after = [
                self._run(torch.where(place, other, inputs))
                for other in variants
            ]
            found.append(_largest_change(before, after))
        return found

    def _variants(self, inputs: Tensor) -> list[Tensor]:
        """Return inputs with different tokens everywhere."""
        if not inputs.is_floating_point():
            ids = self._ids()
            return [torch.full_like(inputs, other) for other in ids]
        if self.alternatives is not None:
            raise TypeError(
                f"alternatives are for ids, got inputs of {inputs.dtype}"
            )
        generator = torch.Generator().manual_seed(self.seed)
        shift = self.noise * torch.randn(inputs.shape, generator=generator)
        variants = [inputs + shift.to(inputs), inputs - shift.to(inputs)]
        if any((other == inputs).any() for other in variants):
            raise ValueError(
                f"noise must change every number of inputs, got {self.noise}"
            )
        return variants

    def _ids(self) -> list[int]:
        if self.alternatives is None:
            raise ValueError("alternatives must be given for ids, got None")
        require.instance("alternatives", self.alternatives, Sequence)
        ids = list(self.alternatives)
        for i, other in enumerate(ids):
            require.integer(f"alternatives[{i}]", other)
        if len(set(ids)) < 2:
            raise ValueError(
                f"alternatives must hold two different ids, got {ids}"
            )
        return ids

    def _run(self, inputs: Tensor) -> Tensor:
        with (
            torch.no_grad(),
            torch.random.fork_rng(),
            _put_back(self._module(), self.training),
        ):
            torch.manual_seed(self.seed)
            outputs = self.function(inputs.clone())
        require.floating("outputs", outputs)
        if outputs.ndim < 2 or len(outputs) != len(inputs):
            raise ValueError(
                f"outputs must be (batch, output, ...) with {len(inputs)} "
                f"sequences, got shape {tuple(outputs.shape)}"
            )
        if outputs.isnan().any():
            raise ValueError("outputs must be numbers, got NaN")
        return outputs.reshape(*outputs.shape[:2], -1).clone()

    def _module(self) -> nn.Module | None:
        owner = getattr(self.function, "__self__", self.function)
        if self.model is None and isinstance(owner, nn.Module):
            return owner
        return self.model


@contextmanager
def _put_back(
    model: nn.Module | None, training: bool | None
) -> Iterator[None]:
    """Work on copies of the buffers, in the given mode."""
    modules = [] if model is None else list(model.modules())
    modes = [module.training for module in modules]
    buffers = [module._buffers for module in modules]
    try:
        if training is not None:
            model.train(training)
        # One copy of all of them: a shared buffer stays shared.
        for module, copy in zip(modules, deepcopy(buffers), strict=True):
            module._buffers = copy
        yield
    finally:
        for module, mode, own in zip(modules, modes, buffers, strict=True):
            module.training = mode
            module._buffers = own


def _largest_change(before: Tensor, after: list[Tensor]) -> Tensor:
    """Return the largest change (batch, output) over runs and features."""
    for outputs in after:
        if outputs.shape != before.shape:
            raise ValueError(
                f"outputs must keep their shape {tuple(before.shape)}, "
                f"got {tuple(outputs.shape)}"
            )
    # Equal infinities (hidden logits) have not changed; their difference
    # would be NaN.
    changes = [
        (x - before).abs().where(x != before, torch.zeros_like(x))
        for x in after
    ]
    return torch.stack(changes).amax(dim=(0, 3))


def _length(inputs: Tensor) -> int:
    if not isinstance(inputs, Tensor):
        raise TypeError(
            f"inputs must be a tensor, got {type(inputs).__name__}"
        )
    if inputs.dtype == torch.bool or inputs.is_complex():
        raise TypeError(
            f"inputs must hold ids or real numbers, got {inputs.dtype}"
        )
    if inputs.ndim < 2 or not inputs.numel():
        raise ValueError(
            "inputs must be (batch, length, ...) with at least one token, "
            f"got shape {tuple(inputs.shape)}"
        )
    return inputs.shape[1]


def _check_positions(name: str, where: Tensor, shape: Sequence[int]) -> None:
    require.rank(name, where, "batch position")
    if where.dtype != torch.bool:
        raise TypeError(f"{name} must be boolean, got dtype {where.dtype}")
    if where.shape != torch.Size(shape):
        raise ValueError(
            f"{name} must be (batch, position) = {tuple(shape)}, "
            f"got {tuple(where.shape)}"
        )
