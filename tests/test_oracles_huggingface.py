"""Our models against Hugging Face's, with copied random weights.

One table of names turns our state dict into theirs; the same table turns our
gradients into theirs, so that those of every parameter are compared.
"""

import re
from dataclasses import replace

import pytest
import torch
from helpers import assert_all_close, draw, gradients
from transformers import (
    BartConfig,
    BartForConditionalGeneration,
    DeiTConfig,
    DeiTForImageClassificationWithTeacher,
    Dinov2Config,
    Dinov2Model,
    Dinov2WithRegistersConfig,
    Dinov2WithRegistersModel,
    MarianConfig,
    MarianMTModel,
    MBartConfig,
    MBartForConditionalGeneration,
    ViTForImageClassification,
    ViTModel,
)
from transformers import ViTConfig as TheirViTConfig
from transformers.models.vit_mae.modeling_vit_mae import (
    build_2d_sinusoidal_position_embedding,
)

from vitedu.cache import DecoderCache
from vitedu.config import TransformerConfig, ViTConfig
from vitedu.positions import interpolate_positions, sinusoidal_table_2d
from vitedu.transformer import Transformer
from vitedu.vit import VisionTransformer

VIT_NAMES = {
    r"^(cls_token|dist_token|pos_embed|patch_embed)": r"embeddings.\1",
    r"dist_token": "distillation_token",
    r"pos_embed.weight": "position_embeddings",
    r"patch_embed.proj": "patch_embeddings.projection",
    r"^blocks": "layers",
    r"attn\.proj": "attention.o_proj",
    r"attn\.": "attention.",
    r"norm1": "layernorm_before",
    r"norm2": "layernorm_after",
    r"^norm": "layernorm",
    r"^pre_logits.fc": "pooler.dense",
}
DINOV2_NAMES = {
    r"^(cls_token|reg_token|pos_embed|patch_embed)": r"embeddings.\1",
    r"reg_token": "register_tokens",
    r"pos_embed.weight": "position_embeddings",
    r"patch_embed.proj": "patch_embeddings.projection",
    r"^blocks": "encoder.layer",
    r"attn\.proj": "attention.o_proj",
    r"attn\.": "attention.",
    r"ls(\d)\.gamma": r"layer_scale\1.lambda1",
    r"^norm": "layernorm",
}
SEQ2SEQ_NAMES = {
    r"src_embed": "encoder.embed",
    r"tgt_embed": "decoder.embed",
    r"embed\.": "embed_",
    r"embed_norm": "layernorm_embedding",
    r"coder\.norm": "coder.layer_norm",
    r"blocks": "layers",
    r"\.attn\.": ".self_attn.",
    r"cross_attn": "encoder_attn",
    r"attn\.proj": "attn.out_proj",
    r"(encoder.*|decoder.*)norm1": r"\1self_attn_layer_norm",
    r"(encoder.*)norm2": r"\1final_layer_norm",
    r"(decoder.*)norm2": r"\1encoder_attn_layer_norm",
    r"(decoder.*)norm3": r"\1final_layer_norm",
    r"mlp\.": "",
    r"^": "model.",
    r"model\.generator": "lm_head",
}


def renamed(tensors, table):
    """Rename each tensor; the fused q, k, v become three."""
    found = {}
    for name, tensor in tensors.items():
        for ours, theirs in table.items():
            name = re.sub(ours, theirs, name)
        if "qkv" in name:
            for part, rows in zip("qkv", tensor.chunk(3), strict=True):
                found[name.replace("qkv", f"{part}_proj")] = rows
        else:
            found[name] = tensor
    return found


def parameter_gradients(model):
    return {name: p.grad for name, p in model.named_parameters()}


def drawn(model, std=0.3):
    """Draw every parameter, biases and norms too: nothing stays 0 or 1."""
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=std, generator=generator)
    return model


