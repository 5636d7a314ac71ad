"""Models read from files and written to files, without running any code.

If you have a network connection and ``huggingface_hub``, a file of the Hugging
Face hub is two lines away; nothing in this library needs either::

    path = hf_hub_download("timm/vit_tiny_patch16_224.augreg_in21k_ft_in1k",
                           "model.safetensors")
    model = load_vit(path, config_of(path))

`save_transformer` writes a translator and its vocabularies to one file.
"""

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from vitedu import require
from vitedu.atomic_files import damage_named
from vitedu.config import TransformerConfig, ViTConfig
from vitedu.data.normalisation import Normalisation
from vitedu.data.sequences import Vocabulary
from vitedu.positions import interpolate_positions
from vitedu.pretrained.configs import config_of
from vitedu.pretrained.weight_descriptions import description_beside
from vitedu.pretrained.weight_files import WeightFile, open_weights
from vitedu.pretrained.weight_formats import (
    LARGEST_SIDE,
    Layout,
    find_family,
    square_side,
)
from vitedu.training.checkpoints import (
    check_same_weights,
    read_checkpoint,
    write_checkpoint,
)
from vitedu.transformer import Transformer
from vitedu.vit import VisionTransformer

__all__ = [
    "config_of",
    "load_transformer",
    "load_vit",
    "model_of",
    "save_transformer",
    "save_vit",
]

_PRE_LOGITS = ("pre_logits.fc.weight", "pre_logits.fc.bias")
_HEADS = ("head.weight", "head.bias", "head_dist.weight", "head_dist.bias")
_REMEDIES = {
    "pos_embed": "; resize_positions=True stretches positions",
    "head.weight": "; new_head=True starts a new head",
}

Shape = tuple[int, ...]


def load_vit(
    path: str | os.PathLike,
    config: ViTConfig,
    *,
    resize_positions: bool = False,
    new_head: bool = False,
) -> VisionTransformer:
    """Make a model with the weights of a public file.

    The known names are those of timm, of Hugging Face's ViT, DeiT and Dinov2,
    old and new (safetensors), and of the authors of ViT (.npz). Names, shapes
    and dtypes are compared before any number is read, so a file cannot claim
    more memory than the model takes; nothing in it is executed.

    Where a file has positions only for the patches, as for some models in
    timm, the class token's position becomes zero, which is equivalent.

    A distillation token that no head reads, as in Hugging Face's DeiT after
    fine-tuning, becomes a register, to which its position is added.

    What a file does not contain has to be correct in `config`: the number of
    heads (except in .npz files), epsilon (1e-6; in Hugging Face's ViT 1e-12),
    activation and pooling. `config_of` helps.

    Args:
        path: The file.
        config: The model to make. Hugging Face's pooler is `pre_logits` with
            ``representation_size=d_model`` here, and ``num_classes=0``.
        resize_positions: Whether positions of another resolution are
            interpolated to that of `config`, with the method of the code that
            the file comes from. The grid in the file then has to be square.
        new_head: Whether to leave out the head in the file, and start with a
            head of zeros; the file's `pre_logits` is also left out if `config`
            has none.

    Returns:
        A model in evaluation mode and in PyTorch's default dtype, whatever
        the precision of the file. Its `normalisation` and `class_names` are
        those that `save_vit` wrote, if any; the names only if the head is not
        new. For other files, `normalisation` is what a
        `preprocessor_config.json` or timm's `config.json` in the same folder
        gives, if there is one.

    Raises:
        TypeError: An argument of the wrong type.
        FileNotFoundError: There is no such file.
        ValueError: The file is damaged, pickled (.pt, .pth, .bin: refused
            unread), of no known family, or does not fit `config`: all names
            and shapes that differ are listed. Infinity or NaN in a weight;
            in a file written by `save_vit`, a wrong checksum; in other files,
            a description in the same folder that is damaged or is of a
            different function.

    Source: Dosovitskiy et al. 2021, section 3.2: a new head starts at zero,
        positions are interpolated in two dimensions.
    Deviates: safetensors files that `save_vit` did not write have no checksum,
        so a number that changed on disk is noticed only if it became infinite
        or NaN. The .npz files have one. The authors' GELU is an approximation
        with tanh; here, as in timm, it is exact.
    Derived in: 18-pretrained-weights
    """
    if not isinstance(config, ViTConfig):
        raise TypeError(
            f"config must be a ViTConfig, got {type(config).__name__}"
        )
    require.boolean("resize_positions", resize_positions)
    require.boolean("new_head", new_head)
    with open_weights(path) as file:
        return model_of(file, config, resize_positions, new_head)


