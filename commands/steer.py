"""`feedback`, `pause`, `resume`, `finish` and `cancel`: signals to a running run."""

import asyncio
from argparse import Namespace

from temporalio.client import WorkflowExecutionStatus

from commands.errors import CommandError, UsageError
from commands.names import check_run
from commands.place import Place, locate
from commands.session import AGENT_WORKFLOW, BATCH_WORKFLOW, explained, open_session
from commands.terminal import print_json, say
from tenure.contracts.run import Feedback
from tenure.settings import Settings

_TOLD = {
    "feedback": "feedback delivered",
    "pause": "asked to pause; `resume` lets it go on",
    "resume": "asked to go on",
    "finish": "asked to write up what there is",
    "cancel": "asked to stop; its report will hold what there was",
}


def steer(arguments: Namespace, settings: Settings) -> int:
    """Run a steering command; its name is the signal's."""
    check_run(arguments.id)
    feedback = None
    if arguments.command == "feedback":
        if not arguments.text.strip():
            raise UsageError("feedback needs a text")
        feedback = Feedback(text=arguments.text.strip()[:20_000], topic=arguments.topic)
    return asyncio.run(_signal(arguments, locate(settings), feedback))


async def _signal(arguments: Namespace, place: Place, feedback: Feedback | None) -> int:
    """Deliver the signal; a workflow that knows no signals is cancelled by the server instead."""
    client = await open_session(place)
    handle = client.get_workflow_handle(arguments.id)
    with explained(arguments.id):
        description = await handle.describe()
        if description.status != WorkflowExecutionStatus.RUNNING:
            raise CommandError(
                f"run {arguments.id} is finished: `python client.py report {arguments.id}` shows what it found"
            )
        if description.workflow_type == AGENT_WORKFLOW:
            await handle.signal(arguments.command, *([feedback] if feedback else []))
        elif arguments.command == "cancel" and description.workflow_type == BATCH_WORKFLOW:
            await handle.signal("cancel")
        elif arguments.command == "cancel":
            await handle.cancel()
        else:
            raise UsageError(f"{arguments.id} is no run but a {description.workflow_type}: it can only be cancelled")
    if arguments.json:
        print_json({"id": arguments.id, "signal": arguments.command, "delivered": True})
    else:
        say(f"run {arguments.id}: {_TOLD[arguments.command]}")
    return 0
