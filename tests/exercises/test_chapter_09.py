"""The exercises of chapter 9, the Transformer."""

import pytest
import torch
import torch.nn.functional as F
from judging import expect_thought, expect_unfinished
from torch.nn.utils.rnn import pad_sequence

from benchmarks import copier_curves
from benchmarks.runs import read_runs
from vitedu.config import TransformerConfig
from vitedu.exercises import chapter_09 as check
from vitedu.transformer import Transformer


def test_parameters_accepts_the_number():
    config = TransformerConfig(
        src_vocab_size=10_000,
        tgt_vocab_size=10_000,
        d_model=256,
        num_layers=3,
        d_ff=1024,
    )
    with torch.device("meta"):
        model = Transformer(config)
    assert check.parameters(sum(p.numel() for p in model.parameters()))
    d = 256
    assert check.parameters(3.0 * (28 * d**2 + 20 * d) + 10_000 * d)


@pytest.mark.parametrize(
    ("answer", "thought"),
    [
        (8_081_408, "the 4d are norms before"),
        (10_640_384, "two tables are counted"),
        (13_200_384, "three tables are counted"),
        (5_520_384, "the table of words is missing"),
        (2_560_000 + 6 * (12 * 256**2 + 9 * 256), "a second attention"),
        (2_560_000 + 3 * 28 * 256**2, "norms and the biases"),
        (8_080_384 + 3 * 3 * 4 * 256, "no biases here"),
        (2_560_000 + 28 * 256**2 + 20 * 256, "one block of each stack"),
        (8_000_000, "is not it"),
    ],
)
def test_parameters_names_the_mistake(answer, thought):
    expect_thought(check.parameters(answer), thought)


def cut_from_the_whole(sentences, bos_id, eos_id, pad_id):
    """Fill the rows first and cut them afterwards, as the library does."""
    rows = [torch.tensor([bos_id, *words, eos_id]) for words in sentences]
    whole = pad_sequence(rows, batch_first=True, padding_value=pad_id)
    return torch.stack([whole[:, :-1], whole[:, 1:]])


def written_out(sentences, bos_id, eos_id, pad_id):
    shape = 2, len(sentences), max(map(len, sentences)) + 1
    out = torch.full(shape, pad_id)
    for row, words in enumerate(sentences):
        out[0, row, 0] = bos_id
        for step, word in enumerate(words):
            out[0, row, step + 1] = out[1, row, step] = word
        out[1, row, len(words)] = eos_id
    return out


@pytest.mark.parametrize("solution", [cut_from_the_whole, written_out])
def test_teacher_forcing_accepts_a_solution(solution):
    assert check.teacher_forcing(solution).right


def broken(mistake):
    def candidate(sentences, bos_id, eos_id, pad_id):
        rows = [torch.tensor([bos_id, *w, eos_id]) for w in sentences]
        side = "left" if mistake == "left" else "right"
        whole = pad_sequence(
            rows, batch_first=True, padding_value=pad_id, padding_side=side
        )
        if mistake == "left":
            right = written_out(sentences, bos_id, eos_id, pad_id)
            return torch.stack(
                [
                    torch.stack(
                        [row.roll(int((row == pad_id).sum())) for row in part]
                    )
                    for part in right
                ]
            )
        return {
            "reads what it says": torch.stack([whole[:, 1:]] * 2),
            "says what it reads": torch.stack(
                [written_out(sentences, bos_id, eos_id, pad_id)[0]] * 2
            ),
            "swapped": written_out(sentences, bos_id, eos_id, pad_id).flip(0),
            "whole": torch.stack([whole, whole]),
        }[mistake]

    return candidate


@pytest.mark.parametrize(
    ("mistake", "thought"),
    [
        ("reads what it says", "the decoder reads the word"),
        ("says what it reads", "the labels are the inputs"),
        ("swapped", "inputs and labels are swapped"),
        ("whole", "both marks are in the input"),
        ("left", "stands on the left"),
    ],
)
def test_teacher_forcing_names_the_mistake(mistake, thought):
    expect_thought(check.teacher_forcing(broken(mistake)), thought)


def without_end(sentences, bos_id, eos_id, pad_id):
    rows = [torch.tensor([bos_id, *words]) for words in sentences]
    whole = pad_sequence(rows, batch_first=True, padding_value=pad_id)
    return torch.stack([whole[:, :-1], whole[:, 1:]])


def two_steps(sentences, bos_id, eos_id, pad_id):
    rows = [[bos_id, *words, eos_id, eos_id] for words in sentences]
    longest = max(map(len, rows))
    whole = torch.tensor(
        [row + [pad_id] * (longest - len(row)) for row in rows]
    )
    return torch.stack([whole[:, :-2], whole[:, 2:]])


def test_teacher_forcing_names_a_missing_end_and_a_long_shift():
    expect_thought(check.teacher_forcing(without_end), "never learn to stop")
    expect_thought(check.teacher_forcing(two_steps), "goes two steps")