VIT = {
    "image_size": 15,
    "patch_size": 5,
    "num_channels": 3,
    "num_classes": 11,
    "d_model": 14,
    "num_layers": 3,
    "num_heads": 7,
    "d_ff": 17,
    "layer_norm_eps": 0.1,
}
VITS = {
    "plain": {},
    "wide heads": {"head_dim": 5, "num_layers": 2},
    "no q, k, v biases": {"qkv_bias": False, "activation": "relu"},
    "oblong and grey": {
        "image_size": (15, 14),
        "patch_size": (5, 7),
        "num_channels": 1,
    },
    "no head": {"num_classes": 0, "layer_norm_eps": 1e-6},
}
each_vit = pytest.mark.parametrize("name", VITS)
each_mode = pytest.mark.parametrize("training", [True, False])


def rates(training):
    """Nothing is random in training; in evaluation it must not matter."""
    rate = 0.0 if training else 0.5
    return {
        "dropout": rate,
        "attention_dropout": rate,
        "activation_dropout": rate,
        "embedding_dropout": rate,
        "drop_path": rate,
    }


def their_vit_config(config, kind=TheirViTConfig, **more):
    their_config = kind(
        image_size=config.image_size,
        patch_size=config.patch_size,
        num_channels=config.num_channels,
        hidden_size=config.d_model,
        num_hidden_layers=config.num_layers,
        num_attention_heads=config.num_heads,
        intermediate_size=config.d_ff,
        hidden_act=config.activation,
        layer_norm_eps=config.layer_norm_eps,
        qkv_bias=config.qkv_bias,
        num_labels=config.num_classes,
        hidden_dropout_prob=config.dropout,
        attention_probs_dropout_prob=config.attention_dropout,
        **more,
    )
    if config.head_dim is not None:
        their_config.head_dim = config.head_dim
    return their_config


VIT_HEADS = {
    r"^(embeddings|layers|layernorm)": r"vit.\1",
    r"^head": "classifier",
}


def both_vits(name, training, attention="sdpa"):
    config = ViTConfig(**(VIT | VITS[name]), **rates(training))
    ours = drawn(VisionTransformer(config)).double().train(training)
    theirs = ViTForImageClassification._from_config(
        their_vit_config(config), attn_implementation=attention
    )
    theirs = theirs.double().train(training)
    theirs.load_state_dict(
        renamed(ours.state_dict(), VIT_NAMES | VIT_HEADS), strict=True
    )
    return ours, theirs


def images_for(model):
    return draw(2, *model.patch_embed.image_shape)


def compare_parameters(ours, theirs, table, tolerance):
    """Compare what the last backward left, parameter by parameter."""
    found = renamed(parameter_gradients(ours), table)
    expected = parameter_gradients(theirs)
    assert found.keys() == expected.keys()
    for name, gradient in found.items():
        assert_all_close((gradient,), (expected[name],), tolerance)


@each_vit
@each_mode
def test_the_vision_transformer_is_that_of_hugging_face(name, training):
    ours, theirs = both_vits(name, training)
    images = images_for(ours)
    assert_all_close(
        gradients(ours, images), gradients(lambda x: theirs(x).logits, images)
    )


@each_vit
def test_so_are_the_gradients_of_its_parameters(name):
    ours, theirs = both_vits(name, training=True)
    out = ours(images_for(ours))
    upstream = draw(*out.shape, seed=1)
    out.backward(upstream)
    theirs(images_for(ours)).logits.backward(upstream)
    compare_parameters(ours, theirs, VIT_NAMES | VIT_HEADS, 1e-12)


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
def test_in_single_precision_too(attention):
    ours, theirs = (
        model.float() for model in both_vits("plain", False, attention)
    )
    images = images_for(ours).float()
    assert_all_close(
        gradients(ours, images),
        gradients(lambda x: theirs(x).logits, images),
        1e-5,
    )


REAL = torch.arange(9) < torch.tensor([[9], [5]])
THEIR_MASK = torch.cat([torch.ones(2, 1, dtype=torch.bool), REAL], dim=1)


