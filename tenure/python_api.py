"""Python interface: start, follow, steer and read runs from a script or a notebook.

It calls the functions behind the page and the HTTP API, so that a run is the same from everywhere.
"""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from os import PathLike
from pathlib import Path
from typing import TypedDict, Unpack

from pydantic import ValidationError

from tenure.cli.errors import CommandError, UsageError
from tenure.cli.terminal import print_note
from tenure.contracts.evidence.passages import SearchMode
from tenure.contracts.result.ask import AskReply
from tenure.contracts.result.result import Result
from tenure.contracts.run.control import BudgetBounds, OutlineTopic, RunCommand
from tenure.contracts.run.limit_fields import Complexity
from tenure.contracts.run.run import RunMode
from tenure.local_models.choice import choose_model
from tenure.settings import Settings
from tenure.site.api import describe_fault
from tenure.site.messages import AskBody, CitationFormat, ReportFormat, RunDetails, StartRequest
from tenure.site.service import Service, open_service

PathName = str | PathLike[str]


class RunOptions(TypedDict, total=False):
    """Conditions of a run; those that are not given are those of the settings.

    Attributes:
        id: name of the run; made from the question by default.
        mode: `research`, `code`, or `auto` to let the run decide.
        docs: files and folders to read.
        files: files that a program reads or changes.
        tests: files with tests that a program must pass.
        include_secrets: whether files that contain keys, passwords or tokens are read as well.
        corpora: existing corpora to read.
        databases: databases to query.
        web: whether the web is read.
        providers: search providers of the web.
        domains: domains to read, or never to read with a leading minus.
        filters: conditions on passages, such as `published>=2020`.
        memory: whether memories of earlier runs are used and new ones are kept.
        effort: amount of work.
        search_mode: search mode of every search.
        language: language of the report.
        max_cycles: maximum number of research cycles.
        max_sections: maximum number of sections.
        max_searches: maximum number of searches.
        max_seconds: maximum duration.
        max_tokens: maximum number of tokens.
        max_cost_usd: maximum cost in US dollars.
        max_calls: maximum number of model calls.
        approve_plan: whether the run waits until its plan is approved.
        interactive: whether the run asks questions.
    """

    id: str
    mode: RunMode
    docs: Sequence[PathName]
    files: Sequence[PathName]
    tests: Sequence[PathName]
    include_secrets: bool
    corpora: Sequence[str]
    databases: Sequence[str]
    web: bool
    providers: Sequence[str]
    domains: Sequence[str]
    filters: Sequence[str]
    memory: bool
    effort: Complexity
    search_mode: SearchMode
    language: str
    max_cycles: int
    max_sections: int
    max_searches: int
    max_seconds: float
    max_tokens: int
    max_cost_usd: float
    max_calls: int
    approve_plan: bool
    interactive: bool


