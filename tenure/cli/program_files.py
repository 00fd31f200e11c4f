"""Read the files and tests of a coding task once, so that later changes of them affect no run."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from pydantic import ValidationError

from tenure.cli.errors import UsageError
from tenure.cli.paths import resolve_paths
from tenure.contracts.result.programs import parse_cases
from tenure.contracts.sandbox import InputFile

MAX_INLINE_FILE_BYTES = 64 * 1024
"""Maximum size of a file that is sent with the request; larger files are copied from their path when needed."""

MAX_INLINE_BYTES = 160 * 1024
"""Maximum size of all files of a request."""

_SKIPPED = {"__pycache__", "node_modules"}


def read_files(paths: Sequence[str]) -> tuple[InputFile, ...]:
    """Return the files of a program; a folder adds all its files under their relative names.

    A folder that is a Python package keeps its own name as a prefix, since it is imported by it.

    Raises:
        UsageError: a path does not exist or cannot be read, or two files would have the same name.
    """
    left = MAX_INLINE_BYTES
    found: list[InputFile] = []
    for name, path in _iterate_named_files(resolve_paths(paths)):
        text = _read_text(path)
        size = len(text.encode()) if text is not None else 0
        travels = text is not None and size <= min(left, MAX_INLINE_FILE_BYTES)
        left -= size if travels else 0
        found.append(InputFile(name=name, text=text) if travels else InputFile(name=name, path=str(path)))
    return _apart(found)


def read_tests(paths: Sequence[str]) -> tuple[InputFile, ...]:
    """Return tests: pytest files with the files they read, or cases as JSON.

    Raises:
        UsageError: a path does not exist or contains no tests.
    """
    found = [(name, path, _read_text(path)) for name, path in _iterate_named_files(resolve_paths(paths))]
    python = [name for name, _, _ in found if name.endswith(".py")]
    for name, _, text in found:
        if text is None or len(text.encode()) > MAX_INLINE_FILE_BYTES:
            raise UsageError(
                f"{name} is not a text of at most {MAX_INLINE_FILE_BYTES // 1024} KiB, so it cannot be a test file"
            )
        if not python:
            _check_cases(name, text)
    return _apart([InputFile(name=name, text=text, read_only=True) for name, _, text in found])


def _check_cases(name: str, text: str) -> None:
    try:
        cases = parse_cases(text) if name.endswith(".json") else ()
    except ValidationError as error:
        raise UsageError(f"{name} is not a list of cases with `function`, `args` and `expected`") from error
    if not cases:
        raise UsageError(f"{name} contains no tests: give pytest files, or cases as JSON")


def _iterate_named_files(paths: Sequence[Path]) -> Iterator[tuple[str, Path]]:
    """Yield files with their names; hidden files and caches in folders are skipped."""
    for path in paths:
        if path.is_file():
            yield path.name, path
        above = path.absolute().parent if (path / "__init__.py").is_file() else path.absolute()
        for inner in sorted(path.absolute().rglob("*")) if path.is_dir() else ():
            parts = inner.relative_to(above).parts
            if inner.is_file() and not any(part.startswith(".") or part in _SKIPPED for part in parts):
                yield "/".join(parts), inner


def _read_text(path: Path) -> str | None:
    """Return a file's text, or None if it is too large to send or not text.

    Raises:
        UsageError: the file cannot be read.
    """
    try:
        data = path.read_bytes() if path.stat().st_size <= MAX_INLINE_FILE_BYTES else b"\0"
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error
    try:
        return None if b"\0" in data else data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None


def _apart(files: list[InputFile]) -> tuple[InputFile, ...]:
    names = [file.name for file in files]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice:
        raise UsageError(f"two files have the name {twice}: give the folder above them, or rename one")
    return tuple(files)
