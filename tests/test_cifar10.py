"""CIFAR-10 from files made in its format, over loopback, never the network."""

import hashlib
import io
import tarfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from random import Random
from types import SimpleNamespace

import pytest
import torch
from helpers import refuses

from vitedu import cifar10 as module
from vitedu.cifar10 import (
    CLASSES,
    cifar10,
    download_cifar10,
    extract_cifar10,
    read_cifar10,
)

FOLDER = "cifar-10-batches-bin"
NAMES = [*(f"data_batch_{i}.bin" for i in range(1, 6)), "test_batch.bin"]
# 3 MB, no two parts alike: several of the chunks that a download reads.
CONTENT = Random(0).randbytes(3_000_017)
SHA256 = hashlib.sha256(CONTENT).hexdigest()


def record(label, *pixels):
    """Make a record: the label, the first pixels, the rest black."""
    return bytes([label, *pixels]).ljust(3073, b"\0")


def archive(path, members, kind=tarfile.REGTYPE):
    """Write a .tar.gz of members, name -> content, links if asked."""
    with tarfile.open(path, "w:gz") as tar:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size, info.type = len(content), kind
            info.linkname = "/etc/hostname"
            tar.addfile(info, io.BytesIO(content))
    return path


def whole(**changes):
    """Name and content of the six files, file i holding label i."""
    members = {
        f"{FOLDER}/{name}": record(i, 100 + i) for i, name in enumerate(NAMES)
    }
    members[f"{FOLDER}/readme.html"] = b"read me"
    return members | {f"{FOLDER}/{key}": x for key, x in changes.items()}


def test_a_record_is_read_as_its_docstring_says(tmp_path):
    planes = bytearray(record(6, 59, 43, 50))
    planes[33], planes[1025], planes[2049] = 7, 8, 9
    path = tmp_path / "two.bin"
    path.write_bytes(bytes(planes) + record(9, 1))
    images, labels = read_cifar10(path)
    assert images.dtype == torch.uint8
    assert labels.tolist() == [6, 9]
    assert CLASSES[labels[0]] == "frog"
    expected = torch.zeros(2, 3, 32, 32, dtype=torch.uint8)
    expected[0, 0, 0, :3] = torch.tensor([59, 43, 50])
    expected[0, 0, 1, 0] = 7
    expected[0, 1, 0, 0] = 8
    expected[0, 2, 0, 0] = 9
    expected[1, 0, 0, 0] = 1
    assert torch.equal(images, expected)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (record(0)[:-1], "got 3072 bytes = 0 records and 3072 bytes"),
        (record(0) * 2 + b"x", "got 6147 bytes = 2 records and 1 bytes"),
        (b"", "1 to 10000 records of 3073 bytes, got 0 bytes"),
        (record(0) + record(11), "got 11 in record 1 of"),
    ],
)
def test_damaged_files_are_named(tmp_path, content, message):
    path = tmp_path / "bad.bin"
    path.write_bytes(content)
    with refuses(ValueError, message):
        read_cifar10(path)
    with refuses(ValueError, "bad.bin"):
        read_cifar10(str(path))


def test_the_six_files_are_unpacked(tmp_path):
    found = extract_cifar10(archive(tmp_path / "a.tar.gz", whole()), tmp_path)
    assert found == tmp_path / FOLDER
    assert sorted(x.name for x in found.iterdir()) == sorted(NAMES)
    for i, name in enumerate(NAMES):
        assert (found / name).read_bytes() == record(i, 100 + i)


@pytest.mark.parametrize(
    "name",
    ["../evil.bin", "/evil.bin", f"{FOLDER}/evil.bin", f"../{NAMES[0]}"],
)
def test_unknown_names_are_refused(tmp_path, name):
    inner = tmp_path / "inner"
    path = archive(tmp_path / "a.tar.gz", {name: record(0)} | whole())
    with refuses(ValueError, f"got {name!r} in"):
        extract_cifar10(path, inner)
    assert not list(tmp_path.rglob("*.bin"))


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE])
def test_links_are_refused(tmp_path, kind):
    name = f"{FOLDER}/{NAMES[0]}"
    path = archive(tmp_path / "a.tar.gz", {name: b""}, kind)
    with refuses(ValueError, "must hold plain files ('data_batch_1.bin'"):
        extract_cifar10(path, tmp_path / "inner")
    assert not list((tmp_path / "inner").rglob("*.bin"))


