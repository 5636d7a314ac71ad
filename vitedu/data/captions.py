"""Images of two digits, and sentences that say how they are arranged."""

from functools import cache

import torch
from jaxtyping import Float, Int
from torch import Tensor

from vitedu import require
from vitedu.data.digits import digits

_NAMES = (
    *("zero", "one", "two", "three", "four"),
    *("five", "six", "seven", "eight", "nine"),
)
# What is said of the first digit, and of the second; by relation.
RELATIONS = (("left of", "right of"), ("above", "below"))
# A word's place is its number; 0 is padding.
WORDS = ("", "a", *_NAMES, "left", "right", "of", "above", "below")
MAX_WORDS = 6
SIDE = 20


def scenes(*, unseen: bool = False) -> Int[Tensor, "scene 3"]:
    """Return arrangements of two digits, each row (first, second, relation).

    The first digit is left of the second with relation 0, above it with
    relation 1. Nine of the 45 pairs of different digits are held out: those
    whose sum is 9, and those that are 5 apart. Each of their digits also
    occurs in other pairs.

    Args:
        unseen: Whether to return the 36 scenes of these nine pairs, or the 144
            of the others.

    Raises:
        TypeError: `unseen` is not a bool.

    >>> len(scenes()), scenes(unseen=True)[0].tolist()
    (144, [0, 5, 0])
    """
    require.boolean("unseen", unseen)
    return torch.tensor(
        [
            (first, second, relation)
            for first in range(10)
            for second in range(10)
            for relation in range(len(RELATIONS))
            if first != second
            and unseen == (first + second == 9 or abs(first - second) == 5)
        ]
    )


def mirrored_scenes(
    drawn: Int[Tensor, "scene 3"],
) -> Int[Tensor, "scene 3"]:
    """Return the scenes with the two digits swapped.

    Raises:
        TypeError, ValueError: Scenes of other axes, digits or relations.

    >>> mirrored_scenes(torch.tensor([[3, 7, 0]])).tolist()
    [[7, 3, 0]]
    """
    _check_scenes(drawn)
    return drawn[:, [1, 0, 2]]


def captions(
    drawn: Int[Tensor, "scene 3"], *, from_second: bool = False
) -> list[str]:
    """Return a sentence for each scene.

    Args:
        drawn: Scenes, as `scenes` lists them.
        from_second: Whether to say where the second digit is: right of, below.

    Raises:
        TypeError, ValueError: Scenes of other axes, digits or relations.

    >>> captions(torch.tensor([[3, 7, 0]]))
    ['a three left of a seven']
    >>> captions(torch.tensor([[3, 7, 0]]), from_second=True)
    ['a seven right of a three']
    """
    _check_scenes(drawn)
    require.boolean("from_second", from_second)
    said = []
    for *pair, relation in drawn.tolist():
        one, other = (_NAMES[i] for i in (pair[::-1] if from_second else pair))
        said.append(f"a {one} {RELATIONS[relation][from_second]} a {other}")
    return said


def encode_captions(said: list[str]) -> Int[Tensor, "caption 6"]:
    """Return the ids of the words, padded with 0.

    Raises:
        TypeError: Not a list of sentences.
        ValueError: No sentence, one of more than six words, or an unknown
            word.

    >>> encode_captions(["a three above a seven"]).tolist()
    [[1, 5, 15, 1, 9, 0]]
    """
    require.instance("said", said, list)
    if not said:
        raise ValueError("said must hold a sentence, got none")
    ids = torch.zeros(len(said), MAX_WORDS, dtype=torch.long)
    for row, sentence in zip(ids, said, strict=True):
        require.instance("said[i]", sentence, str)
        words = sentence.split()
        if not 1 <= len(words) <= MAX_WORDS:
            raise ValueError(
                f"said must hold sentences of 1 to {MAX_WORDS} words, got "
                f"{sentence!r}"
            )
        for place, word in enumerate(words):
            if word not in WORDS:
                raise ValueError(
                    f"said must hold words of WORDS, got {word!r}"
                )
            row[place] = WORDS.index(word)
    return ids


