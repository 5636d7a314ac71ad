"""Digits, photographs and sentences, as tensors."""
