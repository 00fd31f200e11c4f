"""List the files of an ingestion in a separate process with limits of time and memory."""

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Final

from tenure.files.discovery import Discovery, DiscoveryFailed
from tenure.knowledge.store.errors import KnowledgeError, ReaderFailed
from tenure.sources.isolation import build_child_environment
from tenure.sources.scan_process import READY_LINE, SCAN_PROGRAM, build_request, parse_reply

SCAN_TIMEOUT_SECONDS: Final = 330.0
"""Time after which the process is killed; the search itself ends earlier and names the folder."""
_POLL_SECONDS: Final = 0.5


def scan_files(
    paths: Sequence[Path],
    on_wait: Callable[[], None],
    *,
    include_secrets: bool = False,
    timeout: float = SCAN_TIMEOUT_SECONDS,
) -> Discovery:
    """Return the files of paths; `on_wait` is called repeatedly meanwhile, and may raise to stop.

    Raises:
        FileNotFoundError: one of the paths does not exist.
        KnowledgeError: the files cannot be listed, also not by a repetition.
        ReaderFailed: the process does not start.
    """
    request: str | None = build_request(paths, include_secrets=include_secrets)
    deadline = time.monotonic() + timeout
    with tempfile.TemporaryFile() as last_words, _start(last_words) as process:
        try:
            while True:
                try:
                    remaining = deadline - time.monotonic()
                    output, _ = process.communicate(request, timeout=max(0.0, min(_POLL_SECONDS, remaining)))
                    break
                except subprocess.TimeoutExpired:
                    request = None
                on_wait()
                if time.monotonic() >= deadline:
                    raise KnowledgeError(f"the path {_join(paths)} cannot be listed within {timeout:g} s")
        finally:
            process.kill()
        last_words.seek(0)
        lines = last_words.read().decode(errors="replace").strip().splitlines()
    if not output.startswith(READY_LINE):
        raise ReaderFailed(lines[-1] if lines else "")
    try:
        return parse_reply(output.removeprefix(READY_LINE))
    except DiscoveryFailed as error:
        raise KnowledgeError(f"the path {error}") from error
    except ValueError as error:
        reason = "the process that lists files crashed"
        raise KnowledgeError(f"the path {_join(paths)} cannot be listed: {reason}") from error


def _start(last_words: IO[bytes]) -> "subprocess.Popen[str]":
    try:
        return subprocess.Popen(
            [sys.executable, "-c", SCAN_PROGRAM],
            env=build_child_environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=last_words,
            text=True,
            encoding="utf-8",
        )
    except OSError as error:
        raise ReaderFailed(error.strerror or type(error).__name__) from error


def _join(paths: Sequence[Path]) -> str:
    return ", ".join(map(str, paths))
