"""Read the trace of a run from its histories, with or without a worker or server."""

from temporalio.client import Client

from tenure.contracts.research.trace import Trace
from tenure.report.trace.story import build_trace
from tenure.runs.errors import InvalidRequest
from tenure.runs.session.connection import AGENT_WORKFLOW, explain_refusals
from tenure.runs.session.run_records import open_run
from tenure.runs.session.server_target import ServerTarget
from tenure.temporal.histories import read_histories


async def read_trace(run_id: str, place: ServerTarget, client: Client | None = None) -> Trace:
    """Return the trace of a run."""
    record = await open_run(place, run_id, client)
    if record.workflow_type != AGENT_WORKFLOW:
        raise InvalidRequest(f"{run_id} is not a run but a {record.workflow_type}: only runs have a trace")
    with explain_refusals(run_id), record.explain_damage():
        return build_trace(await read_histories(record.source, run_id))
