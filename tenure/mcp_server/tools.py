"""The tools: one table, from which the list for clients and the calls are made."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from typing import Any

from mcp.types import CallToolResult, Tool, ToolAnnotations
from pydantic import BaseModel

from tenure.contracts.base import Contract
from tenure.contracts.choices import RunMode
from tenure.contracts.run.control import RunCommand
from tenure.mcp_server.messages import (
    AnswerReply,
    AskArguments,
    CodeArguments,
    LabelArguments,
    LabelReply,
    ResearchArguments,
    Starting,
    StatusArguments,
    StatusReply,
    SteerArguments,
)
from tenure.mcp_server.repeats import start_or_join
from tenure.mcp_server.replies import build_result, build_run_result
from tenure.report.render.markdown import render_answer
from tenure.runs.messages import (
    AskBody,
    PassageList,
    RunDetails,
    RunFilter,
    RunLabel,
    SearchBody,
    StartRequest,
    SteerReply,
    validate_request,
)
from tenure.runs.service import Service
from tenure.runs.session.progress_lines import describe_state

SendProgress = Callable[[str], Awaitable[None]]
"""Function that informs the client about the progress of its call in one line."""

ToolHandler = Callable[[Service, Any, SendProgress], Awaitable[CallToolResult]]


@dataclass(frozen=True)
class ServedTool:
    """A tool that clients may call."""

    name: str
    description: str
    """Description for the model that chooses tools."""
    arguments: type[BaseModel]
    reply: type[Contract]
    """Model of the structured content of a result."""
    handler: ToolHandler
    """Function that performs a call to its end."""
    annotations: ToolAnnotations
    """Hints for clients."""
    mode: RunMode | None = None
    """Path of the run that a call starts; None for a tool that starts no run."""

    def describe(self) -> Tool:
        """Return the tool as clients list it."""
        return Tool(
            name=self.name,
            description=self.description,
            input_schema=self.arguments.model_json_schema(),
            output_schema=self.reply.model_json_schema(mode="serialization"),
            annotations=self.annotations,
        )


async def wait_for_run(service: Service, run_id: str, seconds: float, report: SendProgress) -> RunDetails:
    """Return the state of a run when it has ended or waits for a person, at the latest after a time."""
    last = await service.describe(run_id)
    try:
        async with asyncio.timeout(seconds), aclosing(service.follow(run_id)) as states:
            async for last in states:
                await report(describe_state(last))
                if last.progress is not None and last.progress.input_request is not None:
                    break
    except TimeoutError:
        pass  # the run continues, and its state is the reply
    return last


def build_request(mode: RunMode, arguments: Starting) -> StartRequest:
    """Return the request of a call that starts a run.

    Raises:
        InvalidRequest: a value does not fit.
    """
    values = arguments.model_dump(exclude=set(Starting.model_fields), exclude_unset=True)
    return validate_request(StartRequest, {"mode": mode} | values)


async def _start(service: Service, arguments: Starting, report: SendProgress, *, mode: RunMode) -> CallToolResult:
    """Start or join a run, and wait for it."""
    started = await start_or_join(service, build_request(mode, arguments), is_new=arguments.new)
    await report(f"run {started.id}" + (", which an earlier call has started" if started.is_joined else ""))
    details = await wait_for_run(service, started.id, arguments.wait_seconds, report)
    return await build_run_result(service, details)


async def _ask(service: Service, arguments: AskArguments, report: SendProgress) -> CallToolResult:
    if arguments.question is not None:
        await service.ask(
            arguments.run,
            validate_request(AskBody, arguments.model_dump(exclude={"run", "wait_seconds"}, exclude_unset=True)),
        )
    conversation = await service.read_conversation(arguments.run)
    try:
        async with (
            asyncio.timeout(arguments.wait_seconds),
            aclosing(service.follow_conversation(arguments.run)) as conversations,
        ):
            async for conversation in conversations:
                await report("answering" if conversation.is_running else "answered")
    except TimeoutError:
        pass  # the answer is written without the call, and a call without a question returns it
    reply = AnswerReply(run=arguments.run, is_running=conversation.is_running, answer=conversation.latest)
    if conversation.is_running:
        return build_result(reply, "The question is being answered. Call ask without a question for the answer.")
    if conversation.latest is None:
        return build_result(reply, conversation.failure or "No question was asked.", failed=True)
    return build_result(reply, render_answer(conversation.latest))


async def _status(service: Service, arguments: StatusArguments, report: SendProgress) -> CallToolResult:
    if arguments.run is not None:
        return await build_run_result(
            service, await wait_for_run(service, arguments.run, arguments.wait_seconds, report)
        )
    runs = (await service.list_runs(RunFilter(words=arguments.words, limit=arguments.limit))).runs
    lines = [f"{run.id}: {run.status}, {run.question}" for run in runs] or ["There is no such run."]
    return build_result(StatusReply(runs=runs), "\n".join(lines))


async def _steer(service: Service, arguments: SteerArguments, report: SendProgress) -> CallToolResult:
    command = RunCommand(name=arguments.command, **arguments.model_dump(exclude={"run", "command"}))
    reply = await service.steer(arguments.run, command)
    return build_result(reply, reply.effect)


async def _label(service: Service, arguments: LabelArguments, report: SendProgress) -> CallToolResult:
    given = arguments.model_dump(exclude={"run"}, exclude_unset=True)
    label = await service.label(arguments.run, validate_request(RunLabel, given))
    reply = LabelReply(run=arguments.run, title=label.title, tags=label.tags)
    return build_result(reply, f"{label.title or 'No title'}; tags: {', '.join(label.tags) or 'none'}")


async def _search(service: Service, arguments: SearchBody, report: SendProgress) -> CallToolResult:
    reply = await service.search(arguments)
    parts = [f"[{n}] {passage.title} ({passage.uri})\n{passage.text}" for n, passage in enumerate(reply.passages, 1)]
    return build_result(reply, "\n\n".join(parts) or "No passage was found.")


_STARTING = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=True)
_REPEATING = (
    "A call may be repeated, for example after a timeout: with an `id` it returns the run of that id, also after its "
    "end, and without one it joins the running run of the same arguments. `new` starts another run."
)
_READING = ToolAnnotations(read_only_hint=True, open_world_hint=False)

TOOLS = {
    tool.name: tool
    for tool in (
        ServedTool(
            "research",
            "Answer a question from documents, corpora, databases and, if asked to, the web, with a report in which "
            "every sentence names its source. Starts a durable run that takes minutes; the result is its report. "
            + _REPEATING,
            ResearchArguments,
            StatusReply,
            partial(_start, mode="research"),
            _STARTING,
            "research",
        ),
        ServedTool(
            "code",
            "Write or repair a program until it passes tests, in a sandbox. Starts a durable run that takes minutes; "
            "the result is its report with the program. " + _REPEATING,
            CodeArguments,
            StatusReply,
            partial(_start, mode="code"),
            _STARTING,
            "code",
        ),
        ServedTool(
            "ask",
            "Ask a follow-up question about a finished run, answered from the sources that the run has read.",
            AskArguments,
            AnswerReply,
            _ask,
            _STARTING,
        ),
        ServedTool(
            "status",
            "Return the state of a run, with its report if it has ended; without a run, list the latest runs.",
            StatusArguments,
            StatusReply,
            _status,
            _READING,
        ),
        ServedTool(
            "steer",
            "Send a command to a running run: feedback, outline, budget, approve, answer, pause, resume, finish or "
            "cancel.",
            SteerArguments,
            SteerReply,
            _steer,
            ToolAnnotations(read_only_hint=False, destructive_hint=True, open_world_hint=False),
        ),
        ServedTool(
            "label",
            "Give a run a title and tags, which lists of runs show and are searched by; without them, return both.",
            LabelArguments,
            LabelReply,
            _label,
            ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False),
        ),
        ServedTool(
            "search",
            "Search the corpora that were read before, and return the best passages with their sources.",
            SearchBody,
            PassageList,
            _search,
            _READING,
        ),
    )
}
"""Tools by name."""
