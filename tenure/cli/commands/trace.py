"""Command `trace`: print the trace of a run from its histories, with or without a worker."""

import asyncio
from argparse import Namespace

from tenure.cli.errors import UsageError
from tenure.cli.run_ids import check_run
from tenure.cli.session.connection import AGENT_WORKFLOW, explain_refusals, open_session
from tenure.cli.session.history import read_histories
from tenure.cli.session.server_target import ServerTarget, locate_server
from tenure.cli.terminal import print_json, print_markdown
from tenure.contracts.research.trace import Trace
from tenure.report.trace.markdown import render_trace
from tenure.report.trace.story import build_trace
from tenure.settings import Settings


def trace(arguments: Namespace, settings: Settings) -> int:
    """Run `trace`."""
    check_run(arguments.id)
    found = asyncio.run(_read_trace(arguments.id, locate_server(settings)))
    if arguments.json:
        print_json(found.model_dump(mode="json"))
    else:
        print_markdown(render_trace(found))
    return 0


async def _read_trace(run_id: str, place: ServerTarget) -> Trace:
    """Return the trace of a run."""
    client = await open_session(place)
    with explain_refusals(run_id):
        description = await client.get_workflow_handle(run_id).describe()
        if description.workflow_type != AGENT_WORKFLOW:
            raise UsageError(f"{run_id} is not a run but a {description.workflow_type}: only runs have a trace")
        found = await read_histories(client, run_id)
    return build_trace(found)
