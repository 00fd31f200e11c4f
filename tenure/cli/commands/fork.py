"""`fork`: a new run that goes on from a cycle of an earlier one, with what was known then."""

import asyncio
from argparse import Namespace

from tenure.cli.commands.start import begin, dearest_price, see
from tenure.cli.delivery import check_delivery
from tenure.cli.errors import UsageError
from tenure.cli.ownership import turn, turn_after, turn_of
from tenure.cli.run_ids import check_run, fork_id
from tenure.cli.session.connection import explained, open_session, register_search_attributes
from tenure.cli.session.run_request import origin_of
from tenure.cli.session.server_target import Place, announce, ensure
from tenure.contracts.research.fork import ForkedRun, Origin
from tenure.contracts.run.run import Feedback, Limits, RunRequest
from tenure.settings import Settings

LONGEST = 4_000
"""Characters of what a person says to a fork."""

BOUNDS = ("max_cycles", "max_tokens", "max_cost_usd", "max_calls")
"""Limits of the original that the command line may replace."""


def fork(arguments: Namespace, settings: Settings) -> int:
    """Run the command."""
    check_run(arguments.origin)
    chosen = check_run(arguments.id) if arguments.id else fork_id(arguments.origin, arguments.cycle)
    check_delivery(arguments)
    if arguments.feedback and len(arguments.feedback.strip()) > LONGEST:
        raise UsageError(f"--feedback has at most {LONGEST:,} characters")
    turn(arguments)
    place = ensure(settings)
    announce(place)
    return asyncio.run(_fork(arguments, place, chosen))


async def _fork(arguments: Namespace, place: Place, chosen: str) -> int:
    """Start the fork and see it to its end."""
    client = await open_session(place)
    await register_search_attributes(client, place)
    with explained(arguments.origin):
        request, origin = await origin_of(client, arguments.origin, arguments.cycle)
        whose = turn_after(arguments, turn_of(await client.get_workflow_handle(arguments.origin).describe()))
    bounded = _bounded(request, arguments, place.settings)
    forked = ForkedRun(**dict(bounded), origin=_told(origin, arguments.feedback))
    handle = await begin(client, forked, chosen, whose)
    return await see(arguments, place, client, handle)


def _bounded(request: RunRequest, arguments: Namespace, settings: Settings) -> RunRequest:
    """Return the request of the fork: that of its origin, whose documents are not read again, in bounds of its own."""
    given = {name: getattr(arguments, name) for name in BOUNDS if getattr(arguments, name) is not None}
    if "max_cost_usd" in given:
        given["dearest"] = dearest_price(settings, limited=True)
    limits: Limits = request.limits.model_copy(update=given)
    return request.model_copy(update={"ingest": (), "limits": limits})


def _told(origin: Origin, feedback: str | None) -> Origin:
    """Return the origin with what a person says to the fork."""
    if feedback is None:
        return origin
    said = (*origin.end.feedback, Feedback(text=feedback.strip()))
    return origin.model_copy(update={"end": origin.end.model_copy(update={"feedback": said})})
