"""Train a model: one loop, a history, checkpoints that resume exactly."""

import math
from collections.abc import Callable
from contextlib import nullcontext
from itertools import islice
from pathlib import Path

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.utils.data import DataLoader
from tqdm.auto import tqdm

from vitedu import require
from vitedu.atomic_files import check_free
from vitedu.config import TrainConfig
from vitedu.training.distributed import (
    get_rank,
    get_world_size,
    once_for_all,
    replicated,
    share_of_batches,
    sum_over_processes,
)
from vitedu.training.evaluation import (
    check_classes,
    check_logits,
    check_probabilities,
    checked_batch,
    predictions,
)
from vitedu.training.state import History, Part, TrainState

__all__ = ["History", "accuracy", "fit"]

_NO_CLASS = -100  # what PyTorch's cross-entropy leaves out by itself


def fit(
    model: nn.Module,
    loader: DataLoader,
    config: TrainConfig,
    *,
    evaluate: Callable[[nn.Module], dict[str, float]] | None = None,
    checkpoint: Path | str | None = None,
    checkpoint_every: int | None = None,
    keep_best: bool = False,
    progress: bool | Callable[[History], None] = False,
) -> History:
    """Train `model` on `loader` by cross-entropy, in place.

    At the end the model is in evaluation mode.

    Where ``torch.distributed`` is initialised, all its processes train one
    model, each on its share of every batch; every one of them calls `fit`
    with the same arguments. Losses and gradients are those of the whole
    batch, so the number of processes changes nothing but rounding and what is
    random within a share: dropout and augmentation.

    Args:
        model: Maps one or more inputs to logits, (batch, class) or, with a
            prediction at each step, (batch, step, class). Two outputs
            (distillation) need another loop.
        loader: Has a length and yields ``(*inputs, targets)``, such as
            (images, labels) or (src, tgt_input, tgt_labels); targets are
            class numbers, with all axes of the logits except the last, or the
            probability of each class, with all axes of the logits.
        config: Optimiser, schedule, epochs.
        evaluate: Called after each epoch with the model in evaluation mode
            and without gradients; its numbers enter the history. If there are
            several processes, the first calls it for all.
        checkpoint: File that holds the state after each epoch. If it exists,
            training resumes from it, exactly: model, optimiser, schedule,
            history and generators continue as if never interrupted. The
            generators are those of PyTorch, `random` and NumPy, and each
            `torch.Generator` that the loader, its samplers or its data hold
            as an attribute; worker processes start afresh in each epoch,
            seeded from these. Persistent workers are refused. So is a
            different run, recognised by `config`, the `config` of the model,
            names, shapes and dtypes of its weights, the seeds of these
            generators, and the numbers of samples and batches. Nothing else is
            compared: not the data themselves, nor a part that was replaced by
            hand. Anything that draws from other generators does not resume
            exactly. What `evaluate` remembers is not saved. The first process
            reads and writes for all; a different number of processes may
            resume, but not within an epoch. A run that is given more epochs
            than its checkpoint also resumes, finished or not: from then on its
            learning rates are those of the longer cycle.
        checkpoint_every: Steps from one write to the next within an epoch;
            None writes only at its end. To resume exactly, the data of the
            completed steps are drawn once more and discarded.
        keep_best: Whether the model ends with the weights of its best epoch:
            the one with the highest value of the first number that `evaluate`
            returns, the earliest if several are equal. A checkpoint holds
            these weights in addition to those of the last epoch.
        progress: True shows a bar. A function is called after each epoch,
            with the history so far, before the checkpoint is written; if there
            are several processes, the first calls it.

    Returns:
        Losses, learning rates and metrics by epoch.

    Raises:
        TypeError: An argument of the wrong type; a loader without a length.
            The model is then unchanged. Batches, targets, logits or a result
            of `evaluate` of the wrong type.
        ValueError: An empty loader; a model with nothing to train; a
            checkpoint of another run, truncated, or not a checkpoint at all, a
            folder for one; persistent workers. The model is then unchanged. No
            `evaluate` for `keep_best`, or no finite number from it; no
            `checkpoint` for `checkpoint_every`. Targets whose axes do not
            match the logits, or outside the classes, or that are not
            probabilities; a batch in which no target counts; more or fewer
            batches than the loader's length. With several processes: a batch
            with fewer samples, or without indices.
        OSError: The folder of `checkpoint` does not exist (then it is a
            FileNotFoundError), or nothing can be written there.
        FloatingPointError: The loss is no longer finite.

    Derived in: 09-transformer

    >>> from torch.utils.data import TensorDataset
    >>> data = TensorDataset(torch.eye(4), torch.arange(4))
    >>> config = TrainConfig(num_epochs=20, learning_rate=0.1)
    >>> history = fit(nn.Linear(4, 4), DataLoader(data, batch_size=2), config)
    >>> history.num_epochs, history.loss[-1] < history.loss[0]
    (20, True)
    """
    require.instance("model", model, nn.Module)
    require.instance("loader", loader, DataLoader)
    require.instance("config", config, TrainConfig)
    if not isinstance(progress, bool):
        require.function("progress", progress)
    require.function("evaluate", evaluate, optional=True)
    path = require.path("checkpoint", checkpoint, optional=True)
    if path is not None:
        check_free("checkpoint", path)
    require.boolean("keep_best", keep_best)
    if keep_best and evaluate is None:
        raise ValueError("evaluate must be given for keep_best, got None")
    if checkpoint_every is not None:
        require.positive_int("checkpoint_every", checkpoint_every)
        if path is None:
            raise ValueError(
                "checkpoint must be given for checkpoint_every, got None"
            )
    state = TrainState(model, loader, config, keep_best=keep_best)
    if path is not None:
        state.resume(path)
    history = state.history
    with replicated(model) as replica:
        trainer = _Trainer(state, replica)
        epochs = range(history.num_epochs, config.num_epochs)
        hidden = progress is not True or get_rank() > 0
        bar = tqdm(epochs, desc="epoch", disable=hidden)
        for _ in bar:
            trainer.epoch(path, checkpoint_every)
            bar.set_postfix(loss=f"{history.loss[-1]:.3f}")
            for name, value in once_for_all(
                lambda: _evaluated(model, evaluate)
            ).items():
                history.metrics.setdefault(name, []).append(value)
            if keep_best:
                state.keep_if_best()
            once_for_all(lambda: _report(progress, history))
            if path is not None:
                state.save(path)
    if state.best is not None:
        model.load_state_dict(state.best)
    model.eval()
    return history


