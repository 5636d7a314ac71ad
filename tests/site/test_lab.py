"""In JupyterLab: guesses fold what follows, and explorers move."""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import Browser, Page, expect

START_LIMIT = 120
CELLS = (
    "from vitedu.book import notebook; notebook.set_up()",
    'notebook.predict("1 + 1?", {2: "Yes.", 3: "Count."}, right=1 + 1)',
    "print('first output')",
    "print('second output')",
    "print('third output')",
    "print('fourth output')",
    "from vitedu.widgets import AttentionPlane\nAttentionPlane(playing=False)",
    """
from vitedu.book.asked_patches import asked_patches
from vitedu.config import ViTConfig
from vitedu.vit import VisionTransformer
from vitedu.widgets import AskPatch

sizes = {"d_model": 4, "d_ff": 4, "num_layers": 2, "num_heads": 2}
config = ViTConfig(image_size=24, patch_size=1, num_classes=0, **sizes)
model = VisionTransformer(config).eval()
AskPatch(**asked_patches(model, model, ["cat", "coffee"]))
""",
)

pytestmark = pytest.mark.soak


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def wait_for(address: str) -> None:
    end = time.monotonic() + START_LIMIT
    while time.monotonic() < end:
        try:
            urllib.request.urlopen(address, timeout=5).close()
            return
        except urllib.error.URLError:
            time.sleep(0.3)
    pytest.fail(f"JupyterLab did not answer within {START_LIMIT} s")


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve a notebook, with settings of its own; return its address."""
    folder = tmp_path_factory.mktemp("lab")
    cells = [nbformat.v4.new_code_cell(source) for source in CELLS]
    spec = {"name": "python3", "display_name": "Python 3"}
    written = nbformat.v4.new_notebook(
        cells=cells, metadata={"kernelspec": spec}
    )
    nbformat.write(written, folder / "guess.ipynb")
    (folder / "settings").mkdir()
    (folder / "settings/overrides.json").write_text(
        json.dumps(
            {
                "@jupyterlab/apputils-extension:notification": {
                    "fetchNews": "false",
                    "checkForUpdates": False,
                }
            }
        )
    )
    port = free_port()
    server = subprocess.Popen(
        [
            Path(sys.executable).with_name("jupyter"),
            "lab",
            "--no-browser",
            "--allow-root",
            f"--port={port}",
            "--IdentityProvider.token=",
            f"--notebook-dir={folder}",
            f"--LabApp.app_settings_dir={folder / 'settings'}",
        ],
        env={k: v for k, v in os.environ.items() if k != "VITEDU_BUILD"}
        | {"JUPYTER_CONFIG_DIR": str(folder / "config")},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    address = f"http://127.0.0.1:{port}"
    try:
        wait_for(f"{address}/api")
        yield f"{address}/lab/tree/guess.ipynb?reset"
    finally:
        server.terminate()
        server.wait()


@pytest.fixture
def notebook(browser: Browser, lab: str) -> Iterator[Page]:
    """Open the notebook, run all of it and wait for the last output."""
    page = browser.new_page(viewport={"width": 1400, "height": 2000})
    page.goto(lab)
    cells = page.locator(".jp-Notebook .jp-Cell")
    expect(cells).to_have_count(len(CELLS), timeout=60_000)
    idle = page.get_by_text("Kernel status: Idle")
    idle.wait_for(state="attached", timeout=60_000)
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_text("Run All Cells", exact=True).click()
    last = page.locator(".vitedu-explorer").nth(1)
    expect(last).to_be_visible(timeout=240_000)
    yield page
    page.close()


def test_guesses_fold_and_explorers_move(notebook: Page):
    texts = [f"{word} output" for word in ("first", "second", "third")]
    outputs = notebook.locator(".jp-OutputArea-output")
    for text in texts:
        expect(outputs.filter(has_text=text)).to_be_hidden()
    expect(outputs.filter(has_text="fourth output")).to_be_visible()
    # JupyterLab has other plans with the arrow keys.
    notebook.get_by_label("2", exact=True).check()
    notebook.get_by_label("2", exact=True).press("ArrowDown")
    expect(notebook.get_by_text("No. Count.")).to_be_visible()
    for text in texts:
        expect(outputs.filter(has_text=text)).to_be_visible()

    explorer = notebook.locator(".vitedu-explorer").first
    explorer.get_by_label("direction of the query").press("ArrowRight")
    expect(explorer).to_have_attribute("data-angle", "36")

    # What is kept for later comes from the kernel.
    ask = notebook.locator(".vitedu-ask-patch")
    expect(ask).to_have_attribute("data-query", "26")
    ask.get_by_label("Show here").select_option("the cup of coffee")
    expect(ask).to_have_attribute("data-second", "coffee")
    expect(ask.locator(".vitedu-reading")).to_contain_text(
        "In the cup of coffee"
    )
