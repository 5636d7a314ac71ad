"""Train a model: one loop, a history, checkpoints that resume exactly."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.optim import AdamW
from torch.optim.lr_scheduler import OneCycleLR
from torch.utils.data import DataLoader
from tqdm.auto import tqdm

from vitedu import require
from vitedu.checkpoints import (
    check_same_weights,
    read_checkpoint,
    write_checkpoint,
)
from vitedu.config import TrainConfig

_NO_CLASS = -100  # what PyTorch's cross-entropy leaves out by itself


@dataclass
class History:
    """What a training run measured, one entry per epoch.

    Attributes:
        loss: Mean training loss of the epoch, over all places that count.
        learning_rate: Rate of the last step of the epoch.
        metrics: What `evaluate` returned after the epoch, name -> values.
    """

    loss: list[float] = field(default_factory=list)
    learning_rate: list[float] = field(default_factory=list)
    metrics: dict[str, list[float]] = field(default_factory=dict)

    @property
    def num_epochs(self) -> int:
        """Epochs done."""
        return len(self.loss)


class _Run:
    """Everything that changes while a model trains."""

    def __init__(
        self, model: nn.Module, loader: DataLoader, config: TrainConfig
    ) -> None:
        steps = config.num_epochs * len(loader)
        if steps * config.warmup <= 1:
            raise ValueError(
                "warmup must cover more than one step, got "
                f"{config.warmup} of {steps} steps"
            )
        self.model, self.loader, self.config = model, loader, config
        self.ignored = _NO_CLASS if config.pad_id is None else config.pad_id
        self.history = History()
        self.optimizer = AdamW(
            model.parameters(),
            lr=config.learning_rate,
            weight_decay=config.weight_decay,
            fused=True,
        )
        self.scheduler = OneCycleLR(
            self.optimizer,
            max_lr=config.learning_rate,
            total_steps=steps,
            pct_start=config.warmup,
        )

    def step(self, inputs: list[Tensor], targets: Tensor) -> float:
        logits = self.model(*inputs)
        if logits.shape[:-1] != targets.shape:
            raise ValueError(
                "targets must have the axes of the logits but the last, "
                f"{tuple(logits.shape[:-1])}, got {tuple(targets.shape)}"
            )
        loss = F.cross_entropy(
            logits.flatten(0, -2),
            targets.flatten(),
            ignore_index=self.ignored,
            label_smoothing=self.config.label_smoothing,
        )
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(
            self.model.parameters(), self.config.max_grad_norm
        )
        self.optimizer.step()
        self.learning_rate = self.scheduler.get_last_lr()[0]
        self.scheduler.step()
        return loss.item()

    def epoch(self) -> None:
        self.model.train()
        total, count = 0.0, 0
        for *inputs, targets in self.loader:
            counted = (targets != self.ignored).sum().item()
            total += self.step(inputs, targets) * counted
            count += counted
        self.history.loss.append(total / count)
        self.history.learning_rate.append(self.learning_rate)

    def save(self, path: Path) -> None:
        """Write model, optimiser, schedule, generators and history."""
        model = self.model.state_dict()
        tensors = {f"model.{name}": value for name, value in model.items()}
        optimizer = self.optimizer.state_dict()
        for index, state in optimizer["state"].items():
            for name, value in state.items():
                tensors[f"optimizer.{index}.{name}"] = value
        tensors["generator.global"] = torch.get_rng_state()
        if self.loader.generator is not None:
            tensors["generator.loader"] = self.loader.generator.get_state()
        schedule = self.scheduler.state_dict()
        plain = int | float | str | bool | list | None
        schedule = {k: v for k, v in schedule.items() if isinstance(v, plain)}
        facts = {
            "config": asdict(self.config),
            "groups": optimizer["param_groups"],
            "schedule": schedule,
            "history": asdict(self.history),
        }
        write_checkpoint(path, tensors, facts)

    def load(self, path: Path) -> None:
        """Go back to the moment of `save`; change nothing on an error."""
        tensors, facts = read_checkpoint(path)
        if facts.get("config") != asdict(self.config):
            raise ValueError(
                f"config must be the one of the checkpoint {path}, "
                f"{facts.get('config')}, got {asdict(self.config)}"
            )
        steps = facts["schedule"]["total_steps"]
        if steps != self.scheduler.total_steps:
            raise ValueError(
                f"loader must have the length of that of {path}: the run "
                f"has {steps} steps, got {self.scheduler.total_steps}"
            )
        if ("generator.loader" in tensors) != bool(self.loader.generator):
            raise ValueError(
                f"loader must have a generator if that of {path} had one, "
                f"got {self.loader.generator}"
            )
        model = _below("model.", tensors)
        check_same_weights(self.model.state_dict(), model, path)
        state: dict[int, dict[str, Tensor]] = {}
        for key, value in _below("optimizer.", tensors).items():
            index, name = key.split(".")
            state.setdefault(int(index), {})[name] = value
        self.model.load_state_dict(model)
        self.optimizer.load_state_dict(
            {"state": state, "param_groups": facts["groups"]}
        )
        self.scheduler.load_state_dict(facts["schedule"])
        self.history = History(**facts["history"])
        torch.set_rng_state(tensors["generator.global"])
        if self.loader.generator is not None:
            self.loader.generator.set_state(tensors["generator.loader"])


def fit(
    model: nn.Module,
    loader: DataLoader,
    config: TrainConfig,
    *,
    evaluate: Callable[[nn.Module], dict[str, float]] | None = None,
    checkpoint: Path | str | None = None,
    progress: bool = False,
) -> History:
    """Train `model` on `loader` by cross-entropy, in place.

    Args:
        model: Maps one or more inputs to logits, (batch, class) or, with a
            prediction at each step, (batch, step, class). Two outputs
            (distillation) need another loop.
        loader: Yields ``(*inputs, targets)``, such as (images, labels) or
            (src, tgt_input, tgt_labels); targets are class numbers, with the
            axes of the logits but the last.
        config: Optimiser, schedule, epochs.
        evaluate: Called after each epoch with the model in evaluation mode
            and without gradients; its numbers enter the history.
        checkpoint: File that holds the state after each epoch. If it exists,
            training resumes from it, exactly: model, optimiser, schedule,
            both generators and history continue as if never interrupted.
        progress: Show a bar.

    Returns:
        Losses, learning rates and metrics by epoch.

    Raises:
        TypeError: `config` is no TrainConfig.
        ValueError: An empty loader; a warm-up of one step or less; a
            checkpoint of another config, loader or model, truncated, or no
            checkpoint at all. The model is unchanged then. Targets of other
            axes than the logits.
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
    require.boolean("progress", progress)
    require.function("evaluate", evaluate, optional=True)
    if len(loader) == 0:
        raise ValueError("loader must hold at least one batch, got 0")
    path = require.path("checkpoint", checkpoint, optional=True)
    if path is not None and not path.parent.is_dir():
        raise FileNotFoundError(
            f"checkpoint must lie in a folder that exists, got {path}"
        )
    run = _Run(model, loader, config)
    if path is not None and path.exists():
        run.load(path)
    epochs = range(run.history.num_epochs, config.num_epochs)
    bar = tqdm(epochs, desc="epoch", disable=not progress)
    for _ in bar:
        run.epoch()
        loss = run.history.loss[-1]
        if not torch.isfinite(torch.tensor(loss)):
            raise FloatingPointError(
                f"loss must stay finite, got {loss} in epoch "
                f"{run.history.num_epochs}; try a lower learning_rate than "
                f"{config.learning_rate}"
            )
        bar.set_postfix(loss=f"{loss:.3f}")
        for name, value in _evaluated(model, evaluate).items():
            run.history.metrics.setdefault(name, []).append(float(value))
        if path is not None:
            run.save(path)
    model.eval()
    return run.history


@torch.no_grad()
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
            below 1.
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
    right = sum(
        (model(x).argmax(dim=-1) == y).sum().item()
        for x, y in zip(
            inputs.split(batch_size), targets.split(batch_size), strict=True
        )
    )
    return right / len(targets)


def _evaluated(model: nn.Module, evaluate: Callable | None) -> dict:
    if evaluate is None:
        return {}
    model.eval()
    with torch.no_grad():
        return evaluate(model)


def _below(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {
        name.removeprefix(prefix): tensor
        for name, tensor in tensors.items()
        if name.startswith(prefix)
    }
