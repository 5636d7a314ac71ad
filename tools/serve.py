"""Serve a folder as web hosts do: python -m tools.serve FOLDER.

With gzip, with the headers in its file `_headers`, and with its page
`404.html` in the place of what is not there.
"""

import argparse
import gzip
import io
from fnmatch import fnmatchcase
from functools import partial
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import BinaryIO

COMPRESSED = {".html", ".css", ".js", ".json", ".svg", ".txt"}


class GzipHandler(SimpleHTTPRequestHandler):
    """A file handler that compresses text and logs nothing."""

    protocol_version = "HTTP/1.1"

    def send_head(self) -> BinaryIO | None:
        """Send the headers, and give back what to send after them."""
        path = Path(self.translate_path(self.path))
        if path.is_dir():
            path /= "index.html"
        wanted = "gzip" in self.headers.get("Accept-Encoding", "")
        slash_missing = path.name == "index.html" and not (
            self.path.split("?")[0].endswith(("/", "index.html"))
        )
        if (
            not wanted
            or slash_missing
            or path.suffix not in COMPRESSED
            or not path.is_file()
        ):
            return super().send_head()
        body = gzip.compress(path.read_bytes(), 6)
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", self.guess_type(str(path)))
        self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "max-age=600")
        self.end_headers()
        return io.BytesIO(body)

    def send_error(
        self, code: int, message: str | None = None, explain: str | None = None
    ) -> None:
        """Send the page of the folder for what is not there."""
        page = Path(self.directory, "404.html")
        if code != HTTPStatus.NOT_FOUND or not page.is_file():
            super().send_error(code, message, explain)
            return
        body = page.read_bytes()
        self.send_response(code)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def end_headers(self) -> None:
        """Send what the folder asks for with every answer."""
        address = self.path.split("?")[0]
        for name, value in headers_of(Path(self.directory), address):
            self.send_header(name, value)
        super().end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Stay quiet."""


def headers_of(folder: Path, address: str = "/") -> list[tuple[str, str]]:
    """Return names and values for an address in the file `_headers`.

    A line that begins with `/` says for which addresses those below it are,
    which are indented. A later value takes the place of an earlier one; after
    `!` stands a name that an address has to do without.
    """
    file = folder / "_headers"
    if not file.is_file():
        return []
    found: dict[str, str] = {}
    matches = False
    for line in file.read_text(encoding="utf-8").splitlines():
        if line.startswith("/"):
            matches = fnmatchcase(address, line.strip())
        elif matches and line.strip().startswith("!"):
            found.pop(line.strip().removeprefix("!").strip(), None)
        elif matches and line.startswith(" "):
            name, _, value = line.partition(":")
            found[name.strip()] = value.strip()
    return list(found.items())


def make_server(folder: Path, port: int = 0) -> ThreadingHTTPServer:
    """Return a server of the folder; port 0 takes any free port.

    Raises:
        ValueError: The folder holds no `index.html`.
    """
    if not Path(folder, "index.html").is_file():
        raise ValueError(f"folder: no index.html in {folder}")
    handler = partial(GzipHandler, directory=str(folder))
    return ThreadingHTTPServer(("127.0.0.1", port), handler)


def main() -> None:
    """Serve until the user stops it."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--port", type=int, default=8000)
    options = parser.parse_args()
    with make_server(options.folder, options.port) as server:
        print(f"The book: http://127.0.0.1:{server.server_port}/")
        print("Stop with Ctrl-C.")
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print()


if __name__ == "__main__":
    main()
