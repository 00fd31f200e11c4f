"""Print: answers on standard output, everything else on standard error."""

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markdown import Markdown
from rich.table import Table

from tenure.cli.errors import CommandError, UsageError


def make_stderr_console() -> Console:
    """Return the console for standard error."""
    return Console(stderr=True, highlight=False)


def print_note(line: str) -> None:
    """Print a line on standard error."""
    print(line, file=sys.stderr, flush=True)


def print_json(document: Any) -> None:
    """Print the JSON document of a command."""
    print(json.dumps(document, indent=2, ensure_ascii=False))


def print_markdown(text: str) -> None:
    """Print a report, formatted on a terminal and plain otherwise."""
    if sys.stdout.isatty():
        Console().print(Markdown(text))
    else:
        sys.stdout.write(text if text.endswith("\n") else text + "\n")


def print_table(table: Table) -> None:
    """Print a table; without a terminal it is wide enough for text search."""
    width = None if sys.stdout.isatty() else 200
    Console(width=width, highlight=False).print(table)


def check_writable(path: Path | None) -> None:
    """Check, before anything runs, that a file can be written.

    Raises:
        UsageError: it cannot.
    """
    if path is None:
        return
    folder = path.absolute().parent
    if not folder.is_dir():
        raise UsageError(f"{folder} is not a folder: create it, or choose another path")
    if path.is_dir() or not os.access(folder, os.W_OK):
        raise UsageError(f"{path} cannot be written: name a file in a folder you can write")


def write_file(path: Path, content: bytes) -> None:
    """Write a file atomically.

    Raises:
        CommandError: the system refuses.
    """
    path = path.absolute()
    draft = ""
    try:
        descriptor, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        Path(draft).chmod(0o666 & ~_umask())
        Path(draft).replace(path)
    except OSError as error:
        if draft:
            Path(draft).unlink(missing_ok=True)
        raise CommandError(f"{path} cannot be written ({error.strerror}): choose another file with -o") from error


def _umask() -> int:
    """Return the process's umask, which can only be read by setting it."""
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
