"""The oracles can fail: each of these mistakes in the library is noticed.

A mutant is the library with one mistake. The oracles named beside it must
find wrong numbers in it; a crash does not count. The same oracles pass on an
unchanged copy.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from typing import NamedTuple

import pytest
from mutation import mutated
from zoo_file import needs_file


class Mutant(NamedTuple):
    """A mistake, where it is made, and which tests have to notice it.

    `old` and `new` are expressions or statements, see `mutated`.
    """

    mistake: str
    module: str
    old: str
    new: str
    tests: str


pytestmark = pytest.mark.mutants

ATTENTION = "oracles: test_attention_is"
SELF = "oracles: self_attention"
CROSS = "oracles: cross_attention"
BLOCK = "oracles: encoder_block"
STACKS = "oracles_transformer: the_stacks_are"
VARIANTS = "oracles_vit: vits_of_the_sources"
DECODER = "oracles_vit: decoder_layer_of_the_sources"
FAMILY = "oracles_vit: parameters_of_the_others"
HF_VIT = "oracles_huggingface: vision_transformer_is"
HF_MASK = "oracles_huggingface: mask_of_patches"
HF_MEAN = "oracles_huggingface: a_mean_is"
HF_DEIT = "oracles_huggingface: deit"
HF_POSITIONS = "oracles_huggingface: stretch_the_positions"
HF_DINOV2 = "oracles_huggingface: every_layer_of_dinov2"
HF_SIZES = "oracles_huggingface: dinov2_takes_images_of_other_sizes"
HF_SINUSOIDS = "oracles_huggingface: sinusoids_in_two"
HF_TRANSFORMER = "oracles_huggingface: the_transformer_is"
HF_CACHE = "oracles_huggingface: cached_step"
LLAMA = "oracles_llama: stack_of_blocks"
SWIN = "oracles_llama: shifted_windows"
BLOOM = "oracles_llama: alibi_takes"
ROTARY_VIT = "rotary: vit_is_what"
MAE = "oracles_self_supervised: masked_autoencoder_is"
DINO = "oracles_self_supervised: algorithm_1"
PAIRS = "oracles_self_supervised: loss_of_pairs"

# Calls of which one argument changes.
FUSED = (
    "F.scaled_dot_product_attention("
    "q, k, v, attn_mask={mask}, dropout_p=dropout, scale={scale})"
)
OWN_ATTENTION = (
    "scaled_dot_product_attention("
    "q, k, v, {mask}, scale=self.scale, dropout=dropout, record=record)"
)
DECODE = (
    "self.decoder(self.tgt_embed(tgt[:, start:], start), memory,"
    " past & padding_mask(tgt, self.config.tgt_pad_id), {mask}, cache)"
)

MUTANTS = [
    Mutant(
        "scale removed where the formula is written out",
        "attention",
        "scale = q.shape[-1] ** -0.5 if scale is None else scale\n"
        "scores = (q * scale) @ k.transpose(-2, -1)",
        "scale = 1.0 if scale is None else scale\n"
        "scores = (q * scale) @ k.transpose(-2, -1)",
        ATTENTION,
    ),
    Mutant(
        "scale removed in the fused kernel",
        "attention",
        FUSED.format(mask="mask", scale="scale"),
        FUSED.format(mask="mask", scale="1.0"),
        ATTENTION,
    ),
    Mutant(
        "scale by d_model",
        "attention",
        "self.scale",
        "self.scale or self.d_model**-0.5",
        SELF,
    ),
    Mutant(
        "mask flipped where the formula is written out",
        "attention",
        "scores.masked_fill(~mask, hidden)",
        "scores.masked_fill(mask, hidden)",
        ATTENTION,
    ),
    Mutant(
        "a large negative number hides, not the smallest",
        "attention",
        "torch.finfo(scores.dtype).min",
        "-1e4",
        "attention: hidden_weighs_less",
    ),
    Mutant(
        "mask flipped in the fused kernel",
        "attention",
        FUSED.format(mask="mask", scale="scale"),
        FUSED.format(mask="None if mask is None else ~mask", scale="scale"),
        ATTENTION,
    ),
    Mutant(
        "softmax over the queries",
        "attention",
        "scores.softmax(dim=-1)",
        "scores.softmax(dim=-2)",
        ATTENTION,
    ),
    Mutant(
        "a query that sees nothing gets a mean",
        "attention",
        "scores.masked_fill(~mask, hidden).softmax(dim=-1) * mask",
        "scores.masked_fill(~mask, hidden).softmax(dim=-1)",
        ATTENTION,
    ),
    Mutant(
        "heads split by a view without a transpose",
        "attention",
        "x.unflatten(-1, (heads, -1)).transpose(1, 2)",
        "x.reshape(len(x), heads, x.shape[1], -1)",
        SELF,
    ),
    Mutant(
        "q, k and v stacked within each head",
        "attention",
        "q, k, v = self.qkv(x).split(self._widths(), dim=-1)",
        "dims = [self.head_dim, self.head_dim, self.value_dim]\n"
        "stacked = self.qkv(x).unflatten(-1, (self.num_heads, -1))\n"
        "q, k, v = (x.flatten(2) for x in stacked.split(dims, -1))",
        SELF,
    ),
    Mutant(
        "heads merged by a view without a transpose",
        "attention",
        'rearrange(heads, "b heads n d -> b n (heads d)")',
        "heads.reshape(len(x), x.shape[1], -1)",
        SELF,
    ),
    Mutant(
        "heads merged with the features outermost",
        "attention",
        '"b heads n d -> b n (heads d)"',
        '"b heads n d -> b n (d heads)"',
        SELF,
    ),
    Mutant(
        "q and k swapped",
        "attention",
        "q, k, v = self._project_qkv(x)",
        "k, q, v = self._project_qkv(x)",
        SELF,
    ),
    Mutant(
        "mask dropped in evaluation",
        "attention",
        OWN_ATTENTION.format(mask="mask"),
        OWN_ATTENTION.format(mask="mask if self.training else None"),
        BLOCK,
    ),
    Mutant(
        "attention dropout in evaluation",
        "attention",
        "self.attention_dropout if self.training else 0.0",
        "self.attention_dropout",
        HF_VIT,
    ),
    Mutant(
        "cross-attention reads the queries' tokens",
        "attention",
        "self._read(memory, cache)",
        "self._read(x[:, :1].expand_as(memory), cache)",
        HF_TRANSFORMER,
    ),
    Mutant(
        "cross-attention takes q and k for k and v",
        "attention",
        "slice(of_q, None)",
        "slice(0, sum(of_kv))",
        DECODER,
    ),
    Mutant(
        "causal mask shows the next token",
        "masks",
        "ones.tril()",
        "ones.tril(1)",
        STACKS,
    ),
    Mutant(
        "causal mask hides the token itself",
        "masks",
        "ones.tril()",
        "ones.tril(-1)",
        STACKS,
    ),
    Mutant(
        "padding hides queries instead of keys",
        "masks",
        "(tokens != pad_id)[:, None, None, :]",
        "(tokens != pad_id)[:, None, :, None]"
        ".expand(-1, -1, -1, tokens.shape[1])",
        "oracles_vit: encoder_layer_of_the_sources",
    ),
    Mutant(
        "padding is all that is seen",
        "masks",
        "(tokens != pad_id)[:, None, None, :]",
        "(tokens == pad_id)[:, None, None, :]",
        CROSS,
    ),
    Mutant(
        "residual left out",
        "layers",
        "x = x + self.drop_path(self.ls1(y)); "
        "return x + self.drop_path(self.ls2(self.mlp(self.norm2(x))))",
        "x = self.drop_path(self.ls1(y)); "
        "return x + self.drop_path(self.ls2(self.mlp(self.norm2(x))))",
        BLOCK,
    ),
    Mutant(
        "norm of the branch instead of the sum",
        "layers",
        "x = self.norm1(x + self.drop_path(self.ls1(y)))",
        "x = x + self.norm1(self.drop_path(self.ls1(y)))",
        BLOCK,
    ),
    Mutant(
        "one norm in both branches",
        "layers",
        "self.mlp(self.norm2(x))",
        "self.mlp(self.norm1(x))",
        BLOCK,
    ),
    Mutant(
        "the decoder's norms swapped",
        "layers",
        "self.mlp(self.norm3(x))",
        "self.mlp(self.norm2(x))",
        STACKS,
    ),
    Mutant(
        "GELU by its approximation",
        "layers",
        "nn.GELU",
        'lambda: nn.GELU(approximate="tanh")',
        BLOCK,
    ),
    Mutant(
        "stochastic depth in evaluation",
        "layers",
        "not self.training or self.rate == 0",
        "self.rate == 0",
        HF_VIT,
    ),
    Mutant(
        "pairs that lie side by side",
        "attention",
        "x.chunk(2, dim=-1)",
        "(x[..., ::2], x[..., 1::2])",
        LLAMA,
    ),
    Mutant(
        "turned the other way in one half",
        "attention",
        "second * cos + first * sin",
        "second * cos - first * sin",
        LLAMA,
    ),
    Mutant(
        "keys not turned",
        "attention",
        "q, k = rotate(q, rotary), rotate(k, rotary)",
        "q, k = rotate(q, rotary), k",
        LLAMA,
    ),
    Mutant(
        "heads of keys in turn instead of in groups",
        "attention",
        "x.repeat_interleave(sharing, dim=1)",
        "x.repeat(1, sharing, 1, 1)",
        LLAMA,
    ),
    Mutant(
        "norm of the queries left out",
        "attention",
        "q = self.q_norm(self._split(q, self.num_heads))",
        "q = self._split(q, self.num_heads)",
        LLAMA,
    ),
    Mutant(
        "norm of queries and keys with another epsilon",
        "attention",
        "nn.RMSNorm(head_dim, eps=qk_norm_eps)",
        "nn.RMSNorm(head_dim)",
        LLAMA,
    ),
    Mutant(
        "old sums do not shrink when a higher score comes",
        "attention",
        "total * shrink",
        "total",
        "attention: blocks_of_keys",
    ),
    Mutant(
        "norm without its epsilon",
        "layers",
        "_NORMS[norm](d_model, eps=eps)",
        "_NORMS[norm](d_model)",
        LLAMA,
    ),
    Mutant(
        "gate and gated swapped",
        "layers",
        "F.silu(gate) * rest",
        "gate * F.silu(rest)",
        LLAMA,
    ),
    Mutant(
        "SwiGLU as wide as a network without a gate",
        "layers",
        "-(-2 * d_ff // (3 * multiple_of)) * multiple_of",
        "-(-d_ff // multiple_of) * multiple_of",
        "layers: two_thirds",
    ),
    Mutant(
        "a parallel branch without the norm",
        "layers",
        "self.ls1(seen) + self.ls2(self.mlp(y))",
        "self.ls1(seen) + self.ls2(self.mlp(x))",
        "layers: parallel_branches",
    ),
    Mutant(
        "a window one token too wide",
        "masks",
        "1 - min(window, length)",
        "-min(window, length)",
        "oracles_llama: sliding_window",
    ),
    Mutant(
        "windows shifted the other way",
        "masks",
        "torch.arange(side, device=device) - moved",
        "torch.arange(side, device=device) + moved",
        SWIN,
    ),
    Mutant(
        "ALiBi changes the scale",
        "positions",
        "q * (wider / width**0.5)",
        "q",
        BLOOM,
    ),
    Mutant(
        "angles of rows and columns swapped",
        "positions",
        "F.pad(_on_grid(rows, columns), (0, 0, num_prefix_tokens, 0))",
        "F.pad(_on_grid(columns, rows), (0, 0, num_prefix_tokens, 0))",
        ROTARY_VIT,
    ),
    Mutant(
        "patches turned by the angles of those before them",
        "positions",
        "(0, 0, num_prefix_tokens, 0)",
        "(0, 0, 0, num_prefix_tokens)",
        ROTARY_VIT,
    ),
    Mutant(
        "sines and cosines swapped",
        "positions",
        "[angles.sin(), angles.cos()]",
        "[angles.cos(), angles.sin()]",
        HF_TRANSFORMER,
    ),
    Mutant(
        "positions off by one",
        "positions",
        "torch.arange(start, start + length, **exact)",
        "torch.arange(start + 1, start + length + 1, **exact)",
        HF_TRANSFORMER,
    ),
    Mutant(
        "rows and columns swapped",
        "positions",
        "[rows.repeat_interleave(len(columns), dim=0),"
        " columns.repeat(len(rows), 1)]",
        "[rows.repeat(len(columns), 1),"
        " columns.repeat_interleave(len(rows), dim=0)]",
        HF_SINUSOIDS,
    ),
    Mutant(
        "position added twice",
        "vit",
        "learned(tokens)",
        "learned(learned(tokens))",
        VARIANTS,
    ),
    Mutant("position not added", "vit", "learned(tokens)", "tokens", VARIANTS),
    Mutant(
        "the grid of positions stretched the other way",
        "positions",
        '"1 d rows cols -> 1 (rows cols) d"',
        '"1 d rows cols -> 1 (cols rows) d"',
        HF_POSITIONS,
    ),
    Mutant(
        "class token last",
        "vit",
        "torch.cat([*prefix, patches], dim=1)",
        "torch.cat([patches, *prefix], dim=1)",
        VARIANTS,
    ),
    Mutant("final norm left out", "vit", "self.norm(x)", "x", VARIANTS),
    Mutant(
        "mean over the class token, too",
        "vit",
        '0 if self.config.pool == "mean_all" else self.num_prefix_tokens',
        "0",
        HF_MEAN,
    ),
    Mutant(
        "hidden patches counted in the mean",
        "vit",
        "real.sum(dim=1)",
        "real.shape[1]",
        HF_MEAN,
    ),
    Mutant(
        "class token hidden with the patches",
        "masks",
        "patch_mask.new_ones(batch, num_prefix_tokens)",
        "patch_mask.new_zeros(batch, num_prefix_tokens)",
        HF_MASK,
    ),
    Mutant(
        "learned factors left out", "layers", "x * self.gamma", "x", HF_DINOV2
    ),
    Mutant(
        "registers before the class token",
        "vit",
        "torch.cat([first, registers, rest], dim=1)",
        "torch.cat([registers, first, rest], dim=1)",
        HF_DINOV2,
    ),
    Mutant(
        "positions resampled in another way",
        "vit",
        "config.resampling",
        "'bilinear'",
        HF_SIZES,
    ),
    Mutant(
        "matrices of a graph taken for q, k, v by their order in it",
        "pretrained.zoo",
        "layer[1].replace('/', '.')",
        "re.sub('key$|value$|query$', lambda m: {'key': 'query',"
        " 'value': 'key', 'query': 'value'}[m[0]],"
        " layer[1].replace('/', '.'))",
        "zoo: heat_maps",
    ),
    Mutant(
        "both heads added, not averaged",
        "vit",
        "(logits + distilled) / 2",
        "logits + distilled",
        HF_DEIT,
    ),
    Mutant(
        "both heads read the class token",
        "vit",
        "self.fc_norm(tokens[:, 1])",
        "self.fc_norm(tokens[:, 0])",
        HF_DEIT,
    ),
    Mutant(
        "patches read column by column",
        "patches",
        '"b d rows cols -> b (rows cols) d"',
        '"b d rows cols -> b (cols rows) d"',
        VARIANTS,
    ),
    Mutant(
        "channels last inside a patch",
        "patches",
        '"b c (rows p1) (cols p2) -> b (rows cols) (c p1 p2)"',
        '"b c (rows p1) (cols p2) -> b (rows cols) (p1 p2 c)"',
        VARIANTS,
    ),
    Mutant(
        "embedding not scaled",
        "transformer",
        "self.tokens(ids) * self.scale",
        "self.tokens(ids)",
        HF_TRANSFORMER,
    ),
    Mutant(
        "norm of the embedding left out",
        "transformer",
        "self.norm(self.drop(x))",
        "self.drop(x)",
        HF_TRANSFORMER,
    ),
    Mutant(
        "padding of the source seen by the decoder",
        "transformer",
        DECODE.format(mask="padding_mask(src, self.config.src_pad_id)"),
        DECODE.format(mask="None"),
        HF_TRANSFORMER,
    ),
    Mutant(
        "padding of the target seen",
        "transformer",
        "past & padding_mask(tgt, self.config.tgt_pad_id)",
        "past",
        HF_TRANSFORMER,
    ),
    Mutant(
        "new tokens embedded as the first ones",
        "transformer",
        "self.tgt_embed(tgt[:, start:], start)",
        "self.tgt_embed(tgt[:, start:])",
        HF_CACHE,
    ),
    Mutant(
        "rows of the causal mask that are done already",
        "transformer",
        "causal_mask(tgt.shape[1], device=tgt.device)[:, :, start:]",
        "causal_mask(tgt.shape[1], device=tgt.device)"
        "[:, :, : tgt.shape[1] - start]",
        HF_CACHE,
    ),
    Mutant(
        "new keys in front of the kept ones",
        "cache",
        "torch.cat(pair, dim=2)",
        "torch.cat(pair[::-1], dim=2)",
        HF_CACHE,
    ),
    Mutant(
        "tying lost",
        "transformer",
        "self.generator.weight = self.tgt_embed.tokens.weight",
        "self.generator.weight.data = self.tgt_embed.tokens.weight.data",
        FAMILY,
    ),
    Mutant(
        "logits not scaled",
        "transformer",
        "logits * self.config.d_model**-0.5",
        "logits",
        "transformer: both_places_of_the_factor",
    ),
    Mutant(
        "score not divided by the length",
        "decoding.beams",
        "((5 + length) / 6) ** alpha",
        "1.0",
        "decoding: narrow_beam",
    ),
    Mutant(
        "the model left as it was trained",
        "training.loop",
        "model.eval()\nreturn history",
        "return history",
        "training: leaves_the_model_in_evaluation_mode",
    ),
    Mutant(
        "what is seen counts in the loss of an autoencoder",
        "objectives.masked_autoencoder",
        "errors[hidden].mean()",
        "errors.mean()",
        MAE,
    ),
    Mutant(
        "tokens put back in the order of the hidden patches",
        "objectives.masked_autoencoder",
        "everywhere.scatter(1, seen.expand_as(patches), patches)",
        "everywhere.scatter(1, seen.flip(1).expand_as(patches), patches)",
        MAE,
    ),
    Mutant(
        "patches normalised by the variance of a population",
        "objectives.masked_autoencoder",
        "torch.var_mean(patches, dim=-1, keepdim=True)",
        "torch.var_mean(patches, dim=-1, keepdim=True, correction=0)",
        MAE,
    ),
    Mutant(
        "the encoder sees what is hidden",
        "objectives.masked_autoencoder",
        "patches.take_along_dim(seen, dim=1)",
        "(patches + patches.mean(1, True)).take_along_dim(seen, dim=1)",
        "self_supervised: hidden_cannot_influence",
    ),
    Mutant(
        "the teacher not centred",
        "objectives.self_distillation",
        "scores - self.centre",
        "scores",
        DINO,
    ),
    Mutant(
        "a view compared with itself",
        "objectives.self_distillation",
        "i != j",
        "i <= j",
        DINO,
    ),
    Mutant(
        "the teacher keeps what the student should",
        "objectives.self_distillation",
        "old.lerp_(new, 1 - self.momentum)",
        "old.lerp_(new, self.momentum)",
        DINO,
    ),
    Mutant(
        "temperatures of student and teacher swapped",
        "objectives.self_distillation",
        "centred / self.teacher_temperature",
        "centred / self.student_temperature",
        DINO,
    ),
    Mutant(
        "images choose captions, and not the other way round",
        "objectives.contrastive",
        "(rows + columns) / 2",
        "rows",
        PAIRS,
    ),
    Mutant(
        "pairs told to be none",
        "objectives.contrastive",
        "2 * torch.eye(len(similarities)).to(similarities) - 1",
        "1 - 2 * torch.eye(len(similarities)).to(similarities)",
        PAIRS,
    ),
    Mutant(
        "padding is part of a caption's mean",
        "objectives.contrastive",
        "(self.norm(x) * counted).sum(dim=1) / counted.sum(dim=1)",
        "self.norm(x).mean(dim=1)",
        "self_supervised: padding_changes_nothing",
    ),
]


EACH_MUTANT = [
    pytest.param(
        mutant,
        id=mutant.mistake,
        marks=[needs_file] if mutant.tests.startswith("zoo") else [],
    )
    for mutant in MUTANTS
]


@pytest.fixture(scope="module")
def answers(request, root, tmp_path_factory):
    """Run the oracles on each mutant of this run, and on the library."""
    asked = [
        item.callspec.params["mutant"]
        for item in request.session.items
        if getattr(item, "originalname", "") == "test_the_mistake_is_noticed"
    ]
    folder = tmp_path_factory.mktemp("mutants")
    jobs = []
    for index, mutant in enumerate([None, *asked]):
        copy = folder / str(index)
        for part in ("vitedu", "tests"):
            shutil.copytree(
                root / part,
                copy / part,
                ignore=shutil.ignore_patterns("__pycache__", "site"),
            )
        if mutant is not None:
            path = source(copy, mutant)
            code = path.read_text(encoding="utf-8")
            changed = mutated(code, mutant.old, mutant.new)
            path.write_text(changed, encoding="utf-8")
        wanted = asked if mutant is None else [mutant]
        jobs.append((str(copy), selection({m.tests for m in wanted})))
    done = subprocess.run(
        [sys.executable, root / "tests" / "mutation.py"],
        input=json.dumps(jobs),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        env=os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
    )
    return dict(zip([None, *asked], json.loads(done.stdout), strict=True))


def source(folder, mutant):
    """Return the file that a mutant changes."""
    return folder.joinpath("vitedu", *mutant.module.split(".")).with_suffix(
        ".py"
    )


def selection(tests):
    """Return the arguments of pytest for "file: part of a test's name"."""
    files = {f"tests/test_{name.split(': ')[0]}.py" for name in tests}
    words = [name.split(": ")[1] for name in tests]
    return [*sorted(files), "-k", " or ".join(sorted(words))]


@pytest.mark.soak
def test_the_oracles_pass_without_a_mistake(answers):
    assert answers[None] is None


def test_the_place_and_the_tests_of_each_mistake_are_there(root):
    for mutant in MUTANTS:
        code = source(root, mutant).read_text(encoding="utf-8")
        mutated(code, mutant.old, mutant.new)
        file, word = mutant.tests.split(": ")
        tests = (root / f"tests/test_{file}.py").read_text(encoding="utf-8")
        assert re.search(rf"def \w*{word}", tests), mutant.tests


@pytest.mark.soak
@pytest.mark.parametrize("mutant", EACH_MUTANT)
def test_the_mistake_is_noticed(mutant, answers):
    assert answers[mutant] is not None, "survived"
    assert "AssertionError" in answers[mutant]
