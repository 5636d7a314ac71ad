"""Why scores are divided by the square root of head_dim, by hand."""

import numpy as np

from vitedu.widgets.base import Choice, Explorer, Integer, Number

NUM_QUERIES = 64
MAX_KEYS = 256
MAX_HEAD_DIM = 1024
# Of the head count that d_model = 12 * head_dim stands for: ViT-B's.
NUM_HEADS = 12
DEAD_BELOW = 1e-3
SCALES = ("1/sqrt(head_dim)", "none", "1/sqrt(d_model)", "temperature")


class SoftmaxScaling(Explorer):
    """Scores, weights, entropy and gradients as head_dim and scale change.

    Args:
        head_dim: Components of each query and key, in [1, 1024].
        num_keys: Keys that a query attends to, in [2, 256].
        scale: The factor on the scores, one of `SCALES`; "1/sqrt(d_model)"
            takes d_model = 12 * head_dim.
        temperature: With the scale "temperature" scores are divided by this
            number, in [0.25, 64].
        seed: Of the draw of queries, keys and values.
    """

    files = "softmax_scaling"
    parts = ("softmax_scaling_maths", "softmax_scaling_charts")

    head_dim = Integer(64, low=1, high=MAX_HEAD_DIM)
    num_keys = Integer(16, low=2, high=MAX_KEYS)
    scale = Choice(*SCALES)
    temperature = Number(8.0, low=0.25, high=64.0)
    seed = Integer(0, low=0, high=2**32 - 1)


def normal_numbers(seed: int, count: int) -> np.ndarray:
    """The first standard normal numbers that a seed gives on the page.

    Mulberry32, then Box and Muller, as in common.js. The state of mulberry32
    is a counter, so all numbers are made at once.
    """
    steps = np.arange(1, count + count % 2 + 1, dtype=np.uint64)
    low = np.uint64(0xFFFFFFFF)
    state = (np.uint64(seed) + steps * np.uint64(0x6D2B79F5)) & low
    mixed = _multiply(state ^ (state >> 15), state | 1)
    mixed ^= (mixed + _multiply(mixed ^ (mixed >> 7), mixed | 61)) & low
    uniform = (mixed ^ (mixed >> 14)) / 2**32
    radius = np.sqrt(-2 * np.log(1 - uniform[0::2]))
    angle = 2 * np.pi * uniform[1::2]
    pairs = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    return pairs.reshape(-1)[:count]


def draw(seed: int, head_dim: int, num_keys: int) -> tuple[np.ndarray, ...]:
    """The queries, keys, values and upstream gradients that a seed gives.

    A larger head_dim appends components and more keys append keys; neither
    changes those that were there.

    Returns:
        q (64, head_dim), k and v (num_keys, head_dim), u (64, head_dim).
    """
    per_dim = 2 * (NUM_QUERIES + MAX_KEYS)
    columns = normal_numbers(seed, head_dim * per_dim)
    parts = np.cumsum([NUM_QUERIES, NUM_QUERIES, MAX_KEYS])
    q, u, k, v = np.split(columns.reshape(head_dim, per_dim).T, parts)
    return q, k[:num_keys], v[:num_keys], u


def scale_factor(scale: str, head_dim: int, temperature: float) -> float:
    """The factor on the scores that a name in `SCALES` stands for."""
    return {
        "1/sqrt(head_dim)": head_dim**-0.5,
        "none": 1.0,
        "1/sqrt(d_model)": (NUM_HEADS * head_dim) ** -0.5,
        "temperature": 1 / temperature,
    }[scale]


def readings(explorer: SoftmaxScaling) -> dict[str, float | np.ndarray]:
    """What the page shows for the present settings of an explorer.

    The gradient is that of L = u . sum_j w_j v_j, with w the softmax of a
    query's scores. With c_j = u . v_j it is dL/ds_j = w_j (c_j - sum_m w_m
    c_m), then dL/dq = scale * sum_j dL/ds_j k_j. A query is dead if the norm
    of dL/dq is below 1e-3.

    Returns:
        scale, scores and weights (both of the first query), score_std (first
        query), score_std_all (all queries), theory_std, entropy (mean over
        the queries, in nats), max_entropy, grad_norms (64,), grad_p10,
        grad_median, dead_share.
    """
    head_dim, num_keys = explorer.head_dim, explorer.num_keys
    scale = scale_factor(explorer.scale, head_dim, explorer.temperature)
    q, k, v, u = draw(explorer.seed, head_dim, num_keys)
    scores = q @ k.T * scale
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    # Counted from the value of the largest weight: nothing cancels, however
    # close to 1 that weight is.
    top = weights.argmax(axis=1)[:, None]
    c = u @ v.T
    c -= np.take_along_axis(c, top, axis=1)
    mean_c = (weights * c).sum(axis=1, keepdims=True)
    norms = np.linalg.norm(scale * (weights * (c - mean_c)) @ k, axis=1)
    logs = np.log(weights, out=np.zeros_like(weights), where=weights > 0)
    return {
        "scale": scale,
        "scores": scores[0],
        "weights": weights[0],
        "score_std": scores[0].std(),
        "score_std_all": scores.std(),
        "theory_std": head_dim**0.5 * scale,
        "entropy": -(weights * logs).sum(axis=1).mean(),
        "max_entropy": np.log(num_keys),
        "grad_norms": norms,
        "grad_p10": np.quantile(norms, 0.1),
        "grad_median": np.median(norms),
        "dead_share": (norms < DEAD_BELOW).mean(),
    }


def _multiply(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Product modulo 2**32 of numbers below 2**32."""
    return (a * b) & np.uint64(0xFFFFFFFF)
