"""Command `ask`: ask a follow-up question about a run, in the conversation that belongs to it.

A conversation is a chain of executions under one workflow id: each holds the earlier turns, so a new question
continues from the latest one at any time.
"""

import asyncio
from argparse import Namespace
from pathlib import Path

from temporalio.client import Client, WorkflowExecutionStatus, WorkflowHandle
from temporalio.exceptions import WorkflowAlreadyStartedError
from temporalio.service import RPCError, RPCStatusCode

from tenure.cli.commands.start import find_reservation_price
from tenure.cli.delivery import UNPROVED
from tenure.cli.display import choose_display
from tenure.cli.errors import CommandError, UsageError
from tenure.cli.formatting import truncate_bytes
from tenure.cli.ownership import read_ownership
from tenure.cli.run_ids import check_run
from tenure.cli.session.connection import ASK_WORKFLOW, explain_refusals, open_session
from tenure.cli.session.follow import follow_workflow
from tenure.cli.session.run_request import decode_argument, read_request
from tenure.cli.session.server_target import ServerTarget, ensure_server, print_notes
from tenure.cli.terminal import make_stderr_console, print_json, print_markdown, print_note
from tenure.contracts.base import RunId, SourceId
from tenure.contracts.result.ask import AskReply, AskRequest, Thread
from tenure.contracts.result.result import Result
from tenure.contracts.run.run import RunLimits, RunRequest
from tenure.settings import Settings
from workflows.runtime.task_queues import TENURE_QUEUE

MAX_QUESTION_CHARS = 20_000
"""Maximum length of a question."""

MAX_PAGES_PER_SEARCH = 3
"""Maximum number of web pages read for one search of a follow-up question."""


def ask(arguments: Namespace, settings: Settings) -> int:
    """Run the command."""
    check_run(arguments.id)
    if len(arguments.question) > MAX_QUESTION_CHARS:
        raise UsageError(
            f"a question has at most {MAX_QUESTION_CHARS:,} characters, and this one has {len(arguments.question):,}"
        )
    place = ensure_server(settings)
    print_notes(place)
    return asyncio.run(_ask_and_print(arguments, place))


async def _ask_and_print(arguments: Namespace, place: ServerTarget) -> int:
    """Ask, wait for the answer and print it."""
    client = await open_session(place)
    request = await _build_request(client, arguments, place.settings)
    name = _thread_id(arguments.id)
    try:
        with explain_refusals(name):
            about = await client.get_workflow_handle(arguments.id).describe()
            handle: WorkflowHandle[object, AskReply] = await client.start_workflow(
                ASK_WORKFLOW,
                request,
                id=name,
                task_queue=TENURE_QUEUE,
                result_type=AskReply,
                static_summary=truncate_bytes(request.question),
                priority=read_ownership(about),
            )
    except WorkflowAlreadyStartedError as error:
        raise CommandError(
            f"a question about {arguments.id} is being answered: ask again when it is finished"
        ) from error
    with choose_display(make_stderr_console()) as display:
        answer = await follow_workflow(client, place, handle, display, query=False)
    _print(answer, arguments)
    return 0 if answer.status == "answered" else UNPROVED


def _thread_id(run_id: str) -> str:
    return f"{run_id}/ask"


async def _build_request(client: Client, arguments: Namespace, settings: Settings) -> AskRequest:
    """Return the question with the corpora it may read and the earlier turns.

    Raises:
        UsageError: the run reads nothing that could be asked about.
    """
    handle = client.get_workflow_handle(arguments.id, result_type=Result)
    with explain_refusals(arguments.id):
        run = await read_request(client, handle)
        thread = None if arguments.new else await _read_conversation(client, arguments.id)
        if thread is None:
            thread = Thread(sources=await _number_sources(handle))
    limits = _build_limits(arguments, run, settings)
    corpora = _list_corpora(arguments.id, run, web=bool(limits.web) or thread.read_web)
    if not corpora:
        raise UsageError(f"run {arguments.id} has read no documents to ask about")
    return AskRequest(
        run=RunId(arguments.id),
        topic=run.question,
        question=arguments.question,
        corpora=corpora,
        limits=limits,
        search=arguments.search,
        thread=thread,
    )


async def _read_conversation(client: Client, run_id: str) -> Thread | None:
    """Return the turns of the latest execution, including the earlier ones it continued."""
    handle: WorkflowHandle[object, AskReply] = client.get_workflow_handle(_thread_id(run_id), result_type=AskReply)
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
        return (await decode_argument(client, started.input.payloads, AskRequest)).thread
    raise AssertionError("a history begins with an event")


async def _number_sources(handle: WorkflowHandle[object, Result]) -> tuple[SourceId, ...]:
    """Return the sources of the report by number; empty without a report."""
    if (await handle.describe()).status != WorkflowExecutionStatus.COMPLETED:
        return ()
    return tuple(SourceId(source.id) for source in (await handle.result()).sources)


def _list_corpora(run_id: str, run: RunRequest, *, web: bool) -> tuple[str, ...]:
    """Return the corpora to search: those of the run, and the pages read for its follow-up questions."""
    scope = run.limits.web
    if scope is None:
        return run.corpora
    names = [run_id, *([_thread_id(run_id)] if web else [])]
    return (*run.corpora, *(scope.model_copy(update={"run": RunId(name)}).corpus for name in names))


def _build_limits(arguments: Namespace, run: RunRequest, settings: Settings) -> RunLimits:
    """Return the limits of an answer: those of the run with a budget of its own."""
    scope = run.limits.web if arguments.search else None
    web = scope and scope.model_copy(
        update={"run": RunId(_thread_id(arguments.id)), "max_pages": min(MAX_PAGES_PER_SEARCH, scope.max_pages)}
    )
    limited = arguments.max_cost_usd is not None
    return run.limits.model_copy(
        update={
            "web": web,
            "max_tokens": arguments.max_tokens,
            "max_cost_usd": arguments.max_cost_usd,
            "max_calls": arguments.max_calls,
            "max_searches": None,
            "max_seconds": None,
            "highest_price": find_reservation_price(settings, limited=True) if limited else None,
        }
    )


def _print(answer: AskReply, arguments: Namespace) -> None:
    """Print the answer and its notes."""
    if arguments.json:
        print_json(answer.model_dump(mode="json"))
        return
    if answer.standalone_question != answer.question:
        print_note(f"understood as: {answer.standalone_question}")
    if answer.status == "answered":
        from tenure.report.render.answer import render_answer

        print_markdown(render_answer(answer, Path.cwd()))
    else:
        again = "" if arguments.search else ", or search again with --search"
        print_note(f"no document of run {arguments.id} answers this question: use the words of the documents{again}")
    for call in answer.fallbacks:
        print_note(f"{call.role} was answered without the model: {call.reason}")
