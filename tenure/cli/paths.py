"""Paths a person names on the command line."""

from collections.abc import Sequence
from pathlib import Path

import tenure
from tenure.cli.errors import UsageError


def existing(paths: Sequence[str]) -> list[Path]:
    """Return the absolute paths, each once, in the order given.

    Raises:
        UsageError: one of them does not exist.
    """
    found = [Path(path).expanduser().absolute() for path in paths]
    for given, path in zip(paths, found, strict=True):
        if not path.exists():
            raise UsageError(f"{given} does not exist")
    return list(dict.fromkeys(path.resolve() for path in found))


def manual() -> Path:
    """Return the repository's `docs/`, the default corpus.

    Raises:
        UsageError: this installation has none.
    """
    folder = Path(tenure.__file__).resolve().parents[1] / "docs"
    if not folder.is_dir():
        raise UsageError(f"the default corpus {folder} is missing: name documents with --docs PATH")
    return folder
