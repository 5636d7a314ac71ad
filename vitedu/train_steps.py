"""The steps of one process in an epoch of training."""

from contextlib import nullcontext

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from vitedu.processes import (
    number_of_processes,
    once_for_all,
    share_of_batches,
    sum_over_processes,
)
from vitedu.train_state import TrainState

_INTEGERS = torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64
_NO_CLASS = -100  # what PyTorch's cross-entropy leaves out by itself


class Trainer:
    """Take the steps of this process.

    Args:
        state: What changes.
        model: Computes as the model of the state does, and averages gradients
            over processes.
    """

    def __init__(self, state: TrainState, model: nn.Module) -> None:
        self.state, self.config = state, state.config
        pad_id = state.config.pad_id
        self.ignored = _NO_CLASS if pad_id is None else pad_id
        self.model = model
        self.loader = share_of_batches(state.loader)

    def epoch(self) -> None:
        """Take one pass over the data; enter its loss and its rate."""
        # Evaluation has drawn from the generators of the first process alone.
        randomness = self.state.randomness
        randomness.set_states(once_for_all(randomness.states))
        self.model.train()
        loss, count, steps = 0.0, 0, 0
        for batch in self.loader:
            steps += 1
            self._check_steps(steps > self.state.num_batches, "more")
            *inputs, targets = checked_batch(batch, self.state.device)
            step_loss, step_count = self._step(inputs, targets)
            loss += step_loss
            count += step_count
        self._check_steps(steps < self.state.num_batches, steps)
        history, device = self.state.history, self.state.device
        history.loss.append(
            sum_over_processes(loss, device)
            / sum_over_processes(count, device)
        )
        history.learning_rate.append(self.learning_rate)

    def _check_steps(self, other: bool, found: int | str) -> None:
        if other:
            raise ValueError(
                "loader must yield as many batches as its length says, "
                f"{self.state.num_batches}, got {found}"
            )

    def _step(
        self, inputs: list[Tensor], targets: Tensor
    ) -> tuple[float, int]:
        """Return the summed loss of this process and what it counted."""
        state = self.state
        state.optimizer.zero_grad()
        count = (targets != self.ignored).sum().item()
        whole = self._count_of_all(count)
        num_parts = min(self.config.accumulation, len(targets))
        parts = [x.tensor_split(num_parts) for x in (*inputs, targets)]
        loss = 0.0
        for i, part in enumerate(zip(*parts, strict=True)):
            with self._exchange(last=i + 1 == num_parts):
                loss += self._add_gradients(part, whole)
        nn.utils.clip_grad_norm_(
            state.model.parameters(), self.config.max_grad_norm
        )
        state.optimizer.step()
        self.learning_rate = state.scheduler.get_last_lr()[0]
        state.scheduler.step()
        return loss, count

    def _add_gradients(self, part: tuple[Tensor, ...], whole: float) -> float:
        """Add those of the summed loss / `whole`; return the summed loss."""
        *inputs, targets = part
        half = self.config.precision == "bfloat16"
        kind = self.state.device.type
        with torch.autocast(kind, torch.bfloat16, enabled=half):
            logits = self.model(*inputs)
        check_logits(logits, targets)
        counted = targets[targets != self.ignored]
        count = len(counted)
        check_classes(counted, logits.shape[-1])
        loss = F.cross_entropy(
            (logits.float() if half else logits).flatten(0, -2),
            targets.flatten(),
            ignore_index=self.ignored,
            label_smoothing=self.config.label_smoothing,
            # The mean over no place at all would be no number.
            reduction="mean" if count else "sum",
        )
        # Processes average their gradients; what is wanted is the sum.
        (loss * (count * number_of_processes() / whole)).backward()
        return loss.item() * count

    def _count_of_all(self, count: int) -> float:
        found = sum_over_processes(count, self.state.device)
        if found == 0:
            raise ValueError(
                "targets must hold a place that counts in each batch, got "
                f"{self.ignored} alone"
            )
        return found

    def _exchange(self, last: bool):
        """Let processes add up gradients after their last parts alone."""
        if last or number_of_processes() == 1:
            return nullcontext()
        return self.model.no_sync()


def checked_batch(batch: object, device: torch.device | None) -> list[Tensor]:
    """Return the inputs and the targets of a batch, on a device.

    Args:
        batch: What a loader has yielded.
        device: Where to; None leaves them where they are.

    Raises:
        TypeError: It is no tuple ``(*inputs, targets)`` of tensors, or the
            targets are no integers.
    """
    found = type(batch).__name__
    parts = batch if isinstance(batch, tuple | list) else []
    if parts:
        found += f" of {', '.join(type(x).__name__ for x in parts)}"
    if len(parts) < 2 or not all(isinstance(x, Tensor) for x in parts):
        raise TypeError(
            "loader must yield tuples (*inputs, targets) of tensors, "
            f"got {found}"
        )
    *inputs, targets = (x.to(device=device) for x in parts)
    if targets.ndim == 0 or targets.dtype not in _INTEGERS:
        raise TypeError(
            "targets must be integers, one for each sample, got "
            f"{targets.dtype} of shape {tuple(targets.shape)}"
        )
    return [*inputs, targets.long()]


def check_classes(targets: Tensor, num_classes: int) -> None:
    """Require numbers of classes.

    Raises:
        ValueError: One is below 0, or not below `num_classes`.
    """
    if targets.numel() and not (
        0 <= targets.min() <= targets.max() < num_classes
    ):
        raise ValueError(
            f"targets must be class numbers from 0 to {num_classes - 1}, got "
            f"{targets.min().item()} to {targets.max().item()}"
        )


def check_logits(logits: object, targets: Tensor) -> None:
    """Require one tensor of logits, with the axes of the targets.

    Raises:
        TypeError: A model returned something else.
        ValueError: It returned other axes.
    """
    if not isinstance(logits, Tensor):
        raise TypeError(
            "model must return one tensor of logits, got "
            f"{type(logits).__name__}; the two outputs of a distilled ViT "
            "need a loop of their own"
        )
    if logits.ndim == 0 or logits.shape[:-1] != targets.shape:
        raise ValueError(
            "targets must have the axes of the logits but the last, "
            f"{tuple(logits.shape[:-1])}, got {tuple(targets.shape)}"
        )
