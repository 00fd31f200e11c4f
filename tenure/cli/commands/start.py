"""Command `start`: start what is needed, start a run, follow it and deliver its report."""

import asyncio
from argparse import Namespace

from temporalio.client import Client, WorkflowHandle

from tenure.cli.commands.batches import DEFAULT_PARALLEL_RUNS, make_batch_id, read_batch, run_batch
from tenure.cli.costs import describe_cost, describe_estimate
from tenure.cli.delivery import check_delivery, deliver
from tenure.cli.follow import follow_workflow
from tenure.cli.progress.display import choose_display
from tenure.cli.requests import parse_request
from tenure.cli.terminal import make_stderr_console, print_json, print_note, print_notes, print_status
from tenure.contracts.result.batch import BatchItem, BatchRequest
from tenure.contracts.result.result import Result
from tenure.installation import PROGRAM
from tenure.local_models.servers import find_servers
from tenure.runs.errors import InvalidRequest
from tenure.runs.messages import StartRequest
from tenure.runs.paths import allow_reading
from tenure.runs.run_ids import check_run
from tenure.runs.session.connection import open_session, register_search_attributes
from tenure.runs.session.server_target import ServerTarget, ensure_server
from tenure.runs.start import (
    PlannedRun,
    add_notifications,
    check_corpora,
    find_reservation_price,
    launch_run,
    plan_run,
)
from tenure.settings import ClientSettings, Settings
from tenure.settings.models import AUTO_MODEL, ChatModelSettings
from tenure.temporal.namespace_binding import describe_other_base


def start(arguments: Namespace, settings: Settings) -> int:
    """Run the command."""
    if arguments.batch is not None:
        return _start_batch(arguments, settings)
    if arguments.question is None or arguments.parallel is not None:
        raise InvalidRequest(
            "give a question, or a file of questions with --batch FILE; --parallel N sets the number of concurrent runs"
        )
    _suggest_models(arguments, settings)
    planned = plan(parse_request(StartRequest, arguments), settings)
    check_delivery(arguments)
    place = ensure_server(settings)
    print_notes(place, arguments.verbosity)
    return asyncio.run(_run(arguments, place, planned))


def plan(request: StartRequest, settings: ClientSettings) -> PlannedRun:
    """Return the run of a request, and print what the person should know."""
    planned = plan_run(request, settings)
    for note in planned.notes:
        print_note(note)
    return planned


def _start_batch(arguments: Namespace, settings: Settings) -> int:
    """Ask the questions of a file.

    Raises:
        InvalidRequest: a question or an output file is given as well.
    """
    if arguments.question is not None:
        raise InvalidRequest("--batch FILE and a question exclude each other")
    if arguments.output is not None or arguments.format is not None:
        raise InvalidRequest(f"a batch ends in a summary: `{PROGRAM} report RUN -o FILE` writes the report of a run")
    items = read_batch(arguments.batch)
    _suggest_models(arguments, settings)
    planned = plan(parse_request(StartRequest, arguments, {"question": items[0].question}), settings)
    if any(item.max_cost_usd for item in items):
        find_reservation_price(settings, limited=True)
    chosen = planned.id if planned.is_named else check_run(make_batch_id(arguments.batch, items))
    place = ensure_server(settings)
    print_notes(place, arguments.verbosity)
    allow_reading(settings, planned.request.ingest, chosen, planned.request.files)
    return asyncio.run(_run_batch(arguments, place, planned, items, chosen))


def _suggest_models(arguments: Namespace, settings: ChatModelSettings) -> None:
    """Name the model servers of this machine if no model is configured."""
    if settings.has_model or settings.model == AUTO_MODEL:
        return
    for server in find_servers():
        print_status(server.describe(f"{PROGRAM} start"), arguments.verbosity)


async def _run(arguments: Namespace, place: ServerTarget, planned: PlannedRun) -> int:
    """Start the run and follow it to its end."""
    client = await open_session(place)
    await _print_other_base(client, place)
    handle, notes = await launch_run(planned, place, client)
    for note in notes:
        print_note(note)
    if planned.request.limits.has_model and planned.request.mode != "code":
        print_status(describe_estimate(planned.request.limits), arguments.verbosity)
    return await follow_started_run(arguments, place, client, handle)


async def _print_other_base(client: Client, place: ServerTarget) -> None:
    """Warn if the run uses another knowledge base than this home's; the server of this home has no other workers."""
    if not place.is_local and (other := await describe_other_base(client, place.settings)):
        print_note(f"warning: {other}")


async def follow_started_run(
    arguments: Namespace, place: ServerTarget, client: Client, handle: WorkflowHandle[object, Result]
) -> int:
    """Follow a started run to its end, unless the command is detached."""
    chosen = handle.id
    print_status(
        f"run {chosen}" + (f", web UI: {place.build_run_link(chosen)}" if place.ui else ""), arguments.verbosity
    )
    if arguments.detach:
        if arguments.json:
            print_json({"id": chosen, "url": place.build_run_link(chosen), "status": "running"})
        else:
            print_status(f"follow it with `{PROGRAM} watch {chosen}`", arguments.verbosity)
        return 0
    with choose_display(make_stderr_console(), arguments.verbosity) as display:
        result = await follow_workflow(client, place, handle, display)
    code = deliver(result, arguments)
    if result.usage.model_calls:
        print_status(describe_cost(result.usage), arguments.verbosity)
    link = f", or {place.build_run_link(chosen)}" if place.ui else ""
    print_status(f"again: `{PROGRAM} report {chosen}`{link}", arguments.verbosity)
    return code


async def _run_batch(
    arguments: Namespace, place: ServerTarget, planned: PlannedRun, items: tuple[BatchItem, ...], chosen: str
) -> int:
    """Check the corpora of a batch, then run it."""
    client = await open_session(place)
    await _print_other_base(client, place)
    await register_search_attributes(client, place)
    shared = add_notifications(planned.request, place)
    await check_corpora(client, shared)
    request = BatchRequest(shared=shared, items=items, max_parallel=arguments.parallel or DEFAULT_PARALLEL_RUNS)
    return await run_batch(arguments, place, client, request, chosen, planned.priority)
