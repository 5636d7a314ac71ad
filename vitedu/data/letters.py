"""A task without a language behind it: repeat letters."""

from string import ascii_lowercase

import torch

from vitedu import require
from vitedu.data.sequences import Pairs, Vocabulary


def copy_task(
    *,
    num_train: int = 2000,
    num_test: int = 500,
    num_symbols: int = 8,
    lengths: tuple[int, int] = (3, 9),
    seed: int = 0,
) -> tuple[Pairs, Pairs]:
    """Make the task of repeating a sequence of letters.

    One sample: the first training pair repeats b c d f. With 3 for a, the
    source is 4 5 6 8, then 0 up to the length of the longest source. The
    target is 1 4 5 6 8 2: 1 begins it, 2 ends it. In training, the decoder
    reads 1 4 5 6 8 and has to predict 4 5 6 8 2: after each letter, the next
    one.

    Args:
        num_train: Pairs to learn from, at least 1.
        num_test: Pairs to test on, at least 1; none of them is a training
            pair.
        num_symbols: Number of letters in use, beginning with a, 1 to 26.
        lengths: Fewest and most letters of a sequence. Each length is sampled
            as often as the others, as long as it has unused sequences.
        seed: Determines which sequences are sampled; 0 to 2**64 - 1.

    Returns:
        The training and the test pairs; source and target share a vocabulary.

    Raises:
        TypeError, ValueError: An argument outside its range, or more pairs
            than half of the different sequences there are.

    Source: Graves et al. 2014, section 4.1.
    Deviates: Letters instead of random bits.
    """
    require.positive_int("num_train", num_train)
    require.positive_int("num_test", num_test)
    require.positive_int("num_symbols", num_symbols)
    require.seed("seed", seed)
    if num_symbols > len(ascii_lowercase):
        raise ValueError(f"num_symbols must be at most 26, got {num_symbols}")
    shortest, longest = _bounds(lengths)
    total = sum(num_symbols**n for n in range(shortest, longest + 1))
    count = num_train + num_test
    if count > total / 2:
        raise ValueError(
            "num_train + num_test must be at most half of the "
            f"{total} different sequences, got {num_train} + {num_test}"
        )
    drawn = _draw_words(count, num_symbols, (shortest, longest), seed)
    letters = Vocabulary(tuple(ascii_lowercase[:num_symbols]))
    pairs = Pairs.encode([(x, x) for x in drawn], letters, letters)
    return pairs[:num_train], pairs[num_train:]


def _bounds(lengths: tuple[int, int]) -> tuple[int, int]:
    if not isinstance(lengths, tuple | list) or len(lengths) != 2:
        raise TypeError(f"lengths must be (fewest, most), got {lengths!r}")
    require.positive_int("lengths[0]", lengths[0])
    require.integer("lengths[1]", lengths[1], at_least=lengths[0])
    return tuple(lengths)


def _draw_words(
    count: int, num_symbols: int, lengths: tuple[int, int], seed: int
) -> list[str]:
    generator = torch.Generator().manual_seed(seed)
    shortest, longest = lengths
    drawn: dict[str, None] = {}
    while len(drawn) < count:
        length = torch.randint(
            shortest, longest + 1, (), generator=generator
        ).item()
        ids = torch.randint(num_symbols, (length,), generator=generator)
        drawn["".join(ascii_lowercase[i] for i in ids)] = None
    # Drawn late means long where the short ones are used up: mix.
    words = list(drawn)
    order = torch.randperm(count, generator=generator).tolist()
    return [words[i] for i in order]
