"""Name the run whose id is most similar to an unknown one."""

import asyncio
from contextlib import suppress

from tenure.cli.command_parser import find_nearest
from tenure.contracts.knowledge.archive import RunDescription
from tenure.runs.errors import MissingRun, TenureError
from tenure.runs.session.connection import AGENT_WORKFLOW, explain_refusals, open_session
from tenure.runs.session.run_records import read_archive
from tenure.runs.session.server_target import ServerTarget, locate_server
from tenure.settings import Settings

MAX_RUNS = 1000
"""Latest runs that are compared."""


def suggest_run(error: MissingRun) -> MissingRun:
    """Return the error with the nearest id of a run, or the error itself if no id is similar or known."""
    settings = Settings()
    nearest = find_nearest(error.run_id, asyncio.run(_list_ids(locate_server(settings))))
    return MissingRun(error.run_id, nearest) if nearest else error


async def _list_ids(server: ServerTarget) -> list[str]:
    """Return the ids of the latest runs of the server and of the archive, as far as they answer."""
    ids: list[str] = []
    # The suggestion is an addition to an error that is reported in any case.
    with suppress(TenureError):
        client = await open_session(server)
        with explain_refusals("list"):
            query = f"WorkflowType = '{AGENT_WORKFLOW}'"
            ids += [execution.id async for execution in client.list_workflows(query, limit=MAX_RUNS)]
    with suppress(TenureError):
        archived: list[RunDescription] = await read_archive(
            server.settings, lambda archive: archive.list_archived_runs(server.settings, AGENT_WORKFLOW), []
        )
        ids += [run.id for run in archived]
    return ids
