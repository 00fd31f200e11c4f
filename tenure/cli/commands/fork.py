"""Command `fork`: start a new run from an earlier cycle of a run, with the knowledge of that cycle."""

import asyncio
from argparse import Namespace

from temporalio.client import Client, WorkflowHandle

from tenure.cli.commands.start import (
    find_reservation_price,
    follow_started_run,
    refuse_archived_id,
    start_workflow,
)
from tenure.cli.delivery import check_delivery
from tenure.cli.errors import UsageError
from tenure.cli.ownership import override_ownership, parse_ownership
from tenure.cli.run_ids import check_run, make_fork_id
from tenure.cli.session.connection import explain_refusals, open_session, register_search_attributes
from tenure.cli.session.run_records import open_run
from tenure.cli.session.run_request import read_origin
from tenure.cli.session.server_target import ServerTarget, ensure_server, print_notes
from tenure.contracts.research.fork import ForkOrigin, ForkRunRequest
from tenure.contracts.result.result import Result
from tenure.contracts.run.limits import MODEL_BUDGET
from tenure.contracts.run.run import Feedback, RunLimits, RunRequest
from tenure.settings import Settings

MAX_FEEDBACK_CHARS = 4_000
"""Maximum length of the feedback for a fork."""

BOUNDS = ("max_cycles", "search_mode", *MODEL_BUDGET)
"""Limits of the original that the command line may replace."""


def fork(arguments: Namespace, settings: Settings) -> int:
    """Run the command."""
    check_run(arguments.origin)
    chosen = check_run(arguments.id) if arguments.id else make_fork_id(arguments.origin, arguments.cycle)
    check_delivery(arguments)
    if arguments.feedback and len(arguments.feedback.strip()) > MAX_FEEDBACK_CHARS:
        raise UsageError(f"--feedback has at most {MAX_FEEDBACK_CHARS:,} characters")
    parse_ownership(arguments)
    place = ensure_server(settings)
    print_notes(place, arguments.verbosity)
    return asyncio.run(_start_fork(arguments, place, chosen))


async def _start_fork(arguments: Namespace, place: ServerTarget, chosen: str) -> int:
    """Start the fork and follow it to its end."""
    client = await open_session(place)
    handle = await launch_fork(arguments, place, client, chosen)
    return await follow_started_run(arguments, place, client, handle)


async def launch_fork(
    arguments: Namespace, place: ServerTarget, client: Client, chosen: str
) -> WorkflowHandle[object, Result]:
    """Start the fork.

    Raises:
        UsageError: the original has no such cycle, or the id is in use.
    """
    await register_search_attributes(client, place)
    record = await open_run(place, arguments.origin, client)
    with explain_refusals(arguments.origin), record.explain_damage():
        request, origin = await read_origin(record.source, arguments.origin, arguments.cycle)
    whose = override_ownership(arguments, record.priority)
    if arguments.id:
        await refuse_archived_id(place, chosen)
    bounded = _build_request(request, arguments, place.settings)
    forked = ForkRunRequest(**dict(bounded), origin=_add_feedback(origin, arguments.feedback))
    return await start_workflow(client, forked, chosen, whose)


def _build_request(request: RunRequest, arguments: Namespace, settings: Settings) -> RunRequest:
    """Return the request of the fork: that of its origin with its own limits; documents are not read again."""
    given = {name: getattr(arguments, name) for name in BOUNDS if getattr(arguments, name) is not None}
    if "max_cost_usd" in given:
        given["highest_price"] = find_reservation_price(settings, limited=True)
    limits: RunLimits = request.limits.model_copy(update=given)
    return request.model_copy(update={"ingest": (), "limits": limits})


def _add_feedback(origin: ForkOrigin, feedback: str | None) -> ForkOrigin:
    """Return the origin with feedback for the fork."""
    if feedback is None:
        return origin
    said = (*origin.checkpoint.feedback, Feedback(text=feedback.strip()))
    return origin.model_copy(update={"checkpoint": origin.checkpoint.model_copy(update={"feedback": said})})
