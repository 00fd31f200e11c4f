"""Download a model once, with its digest.

A download that breaks off is continued by the next one, if the server names the version of the file. The file gets its
name only when it is complete and has the right digest. Without HTTPS nothing but a digest shows that the file is the
right one, so that HTTP needs one, except on this machine.
"""

import hashlib
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import unquote, urlsplit

import httpx
from filelock import FileLock, Timeout

from tenure.local_models.errors import LocalModelError
from tenure.local_models.model_file import (
    LocalModel,
    check_format,
    check_memory,
    compute_digest,
    format_size,
    get_model_folder,
)
from tenure.private_files import open_private

MAX_ATTEMPTS: Final = 5

DISK_RESERVE_BYTES: Final = 1 << 30
"""Space that has to remain free on the disk."""

_STALL_TIMEOUT_SECONDS: Final = 60.0
_LOOPBACK: Final = ("127.0.0.1", "::1", "localhost")
# Fragment of a URL: "…/model.gguf#sha256=…".
_DIGEST: Final = re.compile(r"sha256=([0-9a-fA-F]{64})")

Report = Callable[[str], None]


class _Target(NamedTuple):
    """A file to download."""

    url: str
    host: str
    sha256: str
    """Expected digest; empty for any."""
    path: Path

    @property
    def part(self) -> Path:
        """Path of the file while it is incomplete."""
        return self.path.with_name(f"{self.path.name}.part")

    @property
    def version_file(self) -> Path:
        """Path of the file with the server's name for the version of the incomplete file."""
        return self.path.with_name(f"{self.path.name}.etag")

    @property
    def digest_file(self) -> Path:
        """Path of the file with the digest of the complete file."""
        return self.path.with_name(f"{self.path.name}.sha256")


def download_model(source: str, home: Path, confirm: Report, report: Report) -> LocalModel:
    """Return the model of a URL, which is downloaded unless it was before.

    Args:
        source: URL, with the expected digest after `#sha256=`.
        home: folder of all state, which exists.
        confirm: function that gets a question and raises an exception unless a person agrees.
        report: function that gets lines about the progress.

    Raises:
        LocalModelError: there is no such model, too little space or memory, or the download breaks off.
    """
    target = _parse_source(source, home)
    try:
        if not (target.path.exists() and target.digest_file.exists()):
            _download(target, confirm, report)
        digest = target.digest_file.read_text(encoding="ascii").strip()
    except httpx.HTTPStatusError as error:
        raise LocalModelError(f"{target.host} answers {error.response.status_code}: check the URL") from error
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise LocalModelError(f"{target.host} cannot be reached ({error}): check the URL") from error
    except Timeout as error:
        raise LocalModelError(f"another command downloads {target.path}: wait for its end") from error
    except OSError as error:
        raise LocalModelError(f"{target.path} cannot be written ({error.strerror or error})") from error
    if target.sha256 not in ("", digest):
        raise LocalModelError(f"{target.path} has the sha256 {digest}, not {target.sha256}: delete it, and try again")
    return LocalModel(path=target.path, sha256=digest)


def _parse_source(source: str, home: Path) -> _Target:
    """Return the file that a URL names."""
    url, _, fragment = source.partition("#")
    digest = _DIGEST.fullmatch(fragment)
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        raise LocalModelError("the URL of the model is not valid") from None
    if parts.scheme not in ("http", "https") or not host or parts.username is not None:
        raise LocalModelError("the URL of a model begins with https:// and has no user name")
    if fragment and not digest:
        raise LocalModelError("the part after # of the URL of a model is sha256= with 64 hexadecimal digits")
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", unquote(parts.path.rpartition("/")[2])).strip("-.")[-100:] or "model.gguf"
    # A folder for each URL: two files may have the same name.
    path = get_model_folder(home) / hashlib.sha256(url.encode()).hexdigest()[:12] / name
    return _Target(url, host, digest[1].lower() if digest else "", path)


