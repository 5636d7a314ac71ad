"""The same networks as other libraries write them, to be timed beside ours."""

import importlib.util
from collections.abc import Callable

import torch
from torch import Tensor, nn

from vitedu.config import TransformerConfig, ViTConfig
from vitedu.data.augmentation import let_torchvision_load

# timm loads torchvision, of which a ViT needs nothing.
let_torchvision_load()


def vision_transformers(
    config: ViTConfig,
) -> dict[str, Callable[[], nn.Module]]:
    """Return for each library how to build this ViT; images to logits."""
    found = {
        "PyTorch": lambda: PyTorchViT(config),
        "Hugging Face": lambda: HuggingFaceViT(config),
    }
    if importlib.util.find_spec("vit_pytorch"):
        found["vit-pytorch"] = lambda: vit_pytorch_vit(config)
    if importlib.util.find_spec("timm"):
        found["timm"] = lambda: timm_vit(config)
    return found


class PyTorchViT(nn.Module):
    """A ViT around nn.TransformerEncoder."""

    def __init__(self, config: ViTConfig) -> None:
        super().__init__()
        width = config.d_model
        self.embed = nn.Conv2d(
            config.num_channels, width, config.patch_size, config.patch_size
        )
        self.cls_token = nn.Parameter(torch.zeros(1, 1, width))
        self.position = nn.Parameter(
            torch.randn(1, config.num_patches + 1, width)
        )
        layer = nn.TransformerEncoderLayer(
            width,
            config.num_heads,
            config.d_ff,
            dropout=0.0,
            activation="gelu",
            batch_first=True,
            norm_first=True,
        )
        self.encoder = nn.TransformerEncoder(
            layer,
            config.num_layers,
            norm=nn.LayerNorm(width),
            enable_nested_tensor=False,
        )
        self.head = nn.Linear(width, config.num_classes)

    def forward(self, images: Tensor) -> Tensor:
        patches = self.embed(images).flatten(2).transpose(1, 2)
        prefix = self.cls_token.expand(len(images), -1, -1)
        tokens = torch.cat([prefix, patches], dim=1) + self.position
        return self.head(self.encoder(tokens)[:, 0])


class HuggingFaceViT(nn.Module):
    """Hugging Face's ViT with its fused attention."""

    def __init__(self, config: ViTConfig) -> None:
        super().__init__()
        import transformers

        self.model = transformers.ViTForImageClassification(
            transformers.ViTConfig(
                image_size=config.image_size,
                patch_size=config.patch_size,
                num_channels=config.num_channels,
                num_labels=config.num_classes,
                hidden_size=config.d_model,
                num_hidden_layers=config.num_layers,
                num_attention_heads=config.num_heads,
                intermediate_size=config.d_ff,
                attn_implementation="sdpa",
            )
        )

    def forward(self, images: Tensor) -> Tensor:
        return self.model(images).logits


def vit_pytorch_vit(config: ViTConfig) -> nn.Module:
    """The ViT of vit-pytorch; it adds two norms around the patch embedding."""
    from vit_pytorch.vit import ViT

    return ViT(
        image_size=config.image_size,
        patch_size=config.patch_size,
        channels=config.num_channels,
        num_classes=config.num_classes,
        dim=config.d_model,
        depth=config.num_layers,
        heads=config.num_heads,
        dim_head=config.d_model // config.num_heads,
        mlp_dim=config.d_ff,
    )


def timm_vit(config: ViTConfig) -> nn.Module:
    """The ViT of timm."""
    from timm.models.vision_transformer import VisionTransformer

    return VisionTransformer(
        img_size=config.image_size,
        patch_size=config.patch_size,
        in_chans=config.num_channels,
        num_classes=config.num_classes,
        embed_dim=config.d_model,
        depth=config.num_layers,
        num_heads=config.num_heads,
        mlp_ratio=config.d_ff / config.d_model,
    )


class PyTorchTransformer(nn.Module):
    """Embeddings, nn.Transformer and an output map that shares their table."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.embed = nn.Embedding(config.tgt_vocab_size, config.d_model)
        self.core = nn.Transformer(
            config.d_model,
            config.num_heads,
            config.num_layers,
            config.num_layers,
            config.d_ff,
            dropout=config.dropout,
            batch_first=True,
        )
        self.generator = nn.Linear(
            config.d_model, config.tgt_vocab_size, bias=False
        )
        self.generator.weight = self.embed.weight

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        length = tgt.shape[1]
        future = torch.ones(length, length, dtype=torch.bool).triu(1)
        out = self.core(
            self.embed(src),
            self.embed(tgt),
            tgt_mask=future,
            src_key_padding_mask=src == 0,
            tgt_key_padding_mask=tgt == 0,
            memory_key_padding_mask=src == 0,
        )
        return self.generator(out)
