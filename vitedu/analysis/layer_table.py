"""The layer table that a widely used tool prints, and what it leaves out.

The tool, torchsummary, watches which modules are called. It lists each call
with the shape of what comes out and with the parameters named `weight` and
`bias` of the module itself. A parameter that belongs to the model directly,
such as a class token, is in no row, because the tool cannot see it.
"""

import math
from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor, nn

from vitedu import require
from vitedu.analysis.counting import head_widths
from vitedu.config import ViTConfig

_Row = tuple[str, tuple[int, ...], int]


class LayerRow(NamedTuple):
    """One call of one module.

    Attributes:
        name: Kind of module and number of the row, as in "Linear-6".
        shape: Shape of the output, without the batch.
        parameters: Numbers in its `weight` and `bias`, if it has them.
    """

    name: str
    shape: tuple[int, ...]
    parameters: int


def layer_table(config: ViTConfig) -> list[LayerRow]:
    """List the rows for a Vision Transformer of the usual layout.

    That layout is timm's of 2021, not this library's: containers and layers
    that do nothing have rows of their own, and dropout on the attention
    weights is a module.

    Args:
        config: The model. It need not be built for this.

    Returns:
        The rows in the order of the calls; 199 for twelve blocks.

    Raises:
        TypeError: `config` is not a ViTConfig.
        ValueError: `config` asks for something that this layout did not have.

    Derived in: 15-counting

    >>> rows = layer_table(ViTConfig.b32(num_classes=5))
    >>> len(rows), rows[0], rows[-1].name
    (199, LayerRow(name='Conv2d-1', shape=(768, 7, 7), parameters=2360064), \
'Linear-199')
    """
    if not isinstance(config, ViTConfig):
        raise TypeError(
            f"config must be a ViTConfig, got {type(config).__name__}"
        )
    if config.later_choices:
        raise ValueError(
            "config must be of the layout of 2021, got others in "
            f"{', '.join(config.later_choices)}"
        )
    return _numbered(_model(config))


def called_layers(model: nn.Module, *inputs: Tensor) -> list[LayerRow]:
    """Run a model once and list its rows by the tool's rule.

    Args:
        model: Any model whose modules return tensors.
        inputs: What it is called with, batch first.

    Returns:
        The rows in the order in which the calls end. A module that is called
        twice has two rows, and its parameters count twice.

    Raises:
        TypeError: `model` is not a module, or one inside it does not return a
            tensor.

    Derived in: 15-counting
    """
    if not isinstance(model, nn.Module):
        raise TypeError(f"model must be a module, got {type(model).__name__}")
    rows: list[_Row] = []

    def record(module: nn.Module, _: tuple, out: Tensor) -> None:
        if not isinstance(out, Tensor):
            raise TypeError(
                "model must be made of modules that return a tensor, "
                f"{type(module).__name__} returned {type(out).__name__}"
            )
        own = (getattr(module, name, None) for name in ("weight", "bias"))
        counts = [x.numel() for x in own if isinstance(x, Tensor)]
        rows.append((type(module).__name__, tuple(out.shape[1:]), sum(counts)))

    handles = [
        module.register_forward_hook(record)
        for module in model.modules()
        if module is not model
        and not isinstance(module, nn.Sequential | nn.ModuleList)
    ]
    try:
        with torch.no_grad():
            model(*inputs)
    finally:
        for handle in handles:
            handle.remove()
    return _numbered(rows)


