"""Look inside the ViT that was trained on photographs, and write it down.

Chapters 12, 13 and 16 read the result file, so that they build without the
network's weights; chapter 20 computes some of it again and compares. Run it
with:
    python -m experiments.photographs_inside
"""

import json
from pathlib import Path

import torch
from einops import rearrange
from torch import Tensor

from vitedu.analysis.attention_maps import (
    attention_distance,
    attention_rollout,
    capture_attention,
    patch_distances,
    position_similarity,
    uniform_distance,
)
from vitedu.analysis.attribution import deletion_test, gradient_saliency
from vitedu.book.notebook import set_up
from vitedu.data.photographs import (
    IMAGENET,
    PHOTOGRAPHS,
    photograph,
    preprocess,
)
from vitedu.pretrained.zoo import pretrained_vit
from vitedu.vit import VisionTransformer

SIDE, PATCH = 224, 14
GRID = (SIDE // PATCH, SIDE // PATCH)
DELETED = (0, 32, 64, 96, 128, 160, 192)
LAYERS = (1, 3, 6, 9, 12)
RESULT = Path(__file__).parent.parent / "book/data/photographs-inside.json"


def main() -> None:
    """Measure, and write the result file."""
    set_up()
    model = pretrained_vit()
    images = torch.stack(
        [
            preprocess(photograph(name), SIDE, normalisation=IMAGENET)
            for name in PHOTOGRAPHS
        ]
    )
    with torch.no_grad(), capture_attention(model) as maps:
        tokens = model.layer_features(images)
    layers = list(maps.values())
    result = {
        "script": "experiments/photographs_inside.py",
        "torch": torch.__version__.split("+")[0],
        "photographs": PHOTOGRAPHS,
        "attention_distance": rounded(distances(layers)),
        "uniform_distance": round(uniform_distance(GRID, PATCH) / SIDE, 4),
        "evenness": rounded(evenness(layers)),
        "position_similarity": similarity_by_distance(model),
        "colours": {
            "photograph": "china",
            "layers": LAYERS,
            "rgb": [colours(tokens[k - 1][0, 1:]) for k in LAYERS],
        },
        "looks_at": {"photograph": "cat"} | looks_at(layers, "cat"),
        "deleted": DELETED,
        "deletion": deletions(model, images, layers),
    }
    temporary = RESULT.with_suffix(".part")
    temporary.write_text(json.dumps(result) + "\n")
    temporary.replace(RESULT)


def distances(layers: list[Tensor]) -> Tensor:
    """Attention distance as a share of the side, (layer, head)."""
    grid = {"grid_size": GRID, "patch_size": PATCH}
    return torch.stack([attention_distance(x, **grid) for x in layers]) / SIDE


def evenness(layers: list[Tensor]) -> Tensor:
    """Entropy over the patches as a share of its maximum, (layer, head)."""
    found = []
    for maps in layers:
        among = maps[..., 1:, 1:]
        among = among / among.sum(dim=-1, keepdim=True)
        entropy = -torch.special.xlogy(among, among).sum(dim=-1)
        found.append(entropy.mean(dim=(0, 2)))
    return torch.stack(found) / torch.tensor(float(GRID[0] * GRID[1])).log()


def similarity_by_distance(model: VisionTransformer) -> dict[str, float]:
    """Mean cosine of two positions, by how many patches they are apart."""
    grid = model.config.grid_size
    count = grid[0] * grid[1]
    table = position_similarity(
        model.pos_embed.weight.detach(), grid_size=grid, num_prefix_tokens=1
    ).view(count, count)
    apart = patch_distances(grid, 1)
    return {
        str(steps): round(table[apart == steps].mean().item(), 4)
        for steps in (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
    }


def looks_at(layers: list[Tensor], name: str) -> dict[str, list[float]]:
    """Where the class token looks, by two ways of reading the same maps."""
    i = PHOTOGRAPHS.index(name)
    return {
        "rollout": rounded(attention_rollout(layers)[i, 0, 1:]),
        "last layer": rounded(layers[-1][i, :, 0, 1:].mean(dim=0)),
    }


def colours(tokens: Tensor) -> list[list[int]]:
    """Turn the first three principal components into red, green, blue."""
    centred = tokens - tokens.mean(dim=0)
    _, _, directions = torch.linalg.svd(centred, full_matrices=False)
    found = centred @ directions[:3].T
    low, high = (found.quantile(q, dim=0) for q in (0.02, 0.98))
    shares = ((found - low) / (high - low)).clamp(0, 1)
    return shares.mul(255).round().int().tolist()


def deletions(
    model: VisionTransformer, images: Tensor, layers: list[Tensor]
) -> dict[str, list[list[float]]]:
    """How surely a photograph is told from the others as patches go.

    The network has no classes. Its answer is which of the six photographs
    this one is: a softmax over ten times the cosines of class tokens.

    Returns:
        A list for each photograph, a probability for each of `DELETED`.
    """
    whole = class_tokens(model, images).detach()

    def which(batch: Tensor) -> Tensor:
        return 10 * class_tokens(model, batch) @ whole.T

    def surest(batch: Tensor) -> Tensor:
        return which(batch).log_softmax(dim=-1)

    labels = torch.arange(len(images))
    to_middle = torch.cartesian_prod(*[torch.arange(GRID[0]) - 7.5] * 2)
    gradients = [
        gradient_saliency(
            surest, images[i : i + 1], labels[i : i + 1], patch_size=PATCH
        )
        for i in range(len(images))
    ]
    rollout = attention_rollout(layers)[:, 0, 1:]
    scores = {
        "rollout": rollout,
        "rollout of another photograph": rollout.roll(1, dims=0),
        "last layer": layers[-1].mean(dim=1)[:, 0, 1:],
        "gradient": torch.cat(gradients),
        "contrast": contrast(images),
        "middle": -to_middle.square().sum(dim=-1).expand(len(images), -1),
    }
    found = {}
    for name, ranking in scores.items():
        test = deletion_test(
            which,
            images,
            labels,
            ranking.contiguous(),
            patch_size=PATCH,
            counts=DELETED,
            draws=1,
        )
        found[name] = rounded(test.ranked)
        found["random"] = rounded(test.random[0])
        print(name, test.area.mean(), test.random_area.mean(), flush=True)
    return found


def class_tokens(model: VisionTransformer, images: Tensor) -> Tensor:
    """Class tokens of length 1, (image, d_model)."""
    tokens = model.forward_features(images)[:, 0]
    return torch.nn.functional.normalize(tokens, dim=-1)


def contrast(images: Tensor) -> Tensor:
    """Standard deviation of brightness in each patch, (image, patch)."""
    pixels = rearrange(
        images.mean(dim=1),
        "b (rows p) (cols q) -> b (rows cols) (p q)",
        p=PATCH,
        q=PATCH,
    )
    return pixels.std(dim=-1)


def rounded(values: Tensor) -> list:
    """Return nested lists of numbers of four decimals."""
    return values.double().mul(10_000).round().div(10_000).tolist()


if __name__ == "__main__":
    main()
