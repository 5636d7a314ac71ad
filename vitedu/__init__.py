"""The library of the book "From Transformer to ViT".

Each module holds one concept; the chapters derive what it holds. Import from
the modules: ``from vitedu.vit import VisionTransformer``.
"""
