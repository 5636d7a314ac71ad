"""Fetch the libraries for the browser that the book ships with it.

    python -m tools.vendor [NAME=VERSION ...]

`book/vendored.yml` lists them and their files. Each one is fetched from the
npm registry again, in the version that is named here or else in the list;
files and list are written anew. Needs npm, and a network.
"""

import base64
import hashlib
import json
import re
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import yaml

from vitedu.atomic_files import write_whole

ROOT = Path(__file__).parent.parent
MANIFEST = ROOT / "book" / "vendored.yml"
HEADER = "# Written by python -m tools.vendor; a new file is added by hand.\n"
# Fonts in formats that no browser needs that can show the book.
OLD_FONTS = re.compile(rb',url\([^)]*\) format\("(?:woff|truetype)"\)')


def integrity(content: bytes, method: str) -> str:
    """Return the digest of a file as a browser and npm write it.

    Args:
        content: The file.
        method: A method of hashlib: `sha384`, `sha512`.
    """
    digest = hashlib.new(method, content).digest()
    return f"{method}-{base64.b64encode(digest).decode()}"


def checked(archive: bytes, expected: str) -> bytes:
    """Return an archive that is what the registry says it is.

    Raises:
        ValueError: It is not.
    """
    found = integrity(archive, "sha512")
    if found != expected:
        raise ValueError(f"archive must be {expected}, got {found}")
    return archive


def update(library: dict, archive: Path) -> None:
    """Write the files of a library from its archive, and their digests.

    Args:
        library: An entry of the manifest, which is changed.
        archive: What npm packed.

    Raises:
        KeyError: The archive has no file of that name.
    """
    with tarfile.open(archive) as packed:
        for name, file in library["files"].items():
            content = packed.extractfile(f"package/{file['from']}").read()
            if name.endswith(".css"):
                content = OLD_FONTS.sub(b"", content)
            write_whole(ROOT / library["folder"] / name, content)
            file["integrity"] = integrity(content, "sha384")
        about = json.load(packed.extractfile("package/package.json"))
    library["version"], library["licence"] = about["version"], about["license"]


def main(*wanted: str) -> None:
    """Fetch every library of the manifest, and write the manifest."""
    libraries = yaml.safe_load(MANIFEST.read_text(encoding="utf-8"))
    versions = dict(part.split("=", 1) for part in wanted)
    if unknown := versions.keys() - libraries.keys():
        raise SystemExit(f"{MANIFEST.name} does not list {sorted(unknown)}")
    for name, library in libraries.items():
        package = f"{name}@{versions.get(name, library['version'])}"
        with tempfile.TemporaryDirectory() as folder:
            expected = _npm("view", package, "dist.integrity")
            archive = Path(folder, _npm("pack", package, cwd=folder))
            checked(archive.read_bytes(), expected)
            update(library, archive)
        library["package"] = expected
        print(f"{package}: {len(library['files'])} files")
    text = yaml.safe_dump(libraries, sort_keys=False)
    write_whole(MANIFEST, (HEADER + text).encode())


def _npm(*words: str, cwd: str | None = None) -> str:
    done = subprocess.run(
        ["npm", "--silent", *words],
        cwd=cwd,
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout.strip()


if __name__ == "__main__":
    main(*sys.argv[1:])