def model_of(
    file: WeightFile,
    config: ViTConfig,
    resize_positions: bool = False,
    new_head: bool = False,
) -> VisionTransformer:
    """Make a model with the weights of a file that is already open.

    Arguments, result and errors are those of `load_vit`.
    """
    with torch.device("meta"):
        wanted = _named_as_in_timm(VisionTransformer(config))
    reader = _Reader(file, config, resize_positions, new_head)
    state = reader.read(wanted)
    names = None if new_head else _saved_class_names(file, config)
    if file.facts:
        normalisation = _saved_normalisation(file)
    else:
        normalisation = description_beside(file.path).normalisation
    model = VisionTransformer(config)
    model.load_state_dict(
        {key: state[_timm(key)] for key in model.state_dict()}
    )
    model.class_names, model.normalisation = names, normalisation
    return model.eval()


def save_vit(
    path: str | os.PathLike,
    model: VisionTransformer,
    class_names: Sequence[str] | None = None,
) -> None:
    """Write the weights of a model under the names that timm gives them.

    The file appears whole or not at all. The config is written with the
    weights, so that ``load_vit(path, config_of(path))`` gives the same model,
    and so is the model's `normalisation`, if it has one.

    Args:
        path: Where to write; a name that ends in .safetensors.
        model: The model.
        class_names: A word for each class; None takes those of the model.

    Raises:
        TypeError: `path` is not a path, `model` not a VisionTransformer, or
            its `normalisation` not a Normalisation.
        ValueError: Not one name per class, or a name that occurs twice;
            weights that no longer fit the config, for example after the head
            was replaced, because `load_vit` could not read the file.
        OSError: The folder does not exist, is read-only or full.
    """
    if not isinstance(model, VisionTransformer):
        raise TypeError(
            f"model must be a VisionTransformer, got {type(model).__name__}"
        )
    with torch.device("meta"):
        fresh = VisionTransformer(model.config)
        hint = "; reset_head puts in another head"
        _require_own_weights(model, fresh, hint)
    facts = {"config": asdict(model.config)}
    names = model.class_names if class_names is None else class_names
    if names is not None:
        _require_class_names(names, model.config.num_classes)
        facts["class_names"] = list(names)
    if model.normalisation is not None:
        require.instance("normalisation", model.normalisation, Normalisation)
        facts["normalisation"] = asdict(model.normalisation)
    write_checkpoint(path, _named_as_in_timm(model), facts)


def save_transformer(
    path: str | os.PathLike,
    model: Transformer,
    src_vocabulary: Vocabulary,
    tgt_vocabulary: Vocabulary,
) -> None:
    """Write a model and the words that it knows to one file.

    The file appears whole or not at all. It holds all that `load_transformer`
    needs; a table that two parts share is stored once.

    Args:
        path: Where to write; a name that ends in .safetensors.
        model: The model.
        src_vocabulary: The words of the source language.
        tgt_vocabulary: The words of the target language.

    Raises:
        TypeError: An argument of the wrong type.
        ValueError: A vocabulary of another size or padding than the model's;
            weights that no longer fit its config, for example after the output
            projection was replaced.
        OSError: The folder does not exist, is read-only or full.

    >>> import tempfile
    >>> chinese, english = Vocabulary(("一", "二")), Vocabulary(("one", "two"))
    >>> config = TransformerConfig.numerals(src_vocab_size=5, tgt_vocab_size=5)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = f"{folder}/translator.safetensors"
    ...     save_transformer(path, Transformer(config), chinese, english)
    ...     model, source, target = load_transformer(path)
    >>> model.config == config, source.words, target == english
    (True, ('一', '二'), True)
    """
    require.instance("model", model, Transformer)
    _require_vocabularies(model.config, src_vocabulary, tgt_vocabulary)
    with torch.device("meta"):
        _require_own_weights(model, Transformer(model.config))
    facts = {
        "config": asdict(model.config),
        "src_words": src_vocabulary.words,
        "tgt_words": tgt_vocabulary.words,
    }
    write_checkpoint(path, _weights(model), facts)


def load_transformer(
    path: str | os.PathLike,
) -> tuple[Transformer, Vocabulary, Vocabulary]:
    """Make the model that `save_transformer` wrote, with its words.

    Config, vocabularies, names and shapes are compared with each other before
    any number is read, so a file cannot claim more memory than it holds;
    nothing in it is executed.

    Args:
        path: The file.

    Returns:
        (model, src_vocabulary, tgt_vocabulary); the model in evaluation mode
        and in PyTorch's default dtype, whatever the precision of the file.

    Raises:
        TypeError: `path` is not a path.
        FileNotFoundError: There is no such file.
        ValueError: The file is damaged, or `save_transformer` did not write
            it; its description of the model does not fit its contents; a wrong
            checksum; infinity or NaN in a weight.
    """
    with open_weights(path) as file:
        with damage_named(file.path, "save_transformer"):
            config, vocabularies = _transformer_facts(file)
            with torch.device("meta"):
                wanted = _weights(Transformer(config))
        claimed = {
            name: torch.empty(file.shape(name), device="meta")
            for name in file.names
        }
        check_same_weights(wanted, claimed, file.path)
        read_checkpoint(file.path)  # compares its checksum
        state = {name: file.read(name) for name in wanted}
    model = Transformer(config)
    # Both names of a shared table are one parameter; the file has one.
    model.load_state_dict(state, strict=False)
    return model.eval(), *vocabularies


