"""Command `trace`: print the trace of a run from its histories, with or without a worker or server."""

import asyncio
from argparse import Namespace
from pathlib import Path

from tenure.cli.terminal import check_writable, print_json, print_markdown, print_note, print_text, write_file
from tenure.report.trace.html import render_trace_page
from tenure.report.trace.markdown import render_trace
from tenure.runs.run_ids import check_run
from tenure.runs.session.server_target import locate_server
from tenure.runs.trace import read_trace
from tenure.settings import ClientSettings


def trace(arguments: Namespace, settings: ClientSettings) -> int:
    """Run `trace`."""
    check_run(arguments.id)
    check_writable(arguments.output)
    found = asyncio.run(read_trace(arguments.id, locate_server(settings)))
    output: Path | None = arguments.output
    as_page = arguments.html or (output is not None and output.suffix.lower() in (".html", ".htm"))
    if output is not None:
        write_file(output, (render_trace_page(found) if as_page else render_trace(found)).encode())
        print_note(f"trace written to {output}")
    if arguments.json:
        print_json(found.model_dump(mode="json"))
    elif output is None and as_page:
        print_text(render_trace_page(found))
    elif output is None:
        print_markdown(render_trace(found))
    return 0