def accuracy(
    model: nn.Module,
    inputs: Float[Tensor, "sample ..."],
    targets: Int[Tensor, " sample"],
    *,
    batch_size: int = 512,
) -> float:
    """Return the fraction of samples whose largest logit is the correct class.

    The model is put into evaluation mode and stays in it.

    Raises:
        TypeError: `batch_size` is not an integer.
        ValueError: No samples, a different number of targets, or a
            `batch_size` below 1; targets outside the classes; logits with axes
            other than (batch, class), or with NaN, so that none is the
            largest.
    """
    require.instance("model", model, nn.Module)
    require.floating("inputs", inputs)
    require.rank("targets", targets, "sample")
    require.integers("targets", targets)
    require.positive_int("batch_size", batch_size)
    count = len(inputs) if inputs.ndim else 0
    if count == 0 or count != len(targets):
        raise ValueError(
            "inputs and targets must hold equally many samples, at least 1, "
            f"got {count} and {len(targets)}"
        )
    model.eval()
    batches = zip(
        inputs.split(batch_size), targets.split(batch_size), strict=True
    )
    return sum(
        (logits.argmax(dim=-1) == y).sum().item()
        for logits, y in predictions(model, batches)
    ) / len(targets)


def _evaluated(
    model: nn.Module, evaluate: Callable | None
) -> dict[str, float]:
    if evaluate is None:
        return {}
    model.eval()
    with torch.no_grad():
        found = evaluate(model)
    try:
        return {str(name): float(value) for name, value in found.items()}
    except (AttributeError, TypeError, ValueError, RuntimeError):
        raise TypeError(
            f"evaluate must return a dict of numbers, got {found!r}"
        ) from None


