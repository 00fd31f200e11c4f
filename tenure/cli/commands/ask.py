"""Command `ask`: ask a follow-up question about a run and print the answer."""

import asyncio
from argparse import Namespace
from pathlib import Path

from tenure.cli.delivery import UNPROVED
from tenure.cli.follow import follow_workflow
from tenure.cli.progress.display import choose_display
from tenure.cli.requests import parse_request
from tenure.cli.terminal import make_stderr_console, print_json, print_markdown, print_note, print_notes
from tenure.contracts.result.ask import AskReply
from tenure.runs.ask import start_answer
from tenure.runs.messages import AskBody
from tenure.runs.run_ids import check_run
from tenure.runs.session.connection import open_session
from tenure.runs.session.server_target import ServerTarget, ensure_server
from tenure.settings import Settings


def ask(arguments: Namespace, settings: Settings) -> int:
    """Run the command."""
    check_run(arguments.id)
    body = parse_request(AskBody, arguments)
    place = ensure_server(settings)
    print_notes(place, arguments.verbosity)
    return asyncio.run(_ask_and_print(arguments, body, place))


async def _ask_and_print(arguments: Namespace, body: AskBody, place: ServerTarget) -> int:
    """Ask, wait for the answer and print it."""
    client = await open_session(place)
    handle = await start_answer(arguments.id, body, place, client)
    with choose_display(make_stderr_console(), arguments.verbosity) as display:
        answer = await follow_workflow(client, place, handle, display, query=False)
    _print(answer, arguments)
    return 0 if answer.status == "answered" else UNPROVED


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