@each_mode
def test_a_mask_of_patches_is_their_attention_mask(training):
    ours, theirs = both_vits("plain", training)
    images = images_for(ours)
    assert_all_close(
        gradients(lambda x: ours(x, REAL), images),
        gradients(
            lambda x: theirs(x, attention_mask=THEIR_MASK).logits, images
        ),
    )


@pytest.mark.parametrize(
    ("pool", "counted"), [("mean_patches", REAL), ("mean_all", THEIR_MASK)]
)
@pytest.mark.parametrize("masked", [True, False])
def test_a_mean_is_that_of_their_last_tokens(pool, counted, masked):
    ours, theirs = both_vits("plain", training=True)
    config = replace(ours.config, pool=pool)
    state, ours = ours.state_dict(), VisionTransformer(config).double()
    ours.load_state_dict(state)
    images = images_for(ours)

    def their_logits(x):
        tokens = theirs.vit(
            x, attention_mask=THEIR_MASK if masked else None
        ).last_hidden_state[:, -counted.shape[1] :]
        read = [
            row[kept if masked else slice(None)].mean(dim=0)
            for row, kept in zip(tokens, counted, strict=True)
        ]
        return theirs.classifier(torch.stack(read))

    assert_all_close(
        gradients(lambda x: ours(x, REAL if masked else None), images),
        gradients(their_logits, images),
    )


def test_other_resolutions_stretch_the_positions_as_theirs_do():
    ours, theirs = both_vits("plain", training=True)
    larger = replace(ours.config, image_size=(20, 25))
    state = ours.state_dict()
    state["pos_embed.weight"] = interpolate_positions(
        state["pos_embed.weight"],
        (3, 3),
        (4, 5),
        num_prefix_tokens=1,
        mode="bicubic",
    )
    stretched = VisionTransformer(larger).double()
    stretched.load_state_dict(state)
    images = draw(2, 3, 20, 25)
    assert_all_close(
        gradients(stretched, images),
        gradients(
            lambda x: theirs(x, interpolate_pos_encoding=True).logits, images
        ),
    )


def test_sinusoids_in_two_dimensions_are_theirs_in_another_order():
    """Theirs has all sines of an axis before all its cosines."""
    theirs = build_2d_sinusoidal_position_embedding(
        3, 5, 28, dtype=torch.float64
    )
    in_turn = theirs.reshape(15, 2, 2, 7).mT.flatten(1)
    assert_all_close(
        (sinusoidal_table_2d((3, 5), 28, dtype=torch.float64),), (in_turn,)
    )


@each_mode
def test_pre_logits_are_their_pooler(training):
    config = ViTConfig(**(VIT | {"num_classes": 0, "representation_size": 13}))
    ours = drawn(VisionTransformer(config)).double().train(training)
    theirs = ViTModel(their_vit_config(config, pooler_output_size=13))
    theirs = theirs.double().train(training)
    theirs.load_state_dict(renamed(ours.state_dict(), VIT_NAMES), strict=True)
    images = images_for(ours)
    assert_all_close(
        gradients(ours, images),
        gradients(lambda x: theirs(x).pooler_output, images),
    )


def both_dinov2(registers):
    config = ViTConfig.s14(
        image_size=15,
        patch_size=5,
        d_model=14,
        num_layers=3,
        num_heads=7,
        d_ff=28,
        num_registers=registers,
        resampling="bicubic_antialias" if registers else "bicubic",
    )
    ours = drawn(VisionTransformer(config)).double()
    sizes = {
        "image_size": config.image_size,
        "patch_size": config.patch_size,
        "hidden_size": config.d_model,
        "num_hidden_layers": config.num_layers,
        "num_attention_heads": config.num_heads,
        "mlp_ratio": 2,
    }
    if registers:
        theirs = Dinov2WithRegistersModel(
            Dinov2WithRegistersConfig(num_register_tokens=registers, **sizes)
        )
    else:
        theirs = Dinov2Model(Dinov2Config(**sizes))
    theirs = theirs.double()
    # Only their training hides patches behind a token.
    theirs.embeddings.mask_token = None
    theirs.load_state_dict(renamed(ours.state_dict(), DINOV2_NAMES))
    return ours, theirs


