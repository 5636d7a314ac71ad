"""Train the translator of numerals from three seeds, and on shorter numbers.

Chapter 9 loads the translator of the first seed, rounded to half precision
as it travels with the page, and reads what was measured of all three. Another
processor adds in another order and ends at a translator with other slips, so
the one that the chapter's text speaks of is kept. Run it with:
    python -m experiments.translator_seeds
"""

import json
from pathlib import Path

import torch

from vitedu.analysis.attention_maps import capture_attention
from vitedu.book.notebook import set_up
from vitedu.book.page_weights import rounded_to_half
from vitedu.config import TrainConfig, TransformerConfig
from vitedu.data.numerals import (
    draw_numbers,
    numeral_pairs,
    numeral_task,
    numeral_words,
)
from vitedu.data.sequences import Pairs, pair_batches
from vitedu.decoding.search import greedy_search
from vitedu.pretrained.models import load_transformer, save_transformer
from vitedu.training.loop import fit
from vitedu.training.state import History
from vitedu.transformer import Transformer

SEEDS = (0, 1, 2)
TASK = {"num_train": 5000, "num_test": 1000, "zero_rate": 0.3}
DATA = Path(__file__).parent.parent / "book/data"
RESULT = DATA / "translator-seeds.json"
WEIGHTS = DATA / "translator.safetensors"


def main() -> None:
    """Train, measure, write the result file."""
    set_up()
    torch.set_num_threads(1)  # as the page does
    runs = []
    for seed in SEEDS:
        runs.append({"seed": seed} | one_seed(seed))
        print(seed, runs[-1]["mistakes"])
    result = {
        "script": "experiments/translator_seeds.py",
        "torch": torch.__version__.split("+")[0],
        "task": TASK,
        "runs": runs,
    }
    temporary = RESULT.with_suffix(".part")
    temporary.write_text(
        json.dumps(result, indent=1, ensure_ascii=False) + "\n"
    )
    temporary.replace(RESULT)


def one_seed(seed: int) -> dict:
    """Train on all lengths, then on at most five digits, and test both."""
    train, test = numeral_task(**TASK, seed=seed)
    model, history = trained(train, seed)
    words = (train.src_vocabulary, train.tgt_vocabulary)
    if seed == SEEDS[0]:
        save_transformer(WEIGHTS, rounded_to_half(model).half(), *words)
        model, *_ = load_transformer(WEIGHTS)
    short, short_test = numeral_task(**TASK, largest=99_999, seed=seed)
    short_model, _ = trained(short, seed)
    six = numbers_of(6)  # the words are known, the length is new
    wrong = mistakes(short_model, six)
    wrong_short = mistakes(short_model, short_test)
    to_wan, to_qian = looks_of_thousand(model)
    return {
        "to_wan": to_wan,
        "to_qian": to_qian,
        "right": len(test) - len(mistakes(model, test)),
        "mistakes": mistakes(model, test),
        "loss": history.loss,
        "learning_rate": history.learning_rate,
        "short_right": len(short_test) - len(wrong_short),
        "six_digits": {"right": len(six) - len(wrong), "of": len(six)}
        | described(wrong),
    }


def trained(pairs: Pairs, seed: int) -> tuple[Transformer, History]:
    """Return a trained model and how its training went."""
    torch.manual_seed(seed)
    model = Transformer(TransformerConfig.numerals())
    loader = pair_batches(pairs, batch_size=64, seed=seed)
    history = fit(model, loader, TrainConfig.numerals())
    return model, history


def mistakes(model: Transformer, pairs: Pairs) -> list[list[str]]:
    """Return [Chinese, what the model says, what is right] of each mistake."""
    found = greedy_search(model, pairs.src, bos_id=1, eos_id=2, max_len=20)
    said = [" ".join(pairs.tgt_vocabulary.decode(x)) for x in found.best]
    return [
        ["".join(chinese), answer, " ".join(english)]
        for (chinese, english), answer in zip(pairs.words, said, strict=True)
        if answer != " ".join(english)
    ]


def described(wrong: list[list[str]]) -> dict:
    """Count what kind of mistakes these are, and keep some of them."""
    named = {" ".join(numeral_words(x)[1]): x for x in range(10**6)}
    said = [named.get(answer, 10**6) for _, answer, _ in wrong]
    meant = [named[right] for _, _, right in wrong]
    return {
        "at_most_five_digits": sum(x < 10**5 for x in said),
        "last_digit_lost": sum(
            x == y // 10 for x, y in zip(said, meant, strict=True)
        ),
        "examples": wrong[:6],
    }


@torch.no_grad()
def looks_of_thousand(model: Transformer) -> list[float]:
    """Return how much "thousand" looks at 万 and at 千, in per cent."""
    shares = []
    for tens in range(10_000, 100_000, 10_000):
        for ones in range(1000, 10_000, 1000):
            pairs = numeral_pairs([tens + ones + 7])
            chinese, english = pairs.words[0]
            with capture_attention(model) as maps:
                model(pairs.src, pairs.tgt_input)
            cross = [maps[name] for name in maps if "cross" in name]
            row = torch.cat(cross).mean(dim=(0, 1))[english.index("thousand")]
            shares.append([row[chinese.index(sign)] for sign in "万千"])
    return (100 * torch.tensor(shares).mean(dim=0)).tolist()


def numbers_of(digits: int) -> Pairs:
    """Return 200 numbers with this many digits."""
    numbers = draw_numbers(4000, largest=10**digits - 1, seed=digits)
    return numeral_pairs([x for x in numbers if x >= 10 ** (digits - 1)][:200])


if __name__ == "__main__":
    main()
