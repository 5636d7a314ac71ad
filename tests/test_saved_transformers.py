"""A translator and its words in one file: back as they were, or refused."""

import json
import random
from dataclasses import asdict, replace

import pytest
import torch
from helpers import refuses
from safetensors.torch import load_file
from torch import nn

from vitedu.config import TransformerConfig
from vitedu.data.numerals import numeral_pairs, numeral_vocabularies
from vitedu.pretrained.models import load_transformer, save_transformer
from vitedu.training.checkpoints import write_checkpoint
from vitedu.transformer import Transformer

NUMBERS = [0, 7, 12, 21, 305, 4_000, 12_005, 99_999, 1_000_121, 10**8]
CONFIG = TransformerConfig.numerals(num_layers=1, d_model=12, d_ff=7)
WORDS = numeral_vocabularies()


def make(config=CONFIG):
    """Make a model whose biases and norms are not as they began."""
    torch.manual_seed(0)
    model = Transformer(config).eval()
    for parameter in model.parameters():
        nn.init.normal_(parameter)
    return model


@pytest.fixture
def path(tmp_path):
    return tmp_path / "translator.safetensors"


VARIANTS = [
    {},
    {"tie_source": True},
    {"tie_output": False},
    {"positions": "learned", "max_len": 20, "embedding_scale": "logits"},
    {"positions": "none", "norm_first": True, "qkv_bias": True},
    {"embedding_norm": True, "head_dim": 5, "value_dim": 2, "num_heads": 3},
    {"norm": "rms", "activation": "swiglu", "ff_bias": False},
    {"num_kv_heads": 2, "qk_norm": True, "norm_first": True},
]


@pytest.mark.parametrize("changes", VARIANTS, ids=str)
def test_what_was_saved_is_loaded(path, changes):
    joint = changes.get("tie_source", False)
    words = numeral_vocabularies(joint=joint)
    sizes = zip(("src", "tgt"), map(len, words), strict=True)
    sizes = {f"{side}_vocab_size": size for side, size in sizes}
    config = replace(CONFIG, **sizes, **changes)
    model = make(config)
    save_transformer(path, model.train(), *words)
    found, *vocabularies = load_transformer(path)
    assert tuple(vocabularies) == words
    assert found.config == config
    assert not found.training
    model.eval()
    pairs = numeral_pairs(NUMBERS, joint=joint)
    logits = model(pairs.src, pairs.tgt_input)
    assert torch.equal(found(pairs.src, pairs.tgt_input), logits)
    # One parameter has all names of a shared table.
    names = dict(found.named_parameters(remove_duplicate=False))
    assert len({id(x) for x in names.values()}) == len(names) - (
        joint + config.tie_output
    )
    table = found.tgt_embed.tokens.weight
    assert (found.generator.weight is table) == config.tie_output
    assert (found.src_embed.tokens.weight is table) == joint
    numbers = sum(x.numel() for x in model.parameters())
    assert sum(x.numel() for x in load_file(path).values()) == numbers


def test_vocabularies_that_the_model_does_not_know_are_not_saved(path):
    with refuses(
        ValueError,
        "src_vocabulary must have the model's size, 18, and its padding id, "
        "0, got 35 and 0",
    ):
        save_transformer(path, make(), *reversed(WORDS))
    config = replace(CONFIG, tgt_pad_id=4)
    with refuses(ValueError, "its padding id, 4, got 35 and 0"):
        save_transformer(path, make(config), *WORDS)
    assert not path.exists()


# Files that cannot be used.


def facts(**changes):
    src, tgt = (list(vocabulary.words) for vocabulary in WORDS)
    config = asdict(CONFIG) | changes.pop("config", {})
    return {"config": config, "src_words": src, "tgt_words": tgt} | changes


def write(path, facts, change=None):
    """Write a file with a right checksum, whatever it says."""
    save_transformer(path, make(), *WORDS)
    tensors = load_file(path)
    if change:
        change(tensors)
    write_checkpoint(path, tensors, facts)


@pytest.mark.parametrize(
    "changes",
    [
        *({"num_layers": n} for n in (2, 10**9, 10**400)),
        *({"d_model": n} for n in (24, 12 * 10**12, 12 * 10**400)),
        *({"d_ff": n} for n in (8, 10**12, 10**400)),
        *({"head_dim": n} for n in (5, 10**12)),
        {"positions": "learned", "max_len": 10**12},
        {"tie_output": False},
        {"qkv_bias": True},
        *({f"{side}_vocab_size": 10**12} for side in ("src", "tgt")),
        {"src_pad_id": 1},
        {"layer_norm_eps": 10**400},
        {"dropout": "a lot"},
        {"width": 3},
    ],
    ids=str,
)
def test_a_config_that_claims_what_its_file_does_not_hold(path, changes):
    write(path, facts(config=changes))
    with refuses(ValueError, f"{path}"):
        load_transformer(path)


def test_a_damaged_file_gives_no_model(path):
    """At 200 places, in the header and in the numbers: always refused."""
    save_transformer(path, make(), *WORDS)
    whole, chance = path.read_bytes(), random.Random(0)
    header = int.from_bytes(whole[:8], "little") + 8
    assert json.loads(whole[8:header])["__metadata__"]["facts"]
    for trial in range(200):
        place = chance.randrange(header if trial % 2 else len(whole))
        damaged = bytearray(whole)
        damaged[place] ^= chance.randrange(1, 256)
        path.write_bytes(damaged if trial % 4 else whole[:place])
        with refuses(ValueError, f"{path}"):
            load_transformer(path)