class RunHandle:
    """A run, running or ended.

    Attributes:
        id: id of the run, by which `open_run` finds it again in another process.
        url: URL of its page in the web UI of Temporal; empty if unknown.
    """

    def __init__(self, service: Service, run_id: str) -> None:
        self._service = service
        self.id = run_id
        self.url = service.place.build_run_url(run_id)

    def __repr__(self) -> str:
        return f"RunHandle({self.id!r})"

    async def describe(self) -> RunDetails:
        """Return the present state."""
        return await self._service.describe(self.id)

    def follow(self) -> AsyncGenerator[RunDetails, None]:
        """Yield the state now, after each change, and at the end."""
        return self._service.follow(self.id)

    async def wait(self) -> Result:
        """Wait for the end, also across an outage of the server, and return the result document.

        Raises:
            CommandError: the run failed, or the server was away for too long.
        """
        return await self._service.wait(self.id, print_note)

    async def report(self, format: ReportFormat = "md", citations: CitationFormat = "numeric") -> bytes:
        """Return the report of an ended run in a format."""
        return await self._service.render_report(self.id, format, citations)

    async def ask(self, question: str, *, search_again: bool = False, new: bool = False) -> AskReply:
        """Ask a follow-up question and wait for its answer.

        Raises:
            CommandError: the question cannot be answered.
        """
        await self._service.ask(self.id, AskBody(question=question, search_again=search_again, new=new))
        async for conversation in self._service.follow_conversation(self.id):
            if conversation.latest is not None:
                return conversation.latest
        raise CommandError(conversation.failure)

    async def feedback(self, text: str, topic: str | None = None) -> str:
        """Send feedback on a section or the whole report, and return its effect."""
        return await self._send(RunCommand(name="feedback", text=text, topic=topic))

    async def set_outline(self, topics: Sequence[str | OutlineTopic]) -> str:
        """Set the topics of the report, as lines of an outline file or as objects, and return the effect."""
        outline = tuple(OutlineTopic.model_validate(topic) for topic in topics)
        return await self._send(RunCommand(name="outline", outline=outline))

    async def set_budget(
        self,
        *,
        max_tokens: int | None = None,
        max_cost_usd: float | None = None,
        max_calls: int | None = None,
        max_searches: int | None = None,
        max_seconds: float | None = None,
    ) -> str:
        """Change what the run may use, and return the effect."""
        budget = BudgetBounds(
            max_tokens=max_tokens,
            max_cost_usd=max_cost_usd,
            max_calls=max_calls,
            max_searches=max_searches,
            max_seconds=max_seconds,
        )
        return await self._send(RunCommand(name="budget", budget=budget))

    async def approve(self) -> str:
        """Approve the plan that waits for approval, and return the effect."""
        return await self._send(RunCommand(name="approve"))

    async def answer(self, text: str) -> str:
        """Answer the question of the run, and return the effect."""
        return await self._send(RunCommand(name="answer", text=text))

    async def pause(self) -> str:
        """Pause the run before its next step, and return the effect."""
        return await self._send(RunCommand(name="pause"))

    async def resume(self) -> str:
        """Resume the paused run, and return the effect."""
        return await self._send(RunCommand(name="resume"))

    async def finish(self) -> str:
        """End the gathering of evidence, so that the report is written, and return the effect."""
        return await self._send(RunCommand(name="finish"))

    async def cancel(self, *, discard: bool = False) -> str:
        """Stop the run, which delivers its finished sections unless they are discarded, and return the effect."""
        return await self._send(RunCommand(name="cancel", discard=discard))

    async def _send(self, command: RunCommand) -> str:
        return await self._service.steer(self.id, command)


async def start(question: str, *, home: PathName | None = None, **options: Unpack[RunOptions]) -> RunHandle:
    """Start a run, and the local stack if it is needed and not running.

    Args:
        question: question or task.
        home: folder of all state; that of the settings by default.
        **options: conditions of the run.

    Raises:
        CommandError: the run cannot be started.
    """
    given = {name: value for name, value in options.items() if value is not None}
    for name in ("docs", "files", "tests"):
        if name in given:
            given[name] = _make_absolute(given[name])
    try:
        request = StartRequest.model_validate({"question": question} | given)
    except ValidationError as error:
        raise UsageError(describe_fault(error)) from error
    service = await open_service(_load_settings(home))
    return RunHandle(service, (await service.start(request)).id)


async def open_run(run_id: str, *, home: PathName | None = None) -> RunHandle:
    """Open a run by its id.

    Args:
        run_id: id of the run.
        home: folder of all state; that of the settings by default.

    Raises:
        CommandError: there is no such run.
    """
    service = await open_service(_load_settings(home))
    return RunHandle(service, (await service.describe(run_id)).id)


async def research(question: str, *, home: PathName | None = None, **options: Unpack[RunOptions]) -> Result:
    """Run a question to its end and return the result document.

    Args:
        question: question or task.
        home: folder of all state; that of the settings by default.
        **options: conditions of the run.

    Raises:
        CommandError: the run cannot be started, or failed.
    """
    return await (await start(question, home=home, **options)).wait()


def research_sync(question: str, *, home: PathName | None = None, **options: Unpack[RunOptions]) -> Result:
    """Run a question to its end from a program without an event loop, and return the result document.

    Args:
        question: question or task.
        home: folder of all state; that of the settings by default.
        **options: conditions of the run.

    Raises:
        CommandError: the run cannot be started, or failed.
    """
    return asyncio.run(research(question, home=home, **options))


def _load_settings(home: PathName | None) -> Settings:
    return choose_model(Settings() if home is None else Settings(home=Path(home).expanduser()))


def _make_absolute(paths: object) -> list[str]:
    """Return paths relative to the current folder as absolute ones.

    Raises:
        UsageError: they are no list of paths.
    """
    if isinstance(paths, str | PathLike) or not isinstance(paths, Sequence):
        raise UsageError("docs, files and tests are lists of paths")
    return [str(Path(path).expanduser().absolute()) for path in paths]
