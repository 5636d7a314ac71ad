"""What all tests share: where the project is, and which chapters run."""

import os
import sys
from pathlib import Path

import pytest
import torch
import typechecked

ROOT = Path(__file__).parent.parent
OUT_OF_DATE = "VITEDU_OUT_OF_DATE"
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

    from tools.executed import out_of_date

    pytest_items.NotebookRun = CachingRun
    # Workers inherit the answer: later, chapters have run meanwhile.
    if OUT_OF_DATE not in os.environ:
        os.environ[OUT_OF_DATE] = " ".join(path.stem for path in out_of_date())


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the library's tests first, then the longest chapters.

    Chapters whose run is kept are skipped.
    """
    chapters = [item for item in items if item.path.suffix == ".ipynb"]
    if not chapters:
        return
    from tools.executed import seconds

    changed = os.environ.get(OUT_OF_DATE, "").split()
    kept = pytest.mark.skip(reason="nothing has changed since it was executed")
    for item in chapters:
        if item.path.stem not in changed:
            item.add_marker(kept)
    items[:] = [item for item in items if item not in chapters]
    items += sorted(chapters, key=lambda item: -seconds(item.path))


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
