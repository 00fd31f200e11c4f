"""Test downloads of models from a loopback server that keeps and breaks the rules."""

import hashlib
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
from filelock import FileLock

from tenure.local_models.download import download_model
from tenure.local_models.errors import LocalModelError
from tenure.local_models.model_file import LocalModel, get_model_folder

MODEL = b"GGUF" + bytes(range(256)) * 1000
DIGEST = hashlib.sha256(MODEL).hexdigest()


@dataclass
class FileServer:
    """A server of one file."""

    content: bytes = MODEL
    etag: str = '"1"'
    status: int = 200
    location: str = ""
    has_length: bool = True
    knows_ranges: bool = True
    breaks: list[int] = field(default_factory=list)
    """Number of bytes after which each of the next transfers breaks off."""
    requests: list[tuple[str, str]] = field(default_factory=list)
    """`Range` and `If-Range` of each request."""
    host: str = "127.0.0.1"
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}/models/tiny%20model.gguf?download=true"

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        wanted, version = handler.headers.get("range", ""), handler.headers.get("if-range", "")
        asks_size = not self.requests  # the first request; the next one may arrive before this one is answered
        self.requests.append((wanted, version))
        start = int(wanted.removeprefix("bytes=").rstrip("-") or 0)
        rest = self.knows_ranges and bool(wanted) and version == self.etag
        body = self.content[start:] if rest else self.content
        handler.send_response(206 if rest else self.status)
        if rest:
            handler.send_header("content-range", f"bytes {start}-{len(self.content) - 1}/{len(self.content)}")
        if self.location:
            handler.send_header("location", self.location)
        if self.has_length:
            handler.send_header("content-length", str(len(body)))
        handler.send_header("etag", self.etag)
        handler.end_headers()
        handler.wfile.write(body[: self.breaks.pop(0)] if self.breaks and not asks_size else body)


