"""Command `ask`: ask a follow-up question about a run, in the conversation that belongs to it.

A conversation is a chain of executions under one workflow id: each holds the earlier turns, so a new question
continues from the latest one at any time.
"""

import asyncio
from argparse import Namespace
from pathlib import Path

from temporalio.client import Client, WorkflowHandle
from temporalio.exceptions import WorkflowAlreadyStartedError

from tenure.algorithms.writing.conversation import summarize_report
from tenure.cli.commands.start import find_reservation_price
from tenure.cli.delivery import UNPROVED
from tenure.cli.errors import CommandError, UsageError
from tenure.cli.formatting import truncate_bytes
from tenure.cli.progress.display import choose_display
from tenure.cli.run_ids import check_run
from tenure.cli.session.connection import ASK_WORKFLOW, explain_refusals, open_session
from tenure.cli.session.follow import follow_workflow
from tenure.cli.session.run_records import RunRecord, find_run, open_run
from tenure.cli.session.run_request import decode_argument, read_request
from tenure.cli.session.server_target import ServerTarget, ensure_server, print_notes
from tenure.cli.terminal import make_stderr_console, print_json, print_markdown, print_note
from tenure.contracts.base import RunId
from tenure.contracts.result.ask import AskReply, AskRequest, Thread
from tenure.contracts.result.result import Result
from tenure.contracts.run.run import MAX_QUESTION_CHARACTERS, RunLimits, RunRequest
from tenure.settings import Settings
from workflows.runtime.task_queues import TENURE_QUEUE

MAX_PAGES_PER_SEARCH = 3
"""Maximum number of web pages read for one search of a follow-up question."""


def ask(arguments: Namespace, settings: Settings) -> int:
    """Run the command."""
    check_run(arguments.id)
    if len(arguments.question) > MAX_QUESTION_CHARACTERS:
        length = len(arguments.question)
        raise UsageError(f"a question has at most {MAX_QUESTION_CHARACTERS:,} characters, and this one has {length:,}")
    place = ensure_server(settings)
    print_notes(place, arguments.verbosity)
    return asyncio.run(_ask_and_print(arguments, place))


async def _ask_and_print(arguments: Namespace, place: ServerTarget) -> int:
    """Ask, wait for the answer and print it."""
    client = await open_session(place)
    handle = await start_answer(arguments, place, client)
    with choose_display(make_stderr_console(), arguments.verbosity) as display:
        answer = await follow_workflow(client, place, handle, display, query=False)
    _print(answer, arguments)
    return 0 if answer.status == "answered" else UNPROVED


async def start_answer(arguments: Namespace, place: ServerTarget, client: Client) -> WorkflowHandle[object, AskReply]:
    """Start the answering of a question in the conversation of its run.

    Raises:
        UsageError: the run reads nothing that could be asked about.
        CommandError: another question about the run is being answered.
    """
    record, name = await open_run(place, arguments.id, client), make_thread_id(arguments.id)
    thread = None if arguments.new else await find_run(place, name, client)
    request = await _build_request(record, thread, arguments, place.settings)
    try:
        with explain_refusals(name):
            return await client.start_workflow(
                ASK_WORKFLOW,
                request,
                id=name,
                task_queue=TENURE_QUEUE,
                result_type=AskReply,
                static_summary=truncate_bytes(request.question),
                priority=record.priority,
            )
    except WorkflowAlreadyStartedError as error:
        raise CommandError(
            f"a question about {arguments.id} is being answered: ask again when it is finished"
        ) from error


def make_thread_id(run_id: str) -> str:
    """Return the workflow id of the conversation about a run."""
    return f"{run_id}/ask"


async def _build_request(
    record: RunRecord, conversation: RunRecord | None, arguments: Namespace, settings: Settings
) -> AskRequest:
    """Return the question with the corpora it may read and the earlier turns.

    Raises:
        UsageError: the run reads nothing that could be asked about.
    """
    with explain_refusals(arguments.id), record.explain_damage():
        run = await read_request(record.source, arguments.id)
        thread = await (read_thread(conversation) if conversation else _begin_thread(record))
    limits = _build_limits(arguments, run, settings)
    corpora = _list_corpora(arguments.id, run, web=bool(limits.web) or thread.read_web)
    if not corpora:
        raise UsageError(f"run {arguments.id} has read no documents to ask about")
    return AskRequest(
        run=RunId(arguments.id),
        topic=run.question,
        question=arguments.question,
        corpora=corpora,
        databases=run.databases,
        limits=limits,
        search=arguments.search_again,
        thread=thread,
    )


async def read_thread(conversation: RunRecord) -> Thread:
    """Return the turns of the latest execution, including the earlier ones it continued."""
    if conversation.is_completed:
        return (await conversation.read_result(AskReply)).thread
    event = await conversation.source.fetch_first_event(conversation.id)
    payloads = event.workflow_execution_started_event_attributes.input.payloads
    return (await decode_argument(conversation.source.converter, payloads, AskRequest)).thread


async def _begin_thread(record: RunRecord) -> Thread:
    """Return a thread with the answer and the numbered sources of the report; empty without a report."""
    if not record.is_completed:
        return Thread()
    result = await record.read_result(Result)
    return Thread(report=summarize_report(result), sources=tuple(source.id for source in result.sources))


def _list_corpora(run_id: str, run: RunRequest, *, web: bool) -> tuple[str, ...]:
    """Return the corpora to search: those of the run, and the pages read for its follow-up questions."""
    scope = run.limits.web
    if scope is None:
        return run.corpora
    names = [run_id, *([make_thread_id(run_id)] if web else [])]
    return (*run.corpora, *(scope.model_copy(update={"run": RunId(name)}).corpus for name in names))


def _build_limits(arguments: Namespace, run: RunRequest, settings: Settings) -> RunLimits:
    """Return the limits of an answer: those of the run with a budget of its own."""
    scope = run.limits.web if arguments.search_again else None
    web = scope and scope.model_copy(
        update={"run": RunId(make_thread_id(arguments.id)), "max_pages": min(MAX_PAGES_PER_SEARCH, scope.max_pages)}
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
            "search_mode": arguments.search_mode or run.limits.search_mode,
            "fresh": bool(arguments.fresh),
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
        from tenure.report.render.markdown import render_answer

        print_markdown(render_answer(answer, Path.cwd()))
    else:
        again = "" if arguments.search_again else ", or search again with --search-again"
        advice = f"use the words of the documents{again}"
        print_note(f"no passage was found in the documents of run {arguments.id} that answers this question: {advice}")
    for call in answer.fallbacks:
        print_note(f"{call.role} was answered without the model: {call.reason}")
