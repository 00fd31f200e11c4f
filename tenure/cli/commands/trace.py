"""Command `trace`: print the trace of a run from its histories, with or without a worker or server."""

import asyncio
from argparse import Namespace
from pathlib import Path

from temporalio.client import Client

from tenure.cli.errors import UsageError
from tenure.cli.run_ids import check_run
from tenure.cli.session.connection import AGENT_WORKFLOW, explain_refusals
from tenure.cli.session.run_records import open_run
from tenure.cli.session.server_target import ServerTarget, locate_server
from tenure.cli.terminal import check_writable, print_json, print_markdown, print_note, print_text, write_file
from tenure.contracts.research.trace import Trace
from tenure.report.trace.html import render_trace_page
from tenure.report.trace.markdown import render_trace
from tenure.report.trace.story import build_trace
from tenure.settings import Settings
from tenure.temporal.histories import read_histories


def trace(arguments: Namespace, settings: Settings) -> int:
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


async def read_trace(run_id: str, place: ServerTarget, client: Client | None = None) -> Trace:
    """Return the trace of a run."""
    record = await open_run(place, run_id, client)
    if record.workflow_type != AGENT_WORKFLOW:
        raise UsageError(f"{run_id} is not a run but a {record.workflow_type}: only runs have a trace")
    with explain_refusals(run_id), record.explain_damage():
        return build_trace(await read_histories(record.source, run_id))
