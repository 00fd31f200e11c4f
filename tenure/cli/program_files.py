"""Files and tests that a person gives to a program: read here once, so that later changes of them change no run."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from pydantic import ValidationError

from tenure.cli.errors import UsageError
from tenure.cli.paths import existing
from tenure.contracts.result.programs import read_cases
from tenure.contracts.sandbox import GivenFile

TRAVELS = 64 * 1024
"""Bytes of a text that travels with the request; a larger file is copied from its path when it is needed."""

TOGETHER = 160 * 1024
"""Bytes of all texts of a request."""

_SKIPPED = {"__pycache__", "node_modules"}


def given_files(paths: Sequence[str]) -> tuple[GivenFile, ...]:
    """Return files for a program; a folder gives everything below it, under the names it has there.

    A folder that is a Python package keeps its own name before them, since that is how it is imported.

    Raises:
        UsageError: a path does not exist, cannot be read, or two files would have the same name.
    """
    left = TOGETHER
    found: list[GivenFile] = []
    for name, path in _named(existing(paths)):
        text = _text(path)
        size = len(text.encode()) if text is not None else 0
        travels = text is not None and size <= min(left, TRAVELS)
        left -= size if travels else 0
        found.append(GivenFile(name=name, text=text) if travels else GivenFile(name=name, path=str(path)))
    return _apart(found)


def given_tests(paths: Sequence[str]) -> tuple[GivenFile, ...]:
    """Return tests: files of pytest with what they read, or cases as JSON.

    Raises:
        UsageError: a path does not exist, or it holds no tests.
    """
    found = [(name, path, _text(path)) for name, path in _named(existing(paths))]
    python = [name for name, _, _ in found if name.endswith(".py")]
    for name, _, text in found:
        if text is None or len(text.encode()) > TRAVELS:
            raise UsageError(f"{name} is no text of at most {TRAVELS // 1024} KiB, so it cannot be a file of tests")
        if not python:
            _check_cases(name, text)
    return _apart([GivenFile(name=name, text=text, read_only=True) for name, _, text in found])


def _check_cases(name: str, text: str) -> None:
    try:
        cases = read_cases(text) if name.endswith(".json") else ()
    except ValidationError as error:
        raise UsageError(f"{name} is no list of cases with `function`, `args` and `expected`") from error
    if not cases:
        raise UsageError(f"{name} holds no tests: give files of pytest, or cases as JSON")


def _named(paths: Sequence[Path]) -> Iterator[tuple[str, Path]]:
    """Yield files with the names they get; hidden ones and caches are left out of folders."""
    for path in paths:
        if path.is_file():
            yield path.name, path
        above = path.absolute().parent if (path / "__init__.py").is_file() else path.absolute()
        for inner in sorted(path.absolute().rglob("*")) if path.is_dir() else ():
            parts = inner.relative_to(above).parts
            if inner.is_file() and not any(part.startswith(".") or part in _SKIPPED for part in parts):
                yield "/".join(parts), inner


def _text(path: Path) -> str | None:
    """Return a file's text; None where it is too large to travel or no text.

    Raises:
        UsageError: it cannot be read.
    """
    try:
        data = path.read_bytes() if path.stat().st_size <= TRAVELS else b"\0"
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error
    try:
        return None if b"\0" in data else data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None


def _apart(files: list[GivenFile]) -> tuple[GivenFile, ...]:
    names = [file.name for file in files]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice:
        raise UsageError(f"two files are called {twice}: give the folder above them, or rename one")
    return tuple(files)
