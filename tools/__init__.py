"""The small programs behind the Makefile."""

import sys
from pathlib import Path

# Some of them read the book with the functions of its Sphinx extension.
sys.path.insert(0, str(Path(__file__).parent.parent / "book" / "ext"))
