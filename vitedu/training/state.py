"""What changes while a model trains, and how it is saved and restored."""

import math
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from pathlib import Path

from torch import Tensor, nn
from torch.optim.lr_scheduler import OneCycleLR
from torch.utils.data import DataLoader

from vitedu.atomic_files import damage_named
from vitedu.config import TrainConfig
from vitedu.training.checkpoints import (
    check_same_weights,
    read_checkpoint,
    write_checkpoint,
)
from vitedu.training.distributed import (
    gather,
    get_rank,
    get_world_size,
    once_for_all,
)
from vitedu.training.parameter_groups import adamw
from vitedu.training.randomness import Randomness


@dataclass
class History:
    """What a training run measured, one entry per epoch.

    Attributes:
        loss: Mean training loss of the epoch, over all positions that count.
        learning_rate: Learning rate of the last step of the epoch; where
            layers learn at different rates, the highest.
        metrics: What `evaluate` returned after the epoch, name -> values.
    """

    loss: list[float] = field(default_factory=list)
    learning_rate: list[float] = field(default_factory=list)
    metrics: dict[str, list[float]] = field(default_factory=dict)

    @property
    def num_epochs(self) -> int:
        """Epochs done."""
        return len(self.loss)


@dataclass
class Part:
    """What one process has done of the epoch that is under way.

    Attributes:
        steps: Steps done.
        loss: Sum of the losses of this process, over what it counted.
        count: Positions that it counted.
        start: States of the generators at the start of the epoch.
        states: States of the generators in the checkpoint that was read.
    """

    steps: int = 0
    loss: float = 0.0
    count: int = 0
    start: dict[str, Tensor] = field(default_factory=dict)
    states: dict[str, Tensor] = field(default_factory=dict)


class TrainState:
    """Everything that changes while `vitedu.training.loop.fit` runs.

    Attributes:
        best: The weights of the best epoch; None where they are not kept.
        device: Where the model is.
        history: What has been measured so far.
        num_batches: Steps of an epoch.
        optimizer: AdamW.
        part: What has been done of the epoch that is under way.
        randomness: All random generators, which belong to the state.
        scheduler: The optimiser's learning rate, one cycle over all steps.

    Args:
        model: The model, trained in place.
        loader: Its batches.
        config: The recipe.
        keep_best: Whether `keep_if_best` will be called after each epoch.

    Raises:
        TypeError: The loader does not know its length.
        ValueError: The loader is empty, or there are too many steps; the model
            has nothing to train.
    """

    def __init__(
        self,
        model: nn.Module,
        loader: DataLoader,
        config: TrainConfig,
        *,
        keep_best: bool = False,
    ) -> None:
        self.num_batches = _length(loader)
        self.num_steps = config.num_epochs * self.num_batches
        if self.num_steps > 2**53:
            raise ValueError(
                "num_epochs must give at most 2**53 steps, got "
                f"{config.num_epochs} epochs of {self.num_batches}"
            )
        self.optimizer = adamw(model, config)
        self._rates = [group["lr"] for group in self.optimizer.param_groups]
        self.model, self.loader, self.config = model, loader, config
        self.keep_best, self.best = keep_best, None
        self.history, self.part = History(), Part()
        self.device = next(model.parameters()).device
        self.randomness = Randomness(loader, self.device)
        self.scheduler = self._one_cycle(steps_done=0)

    def keep_if_best(self) -> None:
        """Copy the weights if the first metric has never been as high.

        Raises:
            ValueError: There is no metric, or it is not finite.
        """
        values = next(iter(self.history.metrics.values()), [None])
        if values[-1] is None or not math.isfinite(values[-1]):
            raise ValueError(
                "evaluate must return a finite number, for keep_best to "
                f"compare, got {values[-1]}"
            )
        if all(values[-1] > earlier for earlier in values[:-1]):
            weights = self.model.state_dict()
            self.best = {name: x.clone() for name, x in weights.items()}

    def resume(self, path: Path) -> None:
        """Restore what `path` holds, if anything; then `save` may follow.

        If there are several processes, the first reads the file for all.

        Raises:
            ValueError: As `read` does; nothing is then changed.
        """
        if (read := self.read(path)) is not None:
            self._load(path, *read)

    def read(self, path: Path) -> tuple[dict, dict] | None:
        """Return the tensors and facts at `path`; None if there is no file.

        Raises:
            ValueError: A checkpoint of a different run or of different
                weights, or one from which something is missing. Persistent
                workers.
        """
        if self.loader.persistent_workers:
            raise ValueError(
                "loader must have persistent_workers=False for a checkpoint, "
                "which cannot hold what lives in a worker, got True"
            )
        self.facts = once_for_all(
            lambda: _describe_run(
                self.model,
                self.loader,
                self.config,
                self.keep_best,
                self.randomness.seeds(),
            )
        )
        if not once_for_all(path.exists):
            return None
        tensors, facts = once_for_all(lambda: read_checkpoint(path))
        with damage_named(path, "checkpoint"):
            # Files of before name `keep_best` only where it is True.
            run = {"keep_best": "False"} | facts["run"]
            if int(run["config.num_epochs"]) < self.config.num_epochs:
                run["config.num_epochs"] = repr(self.config.num_epochs)
        _check_same_run(self.facts, run, path)
        weights, best = _below("model.", tensors), _below("best.", tensors)
        for found in (weights, best) if best else (weights,):
            check_same_weights(self.model.state_dict(), found, path)
        return tensors, facts

    def save(self, path: Path) -> None:
        """Write the whole state; every process has to call, the first writes.

        Between epochs, all processes continue from the generators of the
        first; in the middle of one, each continues from its own.
        """
        part, parts = self.part, []
        if part.steps:
            own = part.loss, part.count, self.randomness.states()
            parts = gather(own)
        once_for_all(lambda: self._write(path, parts))

    def _write(self, path: Path, parts: list[tuple]) -> None:
        start = self.part.start if parts else self.randomness.states()
        optimizer = self.optimizer.state_dict()
        groups = {
            "model": self.model.state_dict(),
            "best": self.best or {},
            "generator": start,
        }
        for index, state in optimizer["state"].items():
            groups[f"optimizer.{index}"] = state
        for rank, (_, _, states) in enumerate(parts):
            groups[f"process.{rank}"] = states
        tensors = {
            f"{group}.{name}": tensor
            for group, named in groups.items()
            for name, tensor in named.items()
        }
        facts = {
            "run": self.facts,
            "groups": optimizer["param_groups"],
            "history": asdict(self.history),
            "steps": self.part.steps,
            "sums": [(loss, count) for loss, count, _ in parts],
        }
        write_checkpoint(path, tensors, facts)

    def _load(self, path: Path, tensors: dict, facts: dict) -> None:
        weights, best = _below("model.", tensors), _below("best.", tensors)
        with damage_named(path, "checkpoint"):
            # Files of before have no steps and no sums.
            steps = int(facts.get("steps", 0))
            sums = list(facts.get("sums", []))
            if not 0 <= steps < self.num_batches or (steps > 0) != bool(sums):
                raise ValueError(f"{steps} steps and {len(sums)} sums")
        if sums and len(sums) != get_world_size():
            raise ValueError(
                f"checkpoint {path} was written in the middle of an epoch, so "
                f"the number of processes must be the same, {len(sums)}, got "
                f"{get_world_size()}"
            )
        # The model comes last: what else is wrong leaves it as it was.
        with damage_named(path, "checkpoint"):
            self.optimizer.load_state_dict(
                {
                    "state": self._moments(tensors),
                    "param_groups": facts["groups"],
                }
            )
            history = History(**facts["history"])
            done = history.num_epochs * self.num_batches + steps
            self.scheduler = self._one_cycle(done)
            part, start = Part(), _below("generator.", tensors)
            if steps:
                loss, count = sums[get_rank()]
                states = _below(f"process.{get_rank()}.", tensors)
                self.randomness.check(states)
                part = Part(steps, float(loss), int(count), start, states)
            self.randomness.set_states(start)
        self.history, self.part, self.best = history, part, best or None
        self.model.load_state_dict(weights)

    def _one_cycle(self, steps_done: int) -> OneCycleLR:
        """Return the schedule as it is after some steps.

        The rate of a step follows from its number and the total number of
        steps, so a run with more epochs continues where the longer cycle is at
        that step. In a run too short for a warm-up of more than one step, the
        rate only falls; it ends one step before its minimum, so that even a
        single step learns.
        """
        too_short = self.num_steps * self.config.warmup <= 1
        return OneCycleLR(
            self.optimizer,
            max_lr=self._rates,
            total_steps=self.num_steps + too_short,
            pct_start=0.0 if too_short else self.config.warmup,
            last_epoch=steps_done - 1,
        )

    def _moments(self, tensors: dict[str, Tensor]) -> dict[int, dict]:
        """Return the optimiser's state by the number of the parameter.

        Raises:
            KeyError, ValueError: The state does not belong to this model's
                parameters.
        """
        state: dict[int, dict[str, Tensor]] = {}
        for key, value in _below("optimizer.", tensors).items():
            index, name = key.split(".")
            state.setdefault(int(index), {})[name] = value
        groups = self.optimizer.param_groups
        parameters = [p for group in groups for p in group["params"]]
        for index, parameter in enumerate(parameters):
            for name in ("exp_avg", "exp_avg_sq") if index in state else ():
                shape = state[index][name].shape
                if shape != parameter.shape:
                    raise ValueError(f"{name} of {index} is {tuple(shape)}")
        return state