def _report(progress: bool | Callable, history: History) -> None:
    if not isinstance(progress, bool):
        progress(history)


class _Trainer:
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

    def epoch(self, path: Path | None, every: int | None) -> None:
        """Finish a pass over the data; enter its loss and its rate.

        Args:
            path: Where the state is written.
            every: After how many steps; None leaves writing to the caller.
        """
        state, part = self.state, self.state.part
        if part.steps == 0:
            # Evaluation has drawn from the generators of the first process.
            part.start = once_for_all(state.randomness.states)
        state.randomness.set_states(part.start)
        self.model.train()
        batches = iter(self.loader)
        if part.steps:
            for _ in islice(batches, part.steps):
                pass
            state.randomness.set_states(part.states)
        for batch in batches:
            part.steps += 1
            self._check_steps(part.steps > state.num_batches, "more")
            *inputs, targets = checked_batch(batch, state.device, mixed=True)
            loss, count = self._step(inputs, targets)
            part.loss += loss
            part.count += count
            if (
                every
                and part.steps % every == 0 < state.num_batches - part.steps
            ):
                self._mean_loss()
                state.save(path)
        self._check_steps(part.steps < state.num_batches, part.steps)
        state.history.loss.append(self._mean_loss())
        state.history.learning_rate.append(self.learning_rate)
        state.part = Part()

    def _mean_loss(self) -> float:
        """Return the loss of the epoch so far, which has to be finite."""
        part, device = self.state.part, self.state.device
        loss = sum_over_processes(part.loss, device)
        loss /= sum_over_processes(part.count, device)
        if not math.isfinite(loss):
            raise FloatingPointError(
                f"loss must stay finite, got {loss} in epoch "
                f"{self.state.history.num_epochs + 1}; try a lower "
                f"learning_rate than {self.config.learning_rate}"
            )
        return loss

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
        count = self._counting(targets).sum().item()
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
        self.learning_rate = max(state.scheduler.get_last_lr())
        state.scheduler.step()
        return loss, count

    def _add_gradients(self, part: tuple[Tensor, ...], whole: float) -> float:
        """Add gradients of summed loss / `whole`; return the summed loss."""
        *inputs, targets = part
        half = self.config.precision == "bfloat16"
        kind = self.state.device.type
        with torch.autocast(kind, torch.bfloat16, enabled=half):
            logits = self.model(*inputs)
        check_logits(logits, targets)
        logits = (logits.float() if half else logits).flatten(0, -2)
        counted = targets[self._counting(targets)]
        count = len(counted)
        if targets.is_floating_point():
            check_probabilities(targets)
            targets = targets.to(logits.dtype).flatten(0, -2)
        else:
            check_classes(counted, logits.shape[-1])
            targets = targets.flatten()
        loss = F.cross_entropy(
            logits,
            targets,
            ignore_index=self.ignored,
            label_smoothing=self.config.label_smoothing,
            # The mean over no place at all would not be a number.
            reduction="mean" if count else "sum",
        )
        # Processes average their gradients; what is wanted is the sum.
        (loss * (count * get_world_size() / whole)).backward()
        return loss.item() * count

    def _counting(self, targets: Tensor) -> Tensor:
        """Return which positions count: those that are not padding."""
        if not targets.is_floating_point():
            return targets != self.ignored
        if self.config.pad_id is not None:
            raise TypeError(
                "targets must be integers where the config has a pad_id, got "
                f"{targets.dtype}"
            )
        return torch.ones_like(targets[..., 0], dtype=torch.bool)

    def _count_of_all(self, count: int) -> float:
        found = sum_over_processes(count, self.state.device)
        if found == 0:
            raise ValueError(
                "targets must hold a place that counts in each batch, got "
                f"{self.ignored} alone"
            )
        return found

    def _exchange(self, last: bool):
        """Let processes add up gradients only after their last parts."""
        if last or get_world_size() == 1:
            return nullcontext()
        return self.model.no_sync()
