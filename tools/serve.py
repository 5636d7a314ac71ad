"""Serve a folder with gzip, as web hosts do: python -m tools.serve FOLDER."""

import argparse
import gzip
import io
from functools import partial
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
        self.send_response(200)
        self.send_header("Content-Type", self.guess_type(str(path)))
        self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "max-age=600")
        self.end_headers()
        return io.BytesIO(body)

    def log_message(self, format: str, *args: object) -> None:
        """Stay quiet."""


def make_server(folder: Path, port: int = 0) -> ThreadingHTTPServer:
    """Return a server of the folder; port 0 takes any free port."""
    if not Path(folder, "index.html").is_file():
        raise ValueError(f"folder: no index.html in {folder}")
    handler = partial(GzipHandler, directory=str(folder))
    return ThreadingHTTPServer(("127.0.0.1", port), handler)


def main() -> None:
    """Serve until the user stops it."""
    parser = argparse.ArgumentParser(description=__doc__)
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
