"""The exercises of chapter 3, scaled dot-product attention."""

from vitedu.attention import scaled_dot_product_attention
from vitedu.book.grading import FunctionExercise, NumberExercise
from vitedu.book.proofs import attention_inputs, attention_masks

# the spread of scores of components of spread 2.
score_spread = NumberExercise(
    "3.1",
    "score spread",
    hints=(
        "A score is a sum of products. What is the variance of one of them?",
        "The variance of a product of two independent numbers with mean 0 "
        "is the product of their variances.",
        "The variances of independent terms add up, and there are `head_dim` "
        "terms. The question asks not for the variance, but for its root.",
    ),
    right=40,
    why="the variance is 100 × 4 × 4 = 1600, and its root is 40.",
    wrong={
        1600: "that is the variance; the standard deviation is its root.",
        10: "that would be right for components of variance 1.",
        20: "a product of two numbers of variance 4 has variance 16, not 4.",
        4: "that is the standard deviation after scaling; the question is "
        "about the one before.",
        400: "that is 100 × 4: both variances enter the product, and at the "
        "end you take the root.",
        16: "that is the variance of one product; a score adds up 100.",
        160: "you took the root of 100, but not the root of 16: both are "
        "factors of the variance.",
        2: "that is the standard deviation of one component.",
    },
)


def _make_attention() -> FunctionExercise:
    def variant(axis=-1, scale=None, flip=False, fill=True):
        def mistake(q, k, v, mask):
            factor = q.shape[-1] ** -0.5 if scale is None else scale(q, k)
            scores = q @ k.transpose(-2, -1) * factor
            if mask is not None and fill:
                keep = ~mask if flip else mask
                scores = scores.masked_fill(~keep, -1e9)
            elif mask is not None:
                scores = scores * mask
            return scores.softmax(dim=axis) @ v

        return mistake

    wrong = {
        "you left out the scale: divide the scores by the square root of "
        "head_dim.": variant(scale=lambda q, k: 1.0),
        "you divide by head_dim itself; divide by its square root.": variant(
            scale=lambda q, k: 1 / q.shape[-1]
        ),
        "you divide by the root of the number of keys; a score sums over the "
        "width of a head.": variant(scale=lambda q, k: k.shape[-2] ** -0.5),
        "your softmax runs over the queries: each row, not each column, has "
        "to add up to 1.": variant(axis=-2),
        "you mask the wrong way round: True means may attend.": variant(
            flip=True
        ),
        "a score of 0 hides nothing, since e**0 = 1: fill with a very "
        "negative number instead.": variant(fill=False),
        "you hide weights after the softmax, and the rest of a row no longer "
        "adds up to 1.": lambda q, k, v, mask: (
            (q @ k.mT * q.shape[-1] ** -0.5).softmax(dim=-1)
            * (1 if mask is None else mask)
            @ v
        ),
        "you multiply by the root of head_dim; divide by it.": variant(
            scale=lambda q, k: q.shape[-1] ** 0.5
        ),
        "you ignore the mask.": lambda q, k, v, mask: variant()(q, k, v, None),
        "a query that may see nothing gets the mean of all values here: a "
        "leak. It should get zeros.": variant(),
    }
    q, k, v = attention_inputs()
    return FunctionExercise(
        "3.2",
        "attention",
        hints=(
            "What happens to a score on its way to a weight, and in what "
            "order?",
            "Four lines: scores, mask, softmax over the last axis, weighted "
            "sum. The scale depends on how many products one score adds up.",
            "What should a query that may see nothing at all get? With a "
            "large negative fill its weights are equal; with minus infinity "
            "they are NaN. Neither is zero, so look at the weights once more "
            "after the softmax.",
        ),
        right=scaled_dot_product_attention,
        wrong=wrong,
        cases={
            f"mask {name}": (q, k, v, mask) for name, mask in attention_masks()
        },
    )


# ``candidate(q, k, v, mask)`` is attention.
attention = _make_attention()
