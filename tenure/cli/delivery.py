"""Handing a result over: to standard output, into a file, and as an exit code."""

import json
import sys
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from tenure.cli.errors import UsageError
from tenure.cli.terminal import check_writable, print_json, print_markdown, say, write_file
from tenure.contracts.result.result import Result, ResultStatus

if TYPE_CHECKING:
    from tenure.report.render.marks import Style

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

_SUFFIXES = {".json": "json", ".html": "html", ".htm": "html", ".pdf": "pdf", ".bib": "bibtex"}
"""Formats that the name of a file tells; every other name is Markdown's."""


def check_delivery(arguments: Namespace) -> None:
    """Make sure, before anything runs, that a report can be handed over as the arguments ask.

    Raises:
        UsageError: it cannot.
    """
    check_writable(arguments.output)
    if arguments.output is None and arguments.format == "pdf":
        raise UsageError("a PDF goes into a file: add -o FILE")


def deliver(result: Result, arguments: Namespace) -> int:
    """Print or write a result as the arguments ask, and return the exit code it stands for."""
    output: Path | None = arguments.output
    kind = _format(arguments)
    if output is not None:
        write_file(output, _content(result, kind, arguments.citations))
        say(f"report written to {output}")
    if arguments.json or (output is None and kind == "json"):
        print_json(result.model_dump(mode="json"))
    elif output is None:
        text = _content(result, kind, arguments.citations).decode()
        print_markdown(text) if kind == "md" else sys.stdout.write(text)
    if result.status == "failed":
        say(f"error: {result.decisions[-1]}")
    empty = not (result.sections or result.files)
    return UNPROVED if result.status == "finished_early" and empty else EXIT_CODES[result.status]


def _format(arguments: Namespace) -> str:
    """Choose the format: the one asked for, else the one the file's name or `--json` suggests."""
    if arguments.format:
        return str(arguments.format)
    if arguments.output is not None:
        return _SUFFIXES.get(arguments.output.suffix.lower(), "md")
    return "json" if arguments.json else "md"


def _content(result: Result, kind: str, style: "Style") -> bytes:
    """Write a result in a format; what a format needs is imported for it alone."""
    base = Path.cwd()
    if kind == "json":
        return (json.dumps(result.model_dump(mode="json"), indent=2, ensure_ascii=False) + "\n").encode()
    if kind == "pdf":
        from tenure.report.render.pdf import render_pdf

        return render_pdf(result, base, style)
    return _text(result, kind, base, style).encode()


def _text(result: Result, kind: str, base: Path, style: "Style") -> str:
    if kind == "html":
        from tenure.report.render.html import render_html

        return render_html(result, base, style)
    if kind in ("bibtex", "csl"):
        from tenure.report.render.bibliography import bibtex, csl_json

        return (bibtex if kind == "bibtex" else csl_json)(result.sources, base)
    from tenure.report.render.markdown import render

    return render(result, base, style)
