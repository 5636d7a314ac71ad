"""Numbers in Chinese and in English: a language pair that fits in one file.

Chinese groups digits by four (万, ten thousand), English by three (thousand).
So the words of one language are not in the order of the other, and a
translator has to learn which digits make a group.
"""

import re
from collections.abc import Collection, Iterable

import torch

from vitedu import require
from vitedu.data.sequences import Pairs, Vocabulary

LARGEST = 10**8

_DIGITS = "零一二三四五六七八九"
# fmt: off
_BELOW_20 = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight",
    "nine", "ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen",
    "sixteen", "seventeen", "eighteen", "nineteen",
)
_TENS = (
    "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty",
    "ninety",
)
# fmt: on
_CHINESE = tuple(_DIGITS + "十百千万亿")
_ENGLISH = (*_BELOW_20, *_TENS, "hundred", "thousand", "million", "and")
_ROUNDS = 100


def chinese_numeral(number: int) -> str:
    """Write a number in Chinese numerals.

    The digits are read in groups of four, and 万 or 亿 ends a group. Zeros
    between two digits of a group, or at its head, are read as one 零; zeros
    at its end are not read. At the very beginning 一十 is shortened to 十:
    十五 is 15, but 一百一十五 is 115. The colloquial 两 for 2 is not used.

    Args:
        number: 0 to 100,000,000.

    Raises:
        TypeError, ValueError: `number` is not an integer in that range.

    >>> chinese_numeral(12005)
    '一万二千零五'
    >>> [chinese_numeral(n) for n in (10, 110, 20_005_000, 20_000_500)]
    ['十', '一百一十', '二千万五千', '二千万零五百']
    """
    _require_in_range(number)
    if number == 0:
        return "零"
    text = ""
    for value, unit in ((10**8, "亿"), (10**4, "万"), (1, "")):
        group = number // value % 10**4
        if group:
            text += _four_digits(group, follows=bool(text)) + unit
    return text[1:] if text.startswith("一十") else text


def _four_digits(group: int, *, follows: bool) -> str:
    text, gap = "", False
    for digit, unit in zip(f"{group:04}", ("千", "百", "十", ""), strict=True):
        if digit == "0":
            gap = True
            continue
        if gap and (text or follows):
            text += "零"
        text += _DIGITS[int(digit)] + unit
        gap = False
    return text


def english_numeral(number: int) -> str:
    """Write a number in British English, without commas.

    Args:
        number: 0 to 100,000,000.

    Raises:
        TypeError, ValueError: `number` is not an integer in that range.

    >>> english_numeral(12005)
    'twelve thousand and five'
    >>> english_numeral(1_000_121)
    'one million one hundred and twenty-one'
    """
    _require_in_range(number)
    if number < 20:
        return _BELOW_20[number]
    if number < 100:
        tens, ones = divmod(number, 10)
        return _TENS[tens - 2] + (f"-{_BELOW_20[ones]}" if ones else "")
    units = ((10**6, "million"), (1000, "thousand"), (100, "hundred"))
    value, unit = next(pair for pair in units if number >= pair[0])
    head, rest = divmod(number, value)
    text = f"{english_numeral(head)} {unit}"
    if rest:
        text += f"{' and' if rest < 100 else ''} {english_numeral(rest)}"
    return text


def numeral_words(number: int) -> tuple[list[str], list[str]]:
    """Return a number as Chinese characters and as English words.

    The hyphen becomes a space here: "twenty-one" is two words, so that the
    vocabulary needs no word of its own for each number below 100.

    >>> numeral_words(21)
    (['二', '十', '一'], ['twenty', 'one'])
    """
    english = re.split("[ -]", english_numeral(number))
    return list(chinese_numeral(number)), english


def numeral_vocabularies(
    *, joint: bool = False
) -> tuple[Vocabulary, Vocabulary]:
    """Return the vocabularies of the Chinese and of the English numerals.

    Args:
        joint: Whether both are one vocabulary with the words of both
            languages, which a shared embedding needs.

    Raises:
        TypeError: `joint` is neither True nor False.
    """
    require.boolean("joint", joint)
    if joint:
        both = Vocabulary(_CHINESE + _ENGLISH)
        return both, both
    return Vocabulary(_CHINESE), Vocabulary(_ENGLISH)


def numeral_pairs(numbers: Iterable[int], *, joint: bool = False) -> Pairs:
    """Translate numbers: Chinese is the source, English the target.

    Args:
        numbers: At least one, each 0 to 100,000,000.
        joint: See `numeral_vocabularies`.

    Raises:
        TypeError, ValueError: A number is not an integer in that range, or
            there are no numbers.
    """
    require.instance("numbers", numbers, Iterable)
    return Pairs.encode(
        [numeral_words(number) for number in numbers],
        *numeral_vocabularies(joint=joint),
    )


