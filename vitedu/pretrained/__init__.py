"""Files of weights: read without running anything, and written."""
