"""Train the encoders of the explorer of chapter 23, twice, and keep them.

Two encoders learn from captioned digits in two wordings, as in
`experiments/without_labels.py`, but with half as many blocks and fewer steps.
Once a batch is any 64 scenes; once it holds scenes and their mirror images.
Both are rounded to half precision, as they travel with the page, and then
asked about pairs of digits that they have never met: is the true sentence
nearer than the same one with left and right, or above and below, swapped?
Run it, for a few minutes, with:
    python -m experiments.match
"""

from dataclasses import replace
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

from experiments.runs import write_runs
from experiments.without_labels import CONFIG, captioned, inked
from vitedu.book.notebook import set_up
from vitedu.book.page_weights import rounded_to_half
from vitedu.data.captions import (
    MAX_WORDS,
    RELATIONS,
    WORDS,
    captions,
    encode_captions,
    paint_scenes,
    scenes,
)
from vitedu.objectives.contrastive import ImagesAndCaptions

FOLDER = Path(__file__).parent.parent / "book/data"
RESULT = FOLDER / "match.json"
WEIGHTS = {
    "plain": FOLDER / "match-plain.safetensors",
    "near": FOLDER / "match-near.safetensors",
}
SMALL = replace(CONFIG, num_layers=2, image_size=20, patch_size=5)
"""Of the images' blocks."""
STEPS = 1500
SEED = 0
TIMES = 20
"""Images of each scene, when the encoders are asked."""
FACTS = {"script": "experiments/match.py", "steps": STEPS, "seed": SEED}


def main() -> None:
    """Train, write the weights and how they answer."""
    set_up()
    torch.set_num_threads(1)
    runs = []
    for name, path in WEIGHTS.items():
        trained = captioned(
            SEED,
            both_wordings=True,
            near=name == "near",
            config=SMALL,
            steps=STEPS,
        )
        model = rounded_to_half(trained)
        runs += [{"weights": name} | run for run in asked(model)]
        print(*runs[-len(RELATIONS) :], sep="\n", flush=True)
        save_file(model.half().state_dict(), path)
    write_runs(RESULT, runs, **FACTS)


def kept(name: str) -> ImagesAndCaptions:
    """Return one of the two models that were kept."""
    model = ImagesAndCaptions(SMALL, vocab_size=len(WORDS), max_len=MAX_WORDS)
    model.load_state_dict(load_file(WEIGHTS[name]))
    return model.eval()


@torch.no_grad()
def asked(model: ImagesAndCaptions) -> list[dict]:
    """Count choices between a sentence and the same one, swapped.

    Returns:
        For each relation, of images of unseen pairs, painted with test
        digits, and of both wordings: how many `choices` there were, how many
        of them were `right`.
    """
    model.eval()
    draw = torch.Generator().manual_seed(2025)
    runs = []
    for relation, words in enumerate(RELATIONS):
        new = scenes(unseen=True)
        new = new[new[:, 2] == relation]
        painted = paint_scenes(
            new.repeat_interleave(TIMES, dim=0), part="test", generator=draw
        )
        images = model.encode_images(inked(painted))
        right = 0
        for from_second in (False, True):
            said = captions(new, from_second=from_second)
            own, other = (
                images
                * model.encode_captions(
                    encode_captions(some)
                ).repeat_interleave(TIMES, dim=0)
                for some in (said, [swapped(one, words) for one in said])
            )
            right += (own.sum(dim=1) > other.sum(dim=1)).sum().item()
        runs.append(
            {
                "relation": relation,
                "choices": 2 * len(images),
                "right": right,
            }
        )
    return runs


def swapped(sentence: str, words: tuple[str, str]) -> str:
    """Say the opposite: left of for right of, above for below."""
    one, other = words
    if one in sentence:
        return sentence.replace(one, other)
    return sentence.replace(other, one)


if __name__ == "__main__":
    main()
