"""The libraries for the browser: their list, their files, their renewal."""

import io
import json
import tarfile
from pathlib import Path

import pytest
import yaml

from tools import vendor

LIBRARIES = yaml.safe_load(vendor.MANIFEST.read_text(encoding="utf-8"))
each_library = pytest.mark.parametrize("name", LIBRARIES)


@each_library
def test_the_list_agrees_with_the_files(root, name):
    library = LIBRARIES[name]
    folder = root / library["folder"]
    found = {
        path.relative_to(folder).as_posix(): vendor.integrity(
            path.read_bytes(), "sha384"
        )
        for path in folder.rglob("*")
        if path.is_file()
    }
    listed = library["files"].items()
    assert found == {path: file["integrity"] for path, file in listed}
    assert "LICENSE" in found


def test_no_library_is_kept_without_an_entry(root):
    folders = {Path(library["folder"]) for library in LIBRARIES.values()}
    marked = {
        path.parent.relative_to(root)
        for top in ("book", "tools", "vitedu")
        for path in (root / top).rglob("LICENSE*")
    }
    minified = {
        path.relative_to(root)
        for top in ("book", "tools", "vitedu")
        for kind in ("js", "css")
        for path in (root / top).rglob(f"*.{kind}")
        if max(map(len, path.read_text(encoding="utf-8").split("\n"))) > 500
    }
    assert marked == folders
    assert {path for path in minified if path.parent not in folders} == set()


def packed(path: Path, files: dict[str, bytes]) -> Path:
    """Write an archive as npm does."""
    with tarfile.open(path, "w:gz") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(f"package/{name}")
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return path


def test_an_update_writes_files_and_digests(tmp_path, monkeypatch):
    monkeypatch.setattr(vendor, "ROOT", tmp_path)
    (tmp_path / "lib").mkdir()
    about = json.dumps({"version": "2.0.0", "license": "MIT"}).encode()
    font = b'url(a.woff2) format("woff2"),url(a.ttf) format("truetype")'
    archive = packed(
        tmp_path / "a.tgz", {"package.json": about, "dist/a.css": font}
    )
    library = {"folder": "lib", "files": {"a.css": {"from": "dist/a.css"}}}
    vendor.update(library, archive)
    written = (tmp_path / "lib" / "a.css").read_bytes()
    assert written == b'url(a.woff2) format("woff2")'
    assert library["version"] == "2.0.0"
    digest = library["files"]["a.css"]["integrity"]
    assert digest == vendor.integrity(written, "sha384")
    library["files"]["b.css"] = {"from": "dist/b.css"}
    with pytest.raises(KeyError, match=r"b\.css"):
        vendor.update(library, archive)
