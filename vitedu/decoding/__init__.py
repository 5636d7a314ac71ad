"""From a trained Transformer to sentences."""
