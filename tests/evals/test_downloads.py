"""Test the download of public files."""

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import httpx
import pytest

from evals.downloads import ChangedDataFile, DataFile

CONTENT = b"what is up, doc?"
BLOB = "bd9dbf5aae1a3862dd1526723246b20206e5fc37"
"""Name that git's manual gives this content."""


class Files(BaseHTTPRequestHandler):
    """One file."""

    def do_GET(self) -> None:
        """Answer with the file, or with 404."""
        found = self.path == "/data/questions.json"
        self.send_response(200 if found else 404)
        self.end_headers()
        self.wfile.write(CONTENT if found else b"")

    def log_message(self, format: str, *arguments: object) -> None:
        """Print nothing."""


@pytest.fixture
def address() -> Iterator[str]:
    """Return the address of a server of one file."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Files) as server:
        thread = Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/data/questions.json"
        server.shutdown()
        thread.join()


def test_a_file_is_downloaded_once(address: str, tmp_path: Path) -> None:
    """The second load reads the stored file."""
    path = DataFile(address, BLOB).load(tmp_path / "evals")

    assert path.read_bytes() == CONTENT
    assert DataFile("http://127.0.0.1:1/questions.json", BLOB).load(tmp_path / "evals") == path


def test_another_content_is_not_stored(address: str, tmp_path: Path) -> None:
    """A file that has changed is refused, and so is one that does not exist."""
    with pytest.raises(ChangedDataFile, match="nothing is stored"):
        DataFile(address, "0" * 40).load(tmp_path)
    with pytest.raises(httpx.HTTPStatusError):
        DataFile(f"{address}l", BLOB).load(tmp_path)

    assert list(tmp_path.iterdir()) == []