def _transformer_facts(
    file: WeightFile,
) -> tuple[TransformerConfig, list[Vocabulary]]:
    """Return what a file says of its model; any exception means damage."""
    if not file.facts:
        raise ValueError("it holds no config and no vocabularies")
    facts = json.loads(file.facts)
    config = TransformerConfig(**facts["config"])
    words = [facts[f"{side}_words"] for side in ("src", "tgt")]
    for listed in words:
        require.instance("words", listed, list)
    vocabularies = [Vocabulary(tuple(listed)) for listed in words]
    _require_vocabularies(config, *vocabularies)
    # Layers take memory even where their numbers do not exist yet.
    blocks = {
        name.split(".")[2]
        for name in file.names
        if name.startswith("encoder.blocks.")
    }
    if config.num_layers != len(blocks):
        raise ValueError(
            f"num_layers is {config.num_layers}, the file has {len(blocks)}"
        )
    return config, vocabularies


def _require_vocabularies(
    config: TransformerConfig,
    src_vocabulary: Vocabulary,
    tgt_vocabulary: Vocabulary,
) -> None:
    both = {"src": src_vocabulary, "tgt": tgt_vocabulary}
    for side, vocabulary in both.items():
        name = f"{side}_vocabulary"
        require.instance(name, vocabulary, Vocabulary)
        size = getattr(config, f"{side}_vocab_size")
        pad_id = getattr(config, f"{side}_pad_id")
        if (size, pad_id) != (len(vocabulary), vocabulary.pad_id):
            raise ValueError(
                f"{name} must have the model's size, {size}, and its padding "
                f"id, {pad_id}, got {len(vocabulary)} and "
                f"{vocabulary.pad_id}"
            )


def _require_class_names(names: Sequence[str], num_classes: int) -> None:
    require.instance("class_names", names, tuple, list)
    for i, name in enumerate(names):
        require.instance(f"class_names[{i}]", name, str)
    if len(names) != num_classes or len({*names}) != num_classes:
        raise ValueError(
            f"class_names must hold {num_classes} names, one for each class, "
            f"got {_listed(names)}"
        )


def _saved_class_names(
    file: WeightFile, config: ViTConfig
) -> tuple[str, ...] | None:
    if not file.facts:
        return None
    with damage_named(file.path, "save_vit"):
        names = dict(json.loads(file.facts)).get("class_names")
        if names is None:
            return None
        _require_class_names(names, config.num_classes)
    return tuple(names)


def _saved_normalisation(file: WeightFile) -> Normalisation | None:
    with damage_named(file.path, "save_vit"):
        found = dict(json.loads(file.facts)).get("normalisation")
        if found is None:
            return None
        return Normalisation(tuple(found["mean"]), tuple(found["std"]))


def _require_own_weights(
    model: nn.Module, fresh: nn.Module, hint: str = ""
) -> None:
    """Require the names and shapes of a new model of the same config."""
    expected, found = (
        {(key, tensor.shape) for key, tensor in _weights(x).items()}
        for x in (fresh, model)
    )
    if found != expected:
        names = _listed({key for key, _ in found ^ expected})
        raise ValueError(
            "model must have the weights that its config asks for, got "
            f"others in {names}{hint}"
        )


def _weights(model: nn.Module) -> dict[str, Tensor]:
    """Return each weight under its first name; a shared one has several."""
    found = {}
    for key, tensor in model.state_dict(keep_vars=True).items():
        found.setdefault(id(tensor), (key, tensor.detach()))
    return dict(found.values())


def _timm(key: str) -> str:
    """Return timm's name of a weight; only one differs from ours."""
    return key.replace("pos_embed.weight", "pos_embed")


def _named_as_in_timm(model: VisionTransformer) -> dict[str, Tensor]:
    return {_timm(key): tensor for key, tensor in model.state_dict().items()}


