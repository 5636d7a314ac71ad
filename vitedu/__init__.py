"""The library of the book "From Transformer to ViT".

Each module holds one concept, which the chapters derive. The parts of a model
are here: `masks`, `positions`, `patches`, `attention`, `cache`, `layers`,
`config`, `transformer`, `vit`. What is done with models is in subpackages:
`data`, `decoding`, `training`, `objectives`, `pretrained`, `analysis`; what
only the book needs is in `book` and `widgets`.

Import from the module, ``from vitedu.decoding.search import beam_search``;
what is used most can be imported from here as well,
``from vitedu import beam_search``.
"""

from importlib import import_module

# Loaded when they are asked for: `import vitedu.widgets` needs no PyTorch.
_HOMES = {
    "MultiHeadAttention": "attention",
    "TrainConfig": "config",
    "Transformer": "transformer",
    "TransformerConfig": "config",
    "ViTConfig": "config",
    "VisionTransformer": "vit",
    "accuracy": "training.loop",
    "beam_search": "decoding.search",
    "capture_attention": "analysis.attention_maps",
    "causal_mask": "masks",
    "evaluate_classifier": "training.evaluation",
    "fit": "training.loop",
    "greedy_search": "decoding.search",
    "load_transformer": "pretrained.models",
    "load_vit": "pretrained.models",
    "padding_mask": "masks",
    "save_transformer": "pretrained.models",
    "save_vit": "pretrained.models",
    "scaled_dot_product_attention": "attention",
}
__all__ = sorted(_HOMES)


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'vitedu' has no attribute {name!r}")
    return getattr(import_module(f"vitedu.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
