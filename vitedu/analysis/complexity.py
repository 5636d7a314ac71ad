"""What a layer costs, and how far a signal has to travel through it.

Four kinds of layers map n tokens of width d to n tokens of width d:
"attention" lets every token see all the others, "restricted attention" the
`window` tokens around it, "recurrent" passes a state from token to token, and
"convolution" mixes the `window` tokens around each.
"""

import math
from typing import Literal

from vitedu import require

LayerKind = Literal[
    "attention", "restricted attention", "recurrent", "convolution"
]
_KINDS = ("attention", "restricted attention", "recurrent", "convolution")


def layer_flops(
    kind: LayerKind,
    num_tokens: int,
    d_model: int,
    *,
    window: int | None = None,
    projections: bool = False,
) -> int:
    """Count the operations of a layer, two for each multiply-add.

    Args:
        kind: The kind of layer.
        num_tokens: Length n of the sequence.
        d_model: Width d of a token.
        window: Tokens that one token sees, in a convolution (k) and in
            restricted attention (r); None for the others.
        projections: Whether the projections to queries, keys and values and
            the output projection are counted; only attention has them.

    Returns:
        4 n**2 d for attention, 4 r n d for restricted attention, 4 n d**2 for
        a recurrent layer, 2 k n d**2 for a convolution; 8 n d**2 more with
        projections.

    Raises:
        TypeError, ValueError: An unknown kind, a number that is not an integer
            of at least 1, a window that is missing, superfluous or longer than
            the sequence, or projections without attention.

    Source: Vaswani et al. 2017, table 1.
    Deviates: The table gives orders of growth and leaves the projections out.
        With them, attention costs more than its projections only beyond
        n = 2 d.
    Derived in: 01-why-attention

    >>> layer_flops("attention", 128, 64), layer_flops("recurrent", 128, 64)
    (4194304, 2097152)
    """
    _check(kind, num_tokens, window)
    require.positive_int("d_model", d_model)
    require.boolean("projections", projections)
    if projections and "attention" not in kind:
        raise ValueError(f"projections must be False for {kind}, got True")
    maps = 8 * num_tokens * d_model**2 if projections else 0
    if kind == "recurrent":
        return 4 * num_tokens * d_model**2
    if kind == "convolution":
        return 2 * window * num_tokens * d_model**2
    seen = num_tokens if window is None else window
    return 4 * seen * num_tokens * d_model + maps


def sequential_operations(kind: LayerKind, num_tokens: int) -> int:
    """Return how many steps of a layer have to wait for one another.

    Args:
        kind: The kind of layer.
        num_tokens: Length of the sequence.

    Returns:
        The number of tokens for a recurrent layer, 1 for the others.

    Raises:
        TypeError, ValueError: An unknown kind, or a length that is not an
            integer of at least 1.

    Source: Vaswani et al. 2017, table 1.
    Derived in: 01-why-attention
    """
    require.choice("kind", kind, _KINDS)
    require.positive_int("num_tokens", num_tokens)
    return num_tokens if kind == "recurrent" else 1


def receptive_field(
    num_layers: int, window: int, *, dilated: bool = False
) -> int:
    """Return how many tokens a token sees through stacked windows.

    Args:
        num_layers: Layers on top of one another.
        window: Tokens that a token sees in one layer.
        dilated: Whether layer i, counted from 0, reads every ``window**i``-th
            token instead of neighbours.

    Returns:
        1 + num_layers * (window - 1), or window**num_layers if dilated.

    Raises:
        TypeError, ValueError: A number is not an integer of at least 1, or
            `dilated` is not a bool.

    Source: Vaswani et al. 2017, section 4.
    Derived in: 01-why-attention

    >>> [receptive_field(layers, 3) for layers in (1, 2, 3)]
    [3, 5, 7]
    >>> [receptive_field(layers, 3, dilated=True) for layers in (1, 2, 3)]
    [3, 9, 27]
    """
    require.positive_int("num_layers", num_layers)
    require.positive_int("window", window)
    require.boolean("dilated", dilated)
    if dilated:
        return window**num_layers
    return 1 + num_layers * (window - 1)


def path_length(
    kind: LayerKind,
    num_tokens: int,
    *,
    window: int | None = None,
    dilated: bool = False,
) -> int:
    """Return how many steps a signal takes from the first token to the last.

    Args:
        kind: The kind of layer.
        num_tokens: Length of the sequence, at least 2.
        window: As for `layer_flops`, at least 2.
        dilated: As for `receptive_field`, for convolutions.

    Returns:
        1 for attention and num_tokens - 1 for a recurrent layer. For windows,
        the number of layers until the receptive field is as long as the
        sequence; if a window ends at the token itself, that is enough to get
        from the first token to the last.

    Raises:
        TypeError, ValueError: An unknown kind, numbers that are not integers
            or too small, a window that is missing or superfluous, or `dilated`
            without a convolution.

    Source: Vaswani et al. 2017, table 1.
    Derived in: 01-why-attention

    >>> path_length("convolution", 128, window=3)
    64
    >>> path_length("convolution", 128, window=3, dilated=True)
    5
    """
    require.integer("num_tokens", num_tokens, at_least=2)
    _check(kind, num_tokens, window)
    require.boolean("dilated", dilated)
    if dilated and kind != "convolution":
        raise ValueError(f"dilated must be False for {kind}, got True")
    if kind == "attention":
        return 1
    if kind == "recurrent":
        return num_tokens - 1
    require.integer("window", window, at_least=2)
    if not dilated:
        return math.ceil((num_tokens - 1) / (window - 1))
    num_layers = 1
    while receptive_field(num_layers, window, dilated=True) < num_tokens:
        num_layers += 1
    return num_layers


def _check(kind: str, num_tokens: int, window: int | None) -> None:
    require.choice("kind", kind, _KINDS)
    require.positive_int("num_tokens", num_tokens)
    if kind in ("attention", "recurrent"):
        if window is not None:
            raise ValueError(f"window must be None for {kind}, got {window}")
        return
    require.positive_int("window", window)
    if kind == "restricted attention" and window > num_tokens:
        raise ValueError(
            f"window must be at most num_tokens = {num_tokens}, got {window}"
        )
