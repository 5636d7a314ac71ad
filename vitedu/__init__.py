"""The library of the book "From Transformer to ViT".

Each module holds one concept; the chapters derive what it holds. Import from
the modules: ``from vitedu.vit import VisionTransformer``. They are listed in
the order in which they are best read.

Attention
    masks              who may attend to whom
    cache              keys and values kept from one decoding step to the next
    attention          scaled dot-product and multi-head attention
    layers             feed-forward network, stochastic depth, blocks

Positions and patches
    sinusoids          tables of sines and cosines, in one and two dimensions
    positional         where a token is: fixed, learned, interpolated
    patches            from an image to a sequence of patches, and back

Models
    fields             rules that stand with the fields of a config
    config             what a model or a training run is made of, with presets
    transformer        the encoder-decoder Transformer of 2017
    initialisation     how the weights of a Vision Transformer start
    vit                the Vision Transformer

Decoding
    hypotheses         finished sentences of a search, and their ranks
    prefixes           sentences that grow, as every search has them
    decoding           greedy search, sampling, beam search

Data
    data               handwritten digits, their splits and variations
    canvases           digits placed at random among distractors
    photographs        two photographs, and the way from an image to a model
    image_folder       one's own pictures, with a folder for each class
    sequences          pairs of sentences as ids, padded and shifted
    numerals           numbers in Chinese and in English, to translate
    letters            sequences of letters, to copy and to reverse

Training
    whole_files        files that appear whole or not at all
    checkpoints        files that hold tensors and plain facts
    devices            where a model is computed
    distributed        what several processes do together
    randomness         all that a run draws random numbers from
    train_state        what changes in training, kept and brought back
    evaluation         how well a classifier does, in one pass over data
    training           one loop, with a history and exact resumption
    recomputation      blocks that forget, and compute themselves again
    baselines          chance, a linear model, a small CNN

Public weights
    weight_files       names, shapes and numbers from a file, and no code
    weight_formats     what others call the weights of a Vision Transformer
    pretrained_config  what a file says about its model
    pretrained         models out of files of weights, and into them

Programs
    train              the loop as a program, for one process or many
    predict            what a saved model sees on pictures

Counting and looking inside
    counting           parameters, part by part, from a config
    flops              floating-point operations, from a config
    memory             bytes that training keeps, from a config
    layer_table        the table of a widely used tool, and what it misses
    complexity         what a kind of layer costs, and how far signals travel
    analysis           attention maps, distances and similarities
    attribution        which patches an answer rests on
    mask_formats       masks of other libraries, from ours and back
    leaks              whether a model sees what it must not see

Tools of the book
    page_weights       a trained Transformer, as a page computes with it
    require            the rules that arguments obey
    plots              one look for every figure
    choices            a question, and what is said to each answer
    notebook           what the cells of a chapter call
    progress           what a reader has tried and got right
    grading            exercises, and verdicts on answers
    checks             proofs of equality

Explorers
    widgets                      the classes that a chapter shows
    widgets.base                 what all explorers share
    widgets.attention_plane      a query turns in the plane, the output follows
    widgets.positional_encoding  sines, cosines and the offsets they show
    widgets.softmax_scaling      scores, weights and gradients, with a scale
    widgets.mask_editor          who sees whom: fill, multiply, leak
    widgets.head_viewer          where each head looks from a chosen token
    widgets.norm_axes            which numbers a norm averages together
    widgets.reverse_trainer      an encoder learns to reverse, in the page
    widgets.model_counter        where parameters, operations and bytes are
    widgets.patch_cutter         a photograph in patches, and their rows
    widgets.attention_distance   how far each head looks, and where
    widgets.translation          what runs a trained translator in the page
    widgets.translator           what it writes, and where it looks meanwhile
    widgets.decoding_steps       what a search keeps, finishes and drops
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
    "accuracy": "training",
    "beam_search": "decoding",
    "capture_attention": "analysis",
    "causal_mask": "masks",
    "evaluate_classifier": "evaluation",
    "fit": "training",
    "greedy_search": "decoding",
    "load_transformer": "pretrained",
    "load_vit": "pretrained",
    "padding_mask": "masks",
    "save_transformer": "pretrained",
    "save_vit": "pretrained",
    "scaled_dot_product_attention": "attention",
}
__all__ = sorted(_HOMES)


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'vitedu' has no attribute {name!r}")
    return getattr(import_module(f"vitedu.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