def _length(loader: DataLoader) -> int:
    try:
        count = len(loader)
    except TypeError:
        raise TypeError(
            "loader must have a length, by which the schedule knows its "
            f"steps, got one of {type(loader.dataset).__name__} without"
        ) from None
    if count == 0:
        raise ValueError("loader must hold at least one batch, got 0")
    return count


def _below(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {
        name.removeprefix(prefix): tensor
        for name, tensor in tensors.items()
        if name.startswith(prefix)
    }


def _describe_run(
    model: nn.Module,
    loader: DataLoader,
    config: TrainConfig,
    keep_best: bool,
    seeds: dict[str, int],
) -> dict[str, str]:
    """Return what must be the same when a run is resumed, name by name.

    Names, shapes and dtypes of the weights are compared separately.
    """
    settings = {
        "config": config,
        "model.config": getattr(model, "config", None),
    }
    found = {
        f"{place}.{field.name}": repr(getattr(part, field.name))
        for place, part in settings.items()
        if is_dataclass(part)
        for field in fields(part)
    }
    found["keep_best"] = repr(keep_best)
    found |= {f"{name}, seed": repr(seed) for name, seed in seeds.items()}
    if hasattr(loader.dataset, "__len__"):
        found["loader.dataset, length"] = repr(len(loader.dataset))
    return found | {"loader, batches": repr(len(loader))}


def _check_same_run(
    expected: dict[str, str], found: dict[str, str], path: Path
) -> None:
    """Require that the description of another run is the expected one.

    Raises:
        ValueError: Something differs; the message lists all differences.
    """
    # Files of before may lack a name; that is no difference.
    differing = [
        f"{name} is {found[name]} there, got {value}"
        for name, value in expected.items()
        if found.get(name, value) != value
    ]
    if differing:
        raise ValueError(
            "model, loader and config must be those of the checkpoint "
            f"{path}: {'; '.join(differing)}"
        )
