"""Learn which caption belongs to which image, only from pairs."""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from vitedu import require
from vitedu.attention import MultiHeadAttention
from vitedu.config import ViTConfig
from vitedu.layers import EncoderBlock, FeedForward, make_norm
from vitedu.masks import check_first_token
from vitedu.positions import LearnedPositionEmbedding
from vitedu.vit import VisionTransformer


def clip_loss(
    similarities: Float[Tensor, "pair pair"],
) -> Float[Tensor, ""]:
    """Return how badly pairs are found among all images and captions.

    Each image chooses among the captions of the batch by a softmax over its
    row, each caption among the images over its column.

    Args:
        similarities: Those of image i and caption j, scaled; pairs are on the
            diagonal.

    Raises:
        TypeError, ValueError: Not a square of at least 1 by 1, or not
            floating-point.

    Source: Radford et al. 2021 (CLIP), section 2.3 and figure 3.
    Derived in: 23-without-labels

    >>> clip_loss(torch.zeros(4, 4)).exp().round().item()  # of four, blindly
    4.0
    """
    _require_square(similarities)
    right = torch.arange(len(similarities), device=similarities.device)
    rows = F.cross_entropy(similarities, right)
    columns = F.cross_entropy(similarities.mT, right)
    return (rows + columns) / 2


def siglip_loss(
    similarities: Float[Tensor, "pair pair"],
) -> Float[Tensor, ""]:
    """Return how badly each image and caption are classified as a pair or not.

    Every entry is a yes-or-no question of its own, so no softmax needs the
    whole batch.

    Args:
        similarities: Those of image i and caption j, scaled, with a bias
            added; pairs are on the diagonal.

    Returns:
        The sum over all questions, divided by the number of pairs.

    Raises:
        TypeError, ValueError: As in `clip_loss`.

    Source: Zhai et al. 2023 (SigLIP), section 3.2 and algorithm 1.
    Derived in: 23-without-labels

    >>> siglip_loss(torch.tensor([[9.0, -9.0], [-9.0, 9.0]])) < 1e-3
    tensor(True)
    """
    _require_square(similarities)
    pairs = 2 * torch.eye(len(similarities)).to(similarities) - 1
    return -F.logsigmoid(pairs * similarities).sum(dim=1).mean()


class ImagesAndCaptions(nn.Module):
    """Two encoders that map images and captions into one space.

    Args:
        image_config: Config of the Vision Transformer, without a head.
        vocab_size: Number of words; 0 is padding, to which no token attends.
        max_len: Most words of a caption.
        width: Width of the space that both share.
        text_layers: Blocks of the encoder of captions; its other sizes are
            those of the images' blocks.
        start_scale: Initial scale of the similarities; its logarithm is
            learned.
        start_bias: Initial bias added to them; None means that there is none,
            as in CLIP.

    Raises:
        TypeError, ValueError: Something that is not a ViTConfig, a head, a
            distillation token, sizes that are not positive integers, numbers
            out of range; images of another size; captions that are longer,
            hold unknown words or none, or begin with padding.

    Source: Radford et al. 2021 (CLIP), section 2; the bias from Zhai et al.
        2023 (SigLIP), section 3.2.
    Deviates: The caption is read as the mean of its words, with attention in
        both directions; CLIP masks the future and reads its last token. CLIP
        keeps the scale at 100 or less (section 2.5); here it has no limit.
    Derived in: 23-without-labels
    """

    def __init__(
        self,
        image_config: ViTConfig,
        *,
        vocab_size: int,
        max_len: int,
        width: int = 64,
        text_layers: int = 2,
        start_scale: float = 1 / 0.07,
        start_bias: float | None = None,
    ) -> None:
        super().__init__()
        require.instance("image_config", image_config, ViTConfig)
        if image_config.num_classes:
            raise ValueError(
                "image_config must have num_classes=0, got "
                f"{image_config.num_classes}"
            )
        if image_config.distilled:
            raise ValueError(
                "image_config must have distilled=False: in training there "
                "would be two vectors for an image, got True"
            )
        for name, size in (
            ("vocab_size", vocab_size),
            ("max_len", max_len),
            ("width", width),
            ("text_layers", text_layers),
        ):
            require.positive_int(name, size)
        require.number("start_scale", start_scale, above=0)
        if start_bias is not None:
            require.number("start_bias", start_bias)
        d_model = image_config.d_model
        self.image = VisionTransformer(image_config)
        self.words = nn.Embedding(vocab_size, d_model, padding_idx=0)
        self.pos_embed = LearnedPositionEmbedding(max_len, d_model, std=1.0)
        self.blocks = nn.ModuleList(
            EncoderBlock(
                MultiHeadAttention(**image_config.attention),
                FeedForward(**image_config.feed_forward),
                **image_config.residual,
            )
            for _ in range(text_layers)
        )
        self.norm = make_norm(
            image_config.norm, d_model, eps=image_config.layer_norm_eps
        )
        read = image_config.representation_size or d_model
        self.image_map = nn.Linear(read, width, bias=False)
        self.caption_map = nn.Linear(d_model, width, bias=False)
        self.log_scale = nn.Parameter(torch.tensor(math.log(start_scale)))
        self.bias = (
            None
            if start_bias is None
            else nn.Parameter(torch.tensor(float(start_bias)))
        )

    def encode_images(
        self, images: Float[Tensor, "image channel height width"]
    ) -> Float[Tensor, "image shared"]:
        """Return a vector of length 1 for each image."""
        return F.normalize(self.image_map(self.image(images)), dim=-1)

    def encode_captions(
        self, ids: Int[Tensor, "caption word"]
    ) -> Float[Tensor, "caption shared"]:
        """Return a vector of length 1 for each caption."""
        require.ids("ids", ids, self.words.num_embeddings)
        most = self.pos_embed.weight.shape[1]
        if ids.shape[1] > most:
            raise ValueError(
                f"ids must be at most {most} words, got {ids.shape[1]}"
            )
        real = ids != 0
        if not real.any(dim=1).all():
            raise ValueError("ids must hold a word in each row, got none")
        check_first_token("ids", ids, pad_id=0)
        x = self.pos_embed(self.words(ids), start=0)
        for block in self.blocks:
            x = block(x, real[:, None, None, :])
        counted = real[..., None].to(x.dtype)
        mean = (self.norm(x) * counted).sum(dim=1) / counted.sum(dim=1)
        return F.normalize(self.caption_map(mean), dim=-1)

    def forward(
        self,
        images: Float[Tensor, "image channel height width"],
        ids: Int[Tensor, "caption word"],
    ) -> Float[Tensor, "image caption"]:
        """Return similarities: cosines, scaled, with the bias if any.

        Args:
            images: Pixels, in the dtype of the weights.
            ids: Ids of the words, 0 after the last one.
        """
        cosines = self.encode_images(images) @ self.encode_captions(ids).mT
        scaled = self.log_scale.exp() * cosines
        return scaled if self.bias is None else scaled + self.bias


def _require_square(similarities: Tensor) -> None:
    require.rank("similarities", similarities, "image caption")
    require.floating("similarities", similarities)
    rows, columns = similarities.shape
    if rows != columns or rows == 0:
        raise ValueError(
            "similarities must be square, at least 1 by 1, got "
            f"{rows} by {columns}"
        )
