"""Resolve paths given on the command line."""

from collections.abc import Sequence
from pathlib import Path

import tenure
from tenure.cli.errors import UsageError


def resolve_paths(paths: Sequence[str]) -> list[Path]:
    """Return the absolute paths in the given order, without duplicates.

    Raises:
        UsageError: a path does not exist, or is no text.
    """
    found = [Path(path).expanduser().absolute() for path in paths]
    for given, path in zip(paths, found, strict=True):
        if any("\ud800" <= character <= "\udfff" for character in given):
            raise UsageError(f"{given!r} is not valid UTF-8: rename it, or name the folder above it")
        if not path.exists():
            raise UsageError(f"{given} does not exist")
    return list(dict.fromkeys(path.resolve() for path in found))


def find_manual() -> Path:
    """Return the repository's `docs/` folder, the default corpus.

    Raises:
        UsageError: this installation has no manual.
    """
    folder = Path(tenure.__file__).resolve().parents[1] / "docs"
    if not folder.is_dir():
        raise UsageError(f"the default corpus {folder} is missing: name documents with --docs PATH")
    return folder
