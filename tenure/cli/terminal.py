"""Print: answers on standard output, everything else on standard error.

All output of commands passes through this module, which escapes characters that act on a terminal or hide from a
reader. It does so for files and pipes as well, since their content is shown later; JSON keeps them as JSON escapes.
"""

import os
import stat
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tenure.algorithms.text.printable import escape_control_characters, escape_json, format_json
from tenure.files.replacing import replace_file
from tenure.runs.errors import InvalidRequest, TenureError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from tenure.runs.session.server_target import ServerTarget


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


def print_notes(server: "ServerTarget", verbosity: str = "normal") -> None:
    """Print the notes of starting the server, and its link unless the command is quiet."""
    for note in server.notes:
        print_note(note)
    if server.started:
        page = f"page: {server.page}" if server.page else f"web UI: {server.build_link(server.ui)}"
        print_status(f"local stack is up, {page}", verbosity)


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


def check_writable(path: Path | None) -> Path | None:
    """Return a path after checking, before anything runs, that its file can be written.

    Raises:
        InvalidRequest: it cannot.
    """
    if path is None:
        return None
    is_stream = _is_stream(path)
    target = path.absolute() if is_stream else Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise InvalidRequest(f"{target.parent} is not a folder: create it, or choose another path")
    targets = [target] if is_stream else [each for each in (target.parent, target) if os.path.lexists(each)]
    if target.is_dir() or not all(os.access(each, os.W_OK) for each in targets):
        raise InvalidRequest(f"{path} cannot be written: name a file in a folder you can write")
    return path


WritablePath = Annotated[Path | None, check_writable]
"""File that can be written, or None for standard output."""


def write_file(path: Path, content: bytes, *, private: bool = False) -> None:
    """Write a file; other users may not read a private one.

    A regular file is replaced atomically, under the name that links lead to, and keeps its owner and its permissions.
    A device, a pipe and the file of standard output are written into.

    Raises:
        TenureError: the system refuses.
    """
    try:
        if _is_stream(path):
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_APPEND), "wb") as file:
                file.write(content)
        else:
            replace_file(Path(os.path.realpath(path)), content, private=private)
    except OSError as error:
        raise TenureError(f"{path} cannot be written ({error.strerror}): choose another file with -o") from error


def _is_stream(path: Path) -> bool:
    """Return whether a path leads to a device, a pipe or the file of standard output, none of which is replaced."""
    if not path.exists() or path.is_dir():
        return False
    status = path.stat()
    with suppress(OSError):  # standard output is closed
        if os.path.samestat(status, os.fstat(1)):
            return True
    return not stat.S_ISREG(status.st_mode)
