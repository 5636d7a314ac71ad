"""Build the kernel of the explorer that runs a ViT: python -m tools.kernel.

It compiles vitedu/widgets/vit_kernel/vit.c to WebAssembly twice, for every
browser with vectors and for those that may also fuse a product and a sum, and
writes down which source became which files. It needs clang 16 or newer, and
lld; Debian has both as packages, `clang-16` and `lld-16` for instance.
"""

import hashlib
import json
import shutil
import subprocess
from pathlib import Path

FOLDER = Path(__file__).parent.parent / "vitedu" / "widgets" / "vit_kernel"
DIGESTS = "digests.json"
OLDEST, NEWEST = 16, 25
FLAGS = [
    *("--target=wasm32", "-O3", "-msimd128", "-Wall", "-Wextra", "-Werror"),
    *("-nostdlib", "-ffreestanding", "-fno-builtin"),
    "-Wl,--no-entry,--strip-all,--export=__heap_base,-z,stack-size=4096",
]
TARGETS = {"vit.wasm": [], "vit-relaxed.wasm": ["-mrelaxed-simd"]}


def find_clang() -> str | None:
    """Return the name of a compiler that is new enough, if there is one."""
    names = ["clang", *(f"clang-{n}" for n in range(NEWEST, OLDEST - 1, -1))]
    for name in filter(shutil.which, names):
        command = [name, "-dumpversion"]
        done = subprocess.run(command, capture_output=True, text=True)
        if int(done.stdout.split(".")[0]) >= OLDEST:
            return name
    return None


def build(clang: str, folder: Path) -> None:
    """Compile both kernels into a folder."""
    for name, more in TARGETS.items():
        command = [clang, *FLAGS, *more, FOLDER / "vit.c", "-o", folder / name]
        subprocess.run(command, check=True)
        (folder / name).chmod(0o644)  # a linker makes programs


def digests() -> dict[str, str]:
    """Return the digest of the source and of what was made of it."""
    return {
        name: hashlib.sha256((FOLDER / name).read_bytes()).hexdigest()
        for name in ("vit.c", *TARGETS)
    }


def main() -> None:
    """Build where the kernels belong, and write the digests."""
    clang = find_clang()
    if clang is None:
        raise SystemExit(f"clang {OLDEST} or newer is needed, with lld")
    build(clang, FOLDER)
    text = json.dumps(digests(), indent=1) + "\n"
    (FOLDER / DIGESTS).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