each_registers = pytest.mark.parametrize("registers", [0, 4])


@each_registers
def test_every_layer_of_dinov2_is_theirs(registers):
    ours, theirs = both_dinov2(registers)
    images = images_for(ours)
    found = [images, *ours.layer_features(images)]
    expected = theirs(images, output_hidden_states=True)
    assert_all_close(found[1:], expected.hidden_states[1:])
    assert_all_close(
        gradients(ours.forward_features, images),
        gradients(lambda x: theirs(x).last_hidden_state, images),
    )
    assert_all_close((ours(images),), (expected.pooler_output,))


@each_registers
def test_so_are_the_gradients_of_the_parameters_of_dinov2(registers):
    ours, theirs = both_dinov2(registers)
    images = images_for(ours)
    out = ours.forward_features(images)
    upstream = draw(*out.shape, seed=1)
    out.backward(upstream)
    theirs(images).last_hidden_state.backward(upstream)
    compare_parameters(ours, theirs, DINOV2_NAMES, 1e-12)


@each_registers
@pytest.mark.parametrize("size", [(10, 10), (20, 25), (5, 45)])
def test_dinov2_takes_images_of_other_sizes_as_theirs_does(registers, size):
    ours, theirs = both_dinov2(registers)
    images = draw(2, 3, *size)
    assert_all_close(
        gradients(ours.forward_features, images),
        gradients(lambda x: theirs(x).last_hidden_state, images),
        1e-5,  # their positions are resampled in single precision
    )


def test_with_a_distillation_token_it_is_their_deit():
    config = ViTConfig(**VIT, distilled=True)
    ours = drawn(VisionTransformer(config)).double()
    theirs = DeiTForImageClassificationWithTeacher(
        their_vit_config(config, DeiTConfig)
    ).double()
    heads = {
        r"^(embeddings|layers|layernorm)": r"deit.\1",
        r"^head_dist": "distillation_classifier",
        r"^head": "cls_classifier",
    }
    theirs.load_state_dict(
        renamed(ours.state_dict(), VIT_NAMES | heads), strict=True
    )
    images = images_for(ours)
    their_logits = theirs(images)
    assert_all_close(
        ours(images),
        (their_logits.cls_logits, their_logits.distillation_logits),
    )
    assert_all_close(
        gradients(ours.eval(), images),
        gradients(lambda x: theirs(x).logits, images),
    )


SRC = torch.tensor([[3, 4, 5, 6, 7], [8, 9, 3, 0, 0]])
TGT = torch.tensor([[3, 9, 10], [4, 5, 0]])
SEQ2SEQ = {
    "src_vocab_size": 11,
    "tgt_vocab_size": 11,
    "d_model": 14,
    "num_layers": 2,
    "num_heads": 7,
    "d_ff": 17,
    "qkv_bias": True,
    "proj_bias": True,
    "layer_norm_eps": 1e-5,
}
LEARNED = {"positions": "learned", "max_len": 6, "embedding_norm": True}
# Ours beside the model of theirs that makes the same choices.
PEERS = {
    "Marian": (
        {"activation": "relu"},
        MarianMTModel,
        MarianConfig,
        {"scale_embedding": True},
    ),
    "Marian, two vocabularies": (
        {"activation": "gelu", "tie_source": False, "tgt_vocab_size": 13},
        MarianMTModel,
        MarianConfig,
        {
            "scale_embedding": True,
            "decoder_vocab_size": 13,
            "share_encoder_decoder_embeddings": False,
        },
    ),
    "BART": (
        LEARNED | {"embedding_scale": "none"},
        BartForConditionalGeneration,
        BartConfig,
        {"scale_embedding": False},
    ),
    "mBART": (
        LEARNED | {"norm_first": True, "activation": "gelu"},
        MBartForConditionalGeneration,
        MBartConfig,
        {"scale_embedding": True},
    ),
}
each_peer = pytest.mark.parametrize("name", PEERS)


