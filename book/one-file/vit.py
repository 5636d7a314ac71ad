"""The Vision Transformer in one file: plain PyTorch, no checks, no options.

Dosovitskiy et al. 2021, "An image is worth 16x16 words".

The weights have timm's names, so a published ViT-B/16 loads as it is:

    model = ViT()
    model.load_state_dict(safetensors.torch.load_file("model.safetensors"))

Shapes are those of ViT-B/16, for a batch of B images:

    3 x 224 x 224 -> 196 x 768 -> 197 x 768 -> ... -> 768 -> 1000

Run the file, and it learns to read handwritten digits in about a minute.
"""

import torch
from torch import nn


class PatchEmbed(nn.Module):
    """Cut the image into patches, and map each to a vector (chapter 11)."""

    def __init__(self, channels, patch, dim):
        super().__init__()
        # A kernel as large as its stride reads each patch once.
        self.proj = nn.Conv2d(channels, dim, kernel_size=patch, stride=patch)

    def forward(self, images):  # B, 3, 224, 224
        grid = self.proj(images)  # B, 768, 14, 14
        return grid.flatten(2).transpose(1, 2)  # B, 196, 768


class Attention(nn.Module):
    """Each token takes what it needs from all of them (chapters 3 and 5)."""

    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)

    def forward(self, x):  # B, 197, 768
        qkv = self.qkv(x).unflatten(-1, (3, self.heads, -1))
        q, k, v = qkv.permute(2, 0, 3, 1, 4)  # each B, 12, 197, 64
        scores = q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5
        weights = scores.softmax(dim=-1)  # B, 12, 197, 197
        heads = weights @ v  # B, 12, 197, 64
        return self.proj(heads.transpose(1, 2).flatten(2))  # B, 197, 768


class MLP(nn.Module):
    """Each token is worked on by itself (chapter 6)."""

    def __init__(self, dim, hidden):
        super().__init__()
        self.fc1 = nn.Linear(dim, hidden)
        self.fc2 = nn.Linear(hidden, dim)

    def forward(self, x):  # B, 197, 768
        hidden = nn.functional.gelu(self.fc1(x))  # B, 197, 3072
        return self.fc2(hidden)  # B, 197, 768


class Block(nn.Module):
    """Both, each added to what came in (chapters 6 and 7)."""

    def __init__(self, dim, heads, hidden):
        super().__init__()
        self.norm1 = nn.LayerNorm(dim, eps=1e-6)
        self.attn = Attention(dim, heads)
        self.norm2 = nn.LayerNorm(dim, eps=1e-6)
        self.mlp = MLP(dim, hidden)

    def forward(self, x):  # B, 197, 768
        x = x + self.attn(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class ViT(nn.Module):
    """From pixels to classes (chapters 12 and 13)."""

    def __init__(
        self,
        image=224,
        patch=16,
        channels=3,
        classes=1000,
        dim=768,
        depth=12,
        heads=12,
        hidden=3072,
    ):
        super().__init__()
        self.patch_embed = PatchEmbed(channels, patch, dim)
        self.cls_token = nn.Parameter(torch.zeros(1, 1, dim))
        tokens = (image // patch) ** 2 + 1
        self.pos_embed = nn.Parameter(0.02 * torch.randn(1, tokens, dim))
        self.blocks = nn.ModuleList(
            Block(dim, heads, hidden) for _ in range(depth)
        )
        self.norm = nn.LayerNorm(dim, eps=1e-6)
        self.head = nn.Linear(dim, classes)

    def forward(self, images):  # B, 3, 224, 224
        x = self.patch_embed(images)  # B, 196, 768
        cls = self.cls_token.expand(len(x), -1, -1)  # B, 1, 768
        x = torch.cat([cls, x], dim=1)  # B, 197, 768
        x = x + self.pos_embed
        for block in self.blocks:
            x = block(x)
        x = self.norm(x)[:, 0]  # B, 768: the class token alone
        return self.head(x)  # B, 1000


def learn_digits():
    """Train a small ViT on 8 x 8 digits; return its accuracy on new ones."""
    from sklearn.datasets import load_digits

    torch.manual_seed(0)
    pixels, labels = map(torch.from_numpy, load_digits(return_X_y=True))
    images = pixels.float().view(-1, 1, 8, 8) / 16
    order = torch.randperm(len(images))
    train, test = order[:1437], order[1437:]
    model = ViT(8, 2, 1, 10, dim=64, depth=4, heads=4, hidden=128)
    optimizer = torch.optim.AdamW(model.parameters(), weight_decay=0.05)
    steps, batch = 1500, 64
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 2e-3, steps)
    for _ in range(steps):
        drawn = train[torch.randint(len(train), (batch,))]
        # Moved by up to one pixel, a digit stays what it is.
        padded = nn.functional.pad(images[drawn], (1, 1, 1, 1))
        crops = padded.unfold(2, 8, 1).unfold(3, 8, 1)  # B, 1, 3, 3, 8, 8
        y, x = torch.randint(3, (2, batch))
        moved = crops[torch.arange(batch), :, y, x]
        loss = nn.functional.cross_entropy(model(moved), labels[drawn])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    with torch.no_grad():
        right = model(images[test]).argmax(dim=1) == labels[test]
    return right.float().mean().item()


if __name__ == "__main__":
    print(f"{learn_digits():.1%}")  # the accuracy on 360 new digits
