"""`ask`: a follow-up question about a run, and the conversation that it belongs to.

A conversation is a chain of executions under one workflow id: each holds what was said before it, so that a new
question starts from the latest, however long ago that was.
"""

import asyncio
from argparse import Namespace
from pathlib import Path

from temporalio.client import Client, WorkflowExecutionStatus, WorkflowHandle
from temporalio.exceptions import WorkflowAlreadyStartedError
from temporalio.service import RPCError, RPCStatusCode

from tenure.cli.commands.start import dearest_price
from tenure.cli.delivery import UNPROVED
from tenure.cli.display import display_for
from tenure.cli.errors import CommandError, UsageError
from tenure.cli.formatting import within_bytes
from tenure.cli.ownership import turn_of
from tenure.cli.run_ids import check_run
from tenure.cli.session.connection import ASK_WORKFLOW, explained, open_session
from tenure.cli.session.follow import follow
from tenure.cli.session.run_request import decoded, request_of
from tenure.cli.session.server_target import Place, announce, ensure
from tenure.cli.terminal import print_json, print_markdown, say, stderr_console
from tenure.contracts.base import RunId, SourceId
from tenure.contracts.result.ask import Answer, AskRequest, Thread
from tenure.contracts.result.result import Result
from tenure.contracts.run.run import Limits, RunRequest
from tenure.settings import Settings
from workflows.runtime.task_queues import TENURE_QUEUE

LONGEST = 20_000
"""Characters of a question."""

PAGES = 3
"""Pages of the web that are read for one search of a follow-up question."""


def ask(arguments: Namespace, settings: Settings) -> int:
    """Run the command."""
    check_run(arguments.id)
    if len(arguments.question) > LONGEST:
        raise UsageError(f"a question has at most {LONGEST:,} characters, and this one has {len(arguments.question):,}")
    place = ensure(settings)
    announce(place)
    return asyncio.run(_ask(arguments, place))


async def _ask(arguments: Namespace, place: Place) -> int:
    """Ask, wait for the answer, print it."""
    client = await open_session(place)
    request = await _request(client, arguments, place.settings)
    name = _thread_id(arguments.id)
    try:
        with explained(name):
            about = await client.get_workflow_handle(arguments.id).describe()
            handle: WorkflowHandle[object, Answer] = await client.start_workflow(
                ASK_WORKFLOW,
                request,
                id=name,
                task_queue=TENURE_QUEUE,
                result_type=Answer,
                static_summary=within_bytes(request.question),
                priority=turn_of(about),
            )
    except WorkflowAlreadyStartedError as error:
        raise CommandError(
            f"a question about {arguments.id} is being answered right now: ask when it is over"
        ) from error
    with display_for(stderr_console()) as display:
        answer = await follow(client, place, handle, display, query=False)
    _print(answer, arguments)
    return 0 if answer.status == "answered" else UNPROVED


def _thread_id(run_id: str) -> str:
    return f"{run_id}/ask"


async def _request(client: Client, arguments: Namespace, settings: Settings) -> AskRequest:
    """Return the question with what it may read, and what was said before it.

    Raises:
        UsageError: the run reads nothing that could be asked about.
    """
    handle = client.get_workflow_handle(arguments.id, result_type=Result)
    with explained(arguments.id):
        run = await request_of(client, handle)
        thread = None if arguments.new else await _thread(client, arguments.id)
        if thread is None:
            thread = Thread(sources=await _numbered(handle))
    limits = _limits(arguments, run, settings)
    corpora = _corpora(arguments.id, run, web=bool(limits.web) or thread.read_web)
    if not corpora:
        raise UsageError(f"run {arguments.id} has read no documents, so there is nothing to ask about")
    return AskRequest(
        run=RunId(arguments.id),
        topic=run.question,
        question=arguments.question,
        corpora=corpora,
        limits=limits,
        search=arguments.search,
        thread=thread,
    )


async def _thread(client: Client, run_id: str) -> Thread | None:
    """Return what the latest execution remembers: of what it has answered, or else of what came before it."""
    handle: WorkflowHandle[object, Answer] = client.get_workflow_handle(_thread_id(run_id), result_type=Answer)
    try:
        description = await handle.describe()
    except RPCError as error:
        if error.status != RPCStatusCode.NOT_FOUND:
            raise
        return None
    if description.status == WorkflowExecutionStatus.COMPLETED:
        return (await handle.result()).thread
    async for event in handle.fetch_history_events(page_size=1):
        started = event.workflow_execution_started_event_attributes
        return (await decoded(client, started.input.payloads, AskRequest)).thread
    raise AssertionError("a history begins with an event")


async def _numbered(handle: WorkflowHandle[object, Result]) -> tuple[SourceId, ...]:
    """Return the sources of the report by their numbers; none while there is no report."""
    if (await handle.describe()).status != WorkflowExecutionStatus.COMPLETED:
        return ()
    return tuple(SourceId(source.id) for source in (await handle.result()).sources)


def _corpora(run_id: str, run: RunRequest, *, web: bool) -> tuple[str, ...]:
    """Return what is searched: what the run reads, and the pages that were read for its follow-up questions."""
    scope = run.limits.web
    if scope is None:
        return run.corpora
    names = [run_id, *([_thread_id(run_id)] if web else [])]
    return (*run.corpora, *(scope.model_copy(update={"run": RunId(name)}).corpus for name in names))


def _limits(arguments: Namespace, run: RunRequest, settings: Settings) -> Limits:
    """Return the bounds of an answer: those of the run, but with a budget of its own."""
    scope = run.limits.web if arguments.search else None
    web = scope and scope.model_copy(update={"run": RunId(_thread_id(arguments.id)), "pages": min(PAGES, scope.pages)})
    limited = arguments.max_cost_usd is not None
    return run.limits.model_copy(
        update={
            "web": web,
            "max_tokens": arguments.max_tokens,
            "max_cost_usd": arguments.max_cost_usd,
            "max_calls": arguments.max_calls,
            "max_searches": None,
            "max_seconds": None,
            "dearest": dearest_price(settings, limited=True) if limited else None,
        }
    )


def _print(answer: Answer, arguments: Namespace) -> None:
    """Print the answer, and what a reader should know about it."""
    if arguments.json:
        print_json(answer.model_dump(mode="json"))
        return
    if answer.asked != answer.question:
        say(f"understood as: {answer.asked}")
    if answer.status == "answered":
        from tenure.report.render.answer import render

        print_markdown(render(answer, Path.cwd()))
    else:
        again = "" if arguments.search else ", or let it search more with --search"
        say(f"nothing that run {arguments.id} has read answers that: ask in words of the documents{again}")
    for call in answer.degraded:
        say(f"{call.role} was answered without the model: {call.reason}")
