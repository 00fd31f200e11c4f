"""Deliver a result: to standard output, to a file, and as an exit code."""

import webbrowser
from argparse import Namespace
from pathlib import Path
from urllib.parse import quote

from tenure.cli.terminal import (
    check_writable,
    print_json,
    print_json_lines,
    print_markdown,
    print_note,
    print_status,
    print_text,
    write_file,
)
from tenure.contracts.result.result import Result, ResultStatus
from tenure.runs.errors import InvalidRequest, Unreachable
from tenure.runs.reading import render_content

UNPROVED = 3
EXIT_CODES: dict[ResultStatus, int] = {
    "done": 0,
    "finished_early": 0,
    "cancelled": 1,
    "failed": 1,
    "unsupported": 2,
    "no_evidence": UNPROVED,
    "failing_tests": UNPROVED,
}

_SUFFIXES = {".json": "json", ".html": "html", ".htm": "html", ".pdf": "pdf", ".docx": "docx", ".bib": "bibtex"}
"""Formats by file name suffix; every other name means Markdown."""

_SHOWN_BY_BROWSERS = ("html", "pdf")

_MAX_NAME = 200
"""Maximum length of the name of a report's file without its suffix."""

_BINARY = {"pdf": "a PDF", "docx": "a Word document"}
"""Formats that a terminal cannot show, with their names."""


def check_delivery(arguments: Namespace) -> None:
    """Check, before anything runs, that a report can be delivered as the arguments ask.

    Raises:
        InvalidRequest: it cannot.
    """
    check_writable(arguments.output)
    if arguments.output is None and arguments.format in _BINARY:
        raise InvalidRequest(f"{_BINARY[arguments.format]} goes into a file: add -o FILE")


def deliver(result: Result, arguments: Namespace) -> int:
    """Print or write a result as the arguments ask, and return the exit code for its status."""
    output: Path | None = arguments.output
    kind = _format(arguments)
    if output is not None:
        write_file(output, render_content(result, kind, arguments.citations))
        print_status(f"report written to {output}", arguments.verbosity)
    if arguments.json or (output is None and kind == "json"):
        print_json(result.model_dump(mode="json"))
    elif output is None:
        text = render_content(result, kind, arguments.citations).decode()
        {"md": print_markdown, "csl": print_json_lines}.get(kind, print_text)(text)
    if result.status == "failed":
        print_note(f"error: {result.decisions[-1]}")
    empty = not (result.sections or result.files)
    return UNPROVED if result.status == "finished_early" and empty else EXIT_CODES[result.status]


def check_opening(arguments: Namespace) -> None:
    """Check, before anything runs, that a report can be opened as the arguments ask.

    Raises:
        InvalidRequest: it cannot.
    """
    kind = "html" if arguments.output is None and not arguments.json else _format(arguments)
    if kind not in _SHOWN_BY_BROWSERS or arguments.format not in (None, kind):
        raise InvalidRequest("--open shows an HTML page: leave --format and --json out, or write a .html or .pdf file")


def open_report(result: Result, arguments: Namespace, home: Path) -> None:
    """Write a report into the file that the arguments name, else below the home, and open it in the browser.

    Raises:
        Unreachable: this machine has no browser.
    """
    path: Path | None = arguments.output
    if path is None:
        folder = home.absolute() / "reports"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = folder / f"{quote(result.id, safe='~')[:_MAX_NAME]}.html"
    kind = "html" if arguments.output is None else _format(arguments)
    write_file(path, render_content(result, kind, arguments.citations), private=arguments.output is None)
    if not open_in_browser(path):
        raise Unreachable(f"this machine has no browser that can be started; the report is in {path}")
    print_note(f"opened {path}")


def open_in_browser(page: Path) -> bool:
    """Open a file in the browser; return False if this machine has no browser that can be started."""
    try:
        return webbrowser.open(page.absolute().as_uri())
    except webbrowser.Error:
        return False


def _format(arguments: Namespace) -> str:
    """Return the format: the requested one, else the one that the file name or `--json` suggests."""
    if arguments.format:
        return str(arguments.format)
    if arguments.output is not None:
        return _SUFFIXES.get(arguments.output.suffix.lower(), "md")
    return "json" if arguments.json else "md"
