"""Why scores are divided by the square root of head_dim, by hand."""

from vitedu.widgets.base import Choice, Explorer, Integer, Number

MAX_KEYS = 256
MAX_HEAD_DIM = 1024
SCALES = ("1/sqrt(head_dim)", "none", "1/sqrt(d_model)", "temperature")


class SoftmaxScaling(Explorer):
    """Scores, weights, entropy and gradients as head_dim and scale change.

    Args:
        head_dim: Components of each query and key, in [1, 1024].
        num_keys: Keys that a query attends to, in [2, 256].
        scale: The factor on the scores, one of `SCALES`; "1/sqrt(d_model)"
            takes d_model = 12 * head_dim.
        temperature: With the scale "temperature", scores are divided by this
            number, in [0.25, 64].
        seed: Seed of the random queries, keys and values.
    """

    files = "softmax_scaling"
    remembers = ("head_dim", "num_keys", "scale", "temperature", "seed")

    head_dim = Integer(64, low=1, high=MAX_HEAD_DIM)
    num_keys = Integer(16, low=2, high=MAX_KEYS)
    scale = Choice(*SCALES)
    temperature = Number(8.0, low=0.25, high=64.0)
    seed = Integer(0, low=0, high=2**32 - 1)