def their_seq2seq_config(kind, config, changes):
    ids = ("bos_token_id", "eos_token_id", "forced_eos_token_id")
    sides = ("encoder", "decoder")
    return kind(
        vocab_size=config.src_vocab_size,
        d_model=config.d_model,
        activation_function=config.activation,
        max_position_embeddings=6,
        dropout=config.dropout,
        attention_dropout=config.attention_dropout,
        activation_dropout=config.activation_dropout,
        pad_token_id=0,
        decoder_start_token_id=1,
        use_cache=False,
        **dict.fromkeys(ids, 2),
        **{f"{side}_layers": config.num_layers for side in sides},
        **{f"{side}_attention_heads": config.num_heads for side in sides},
        **{f"{side}_ffn_dim": config.d_ff for side in sides},
        **changes,
    )


def both_seq2seqs(name, training):
    fields, model, kind, changes = PEERS[name]
    config = TransformerConfig(**(SEQ2SEQ | fields), **rates(training))
    ours = drawn(Transformer(config)).double().train(training)
    theirs = model(their_seq2seq_config(kind, config, changes))
    theirs = theirs.double().train(training)
    state = renamed(ours.state_dict(), SEQ2SEQ_NAMES)
    for key in [key for key in state if "embed_positions" in key]:
        # Theirs keeps two rows in front that it never reads.
        state[key] = torch.cat([torch.zeros(2, 14), state[key][0]])
    if config.positions == "sinusoidal":
        # Theirs puts all sines in front; the layers do not mind the order.
        pairs = torch.arange(14).double() // 2
        angles = torch.arange(6)[:, None] / 10_000 ** (2 * pairs / 14)
        even = torch.arange(14) % 2 == 0
        table = torch.where(even, angles.sin(), angles.cos())
        for side in ("encoder", "decoder"):
            state[f"model.{side}.embed_positions.weight"] = table
    missing, unexpected = theirs.load_state_dict(state, strict=False)
    # The shared table is there under the names of both sides.
    assert set(missing) <= {"final_logits_bias", "model.shared.weight"}
    assert not unexpected
    return ours, theirs


def run(theirs, src, tgt):
    return theirs(
        input_ids=src,
        attention_mask=src != 0,
        decoder_input_ids=tgt,
        decoder_attention_mask=tgt != 0,
    ).logits


@each_peer
@each_mode
def test_the_transformer_is_that_of_hugging_face(name, training):
    ours, theirs = both_seq2seqs(name, training)
    assert_all_close((ours(SRC, TGT),), (run(theirs, SRC, TGT),))


@each_peer
def test_so_are_the_gradients_of_all_its_parameters(name):
    ours, theirs = both_seq2seqs(name, training=True)
    upstream = draw(*ours(SRC, TGT).shape, seed=1)
    ours(SRC, TGT).backward(upstream)
    run(theirs, SRC, TGT).backward(upstream)
    expected = parameter_gradients(theirs)
    found = renamed(parameter_gradients(ours), SEQ2SEQ_NAMES)
    if "model.shared.weight" in expected:
        found["model.shared.weight"] = found.pop(
            "model.encoder.embed_tokens.weight"
        )
    for key, gradient in found.items():
        rows = slice(2, None) if "embed_positions" in key else slice(None)
        assert_all_close(
            (gradient.reshape(expected[key][rows].shape),),
            (expected[key][rows],),
            1e-11,
        )
    fixed = {key for key, g in expected.items() if g is None}
    assert found.keys() == expected.keys() - fixed
    assert all("embed_positions" in key for key in fixed)


@each_peer
def test_the_logits_of_a_cached_step_are_theirs(name):
    ours, theirs = both_seq2seqs(name, training=False)
    src, tgt = SRC, torch.tensor([[3, 9, 10], [4, 5, 6]])
    memory, cache = ours.encode(src), DecoderCache(2)
    # The second step adds two tokens, so that the order of keys matters.
    steps = [ours.decode(tgt[:, :stop], memory, src, cache) for stop in (1, 3)]
    assert_all_close((torch.cat(steps, dim=1),), (run(theirs, src, tgt),))
