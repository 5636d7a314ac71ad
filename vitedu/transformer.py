"""The Transformer: an encoder, a decoder and what joins them."""

from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from vitedu import require
from vitedu.attention import MultiHeadAttention
from vitedu.cache import DecoderCache
from vitedu.config import TransformerConfig
from vitedu.layers import (
    DecoderBlock,
    EncoderBlock,
    FeedForward,
    TiedTable,
    make_norm,
)
from vitedu.masks import causal_mask, check_first_token, padding_mask
from vitedu.positions import (
    LearnedPositionEmbedding,
    SinusoidalPositionEncoding,
)


class TokenEmbedding(nn.Module):
    """Turn token ids into vectors that include their position.

    Look up, scale, add the position, drop out, and normalise if asked for.

    Args:
        config: Width, positions, rates and norms.
        vocab_size: Rows of the table.
        pad_id: The row that is initially zero and that look-ups do not train.

    Raises:
        TypeError: `config` is not a TransformerConfig.
        ValueError: A `pad_id` outside the vocabulary; a sequence longer than
            `config.max_len`.

    Source: Vaswani et al. 2017, sections 3.4, 3.5 and 5.4.
    """

    def __init__(
        self, config: TransformerConfig, vocab_size: int, pad_id: int
    ) -> None:
        super().__init__()
        require.instance("config", config, TransformerConfig)
        require.positive_int("vocab_size", vocab_size)
        require.integer("pad_id", pad_id, at_least=0)
        if pad_id >= vocab_size:
            raise ValueError(
                f"pad_id must be below vocab_size = {vocab_size}, got {pad_id}"
            )
        self.tokens = nn.Embedding(vocab_size, config.d_model, pad_id)
        grows = config.embedding_scale == "embedding"
        self.scale = config.d_model**0.5 if grows else 1.0
        self.positions = _positions(config)
        self.drop = nn.Dropout(config.first_dropout)
        self.norm = _norm(config, config.embedding_norm)

    def forward(
        self, ids: Int[Tensor, "batch token"], start: int = 0
    ) -> Float[Tensor, "batch token d_model"]:
        """Embed `ids`, the first of which is at position `start`."""
        x = self.tokens(ids) * self.scale
        if self.positions is not None:
            x = self.positions(x, start)
        return self.norm(self.drop(x))


class Encoder(nn.Module):
    """A stack of encoder blocks: every token sees all the others.

    Args:
        config: Sizes, rates and norms.

    Raises:
        TypeError: `config` is not a TransformerConfig.

    Source: Vaswani et al. 2017, section 3.1.
    Deviates: With ``norm_first`` a layer normalisation closes the stack.
    Derived in: 07-encoder
    """

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        require.instance("config", config, TransformerConfig)
        self.blocks = nn.ModuleList(
            EncoderBlock(
                MultiHeadAttention(**config.attention),
                FeedForward(**config.feed_forward),
                drop_path=rate,
                **config.residual,
            )
            for rate in config.drop_path_rates
        )
        self.norm = _norm(config, config.has_final_norm)

    def forward(
        self,
        x: Float[Tensor, "batch src d_model"],
        mask: Bool[Tensor, "#batch #heads #src src"] | None = None,
    ) -> Float[Tensor, "batch src d_model"]:
        for block in self.blocks:
            x = block(x, mask)
        return self.norm(x)


class Decoder(nn.Module):
    """A stack of decoder blocks, each of which reads the encoder's output.

    Args:
        config: Sizes, rates and norms.

    Raises:
        TypeError: `config` is not a TransformerConfig.
        ValueError: A `cache` for a different number of blocks.

    Source: Vaswani et al. 2017, section 3.1.
    Deviates: As for `Encoder`.
    Derived in: 08-decoder
    """

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        require.instance("config", config, TransformerConfig)
        self.blocks = nn.ModuleList(
            DecoderBlock(
                MultiHeadAttention(**config.attention),
                MultiHeadAttention(**config.attention),
                FeedForward(**config.feed_forward),
                drop_path=rate,
                **config.residual,
            )
            for rate in config.drop_path_rates
        )
        self.norm = _norm(config, config.has_final_norm)

    def forward(
        self,
        x: Float[Tensor, "batch tgt d_model"],
        memory: Float[Tensor, "batch src d_model"],
        mask: Bool[Tensor, "#batch #heads #tgt key"] | None = None,
        memory_mask: Bool[Tensor, "#batch #heads #tgt src"] | None = None,
        cache: DecoderCache | None = None,
    ) -> Float[Tensor, "batch tgt d_model"]:
        """Return the tokens after the last block.

        With a `cache`, `x` holds the new tokens only; `mask` then has a key
        for every token so far.
        """
        caches = [None] * len(self.blocks) if cache is None else cache.blocks
        if len(caches) != len(self.blocks):
            raise ValueError(
                f"cache must have {len(self.blocks)} blocks, got {len(caches)}"
            )
        for block, kept in zip(self.blocks, caches, strict=True):
            x = block(x, memory, mask, memory_mask, kept)
        return self.norm(x)


