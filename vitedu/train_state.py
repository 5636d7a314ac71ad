"""What changes while a model trains, and how it is kept and brought back."""

from dataclasses import asdict, dataclass, field
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.optim import AdamW
from torch.optim.lr_scheduler import OneCycleLR
from torch.utils.data import DataLoader

from vitedu.checkpoints import (
    check_same_weights,
    read_checkpoint,
    write_checkpoint,
)
from vitedu.config import TrainConfig
from vitedu.processes import once_for_all
from vitedu.whole_files import damage_named

# Fields that a checkpoint of an older version lacks, and what held then.
_NEWER_FIELDS = {"accumulation": 1, "precision": "float32"}
_FUSED = ("cpu", "cuda", "mps", "xpu")


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


class TrainState:
    """Everything that changes while `vitedu.training.fit` runs.

    Attributes:
        device: Where the model is.
        history: What has been measured so far.
        optimizer: AdamW.
        scheduler: Its learning rate, one cycle over all steps.

    Args:
        model: The model, trained in place.
        loader: Its batches, whose generator belongs to the state.
        config: The recipe.

    Raises:
        ValueError: The warm-up covers no more than one step.
    """

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
        self.history = History()
        self.device = next(model.parameters()).device
        self.optimizer = AdamW(
            model.parameters(),
            lr=config.learning_rate,
            weight_decay=config.weight_decay,
            fused=self.device.type in _FUSED,
        )
        self.scheduler = OneCycleLR(
            self.optimizer,
            max_lr=config.learning_rate,
            total_steps=steps,
            pct_start=config.warmup,
        )

    def generators(self) -> dict[str, Tensor]:
        """Return the states of all generators that training draws from."""
        states = {"global": torch.get_rng_state()}
        if self.device.type != "cpu":
            states["device"] = _module(self.device).get_rng_state()
        if self.loader.generator is not None:
            states["loader"] = self.loader.generator.get_state()
        return states

    def set_generators(self, states: dict[str, Tensor]) -> None:
        """Go on drawing from there."""
        torch.set_rng_state(states["global"])
        if self.device.type != "cpu" and "device" in states:
            _module(self.device).set_rng_state(states["device"])
        if self.loader.generator is not None:
            self.loader.generator.set_state(states["loader"])

    def save(self, path: Path) -> None:
        """Write model, optimiser, schedule, generators and history."""
        model = self.model.state_dict()
        tensors = {f"model.{name}": value for name, value in model.items()}
        optimizer = self.optimizer.state_dict()
        for index, state in optimizer["state"].items():
            for name, value in state.items():
                tensors[f"optimizer.{index}.{name}"] = value
        for name, value in self.generators().items():
            tensors[f"generator.{name}"] = value
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
        """Go back to the moment of `save`; change nothing on an error.

        Of several processes the first reads the file for all.

        Raises:
            ValueError: A checkpoint of another config, loader or model, or
                one of which something is missing.
        """
        tensors, facts = once_for_all(lambda: read_checkpoint(path))
        self._check(tensors, facts, path)
        # The model comes last: what else is wrong leaves it as it was.
        with damage_named(path, "checkpoint"):
            self.optimizer.load_state_dict(
                {
                    "state": self._moments(tensors),
                    "param_groups": facts["groups"],
                }
            )
            self.scheduler.load_state_dict(facts["schedule"])
            self.history = History(**facts["history"])
            generators = _below("generator.", tensors)
            for name in generators.keys() & {"global", "loader"}:
                torch.Generator().set_state(generators[name])
            self.set_generators(generators)
        self.model.load_state_dict(_below("model.", tensors))

    def _moments(self, tensors: dict[str, Tensor]) -> dict[int, dict]:
        """Return the optimiser's state by the number of the parameter.

        Raises:
            KeyError, ValueError: It is not that of this model's parameters.
        """
        state: dict[int, dict[str, Tensor]] = {}
        for key, value in _below("optimizer.", tensors).items():
            index, name = key.split(".")
            state.setdefault(int(index), {})[name] = value
        for index, parameter in enumerate(self.model.parameters()):
            for name in ("exp_avg", "exp_avg_sq") if index in state else ():
                shape = state[index][name].shape
                if shape != parameter.shape:
                    raise ValueError(f"{name} of {index} is {tuple(shape)}")
        return state

    def _check(self, tensors: dict, facts: dict, path: Path) -> None:
        config = _NEWER_FIELDS | facts.get("config", {})
        if config != asdict(self.config):
            raise ValueError(
                f"config must be the one of the checkpoint {path}, "
                f"{config}, got {asdict(self.config)}"
            )
        steps = facts.get("schedule", {}).get("total_steps")
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
        found = _below("model.", tensors)
        check_same_weights(self.model.state_dict(), found, path)


def _module(device: torch.device):
    """Return the part of PyTorch that knows the generator of a device."""
    return torch.get_device_module(device)


def _below(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {
        name.removeprefix(prefix): tensor
        for name, tensor in tensors.items()
        if name.startswith(prefix)
    }
