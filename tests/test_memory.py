"""Bytes in closed form: equal to what autograd keeps."""

import pytest
import torch
from configs import vit_configs
from helpers import PROPERTY
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.attention import SDPBackend, sdpa_kernel

from vitedu import attention
from vitedu.analysis.memory import activation_bytes, kv_cache_bytes
from vitedu.cache import DecoderCache
from vitedu.config import TransformerConfig
from vitedu.transformer import Transformer
from vitedu.vit import VisionTransformer

MANY = settings(PROPERTY, max_examples=40)
RATES = {
    "dropout": st.sampled_from([0.0, 0.1]),
    "activation_dropout": st.sampled_from([None, 0.0, 0.2]),
    "embedding_dropout": st.sampled_from([None, 0.0, 0.2]),
    "drop_path": st.sampled_from([0.0, 0.3]),
}


def kept(model, images, *, fused=False):
    """Measure the memory that a forward pass keeps, parameters aside.

    A tensor that is kept keeps all of its storage, also where it is a part of
    it; storages count once.
    """
    storages = {}

    def pack(tensor):
        storage = tensor.untyped_storage()
        storages[storage.data_ptr()] = storage
        return tensor

    with (
        pytest.MonkeyPatch.context() as patch,
        sdpa_kernel(SDPBackend.FLASH_ATTENTION),
        torch.autograd.graph.saved_tensors_hooks(pack, lambda x: x),
    ):
        if fused:
            # Up to this many weights the formula is written out on a CPU.
            patch.setattr(attention, "_SMALL_MAP", -1)
        model(images)
    for parameter in model.parameters():
        storages.pop(parameter.untyped_storage().data_ptr(), None)
    return sum(storage.nbytes() for storage in storages.values())


def images_for(config, batch_size=1):
    return torch.zeros(batch_size, config.num_channels, *config.image_shape)


# Whether attention is fused, and the dropout on its weights.
@MANY
@given(
    st.sampled_from([(True, 0.0), (False, 0.0), (False, 0.1)]).flatmap(
        lambda pair: st.tuples(
            vit_configs(
                value_dim=st.none(),
                attention_dropout=st.just(pair[1]),
                **RATES,
            ),
            st.just(pair[0]),
        )
    ),
    st.integers(1, 3),
)
def test_autograd_keeps_what_the_config_says(pair, batch_size):
    config, fused = pair
    model, images = VisionTransformer(config), images_for(config, batch_size)
    expected = activation_bytes(config, batch_size=batch_size, fused=fused)
    assert sum(expected.values()) == kept(model, images, fused=fused)


@pytest.mark.parametrize("num_kv_heads", [None, 2, 1])
@pytest.mark.parametrize("value_dim", [None, 5])
def test_a_cache_holds_as_many_bytes_as_its_tensors(num_kv_heads, value_dim):
    config = TransformerConfig.numerals(
        num_kv_heads=num_kv_heads, value_dim=value_dim
    )
    model = Transformer(config).eval()
    src, tgt = torch.ones(2, 5, dtype=torch.long), torch.ones(2, 3).long()
    cache = DecoderCache(config.num_layers)
    assert cache.nbytes == 0
    model.decode(tgt, model.encode(src), src, cache)
    tensors = [x for pair in cache.blocks for c in pair for x in c.kept()]
    assert cache.nbytes == sum(x.numel() * x.itemsize for x in tensors)
    of_target, of_source = (
        kv_cache_bytes(config, length, batch_size=2) for length in (3, 5)
    )
    assert sum(own.nbytes for own, _ in cache.blocks) == of_target
    assert sum(cross.nbytes for _, cross in cache.blocks) == of_source
    assert kv_cache_bytes(config, 6, number_bytes=1) * 4 == of_target
