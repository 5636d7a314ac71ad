"""The Transformer in one file: plain PyTorch, no checks, no options.

Vaswani et al. 2017, "Attention is all you need".

Norms after each sum, sinusoids, one table for both languages and the output.

Shapes are those of the base model, for B sentences of S words, which become
T words of a vocabulary of V:

    S -> S x 512 -> ... -> S x 512
    T -> T x 512 -> ... -> T x 512 -> T x V
"""

import torch
from torch import nn

PAD, START = 0, 1


def sinusoids(length, d_model):
    """Give each position a pattern of waves (chapter 2)."""
    pairs = torch.arange(0, d_model, 2, dtype=torch.float64)
    waves = 10_000 ** (-pairs / d_model)
    angles = torch.arange(length)[:, None] * waves  # T, 256
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)


class Attention(nn.Module):
    """Queries take what they need from keys and values (chapters 3, 5)."""

    def __init__(self, d_model, heads):
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v, self.out = (
            nn.Linear(d_model, d_model, bias=False) for _ in range(4)
        )

    def forward(self, x, memory, mask):  # B, T, 512 and B, S, 512
        def split(y):
            return y.unflatten(-1, (self.heads, -1)).transpose(1, 2)

        q, k, v = (
            split(self.q(x)),
            split(self.k(memory)),
            split(self.v(memory)),
        )
        scores = q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5  # B, 8, T, S
        scores = scores.masked_fill(~mask, float("-inf"))  # chapter 4
        heads = scores.softmax(dim=-1) @ v  # B, 8, T, 64
        return self.out(heads.transpose(1, 2).flatten(2))  # B, T, 512


class FeedForward(nn.Module):
    """Each token is worked on by itself (chapter 6)."""

    def __init__(self, d_model, d_ff):
        super().__init__()
        self.fc1 = nn.Linear(d_model, d_ff)
        self.fc2 = nn.Linear(d_ff, d_model)

    def forward(self, x):  # B, T, 512
        return self.fc2(self.fc1(x).relu())  # 2048 in between


class Sum(nn.Module):
    """Add what a branch has made to what went in, then normalise."""

    def __init__(self, d_model):
        super().__init__()
        self.norm = nn.LayerNorm(d_model, eps=1e-6)
        self.drop = nn.Dropout(0.1)

    def forward(self, x, branch):
        return self.norm(x + self.drop(branch))


class EncoderBlock(nn.Module):
    """Attention among the source tokens, then each alone (chapter 7)."""

    def __init__(self, d_model, heads, d_ff):
        super().__init__()
        self.attn, self.sum1 = Attention(d_model, heads), Sum(d_model)
        self.mlp, self.sum2 = FeedForward(d_model, d_ff), Sum(d_model)

    def forward(self, x, mask):  # B, S, 512
        x = self.sum1(x, self.attn(x, x, mask))
        return self.sum2(x, self.mlp(x))


class DecoderBlock(nn.Module):
    """Among the target tokens, then to the source, then each alone (8)."""

    def __init__(self, d_model, heads, d_ff):
        super().__init__()
        self.attn, self.sum1 = Attention(d_model, heads), Sum(d_model)
        self.cross, self.sum2 = Attention(d_model, heads), Sum(d_model)
        self.mlp, self.sum3 = FeedForward(d_model, d_ff), Sum(d_model)

    def forward(self, x, memory, mask, memory_mask):  # B, T, 512
        x = self.sum1(x, self.attn(x, x, mask))
        x = self.sum2(x, self.cross(x, memory, memory_mask))
        return self.sum3(x, self.mlp(x))


class Transformer(nn.Module):
    """From source ids to the scores of each next word (chapter 9)."""

    def __init__(self, words, d_model=512, depth=6, heads=8, d_ff=2048):
        super().__init__()
        self.table = nn.Embedding(words, d_model, PAD)
        nn.init.normal_(self.table.weight, std=d_model**-0.5)
        self.drop = nn.Dropout(0.1)
        sizes = (d_model, heads, d_ff)
        self.encoder = nn.ModuleList(
            EncoderBlock(*sizes) for _ in range(depth)
        )
        self.decoder = nn.ModuleList(
            DecoderBlock(*sizes) for _ in range(depth)
        )

    def embed(self, ids):  # B, T
        x = self.table(ids) * self.table.embedding_dim**0.5  # B, T, 512
        return self.drop(x + sinusoids(ids.shape[1], x.shape[2]).to(x))

    def forward(self, source, target):  # B, S and B, T
        seen = (source != PAD)[:, None, None]  # B, 1, 1, S
        memory = self.embed(source)
        for block in self.encoder:
            memory = block(memory, seen)  # B, S, 512
        causal = torch.ones(target.shape[1], target.shape[1]).tril().bool()
        x, mask = self.embed(target), causal & (target != PAD)[:, None, None]
        for block in self.decoder:
            x = block(x, memory, mask, seen)  # B, T, 512
        return x @ self.table.weight.T  # B, T, V

    @torch.no_grad()
    def translate(self, source, steps):  # B, S
        """Write word after word, each the likeliest (chapter 10)."""
        target = torch.full((len(source), 1), START)
        for _ in range(steps):
            following = self(source, target)[:, -1].argmax(dim=-1)  # B
            target = torch.cat([target, following[:, None]], dim=1)
        return target[:, 1:]  # B, steps
