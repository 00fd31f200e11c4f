"""Handing a result over: to standard output, into a file, and as an exit code."""

import json
from argparse import Namespace
from pathlib import Path

from commands.terminal import print_json, print_markdown, say, write_file
from tenure.contracts.result import Result, ResultStatus

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


def deliver(result: Result, arguments: Namespace) -> int:
    """Print or write a result as the arguments ask, and return the exit code it stands for."""
    output: Path | None = arguments.output
    if output is not None:
        write_file(output, _text(result, _format(arguments)))
        say(f"report written to {output}")
    if arguments.json or (output is None and _format(arguments) == "json"):
        print_json(result.model_dump(mode="json"))
    elif output is None:
        print_markdown(_text(result, "md"))
    if result.status == "failed":
        say(f"error: {result.decisions[-1]}")
    empty = not (result.sections or result.files)
    return UNPROVED if result.status == "finished_early" and empty else EXIT_CODES[result.status]


def _format(arguments: Namespace) -> str:
    """Choose the format: the one asked for, else the one the file's name or `--json` suggests."""
    if arguments.format:
        return str(arguments.format)
    if arguments.output is not None:
        return "json" if arguments.output.suffix == ".json" else "md"
    return "json" if arguments.json else "md"


def _text(result: Result, kind: str) -> str:
    """Write a result in a format."""
    if kind == "json":
        return json.dumps(result.model_dump(mode="json"), indent=2, ensure_ascii=False) + "\n"
    # Here, since the renderer brings the Markdown parser along, which `--json` does not need.
    from tenure.report.markdown import render

    return render(result, Path.cwd())