@pytest.mark.parametrize("size", [0, 3072, 3073 * 10_001])
def test_sizes_are_checked_before_anything_is_written(tmp_path, size):
    members = {f"{FOLDER}/{NAMES[0]}": bytes(size)}
    path = archive(tmp_path / "a.tar.gz", members)
    with refuses(ValueError, "a.tar.gz: data_batch_1.bin must hold 1 to 10"):
        extract_cifar10(path, tmp_path / "inner")
    assert not list((tmp_path / "inner").rglob("*.bin"))


def test_an_incomplete_archive_is_refused(tmp_path):
    members = whole()
    del members[f"{FOLDER}/data_batch_3.bin"]
    path = archive(tmp_path / "a.tar.gz", members)
    with refuses(ValueError, "archive must hold ['data_batch_3.bin'], got"):
        extract_cifar10(path, tmp_path)
    with refuses(FileNotFoundError, "archive must be a file, got"):
        extract_cifar10(tmp_path / "none.tar.gz", tmp_path)


@pytest.mark.parametrize(
    "damage",
    [
        lambda x, m: x[:m],
        lambda x, m: x[:m] + bytes([x[m] ^ 1]) + x[m + 1 :],
        lambda x, m: x[:m] + b"\0" * 64 + x[m + 64 :],
        lambda x, m: b"<html>",
        lambda x, m: b"",
    ],
)
def test_a_damaged_archive_is_refused(tmp_path, damage):
    noise = bytes(x % 16 for x in CONTENT[: 9 * 3073])
    path = archive(tmp_path / "a.tar.gz", whole(**{NAMES[1]: noise}))
    extract_cifar10(path, tmp_path / "right")
    content = path.read_bytes()
    path.write_bytes(damage(content, len(content) // 2))
    with refuses(ValueError, "archive must be a whole .tar.gz file, got"):
        extract_cifar10(path, tmp_path / "inner")


@pytest.fixture
def server(monkeypatch):
    """Serve CONTENT on loopback; `cut` bytes only, as often as `cuts` says."""
    state = SimpleNamespace(
        content=CONTENT, cut=None, cuts=0, ranges=[], honour=True
    )

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            asked = self.headers.get("Range")
            state.ranges.append(asked)
            start = 0
            if asked and state.honour:
                start = int(asked.removeprefix("bytes=").removesuffix("-"))
            body = state.content[start:]
            self.send_response(206 if start else 200)
            self.send_header("Content-Length", str(len(body)))
            if start:
                last = len(state.content) - 1
                self.send_header(
                    "Content-Range", f"bytes {start}-{last}/{last + 1}"
                )
            self.end_headers()
            if state.cuts:
                state.cuts -= 1
                body = body[: state.cut]
            self.wfile.write(body)

        def log_message(self, *arguments):
            pass

    monkeypatch.setenv("NO_PROXY", "*")
    monkeypatch.setattr("random.uniform", lambda *bounds: 0.0)
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        thread = threading.Thread(target=http.serve_forever, args=(0.01,))
        thread.start()
        state.url = f"http://127.0.0.1:{http.server_port}/data.tar.gz"
        yield state
        http.shutdown()
        thread.join()


def download(server, folder, **options):
    options = {"sha256": SHA256, "progress": False} | options
    return download_cifar10(folder, url=server.url, **options)


def test_a_download_is_kept_and_not_made_twice(server, tmp_path):
    path = download(server, tmp_path / "new" / "folder")
    assert path == tmp_path / "new" / "folder" / "data.tar.gz"
    assert path.read_bytes() == CONTENT
    assert server.ranges == [None]
    assert download(server, path.parent) == path
    assert server.ranges == [None]


def test_a_cut_connection_is_taken_up_where_it_broke(server, tmp_path):
    server.cut, server.cuts = 1_400_000, 2
    path = download(server, tmp_path)
    assert path.read_bytes() == CONTENT
    asked = [x for x in server.ranges if x]
    assert asked
    assert all(x != "bytes=0-" for x in asked)


def test_the_next_call_goes_on_with_what_the_last_one_left(server, tmp_path):
    server.cut, server.cuts = 600_000, 99
    with refuses(OSError, "was not downloaded whole"):
        download(server, tmp_path)
    (part,) = tmp_path.iterdir()
    assert part.suffix == ".part"
    kept = part.stat().st_size
    assert 0 < kept < len(CONTENT)
    assert CONTENT.startswith(part.read_bytes())
    server.cuts, server.ranges = 0, []
    path = download(server, tmp_path)
    assert path.read_bytes() == CONTENT
    assert f"bytes={kept}-" in server.ranges
    assert list(tmp_path.iterdir()) == [path]


def test_a_server_that_starts_over_does_not_spoil_the_file(server, tmp_path):
    server.cut, server.cuts, server.honour = 600_000, 1, False
    with refuses(OSError, "was not downloaded whole"):
        download(server, tmp_path)
    assert not (tmp_path / "data.tar.gz").exists()


def test_another_file_is_refused(server, tmp_path):
    server.content = CONTENT[:-1] + b"?"
    with refuses(ValueError, f"must be {SHA256}, got"):
        download(server, tmp_path)


def test_the_bar_is_shown_if_asked(server, tmp_path, capfd):
    download(server, tmp_path / "a")
    assert capfd.readouterr().err == ""
    download(server, tmp_path / "b", progress=True)
    assert "100%" in capfd.readouterr().err


def test_all_of_it_from_the_server_to_tensors(server, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_RECORDS", 1)
    path = archive(tmp_path / "a.tar.gz", whole())
    server.content = path.read_bytes()
    digest = hashlib.sha256(server.content).hexdigest()
    with refuses(FileNotFoundError, "data_batch_1.bin"):
        cifar10(tmp_path / "new")
    assert server.ranges == []
    monkeypatch.setattr(
        module,
        "download_cifar10",
        lambda folder: download_cifar10(
            folder, url=server.url, sha256=digest, progress=False
        ),
    )
    data = cifar10(tmp_path / "new", download=True)
    assert data.train_labels.tolist() == [0, 1, 2, 3, 4]
    assert data.test_labels.tolist() == [5]
    assert data.train_images[:, 0, 0, 0].tolist() == [100, 101, 102, 103, 104]
    assert data.test_images[:, 0, 0, 0].tolist() == [105]
    again = cifar10(tmp_path / "new")
    assert torch.equal(again.train_images, data.train_images)
    assert len(server.ranges) == 1


def test_a_file_with_missing_records_is_named(tmp_path):
    (tmp_path / FOLDER).mkdir()
    for name in NAMES:
        (tmp_path / FOLDER / name).write_bytes(record(0) * 3)
    with refuses(ValueError, "data_batch_1.bin must hold 10000 records, got"):
        cifar10(tmp_path)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: read_cifar10(3), "path must be a path, got 3"),
        (lambda: cifar10(None), "folder must be a path, got None"),
        (lambda: cifar10("x", download=1), "download must be True or False"),
        (lambda: extract_cifar10(3, "x"), "archive must be a path, got 3"),
        (lambda: extract_cifar10("x", 3), "folder must be a path, got 3"),
        (lambda: download_cifar10(3), "folder must be a path, got 3"),
        (lambda: download_cifar10("x", url=3), "url must be a str, got int"),
        (lambda: download_cifar10("x", sha256=3), "sha256 must be a str, got"),
        (lambda: download_cifar10("x", progress=3), "progress must be True"),
    ],
)
def test_other_types_are_refused(tmp_path, monkeypatch, call, message):
    monkeypatch.chdir(tmp_path)
    with refuses(TypeError, message):
        call()
    with refuses(FileNotFoundError, "path must be a file, got"):
        read_cifar10(tmp_path / "none.bin")
