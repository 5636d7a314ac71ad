"""Check the shapes in the library's signatures while the tests run.

`switch_on` has to be called before anything of `vitedu` is imported. A toy
call of attention takes ten times as long then, which is why readers never
have it on.
"""

from pathlib import Path

from beartype import BeartypeConf, beartype
from jaxtyping import install_import_hook

# Where a float is asked for an int will do, as everywhere in Python.
checker = beartype(conf=BeartypeConf(is_pep484_tower=True))
LIBRARY = Path(__file__).parent.parent / "vitedu"


def switch_on() -> None:
    """Check every module that writes shapes into its signatures."""
    modules = [
        ".".join(path.relative_to(LIBRARY.parent).with_suffix("").parts)
        for path in LIBRARY.rglob("*.py")
        if "from jaxtyping import" in path.read_text(encoding="utf-8")
    ]
    install_import_hook(modules, "typechecked.checker")