def library(logits, labels, pad_id):
    return F.cross_entropy(
        logits.flatten(0, 1), labels.flatten(), ignore_index=pad_id
    )


def word_by_word(logits, labels, pad_id):
    """Add up and count in a loop."""
    total, count = 0.0, 0
    for scores, said in zip(logits, labels, strict=True):
        for score, word in zip(scores, said.tolist(), strict=True):
            if word != pad_id:
                total = total + score.logsumexp(dim=0) - score[word]
                count += 1
    return total / count


def words_picked_first(logits, labels, pad_id):
    kept = labels != pad_id
    log_p = logits[kept].log_softmax(dim=-1)
    return -log_p[torch.arange(len(log_p)), labels[kept]].mean()


@pytest.mark.parametrize(
    "solution", [library, word_by_word, words_picked_first]
)
def test_loss_per_word_accepts_a_solution(solution):
    assert check.loss_per_word(solution).right


def surprises(logits, labels):
    return F.cross_entropy(logits.mT, labels, reduction="none")


LOSSES = {
    # The mistake that has to be found: it must not be named.
    "one more place of padding": lambda x, y, pad: (
        surprises(x, y).masked_fill(y == pad, 0).mean()
    ),
    "the padding counts like words": lambda x, y, pad: surprises(x, y).mean(),
    "each sentence first": lambda x, y, pad: torch.stack(
        [s[r != pad].mean() for s, r in zip(surprises(x, y), y, strict=True)]
    ).mean(),
    "that is a sum": lambda x, y, pad: surprises(x, y)[y != pad].sum(),
    "number of sentences": lambda x, y, pad: (
        surprises(x, y)[y != pad].sum() / 3
    ),
    "wrong way round": lambda x, y, pad: surprises(x, y)[y == pad].mean(),
}


@pytest.mark.parametrize("thought", list(LOSSES))
def test_loss_per_word_names_the_mistake(thought):
    expect_thought(check.loss_per_word(LOSSES[thought]), thought)


def test_curves_of_copiers_accepts_the_six_names():
    assert check.curves_of_copiers(dict(check.COPIERS))
    backwards = sorted(check.COPIERS.items(), reverse=True)
    assert check.curves_of_copiers(dict(backwards))


def swapped(one, other):
    """Give each of two curves the name of the other."""
    names = {one: other, other: one}
    return {
        letter: names.get(name, name) for letter, name in check.COPIERS.items()
    }


@pytest.mark.parametrize(
    ("names", "thoughts"),
    [
        (
            ("healthy", "padding counted"),
            ["ends with small losses", "far below the dashed line after two"],
        ),
        (
            ("healthy", "no causal mask"),
            ["has to learn to look there", "it writes little right"],
        ),
        (
            ("no causal mask", "no shift"),
            ["there is nothing to look for", "no more than two epochs"],
        ),
        (
            ("few pairs", "rate too high"),
            ["does not even learn", "its training loss stays near"],
        ),
        (
            ("few pairs", "healthy"),
            ["a large one on unseen pairs", "its two lines part"],
        ),
        (
            ("rate too high", "no shift"),
            ["does not even learn", "no more than two epochs"],
        ),
    ],
)
def test_curves_of_copiers_says_why_a_curve_is_another(names, thoughts):
    message = check.curves_of_copiers(swapped(*names)).message
    assert all(thought in message for thought in thoughts)
    # Two letters are wrong, and nothing is said of the other four.
    letters = {x for x, name in check.COPIERS.items() if name in names}
    assert {x for x in "ABCDEF" if f"{x} is not '" in message} == letters


def test_curves_of_copiers_does_not_say_the_right_name():
    for letter, right in check.COPIERS.items():
        for name in set(check.COPIERS.values()) - {right}:
            message = check.curves_of_copiers({letter: name}).message
            assert right not in message


def test_the_script_trains_what_the_check_names():
    assert set(copier_curves.FAULTS) == set(check.COPIERS.values())
    runs = read_runs(copier_curves.RESULT)
    assert len(runs) == len(copier_curves.SEEDS) * len(copier_curves.FAULTS)
    for run in runs:
        curve = run["unseen"]
        assert run["fault"] in check.COPIERS.values()
        writes = run["fault"] in ("healthy", "padding counted")
        assert writes == (run["written"] > 0.5)
        assert (run["fault"] == "no shift") == (curve[1] < 0.1)
        assert (run["fault"] == "padding counted") == (0.5 < curve[1] < 0.75)


def test_unfinished_answers():
    names = dict.fromkeys("ABCDEF")
    expect_thought(check.curves_of_copiers(names), "beside each letter")
    expect_thought(check.curves_of_copiers({"A": "a bug"}), "'a bug' is not")
    expect_unfinished(check.parameters, check.loss_per_word)
    expect_unfinished(check.parameters, check.teacher_forcing)