class Transformer(TiedTable):
    """Translate: read a source sentence, predict the next target token.

    Masks are made here, where the model meets the data: no token attends to
    padding, and a target token sees itself and those before it. The parts:
    `src_embed`, `tgt_embed`, `encoder`, `decoder` and the output projection
    `generator`.

    Args:
        config: Sizes, rates, choices.

    Raises:
        TypeError: `config` is not a TransformerConfig; ids that are not
            integers.
        ValueError: Ids outside their vocabulary, batches or lengths that do
            not fit together; a source with padding in front, which would
            shift the positions.

    Source: Vaswani et al. 2017, section 3, figure 1.
    Deviates: No dropout on attention weights unless asked for; the authors'
        code has it. Initial weights, which the paper does not give: Xavier,
        with q, k and v separate; the usual biases.
    Derived in: 09-transformer
    """

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        require.instance("config", config, TransformerConfig)
        self.config = config
        self.src_embed = TokenEmbedding(
            config, config.src_vocab_size, config.src_pad_id
        )
        self.tgt_embed = TokenEmbedding(
            config, config.tgt_vocab_size, config.tgt_pad_id
        )
        self.encoder = Encoder(config)
        self.decoder = Decoder(config)
        self.generator = nn.Linear(
            config.d_model, config.tgt_vocab_size, bias=False
        )
        self._initialise()
        if config.tie_source:
            self.src_embed.tokens = self.tgt_embed.tokens
        if config.tie_output:
            self.generator.weight = self.tgt_embed.tokens.weight

    def forward(
        self, src: Int[Tensor, "batch src"], tgt: Int[Tensor, "batch tgt"]
    ) -> Float[Tensor, "batch tgt vocab_size"]:
        """Return for each target token the logits of the one after it.

        In training, `tgt` is the correct sentence without its last token
        (teacher forcing): all positions are predicted at once.
        """
        return self.decode(tgt, self.encode(src), src)

    def encode(
        self, src: Int[Tensor, "batch src"]
    ) -> Float[Tensor, "batch src d_model"]:
        """Return the encoder's output, the memory that the decoder reads."""
        require.ids("src", src, self.config.src_vocab_size)
        if self.src_embed.positions is not None:
            check_first_token("src", src, self.config.src_pad_id)
        x = self.src_embed(src)
        return self.encoder(x, padding_mask(src, self.config.src_pad_id))

    def decode(
        self,
        tgt: Int[Tensor, "batch tgt"],
        memory: Float[Tensor, "batch src d_model"],
        src: Int[Tensor, "batch src"],
        cache: DecoderCache | None = None,
    ) -> Float[Tensor, "batch new vocab_size"]:
        """Return logits for the target tokens that are not in the cache yet.

        Args:
            tgt: All target tokens so far, those in the cache included.
            memory: What `encode` returned for `src`.
            src: The source tokens; their padding stays hidden.
            cache: What earlier calls computed for this memory, which is not
                read again; None computes everything.
        """
        _check_decoding(self, tgt, memory, src, cache)
        start = 0 if cache is None else len(cache)
        past = causal_mask(tgt.shape[1], device=tgt.device)[:, :, start:]
        x = self.decoder(
            self.tgt_embed(tgt[:, start:], start),
            memory,
            past & padding_mask(tgt, self.config.tgt_pad_id),
            padding_mask(src, self.config.src_pad_id),
            cache,
        )
        logits = self.generator(x)
        if self.config.embedding_scale == "logits":
            return logits * self.config.d_model**-0.5
        return logits

    def _initialise(self) -> None:
        for module in self.modules():
            if isinstance(module, MultiHeadAttention):
                for weight in module.qkv_weights():
                    nn.init.xavier_uniform_(weight)
                nn.init.xavier_uniform_(module.proj.weight)
            if isinstance(module, FeedForward):
                nn.init.xavier_uniform_(module.fc1.weight)
                nn.init.xavier_uniform_(module.fc2.weight)
        nn.init.xavier_uniform_(self.generator.weight)
        width = self.config.d_model
        shrunk = self.config.embedding_scale == "logits"
        for embed in (self.src_embed, self.tgt_embed):
            table = embed.tokens
            nn.init.normal_(table.weight, std=1 if shrunk else width**-0.5)
            # The row of the padding was zero before it was drawn anew.
            table.weight.data[table.padding_idx] = 0


def _check_decoding(
    model: Transformer,
    tgt: Tensor,
    memory: Tensor,
    src: Tensor,
    cache: DecoderCache | None,
) -> None:
    require.ids("tgt", tgt, model.config.tgt_vocab_size)
    require.ids("src", src, model.config.src_vocab_size)
    require.tokens("memory", memory, model.config.d_model, model.generator)
    require.instance("cache", cache, DecoderCache, optional=True)
    if src.shape != memory.shape[:2] or tgt.shape[0] != src.shape[0]:
        raise ValueError(
            "tgt, memory and src must have one batch, memory and src one "
            f"length, got shapes {tuple(tgt.shape)}, "
            f"{tuple(memory.shape)} and {tuple(src.shape)}"
        )
    start = 0 if cache is None else len(cache)
    if tgt.shape[1] <= start:
        raise ValueError(
            f"tgt must hold more than the {start} tokens decoded so far, "
            f"got {tgt.shape[1]}"
        )
    if cache and cache.memory_shape != memory.shape[:2]:
        raise ValueError(
            "memory must have the (batch, length) of the cache, "
            f"{cache.memory_shape}, got {tuple(memory.shape[:2])}"
        )


def _positions(config: TransformerConfig) -> nn.Module | None:
    if config.positions == "sinusoidal":
        return SinusoidalPositionEncoding(config.d_model)
    if config.max_len is not None:  # with learned positions, and only then
        return LearnedPositionEmbedding(config.max_len, config.d_model)
    return None


def _norm(config: TransformerConfig, wanted: bool) -> nn.Module:
    if wanted:
        return make_norm(
            config.norm, config.d_model, eps=config.layer_norm_eps
        )
    return nn.Identity()