@contextmanager
def serve(server: FileServer) -> Iterator[FileServer]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            try:
                server.answer(self)
            except OSError:
                self.close_connection = True  # the client has what it wants

        def log_message(self, format: str, *args: object) -> None:
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.port = http.server_port
    thread = threading.Thread(target=http.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield server
    finally:
        http.shutdown()
        http.server_close()
        thread.join()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path


@pytest.fixture
def server() -> Iterator[FileServer]:
    with serve(FileServer()) as running:
        yield running


def agree(question: str) -> None:
    """Agree to a download."""


def download(source: str, home: Path) -> tuple[LocalModel, list[str]]:
    lines: list[str] = []
    return download_model(source, home, agree, lines.append), lines


def list_files(home: Path) -> list[str]:
    return sorted(path.name for path in get_model_folder(home).rglob("*") if path.is_file())


def test_model_is_downloaded_once_and_its_digest_is_shown(server: FileServer, home: Path) -> None:
    """The second request needs no server; file and digest are private, and the digest is printed once."""
    first, lines = download(server.url, home)
    asked = len(server.requests)
    second, silent = download(server.url, home)

    assert first == second == LocalModel(path=first.path, sha256=DIGEST)
    assert first.path.read_bytes() == MODEL
    assert first.name == "tiny-model"
    assert first.path.stat().st_mode & 0o077 == 0
    assert lines[-2:] == [
        "100 % of 0.0 GB",
        f"sha256 of tiny-model.gguf: {DIGEST}; it is checked from now on",
    ]
    assert (len(server.requests), silent) == (asked, [])
    assert list_files(home) == ["download.lock", "tiny-model.gguf", "tiny-model.gguf.sha256"]


def test_expected_digest_is_checked(server: FileServer, home: Path) -> None:
    """A file with another digest is deleted; the right digest is accepted, also for a file that was downloaded."""
    with pytest.raises(LocalModelError, match=f"sent a file with the sha256 {DIGEST}, not {'0' * 64}: it was deleted"):
        download(f"{server.url}#sha256={'0' * 64}", home)
    assert not any("gguf" in name and "etag" not in name for name in list_files(home))

    found, lines = download(f"{server.url}#sha256={DIGEST.upper()}", home)
    assert found.sha256 == DIGEST
    assert not any("sha256" in line for line in lines)

    with pytest.raises(LocalModelError, match="delete it, and try again"):
        download(f"{server.url}#sha256={'0' * 64}", home)


def test_nothing_is_downloaded_without_consent(server: FileServer, home: Path) -> None:
    """The question names the file, its size and the server; a refusal leaves no file."""
    asked = []

    def refuse(question: str) -> None:
        asked.append(question)
        raise RuntimeError("refused")

    with pytest.raises(RuntimeError, match="refused"):
        download_model(server.url, home, refuse, asked.append)

    assert asked == ["download tiny-model.gguf (0.0 GB) from 127.0.0.1?"]
    assert len(server.requests) == 1
    assert list_files(home) == []


def test_broken_transfer_is_continued(server: FileServer, home: Path) -> None:
    """Within a command and across two of them, only the missing rest is requested, for the same version."""
    server.breaks = [10_000, 0, 0, 0, 0]
    with pytest.raises(LocalModelError, match=r"download broke off after 0\.0 GB of 0\.0 GB .*: repeat the command"):
        download(server.url, home)
    found, _ = download(server.url, home)

    assert found.path.read_bytes() == MODEL
    assert server.requests[2] == ("bytes=10000-", '"1"')
    assert server.requests[-1] == ("bytes=10000-", '"1"')


@pytest.mark.parametrize("change", [{"etag": '"2"', "content": MODEL[::-1]}, {"knows_ranges": False}], ids=str)
def test_changed_file_is_received_from_its_beginning(server: FileServer, home: Path, change: dict[str, object]) -> None:
    """The rest of another version is never added to the first part."""
    server.breaks = [10_000, 0, 0, 0, 0]
    with pytest.raises(LocalModelError, match="broke off"):
        download(server.url, home)
    for name, value in change.items():
        setattr(server, name, value)
    server.content = b"GGUF" + server.content[4:]
    found, _ = download(server.url, home)

    assert found.path.read_bytes() == server.content


def test_file_without_a_version_is_received_again(server: FileServer, home: Path) -> None:
    """A weak or missing name of the version is no reason to believe that the rest fits."""
    server.etag, server.breaks = 'W/"1"', [10_000]
    found, _ = download(server.url, home)

    assert found.path.read_bytes() == MODEL
    assert [wanted for wanted, _ in server.requests] == ["", "", ""]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"content": b"<!doctype html>"}, "127.0.0.1 sent no GGUF file: check the URL"),
        ({"status": 404}, "127.0.0.1 answers 404: check the URL"),
        ({"has_length": False}, "does not say how large the file is"),
        ({"status": 302, "location": "ftp://127.0.0.1/a"}, "cannot be reached"),
        ({"status": 302, "location": "/again"}, "cannot be reached .*redirects"),
    ],
    ids=str,
)
def test_answer_without_a_model_is_an_error(
    server: FileServer, home: Path, change: dict[str, object], words: str
) -> None:
    """Pages, errors, endless redirects and files of unknown size are one line each, and leave no model."""
    for name, value in change.items():
        setattr(server, name, value)

    with pytest.raises(LocalModelError, match=words):
        download(server.url, home)
    assert not any(name.endswith((".gguf", ".part")) for name in list_files(home))


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("ftp://host/a.gguf", "begins with https"),
        ("https:///a.gguf", "begins with https"),
        ("https://user:secret@host/a.gguf", "has no user name"),
        ("https://host/a.gguf#sha256=12", "64 hexadecimal digits"),
        ("https://host/a.gguf#main", "64 hexadecimal digits"),
        ("https://[host/a.gguf", "is not valid"),
        ("http://models.invalid/a.gguf", "models.invalid is asked without HTTPS: add #sha256="),
        ("http://127.0.0.1:1/a.gguf", "127.0.0.1 cannot be reached"),
    ],
)
def test_unusable_url_is_refused(home: Path, source: str, words: str) -> None:
    """A URL that cannot name a model safely is refused in one line without its password."""
    with pytest.raises(LocalModelError, match=words) as refused:
        download(source, home)

    assert "secret" not in str(refused.value)


def test_redirect_is_followed_to_a_secure_server_only(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that was asked over HTTPS cannot redirect to one without, unless the digest is known."""
    with serve(FileServer()) as target, serve(FileServer(status=302, location=target.url)) as server:
        found, _ = download(server.url, home)
        assert found.path.read_bytes() == MODEL
        monkeypatch.setattr("tenure.local_models.download._LOOPBACK", ())
        with pytest.raises(LocalModelError, match="is asked without HTTPS"):
            download(f"{server.url}&again", home)


def test_missing_space_and_memory_are_found_before_the_download(
    server: FileServer, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is asked or received if the file fits neither on the disk nor in memory."""
    with monkeypatch.context() as small:
        small.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=1_000_000))
        with pytest.raises(LocalModelError, match=r"needs 1\.1 GB of disk space, and 0\.0 GB are free"):
            download(server.url, home)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=1_000_000))
    with pytest.raises(LocalModelError, match=r"needs at least 1\.1 GB of memory"):
        download(server.url, home)

    assert len(server.requests) == 2
    assert list_files(home) == []


def test_second_command_does_not_write_into_a_running_download(server: FileServer, home: Path) -> None:
    """While another command downloads the same file, a command ends in one line."""
    found, _ = download(server.url, home)
    found.path.unlink()
    with (
        FileLock(found.path.with_name("download.lock")),
        pytest.raises(LocalModelError, match="another command downloads"),
    ):
        download(server.url, home)
