"""Steps down any loss, for tasks that have no labels to count."""

from collections.abc import Callable

from torch import Tensor, nn
from torch.optim.lr_scheduler import OneCycleLR

from vitedu import require
from vitedu.config import TrainConfig
from vitedu.training.parameter_groups import adamw


def minimise(
    model: nn.Module,
    loss_at: Callable[[int], Tensor],
    num_steps: int,
    *,
    learning_rate: float = 1e-3,
    weight_decay: float = 0.05,
    after: Callable[[int], object] | None = None,
) -> list[float]:
    """Train `model` in place, one loss per step; return the losses.

    The recipe is that of `fit`: AdamW, one cycle, clipped gradients. At the
    end the model is in evaluation mode.

    Args:
        model: What learns.
        loss_at: Called with the number of the step, from 0; returns a scalar
            that depends on the model.
        num_steps: At least 6, since the first fifth is the warm-up.
        learning_rate: The highest learning rate.
        weight_decay: For linear layers, see `TrainConfig`.
        after: Called after each step, with its number.

    Raises:
        TypeError, ValueError: An argument of the wrong type or out of range; a
            model with nothing to learn; a loss that is not a scalar, or does
            not depend on the model.
        FloatingPointError: The loss is no longer finite.
    """
    require.instance("model", model, nn.Module)
    require.function("loss_at", loss_at)
    require.integer("num_steps", num_steps, at_least=6)
    require.function("after", after, optional=True)
    config = TrainConfig(
        num_epochs=num_steps,
        learning_rate=learning_rate,
        weight_decay=weight_decay,
    )
    optimizer = adamw(model, config)
    schedule = OneCycleLR(
        optimizer, learning_rate, num_steps, pct_start=config.warmup
    )
    losses = []
    model.train()
    for step in range(num_steps):
        loss = loss_at(step)
        _check_loss(loss)
        if not loss.isfinite():
            raise FloatingPointError(
                f"loss must stay finite, got {loss.item()} in step {step}; "
                f"try a lower learning_rate than {learning_rate}"
            )
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), config.max_grad_norm)
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
        if after is not None:
            after(step)
    model.eval()
    return losses


def _check_loss(loss: Tensor) -> None:
    if not isinstance(loss, Tensor):
        raise TypeError(
            f"loss_at must return a tensor, got {type(loss).__name__}"
        )
    if loss.ndim or not loss.requires_grad:
        raise ValueError(
            "loss_at must return a scalar with a gradient, got shape "
            f"{tuple(loss.shape)}, requires_grad={loss.requires_grad}"
        )
