"""Counting what a model costs, and looking inside it."""
