"""Chinese and English numerals against two packages that know them."""

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
