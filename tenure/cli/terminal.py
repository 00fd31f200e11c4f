"""Print: answers on standard output, everything else on standard error.

All output of commands passes through this module, which escapes characters that act on a terminal or hide from a
reader. It does so for files and pipes as well, since their content is shown later; JSON keeps them as JSON escapes.
"""

import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tenure.algorithms.text.printable import escape_control_characters, escape_json, format_json
from tenure.cli.errors import CommandError, UsageError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table


def make_stderr_console() -> "Console":
    """Return the console for standard error."""
    # Imported when needed, here and below: most commands print lines only.
    from tenure.cli.console import SafeConsole

    return SafeConsole(stderr=True)


def print_line(line: str = "") -> None:
    """Print a line on standard output."""
    print_text(line + "\n")


def print_text(text: str) -> None:
    """Print a text on standard output."""
    sys.stdout.write(_clean(text))


def print_note(line: str) -> None:
    """Print a line on standard error."""
    sys.stderr.write(_clean(line) + "\n")
    sys.stderr.flush()


def print_status(line: str, verbosity: str) -> None:
    """Print a line about the course of a command on standard error, unless the command is quiet."""
    if verbosity != "quiet":
        print_note(line)


def print_json(document: Any) -> None:
    """Print the JSON document of a command."""
    sys.stdout.write(format_json(document) + "\n")


def print_json_lines(lines: str) -> None:
    """Print JSON documents, one in each line."""
    sys.stdout.write(escape_json(lines))


def print_markdown(text: str) -> None:
    """Print a report, formatted on a terminal and plain otherwise."""
    if sys.stdout.isatty():
        from rich.markdown import Markdown

        from tenure.cli.console import SafeConsole

        # Addresses are shown next to the text of their link, which could name another.
        SafeConsole().print(Markdown(_clean(text), hyperlinks=False))
    else:
        print_text(text if text.endswith("\n") else text + "\n")


def print_table(table: "Table") -> None:
    """Print a table; without a terminal it is wide enough for text search."""
    from tenure.cli.console import SafeConsole

    width = None if sys.stdout.isatty() else 200
    SafeConsole(width=width).print(table)


def _clean(text: str) -> str:
    return escape_control_characters(text.replace("\r\n", "\n"))


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


def write_file(path: Path, content: bytes, *, private: bool = False) -> None:
    """Write a file atomically; other users may not read a private one.

    Raises:
        CommandError: the system refuses.
    """
    path = path.absolute()
    draft = ""
    try:
        descriptor, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        if not private:
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
