"""Train a model: one loop, a history, checkpoints that resume exactly."""

import math
from collections.abc import Callable
from pathlib import Path

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.utils.data import DataLoader
from tqdm.auto import tqdm

from vitedu import require
from vitedu.config import TrainConfig
from vitedu.evaluation import predictions
from vitedu.processes import once_for_all, own_rank, replicated
from vitedu.train_state import History, TrainState
from vitedu.train_steps import Trainer

__all__ = ["History", "accuracy", "fit"]


def fit(
    model: nn.Module,
    loader: DataLoader,
    config: TrainConfig,
    *,
    evaluate: Callable[[nn.Module], dict[str, float]] | None = None,
    checkpoint: Path | str | None = None,
    progress: bool | Callable[[History], None] = False,
) -> History:
    """Train `model` on `loader` by cross-entropy, in place.

    At the end the model is in evaluation mode.

    Where ``torch.distributed`` is initialised, all its processes train one
    model, each on its share of every batch; every one of them calls `fit`
    with the same arguments. Losses and gradients are those of the whole
    batch, so that the number of processes changes nothing but rounding, and
    what is drawn at random in a share: dropout, augmentation.

    Args:
        model: Maps one or more inputs to logits, (batch, class) or, with a
            prediction at each step, (batch, step, class). Two outputs
            (distillation) need another loop.
        loader: Has a length and yields ``(*inputs, targets)``, such as
            (images, labels) or (src, tgt_input, tgt_labels); targets are
            class numbers, with the axes of the logits but the last.
        config: Optimiser, schedule, epochs.
        evaluate: Called after each epoch with the model in evaluation mode
            and without gradients; its numbers enter the history. Of several
            processes the first calls it for all.
        checkpoint: File that holds the state after each epoch. If it exists,
            training resumes from it, exactly: model, optimiser, schedule,
            history and generators continue as if never interrupted. The
            generators are those of PyTorch, `random` and NumPy, and each
            `torch.Generator` that the loader, its samplers or its data hold
            as an attribute; worker processes begin anew in each epoch, with
            numbers drawn from these. Data that draw from anything else are
            refused, as are workers that live on. So is another run: another
            config, other sizes, rates and parts of the model, other data,
            batches or seeds. To know them by, one batch is read twice before
            training begins. What `evaluate` remembers is its own affair. The
            first process reads and writes for all; another number of
            processes may go on.
        progress: True shows a bar. A function is called after each epoch,
            with the history so far, before the checkpoint is written; of
            several processes the first calls it.

    Returns:
        Losses, learning rates and metrics by epoch.

    Raises:
        TypeError: An argument of another type; a loader without a length. The
            model is unchanged then. Batches, targets, logits or what
            `evaluate` returns of another type.
        ValueError: An empty loader; a warm-up of one step or less; a model
            without anything to train; a checkpoint of another run, truncated,
            or no checkpoint at all; a loader that none could bring back. The
            model is unchanged then. Targets of other axes than the logits, or
            outside the classes; a batch in which none counts; more or fewer
            batches than the loader's length. In several processes: a batch
            with fewer samples, or without indices.
        FileNotFoundError: The folder of `checkpoint` does not exist.
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
    if path is not None and not path.parent.is_dir():
        raise FileNotFoundError(
            f"checkpoint must lie in a folder that exists, got {path}"
        )
    state = TrainState(model, loader, config)
    if path is not None:
        state.resume(path)
    history = state.history
    with replicated(model) as replica:
        trainer = Trainer(state, replica)
        epochs = range(history.num_epochs, config.num_epochs)
        hidden = progress is not True or own_rank() > 0
        bar = tqdm(epochs, desc="epoch", disable=hidden)
        for _ in bar:
            trainer.epoch()
            loss = history.loss[-1]
            if not math.isfinite(loss):
                raise FloatingPointError(
                    f"loss must stay finite, got {loss} in epoch "
                    f"{history.num_epochs}; try a lower learning_rate than "
                    f"{config.learning_rate}"
                )
            bar.set_postfix(loss=f"{loss:.3f}")
            for name, value in once_for_all(
                lambda: _evaluated(model, evaluate)
            ).items():
                history.metrics.setdefault(name, []).append(value)
            once_for_all(lambda: _report(progress, history))
            if path is not None:
                once_for_all(lambda: state.save(path))
    model.eval()
    return history


def accuracy(
    model: nn.Module,
    inputs: Float[Tensor, "sample ..."],
    targets: Int[Tensor, " sample"],
    *,
    batch_size: int = 512,
) -> float:
    """Return the share of samples whose largest logit is the right class.

    The model is put into evaluation mode and stays in it.

    Raises:
        TypeError: `batch_size` is no integer.
        ValueError: No samples, another number of targets, or a `batch_size`
            below 1; targets outside the classes; logits of other axes than
            (batch, class), or without a number (nan), among which none is
            the largest.
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
