"""A Vision Transformer in the layout of timm in 2021, to be summarised.

Its attention is written out, its tokens and positions are bare parameters.
"""

import torch
from torch import nn

from vitedu.analysis.counting import head_widths
from vitedu.config import ViTConfig
from vitedu.layers import DropPath, LayerScale


class PatchEmbed(nn.Module):
    def __init__(self, config):
        super().__init__()
        size = config.patch_shape
        self.proj = nn.Conv2d(config.num_channels, config.d_model, size, size)
        self.norm = norm(config) if config.patch_norm else nn.Identity()

    def forward(self, x):
        return self.norm(self.proj(x).flatten(2).transpose(1, 2))


class Attention(nn.Module):
    def __init__(self, config):
        super().__init__()
        heads, width = config.num_heads, config.d_model
        head_dim, value_dim = head_widths(config)
        self.heads, self.scale = heads, head_dim**-0.5
        self.sizes = [heads * head_dim, heads * head_dim, heads * value_dim]
        self.qkv = nn.Linear(width, sum(self.sizes), bias=config.qkv_bias)
        self.attn_drop = nn.Dropout(config.attention_dropout)
        self.proj = nn.Linear(self.sizes[2], width, bias=config.proj_bias)
        self.proj_drop = nn.Dropout(config.dropout)

    def forward(self, x):
        q, k, v = (
            part.unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for part in self.qkv(x).split(self.sizes, dim=-1)
        )
        weights = ((q @ k.transpose(-2, -1)) * self.scale).softmax(dim=-1)
        out = (self.attn_drop(weights) @ v).transpose(1, 2).flatten(2)
        return self.proj_drop(self.proj(out))


class Mlp(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.fc1 = nn.Linear(config.d_model, config.d_ff)
        self.act = {"gelu": nn.GELU, "relu": nn.ReLU}[config.activation]()
        self.fc2 = nn.Linear(config.d_ff, config.d_model)
        self.drop = nn.Dropout(config.dropout)

    def forward(self, x):
        return self.drop(self.fc2(self.drop(self.act(self.fc1(x)))))


class Block(nn.Module):
    def __init__(self, config, rate):
        super().__init__()
        self.norm_first = config.norm_first
        self.norm1, self.norm2 = norm(config), norm(config)
        self.attn, self.mlp = Attention(config), Mlp(config)
        self.drop_path = DropPath(rate) if rate else nn.Identity()
        initial = config.layer_scale
        self.ls1, self.ls2 = (
            # Nothing, where there are no factors, and no row of the table.
            nn.Sequential()
            if initial is None
            else LayerScale(config.d_model, initial)
            for _ in range(2)
        )

    def forward(self, x):
        if self.norm_first:
            x = x + self.drop_path(self.ls1(self.attn(self.norm1(x))))
            return x + self.drop_path(self.ls2(self.mlp(self.norm2(x))))
        x = self.norm1(x + self.drop_path(self.ls1(self.attn(x))))
        return self.norm2(x + self.drop_path(self.ls2(self.mlp(x))))


class UsualViT(nn.Module):
    def __init__(self, config: ViTConfig) -> None:
        super().__init__()
        self.config = config
        width, prefix = config.d_model, config.num_prefix_tokens
        self.patch_embed = PatchEmbed(config)
        self.prefix = nn.Parameter(torch.zeros(1, prefix, width))
        self.pos_embed = nn.Parameter(
            torch.zeros(1, prefix + config.num_patches, width)
        )
        self.pos_drop = nn.Dropout(config.first_dropout)
        self.blocks = nn.Sequential(
            *(Block(config, rate) for rate in config.drop_path_rates)
        )
        self.norm = norm(config)
        features = config.representation_size
        self.pre_logits = nn.Identity()
        if features is not None:
            self.pre_logits = nn.Sequential(
                nn.Linear(width, features), nn.Tanh()
            )
        self.heads = nn.ModuleList(
            nn.Linear(features or width, config.num_classes)
            if config.num_classes
            else nn.Identity()
            for _ in range(1 + config.distilled)
        )

    def forward(self, images):
        x = self.patch_embed(images)
        x = torch.cat([self.prefix.expand(len(x), -1, -1), x], dim=1)
        x = self.blocks(self.pos_drop(x + self.pos_embed))
        if self.config.pool_norm == "before":
            read = self.pooled(self.norm(x))
        else:
            read = [self.norm(token) for token in self.pooled(x)]
        if not self.config.distilled:
            read = [self.pre_logits(token) for token in read]
        return [
            head(token) for head, token in zip(self.heads, read, strict=True)
        ]

    def pooled(self, x):
        if self.config.pool == "class_token":
            return [x[:, i] for i in range(1 + self.config.distilled)]
        first = self.config.num_prefix_tokens
        return [x[:, 0 if self.config.pool == "mean_all" else first :].mean(1)]


def norm(config):
    return nn.LayerNorm(config.d_model, eps=config.layer_norm_eps)