def _download(target: _Target, confirm: Report, report: Report) -> None:
    """Download a file completely, check it and store its digest."""

    def check_scheme(request: httpx.Request) -> None:
        if not (request.url.scheme == "https" or target.sha256 or target.host in _LOOPBACK):
            raise LocalModelError(f"{request.url.host} is asked without HTTPS: add #sha256= and the digest to the URL")

    with httpx.Client(
        follow_redirects=True,
        timeout=_STALL_TIMEOUT_SECONDS,
        headers={"accept-encoding": "identity"},
        event_hooks={"request": [check_scheme]},
    ) as client:
        size = _fetch_size(client, target)
        check_memory(target.path.name, size)
        _check_space(target, size)
        confirm(f"download {target.path.name} ({format_size(size)}) from {target.host}?")
        target.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with FileLock(target.path.with_name("download.lock"), timeout=0, mode=0o600):
            _receive(client, target, size, report)
            digest = compute_digest(target.part)
            if target.sha256 not in ("", digest):
                target.part.unlink()
                raise LocalModelError(
                    f"{target.host} sent a file with the sha256 {digest}, not {target.sha256}: it was deleted"
                )
            try:
                check_format(target.part)
            except LocalModelError:
                target.part.unlink()
                raise LocalModelError(f"{target.host} sent no GGUF file: check the URL") from None
            _write(target.digest_file, digest)
            target.part.replace(target.path)
            target.version_file.unlink(missing_ok=True)
    if not target.sha256:
        report(f"sha256 of {target.path.name}: {digest}; it is checked from now on")


def _fetch_size(client: httpx.Client, target: _Target) -> int:
    """Return the size of a file in bytes."""
    with client.stream("GET", target.url) as response:
        response.raise_for_status()
        size = response.headers.get("content-length", "")
    if not (size.isascii() and size.isdecimal()):
        raise LocalModelError(f"{target.host} does not say how large the file is: download it in another way")
    return int(size)


def _check_space(target: _Target, size: int) -> None:
    """Check that the disk has space for what is missing of a file."""
    existing = next(folder for folder in target.path.parents if folder.is_dir())
    needed = size - _get_size(target.part) + DISK_RESERVE_BYTES
    if needed > (free := shutil.disk_usage(existing).free):
        raise LocalModelError(
            f"{target.path.name} needs {format_size(needed)} of disk space, and {format_size(free)} are free: "
            "make room, or move TENURE_HOME"
        )


def _receive(client: httpx.Client, target: _Target, size: int, report: Report) -> None:
    """Receive a file or its missing rest, over several connections if necessary."""
    failure: Exception | None = None
    for _ in range(MAX_ATTEMPTS):
        if _get_size(target.part) == size:
            return
        try:
            _receive_rest(client, target, size, report)
        except httpx.TransportError as error:
            failure = error
    if (received := _get_size(target.part)) != size:
        raise LocalModelError(
            f"the download broke off after {format_size(received)} of {format_size(size)} ({failure}): repeat the "
            "command to continue it"
        )


def _receive_rest(client: httpx.Client, target: _Target, size: int, report: Report) -> None:
    """Receive a file over one connection; only the rest of it if the server still has the same version."""
    start = _get_size(target.part)
    version = target.version_file.read_text(encoding="utf-8") if 0 < start < size else ""
    headers = {"range": f"bytes={start}-", "if-range": version} if version else {}
    with client.stream("GET", target.url, headers=headers) as response:
        response.raise_for_status()
        is_rest = response.headers.get("content-range", "").startswith(f"bytes {start}-")
        if response.status_code == httpx.codes.PARTIAL_CONTENT and not (version and is_rest):
            raise LocalModelError(f"{target.host} sent another part of the file than it was asked for")
        received = start if response.status_code == httpx.codes.PARTIAL_CONTENT else 0
        if not received:
            target.part.unlink(missing_ok=True)  # before its version changes
        etag = response.headers.get("etag", "")
        # A weak name says that two versions are similar, not that they are the same.
        _write(target.version_file, "" if etag.startswith("W/") else etag)
        with open(target.part, "ab", opener=open_private) as file:
            for data in response.iter_raw():
                received += len(data)
                if received > size:
                    raise LocalModelError(f"{target.host} sent more than the {format_size(size)} that it announced")
                file.write(data)
                if (tenths := received * 10 // size) > (received - len(data)) * 10 // size:
                    report(f"{tenths * 10} % of {format_size(size)}")


def _get_size(path: Path) -> int:
    """Return the size of a file, 0 if it does not exist."""
    return path.stat().st_size if path.exists() else 0


def _write(path: Path, text: str) -> None:
    with open(path, "w", encoding="utf-8", opener=open_private) as file:
        file.write(text)