def scene_corners(
    drawn: Int[Tensor, "scene 3"],
    *,
    generator: torch.Generator | None = None,
) -> Int[Tensor, "scene digit 2"]:
    """Draw where the two digits of each scene begin: row and column.

    Along the relation the second begins 8 to 12 pixels after the first, across
    it up to 4 before or after, so that neither is cut or covers the other.

    Args:
        drawn: Scenes, as `scenes` lists them.
        generator: Source of the random numbers; None is PyTorch's own.

    Raises:
        TypeError, ValueError: Scenes of other axes, digits or relations;
            something that is not a generator.
    """
    _check_scenes(drawn)
    require.instance("generator", generator, torch.Generator, optional=True)
    count = len(drawn)
    apart = 8 + _whole(5, count, generator)
    first = _whole(SIDE - 8 - apart + 1, count, generator)
    along = torch.stack([first, first + apart], dim=1)
    across = torch.stack(
        [4 + _whole(5, count, generator) for _ in range(2)], dim=1
    )
    beside = (drawn[:, 2] == 0)[:, None]
    rows = torch.where(beside, across, along)
    columns = torch.where(beside, along, across)
    return torch.stack([rows, columns], dim=2)


def paint_scenes(
    drawn: Int[Tensor, "scene 3"],
    *,
    part: str = "train",
    generator: torch.Generator | None = None,
) -> Float[Tensor, "scene 1 20 20"]:
    """Paint each scene with handwritten digits, 8 x 8 pixels each.

    The image used for each digit and the location of both are random; for the
    locations see `scene_corners`.

    Args:
        drawn: Scenes, as `scenes` lists them.
        part: "train" or "test": whose images are used.
        generator: Source of the random numbers; None is PyTorch's own.

    Returns:
        Pixels in [0, 1], 0 is no ink.

    Raises:
        TypeError, ValueError: Scenes of other axes, digits or relations; an
            unknown part; something that is not a generator.
    """
    _check_scenes(drawn)
    require.choice("part", part, ("train", "test"))
    corners = scene_corners(drawn, generator=generator)
    images, starts, counts = _by_digit(part)
    count = len(drawn)
    canvas = torch.zeros(count, SIDE, SIDE)
    within = torch.arange(8)
    scene = torch.arange(count)[:, None, None]
    for which in (0, 1):
        digit = drawn[:, which]
        picks = _whole(counts[digit], count, generator)
        stamp = images[starts[digit] + picks]
        y, x = corners[:, which, :, None, None].unbind(dim=1)
        canvas[scene, y + within[:, None], x + within] = stamp
    return canvas[:, None]


def _whole(
    below: int | Tensor, count: int, generator: torch.Generator | None
) -> Tensor:
    """Draw so many whole numbers from 0, below the given ones."""
    draws = torch.rand(count, generator=generator)
    return (draws * below).long()


@cache
def _by_digit(part: str) -> tuple[Tensor, Tensor, Tensor]:
    """Return images sorted by digit, where each begins, and how many."""
    data = digits()
    labels = getattr(data, f"{part}_labels")
    pixels = data.pixels(getattr(data, f"{part}_images"))[:, 0].clamp(0, 1)
    counts = labels.bincount(minlength=10)
    starts = counts.cumsum(0) - counts
    return pixels[labels.argsort(stable=True)], starts, counts


def _check_scenes(drawn: Tensor) -> None:
    require.rank("drawn", drawn, "scene number")
    require.integers("drawn", drawn)
    least, most = torch.tensor([0, 0, 0]), torch.tensor([9, 9, 1])
    if drawn.shape[1] != 3 or len(drawn) == 0:
        raise ValueError(
            "drawn must have (scene, 3) axes and at least one scene, got "
            f"{tuple(drawn.shape)}"
        )
    if (drawn < least).any() or (drawn > most).any():
        raise ValueError(
            "drawn must hold two digits, 0 to 9, and a relation, 0 or 1, got "
            f"{drawn.amin(dim=0).tolist()} to {drawn.amax(dim=0).tolist()}"
        )
    if (drawn[:, 0] == drawn[:, 1]).any():
        raise ValueError("drawn must hold two different digits, got one twice")