def printed_totals(
    rows: list[LayerRow], input_shape: tuple[int, ...]
) -> dict[str, float]:
    """Compute what the tool prints under its table, for a batch of one.

    The megabytes of the passes do not measure memory. They are twice the
    outputs of all rows, although containers and layers that do nothing make no
    tensor of their own, and the products inside attention have no row.
    `vitedu.analysis.memory` counts what is actually kept.

    Args:
        rows: What `layer_table` or `called_layers` returns.
        input_shape: Shape of one input, as in (3, 224, 224).

    Returns:
        "parameters", a count; "input_mb", "forward_backward_mb",
        "parameters_mb" and their sum "total_mb", in units of 1024**2 bytes.

    Raises:
        TypeError, ValueError: `rows` is not a list of LayerRows, or
            `input_shape` holds something other than integers of at least 1.

    Derived in: 15-counting

    >>> rows = layer_table(ViTConfig.b32(num_classes=5))
    >>> totals = printed_totals(rows, (3, 224, 224))
    >>> totals["parameters"], round(totals["forward_backward_mb"], 2)
    (87419909, 95.61)
    """
    if not isinstance(rows, list) or not all(
        isinstance(row, LayerRow) for row in rows
    ):
        raise TypeError(f"rows must be a list of LayerRows, got {rows!r}")
    if not isinstance(input_shape, tuple | list):
        raise TypeError(f"input_shape must be a tuple, got {input_shape!r}")
    for i, side in enumerate(input_shape):
        require.positive_int(f"input_shape[{i}]", side)
    parameters = sum(row.parameters for row in rows)
    outputs = sum(math.prod(row.shape) for row in rows)
    numbers = {
        "input_mb": math.prod(input_shape),
        "forward_backward_mb": 2 * outputs,
        "parameters_mb": parameters,
    }
    sizes = {name: 4 * count / 1024**2 for name, count in numbers.items()}
    return {
        "parameters": parameters,
        **sizes,
        "total_mb": sum(sizes.values()),
    }


def _numbered(rows: Iterator[_Row] | list[_Row]) -> list[LayerRow]:
    return [
        LayerRow(f"{kind}-{i}", shape, parameters)
        for i, (kind, shape, parameters) in enumerate(rows, start=1)
    ]


def _model(config: ViTConfig) -> Iterator[_Row]:
    width, patches = config.d_model, config.num_patches
    tokens = (config.num_prefix_tokens + patches, width)
    pixels = config.num_channels * math.prod(config.patch_shape)
    yield "Conv2d", (width, *config.grid_size), (pixels + 1) * width
    yield _norm((patches, width), config.patch_norm)
    yield "PatchEmbed", (patches, width), 0
    yield "Dropout", tokens, 0
    for rate in config.drop_path_rates:
        yield from _block(config, tokens, "DropPath" if rate else "Identity")
    yield from _head(config, tokens)


def _block(
    config: ViTConfig, tokens: tuple[int, int], drop_path: str
) -> Iterator[_Row]:
    for branch in (_attention, _feed_forward):
        if config.norm_first:
            yield _norm(tokens)
        yield from branch(config, tokens)
        if config.layer_scale is not None:
            yield "LayerScale", tokens, 0  # its factors are no weight or bias
        yield drop_path, tokens, 0
        if not config.norm_first:
            yield _norm(tokens)
    yield "Block", tokens, 0


def _attention(config: ViTConfig, tokens: tuple[int, int]) -> Iterator[_Row]:
    length, width = tokens
    head_dim, value_dim = head_widths(config)
    qkv = config.num_heads * (2 * head_dim + value_dim)
    merged = config.num_heads * value_dim
    yield _linear(width, (length, qkv), config.qkv_bias)
    yield "Dropout", (config.num_heads, length, length), 0
    yield _linear(merged, tokens, config.proj_bias)
    yield "Dropout", tokens, 0
    yield "Attention", tokens, 0


def _feed_forward(
    config: ViTConfig, tokens: tuple[int, int]
) -> Iterator[_Row]:
    hidden = (tokens[0], config.d_ff)
    yield _linear(tokens[1], hidden)
    yield {"gelu": "GELU", "relu": "ReLU"}[config.activation], hidden, 0
    yield "Dropout", hidden, 0
    yield _linear(config.d_ff, tokens)
    yield "Dropout", tokens, 0
    yield "Mlp", tokens, 0


def _head(config: ViTConfig, tokens: tuple[int, int]) -> Iterator[_Row]:
    width, features = config.d_model, config.representation_size
    outputs = 1 + config.distilled
    if config.pool_norm == "before":
        yield _norm(tokens)
    else:
        yield from [_norm((width,))] * outputs
    if features is not None:
        yield _linear(width, (features,))
        yield "Tanh", (features,), 0
    elif not config.distilled:
        yield "Identity", (width,), 0
    read = features or width
    if config.num_classes:
        yield from [_linear(read, (config.num_classes,))] * outputs
    else:
        yield from [("Identity", (read,), 0)] * outputs


def _norm(shape: tuple[int, ...], wanted: bool = True) -> _Row:
    if not wanted:
        return "Identity", shape, 0
    return "LayerNorm", shape, 2 * shape[-1]


def _linear(inputs: int, shape: tuple[int, ...], bias: bool = True) -> _Row:
    return "Linear", shape, (inputs + bias) * shape[-1]