def draw_numbers(
    count: int,
    *,
    largest: int = LARGEST - 1,
    zero_rate: float = 0.0,
    exclude: Collection[int] = (),
    seed: int = 0,
) -> list[int]:
    """Draw different numbers, short ones as often as long ones.

    First the number of digits is sampled, uniformly from 1 to that of
    `largest`, then the digits. Where short numbers run out, longer ones take
    their place.

    Args:
        count: How many, at least 1.
        largest: No number is above it; 1 to 100,000,000.
        zero_rate: Probability, in [0, 1), that a digit after the first is made
            zero, on top of the zeros that occur anyway.
        exclude: Numbers that must not be drawn.
        seed: Determines which are drawn; 0 to 2**64 - 1.

    Returns:
        The numbers in random order.

    Raises:
        TypeError, ValueError: An argument outside its range, or so many
            numbers that after 100 * `count` draws some are still missing.
    """
    require.positive_int("count", count)
    require.positive_int("largest", largest)
    require.rate("zero_rate", zero_rate)
    require.seed("seed", seed)
    require.instance("exclude", exclude, Collection)
    if largest > LARGEST:
        raise ValueError(f"largest must be at most {LARGEST}, got {largest}")
    generator = torch.Generator().manual_seed(seed)
    excluded = set(exclude)
    drawn: dict[int, None] = {}
    for _ in range(_ROUNDS):
        for number in _draw_round(count, largest, zero_rate, generator):
            if number not in excluded:
                drawn[number] = None
        if len(drawn) >= count:
            # Drawn late means long where the short ones are used up: mix.
            numbers = list(drawn)[:count]
            order = torch.randperm(count, generator=generator).tolist()
            return [numbers[i] for i in order]
    raise ValueError(
        f"count must be far below the numbers up to largest={largest} that "
        f"zero_rate={zero_rate} and exclude leave; got {count}, found "
        f"{len(drawn)} in {_ROUNDS * count} draws"
    )


def _draw_round(
    count: int, largest: int, zero_rate: float, generator: torch.Generator
) -> list[int]:
    """Draw `count` numbers; what is above `largest` is left out."""
    most = len(str(largest))
    lengths = torch.randint(1, most + 1, (count, 1), generator=generator)
    digits = torch.randint(10, (count, most), generator=generator)
    zeroed = torch.rand(count, most, generator=generator) < zero_rate
    first = torch.randint(1, 10, (count, 1), generator=generator)
    # Column 0 holds the ones, column length - 1 the first digit. A number of
    # one digit may be zero, a longer one may not begin with zero.
    place = torch.arange(most)
    leads = (place == lengths - 1) & (lengths > 1)
    digits = digits.masked_fill(zeroed & (lengths > 1), 0)
    digits = torch.where(leads, first, digits)
    digits = digits.masked_fill(place >= lengths, 0)
    numbers = (digits * 10**place).sum(dim=1)
    return numbers[numbers <= largest].tolist()


def numeral_task(
    *,
    num_train: int = 2000,
    num_test: int = 1000,
    largest: int = LARGEST - 1,
    zero_rate: float = 0.0,
    joint: bool = False,
    seed: int = 0,
) -> tuple[Pairs, Pairs]:
    """Make the task of translating numerals from Chinese to English.

    One sample, 12,005: the source is 一万二千零五, in ids 4 16 5 15 3 8, the
    target "twelve thousand and five", in ids 1 15 32 34 8 2. 一万二千 is one
    ten thousand and two thousands; English joins them, so "twelve" has to
    attend to both 一万 and 二千. 零 marks the missing hundreds and tens.

    Args:
        num_train: Pairs to learn from, at least 1.
        num_test: Pairs to test on, at least 1; no number is in both parts.
        largest: As in `draw_numbers`.
        zero_rate: As in `draw_numbers`.
        joint: See `numeral_vocabularies`.
        seed: Determines which numbers are drawn; 0 to 2**64 - 1.

    Returns:
        The training and the test pairs.

    Raises:
        TypeError, ValueError: As in `draw_numbers`.
    """
    require.positive_int("num_train", num_train)
    require.positive_int("num_test", num_test)
    numbers = draw_numbers(
        num_train + num_test, largest=largest, zero_rate=zero_rate, seed=seed
    )
    pairs = numeral_pairs(numbers, joint=joint)
    return pairs[:num_train], pairs[num_train:]


def _require_in_range(number: int) -> None:
    require.integer("number", number, at_least=0)
    if number > LARGEST:
        raise ValueError(f"number must be at most {LARGEST}, got {number}")
