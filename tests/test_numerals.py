"""Chinese and English numerals against two packages that know them."""

from collections import Counter

import cn2an
import torch
from num2words import num2words

from vitedu.data.numerals import (
    LARGEST,
    chinese_numeral,
    draw_numbers,
    english_numeral,
    numeral_pairs,
    numeral_task,
    numeral_vocabularies,
    numeral_words,
)

# Around each power of ten, and where zeros meet the groups of both languages.
EDGES = {
    start * 10**power + rest
    for power in range(9)
    for start in (*range(1, 12), 15, 20, 99, 100, 110, 505)
    for rest in (-1, 0, 1, 5, 10, 15, 99, 100, 500, 1000, 1010, 5000, 50_000)
    if 0 <= start * 10**power + rest <= LARGEST
}
NUMBERS = sorted(
    {*range(2500), *EDGES, LARGEST}
    | set(draw_numbers(2000))
    | set(draw_numbers(2000, zero_rate=0.6))
)


def test_chinese_equals_what_cn2an_writes_and_reads():
    assert len(NUMBERS) > 5000
    for number in NUMBERS:
        assert chinese_numeral(number) == cn2an.an2cn(number, "low")
        assert cn2an.cn2an(chinese_numeral(number), "smart") == number


def test_english_equals_what_num2words_writes_without_its_commas():
    for number in NUMBERS:
        expected = num2words(number, lang="en").replace(",", "")
        assert english_numeral(number) == expected


def test_vocabularies_hold_every_word_and_the_joint_one_both_languages():
    chinese, english = numeral_vocabularies()
    both, same = numeral_vocabularies(joint=True)
    assert both is same
    assert (len(chinese), len(english), len(both)) == (18, 35, 50)
    used = [numeral_words(number) for number in NUMBERS]
    assert {x for words, _ in used for x in words} == set(chinese.words)
    assert {x for _, words in used for x in words} == set(english.words)
    pairs = numeral_pairs([12005], joint=True)
    assert pairs.words == numeral_pairs([12005]).words
    assert pairs.src_vocabulary is pairs.tgt_vocabulary


def test_short_numbers_are_drawn_as_often_as_long_ones():
    numbers = draw_numbers(4000)
    assert len(set(numbers)) == 4000
    counts = Counter(len(str(number)) for number in numbers)
    assert counts[1] == 10  # with zero
    assert counts[2] == 90
    assert all(600 < counts[digits] < 750 for digits in range(4, 9))
    # In random order: the first half holds its share of short numbers.
    assert 30 < sum(number < 100 for number in numbers[:2000]) < 70


def test_digits_are_drawn_evenly():
    digits = Counter("".join(str(x)[1:] for x in draw_numbers(4000)))
    mean = sum(digits.values()) / 10
    assert all(abs(digits[x] - mean) < 0.1 * mean for x in "0123456789")
    first = Counter(str(x)[0] for x in draw_numbers(4000) if x > 999)
    assert set(first) == set("123456789")
    assert max(first.values()) < 1.3 * min(first.values())


def test_zeros_come_as_often_as_asked():
    tails = "".join(str(x)[1:] for x in draw_numbers(2000, zero_rate=0.5))
    # Half of the digits are made zero, a tenth of the others is by itself;
    # short numbers with many zeros are used up early.
    assert 0.45 < tails.count("0") / len(tails) < 0.6
    # The first digit stays: lengths are drawn evenly all the same.
    numbers = draw_numbers(400, zero_rate=0.7)
    assert sum(number >= 10**7 for number in numbers) > 50


def test_no_number_is_above_the_largest_and_none_excluded():
    numbers = draw_numbers(100, largest=314, exclude=range(50))
    assert min(numbers) >= 50
    assert 300 < max(draw_numbers(150, largest=314)) <= 314
    assert sorted(draw_numbers(11, largest=10)) == list(range(11))


def test_no_number_is_in_both_parts():
    train, test = numeral_task(num_train=300, num_test=200, largest=4321)
    assert (len(train), len(test)) == (300, 200)
    words = [["".join(x) for x, _ in part.words] for part in (train, test)]
    numbers = [{cn2an.cn2an(x, "smart") for x in part} for part in words]
    assert len(numbers[0] | numbers[1]) == 500
    assert max(numbers[0]) <= 4321
    for part in (train, test):
        assert part.words == [
            numeral_words(cn2an.cn2an("".join(x), "smart"))
            for x, _ in part.words
        ]


def test_the_seed_decides_and_nothing_else_does():
    first = draw_numbers(50, zero_rate=0.3)
    torch.manual_seed(99)
    state = torch.get_rng_state()
    assert draw_numbers(50, zero_rate=0.3) == first
    assert torch.equal(torch.get_rng_state(), state)
    assert draw_numbers(50, zero_rate=0.3, seed=1) != first
    task = numeral_task(num_train=5, num_test=3)
    other = numeral_task(num_train=5, num_test=3, seed=1)
    assert task[0].words != other[0].words
