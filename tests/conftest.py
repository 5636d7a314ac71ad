"""What all tests share: where the project is, and in what order they run."""

import os
import sys
from pathlib import Path

import pytest
import torch
import typechecked

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "book" / "ext")]
# As a build does: claims stop, and kernels write no progress bars.
os.environ["VITEDU_BUILD"] = "1"
typechecked.switch_on()


def pytest_configure(config: pytest.Config) -> None:
    """Let nbmake leave its chapters to the site's build.

    And let Hugging Face load torchvision, which it does where there is one.
    """
    from vitedu.data.augmentation import let_torchvision_load

    let_torchvision_load()
    if not config.getoption("nbmake", default=False):
        return
    from caching_run import CachingRun
    from nbmake import pytest_items

    pytest_items.NotebookRun = CachingRun


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run quick tests first, then the chapters, then the built site."""
    items.sort(key=_stage)


def _stage(item: pytest.Item) -> int:
    if item.path.suffix == ".ipynb":
        return 1
    if item.path.parent.name != "site":
        return 0
    # While one process builds the site, another can test explorers.
    return 3 if "site" in item.fixturenames else 2


@pytest.fixture(scope="session")
def root() -> Path:
    """Return the folder of the project."""
    return ROOT


@pytest.fixture
def machine(monkeypatch):
    """Return a function that says which devices PyTorch sees."""

    def machine(*kinds):
        for kind, module in (
            ("cuda", torch.cuda),
            ("mps", torch.backends.mps),
        ):
            monkeypatch.setattr(
                module, "is_available", lambda kind=kind: kind in kinds
            )

    return machine
