"""Deliver a result: to standard output, to a file, and as an exit code."""

import sys
import webbrowser
from dataclasses import dataclass, replace
from pathlib import Path
from shutil import get_terminal_size
from urllib.parse import quote

from tenure.cli.output import Output
from tenure.cli.terminal import check_writable, print_json_lines, print_markdown, print_note, print_text, write_file
from tenure.contracts.choices import CitationStyle, ReportFormat, ReportProofs
from tenure.contracts.result.result import Result, ResultStatus
from tenure.installation import PROGRAM
from tenure.runs.errors import InvalidRequest, Unreachable
from tenure.runs.reading import render_content, render_short_answer

# A run that worked and proves nothing; 1 is a failure, and argparse exits with 2 for wrong arguments.
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

_SUFFIXES: dict[str, ReportFormat] = {
    ".json": "json",
    ".html": "html",
    ".htm": "html",
    ".pdf": "pdf",
    ".docx": "docx",
    ".bib": "bibtex",
}
"""Formats by file name suffix; every other name means Markdown."""

_SHOWN_BY_BROWSERS = ("html", "pdf")

_MAX_NAME = 200
"""Maximum length of the name of a report's file without its suffix."""

_BINARY = {"pdf": "a PDF", "docx": "a Word document"}
"""Formats that a terminal cannot show, with their names."""


@dataclass(frozen=True)
class Delivery(Output):
    """Destination and format of a report."""

    output: Path | None = None
    """File; None for standard output."""
    format: ReportFormat | None = None
    """Format; None to choose it by the name of the file."""
    citations: CitationStyle = "numeric"
    """Format of citation marks."""
    proofs: ReportProofs | None = None
    """Quotes and records in the report; None for all in a file, and for citations and references on a terminal."""

    def __post_init__(self) -> None:
        """Check, before anything runs, that a report can be delivered.

        Raises:
            InvalidRequest: it cannot.
        """
        check_writable(self.output)
        if self.output is None and self.format in _BINARY:
            raise InvalidRequest(f"{_BINARY[self.format]} goes into a file: add -o FILE")

    def deliver(self, result: Result) -> int:
        """Print or write a result, and return the exit code for its status."""
        kind = self._choose_format()
        if self.output is not None:
            write_file(self.output, self._render(result, kind))
            self.print_status(f"report written to {self.output}")
        if not self.print_json(result) and self.output is None:
            self._print(result, kind)
        if result.status == "failed":
            print_note(f"error: {result.decisions[-1]}")
        empty = not (result.sections or result.files or result.patch)
        return UNPROVED if result.status == "finished_early" and empty else EXIT_CODES[result.status]

    def check_opening(self) -> None:
        """Check, before anything runs, that a report can be opened in the browser.

        Raises:
            InvalidRequest: it cannot.
        """
        kind = "html" if self.output is None and not self.json else self._choose_format()
        if kind not in _SHOWN_BY_BROWSERS or self.format not in (None, kind):
            raise InvalidRequest(
                "--open shows an HTML page: leave --format and --json out, or write a .html or .pdf file"
            )

    def open_report(self, result: Result, home: Path) -> None:
        """Write a report into the file that is named, else below the home, and open it in the browser.

        Raises:
            Unreachable: this machine has no browser.
        """
        path = self.output
        if path is None:
            folder = home.absolute() / "reports"
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            path = folder / f"{quote(result.id, safe='~')[:_MAX_NAME]}.html"
        kind = "html" if self.output is None else self._choose_format()
        write_file(path, self._render(result, kind), private=self.output is None)
        if not open_in_browser(path):
            raise Unreachable(f"this machine has no browser that can be started; the report is in {path}")
        print_note(f"opened {path}")

    def _render(self, result: Result, kind: ReportFormat) -> bytes:
        return render_content(result, kind, self.citations, self.proofs or "full")

    def _print(self, result: Result, kind: ReportFormat) -> None:
        """Print a report; on a terminal without its proofs, and with the answer again if it has left the window."""
        is_read = kind == "md" and self.proofs is None and self.verbosity != "verbose" and sys.stdout.isatty()
        shown = replace(self, proofs="short") if is_read else self
        text = shown._render(result, kind).decode()
        {"md": print_markdown, "csl": print_json_lines, "json": print_json_lines}.get(kind, print_text)(text)
        if is_read:
            self.print_status(f"quotes and record: `{PROGRAM} report {result.id} --proofs only`")
            # Lines of Markdown are at most as many as lines of the window.
            if text.count("\n") >= get_terminal_size().lines and (answer := render_short_answer(result)):
                print_markdown(answer)

    def _choose_format(self) -> ReportFormat:
        """Return the format: the requested one, else the one that the file name suggests."""
        if self.format:
            return self.format
        if self.output is None:
            return "md"
        return (
            "csl" if self.output.name.lower().endswith(".csl.json") else _SUFFIXES.get(self.output.suffix.lower(), "md")
        )


def open_in_browser(page: Path) -> bool:
    """Open a file in the browser; return False if this machine has no browser that can be started."""
    try:
        return webbrowser.open(page.absolute().as_uri())
    except webbrowser.Error:
        return False
