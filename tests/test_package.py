"""What one gets who installs the library alone, and what it loads."""

import re
import subprocess
import sys
import tomllib
from itertools import chain
from pathlib import Path

import pytest

import vitedu

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
ELSEWHERE = {"scikit-learn": "sklearn", "pillow": "PIL", "PyYAML": "yaml"}


def run(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_extras_and_the_core_are_what_the_book_needs():
    lines = (ROOT / "requirements.txt").read_text().splitlines()
    wanted = {line for line in lines if line and not line.startswith("#")}
    extras = PROJECT["optional-dependencies"]
    assert set(extras) == {"data", "weights", "cli", "widgets", "book"}
    listed = [PROJECT["dependencies"], *extras.values()]
    assert sorted(chain(*listed)) == sorted(wanted)


@pytest.mark.parametrize("name", vitedu.__all__)
def test_the_names_of_the_package_are_those_of_its_modules(name):
    value = getattr(vitedu, name)
    assert getattr(sys.modules[value.__module__], name) is value
    assert name in dir(vitedu)


def test_an_unknown_name_is_refused_and_modules_are_found():
    with pytest.raises(AttributeError, match="has no attribute 'Vision'"):
        _ = vitedu.Vision
    assert run("from vitedu import masks; print(masks.__name__)") == (
        "vitedu.masks\n"
    )


def test_explorers_need_no_torch_and_models_no_notebook():
    loaded = "import sys, vitedu.{}; print(*sys.modules)"
    assert "torch" not in run(loaded.format("widgets")).split()
    modules = run(loaded.format("vit")).split()
    assert not {"IPython", "ipywidgets", "matplotlib", "sklearn"} & {*modules}


def test_the_core_alone_trains_loads_and_decodes(tmp_path):
    extras = [
        ELSEWHERE.get(name, name.replace("-", "_"))
        for lines in PROJECT["optional-dependencies"].values()
        for line in lines
        for name in [re.match(r"[\w-]+", line)[0]]
    ]
    assert "sklearn" in extras
    run(
        f"""
import sys
for name in {extras!r}:
    sys.modules[name] = None  # as if it were not installed
import torch
from torch.utils.data import DataLoader, TensorDataset
from vitedu import *
from vitedu.pretrained.models import config_of, save_vit

torch.manual_seed(0)
data = TensorDataset(torch.randn(8, 1, 8, 8), torch.arange(8) % 10)
model = VisionTransformer(ViTConfig.digits())
history = fit(model, DataLoader(data, batch_size=1), TrainConfig(num_epochs=1))
assert history.num_epochs == 1
path = {str(tmp_path / "vit.safetensors")!r}
save_vit(path, model)
again = load_vit(path, config_of(path))
images = data.tensors[0]
assert torch.equal(again.eval()(images), model.eval()(images))
config = TransformerConfig.numerals()
translator = Transformer(config).eval()
src = torch.randint(3, config.src_vocab_size, (2, 5))
found = greedy_search(translator, src, bos_id=1, eos_id=2, max_len=4)
assert found.best.shape[0] == 2
"""
    )
