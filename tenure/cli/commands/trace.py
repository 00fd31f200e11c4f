"""`trace`: the story of a run told from its histories, whether or not a worker runs."""

import asyncio
from argparse import Namespace

from tenure.cli.errors import UsageError
from tenure.cli.run_ids import check_run
from tenure.cli.session.connection import AGENT_WORKFLOW, explained, open_session
from tenure.cli.session.history import histories
from tenure.cli.session.server_target import Place, locate
from tenure.cli.terminal import print_json, print_markdown
from tenure.contracts.research.trace import Trace
from tenure.report.trace.markdown import as_markdown
from tenure.report.trace.story import story
from tenure.settings import Settings


def trace(arguments: Namespace, settings: Settings) -> int:
    """Run `trace`."""
    check_run(arguments.id)
    told = asyncio.run(_told(arguments.id, locate(settings)))
    if arguments.json:
        print_json(told.model_dump(mode="json"))
    else:
        print_markdown(as_markdown(told))
    return 0


async def _told(run_id: str, place: Place) -> Trace:
    """Return the story of a run."""
    client = await open_session(place)
    with explained(run_id):
        description = await client.get_workflow_handle(run_id).describe()
        if description.workflow_type != AGENT_WORKFLOW:
            raise UsageError(f"{run_id} is no run but a {description.workflow_type}: only runs have a trace")
        found = await histories(client, run_id)
    return story(found)