class _Reader:
    """Reads what one model wants from one file, once all of it fits."""

    def __init__(
        self, file: WeightFile, config: ViTConfig, resize: bool, new_head: bool
    ) -> None:
        self.file, self.config = file, config
        self.resize, self.new_head = resize, new_head
        self.family = find_family(file)

    def read(self, wanted: dict[str, Tensor]) -> dict[str, Tensor]:
        """Return the weights; `wanted` has their shapes, named as in timm."""
        parts = {
            key: self._parts(key, tensor)
            for key, tensor in wanted.items()
            if not (self.new_head and key.startswith("head"))
        }
        self._require_names({x.name for part in parts.values() for x in part})
        self._require_shapes(parts)
        if self.file.facts:
            read_checkpoint(self.file.path)  # compares its checksum
        return {
            key: self._tensor(key, parts[key])
            if key in parts
            else torch.zeros(tensor.shape)
            for key, tensor in wanted.items()
        }

    def _parts(self, key: str, tensor: Tensor) -> dict[Layout, Shape]:
        """Say what makes up a weight: one array of the file, or q, k, v."""
        config, split = self.config, {key: tensor}
        if ".attn.qkv." in key and self.family.splits_qkv:
            rows = tensor.split(config.qkv_widths)
            names = (key.replace("qkv", part) for part in "qkv")
            split = dict(zip(names, rows, strict=True))
        layouts = {self.family.layout(k): part for k, part in split.items()}
        return {
            layout: tuple(layout.theirs(part, config.num_heads).shape)
            for layout, part in layouts.items()
        }

    def _require_names(self, expected: set[str]) -> None:
        unused = _PRE_LOGITS + _HEADS if self.new_head else ()
        ignored = {self.family.layout(key).name for key in unused}
        missing = expected - self.file.names
        extra = self.file.names - expected - ignored - self.family.ignored()
        if missing or extra:
            raise ValueError(
                "path must hold the weights that config asks for, got "
                f"{self.file.path} with the names of {self.family.title}; "
                f"missing: {_listed(missing)}; extra: {_listed(extra)}"
            )

    def _require_shapes(self, parts: dict[str, dict[Layout, Shape]]) -> None:
        wrong, remedies = [], set()
        for key, part in parts.items():
            for layout, expected in part.items():
                found = self.file.shape(layout.name)
                if key == "pos_embed" and len(found) == 3:
                    rows = found[1] - self.family.placed_registers
                    found = self._with_prefix((found[0], rows, found[2]))
                if self.resize and key == "pos_embed":
                    self._square(found)
                elif found != expected:
                    wrong.append(
                        f"{layout.name} {found} instead of {expected}"
                    )
                    remedies.add(_REMEDIES.get(key, ""))
        if wrong:
            raise ValueError(
                "path must hold the shapes that config asks for, got "
                f"{self.file.path} with {_listed(wrong)}"
                + "".join(sorted(remedies))
            )

    def _with_prefix(self, shape: Shape) -> Shape:
        """Count positions of the tokens in front, which timm may leave out."""
        prefix = self.config.num_placed_tokens
        bare = len(shape) == 3 and shape[1] == self.config.num_patches
        if self.resize and square_side(shape, prefix) is None:
            bare = (square_side(shape, 0) or 0) > 1
        return (shape[0], prefix + shape[1], shape[2]) if bare else shape

    def _square(self, shape: Shape) -> tuple[int, int]:
        """Return the grid of the file's positions."""
        prefix, d_model = self.config.num_placed_tokens, self.config.d_model
        side = square_side(shape, prefix)
        if side is None or shape[2] != d_model:
            raise ValueError(
                f"path must hold positions (1, {prefix} + side * side, "
                f"{d_model}) with a side of 1 to {LARGEST_SIDE} for "
                f"resize_positions, got {self.file.path} with {shape}"
            )
        return side, side

    def _tensor(self, key: str, part: dict[Layout, Shape]) -> Tensor:
        read = [layout.ours(self.file.read(layout.name)) for layout in part]
        tensor = torch.cat(read)
        placed = self.family.placed_registers
        if key == "reg_token" and placed:
            positions = self.file.read(self.family.layout("pos_embed").name)
            return tensor + positions[:, 1 : 1 + placed]
        if key != "pos_embed":
            return tensor
        tensor = torch.cat([tensor[:, :1], tensor[:, 1 + placed :]], dim=1)
        added = self._with_prefix(tuple(tensor.shape))[1] - tensor.shape[1]
        tensor = F.pad(tensor, (0, 0, added, 0))
        if not self.resize:
            return tensor
        return interpolate_positions(
            tensor,
            self._square(tuple(tensor.shape)),
            self.config.grid_size,
            num_prefix_tokens=self.config.num_placed_tokens,
            mode=self.family.interpolation,
        )


def _listed(names: Iterable[str]) -> str:
    """Write down up to eight names, in order, and how many more there are."""
    names = sorted(names)
    more = f" and {len(names) - 8} more" if len(names) > 8 else ""
    return (", ".join(names[:8]) or "none") + more
