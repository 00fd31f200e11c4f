"""Python interface: start, follow, steer and read runs from a script or a notebook.

It calls the operations that all faces share, so that a run is the same from everywhere. A notebook shows the progress
and the report of a run; otherwise nothing is printed.
"""

import asyncio
import html
import logging
import sys
from collections.abc import AsyncGenerator, Callable, Sequence
from functools import wraps
from inspect import Parameter, Signature, cleandoc, signature
from pathlib import Path
from string import Template
from typing import Any, Concatenate, ParamSpec, TypeVar

from tenure.contracts.choices import CitationStyle, ReportFormat, ReportProofs
from tenure.contracts.result.ask import AskReply
from tenure.contracts.result.result import Result
from tenure.contracts.run.control import BudgetBounds, OutlineTopic, RunCommand
from tenure.contracts.run.options import get_option
from tenure.local_models.choice import choose_model
from tenure.runs.errors import InvalidRequest, TenureError
from tenure.runs.messages import AskBody, OperationRequest, RunDetails, RunLabel, StartRequest, validate_request
from tenure.runs.options import PathName, RunOptions
from tenure.runs.service import Service, open_service
from tenure.runs.session.progress_lines import describe_state
from tenure.settings import Settings

__all__ = ["InvalidRequest", "RunHandle", "TenureError", "open_run", "research", "research_sync", "start"]

logger = logging.getLogger(__name__)

# In a frame of its own, so that the styles of the report and of the notebook do not meet.
_FRAME = Template('<iframe title="$title" srcdoc="$report" style="width: 100%; height: 40em; border: 0"></iframe>')


class StartOptions(RunOptions, OperationRequest):
    """Conditions of a run, and where it runs."""

    home: PathName | None = None
    """Folder of all state; that of the settings by default."""


P = ParamSpec("P")
T = TypeVar("T")


def _take_options(
    options: Callable[P, StartOptions],
) -> Callable[[Callable[[str, StartOptions], T]], Callable[Concatenate[str, P], T]]:
    """Give a function the options as keyword arguments, with their types, and list them in its documentation."""

    def decorate(function: Callable[[str, StartOptions], T]) -> Callable[Concatenate[str, P], T]:
        @wraps(function)
        def call(question: str, /, *args: P.args, **options: P.kwargs) -> T:
            return function(question, validate_request(StartOptions, options))

        fields = [(name, field, get_option(field.metadata)) for name, field in StartOptions.model_fields.items()]
        parameters = [
            Parameter(name, Parameter.KEYWORD_ONLY, default=field.default, annotation=field.annotation)
            for name, field, _ in fields
        ]
        question = Parameter("question", Parameter.POSITIONAL_OR_KEYWORD, annotation=str)
        returned = signature(function).return_annotation
        words = [f"    {name}: {option.description if option else field.description}" for name, field, option in fields]
        call.__signature__ = Signature([question, *parameters], return_annotation=returned)  # type: ignore[attr-defined]  # what `inspect` shows
        call.__doc__ = f"{cleandoc(function.__doc__ or '')}\n\nOptions:\n" + "\n".join(words)
        return call

    return decorate


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
            TenureError: the run failed, or the server was away for too long.
        """
        return await self._service.wait(self.id, logger.warning)

    async def report(
        self, format: ReportFormat = "md", citations: CitationStyle = "numeric", proofs: ReportProofs = "full"
    ) -> bytes:
        """Return the report of an ended run in a format."""
        return await self._service.render_report(self.id, format, citations, proofs)

    async def show(self) -> None:
        """Show the run in a notebook: one line that follows its progress, and its report at the end.

        Raises:
            TenureError: the program is no notebook.
        """
        if not _is_notebook():
            raise TenureError("show() needs a notebook: elsewhere, write report() to a file")
        from IPython.display import HTML, display

        view = display(HTML("starting"), display_id=True)
        async for details in self.follow():
            view.update(HTML(f'<p role="status">{html.escape(describe_state(details))}</p>'))
        if details.is_completed:
            report = (await self.report("html")).decode()
            view.update(HTML(_FRAME.substitute(title=html.escape(details.question), report=html.escape(report))))

    async def ask(self, question: str, *, search_again: bool = False, new: bool = False) -> AskReply:
        """Ask a follow-up question and wait for its answer.

        Raises:
            TenureError: the question cannot be answered.
        """
        await self._service.ask(self.id, AskBody(question=question, search_again=search_again, new=new))
        async for conversation in self._service.follow_conversation(self.id):
            if conversation.latest is not None:
                return conversation.latest
        raise TenureError(conversation.failure)

    async def label(self, *, title: str | None = None, tags: Sequence[str] | None = None) -> RunLabel:
        """Set the title and the tags of the run, and return both; None changes nothing."""
        return await self._service.label(self.id, validate_request(RunLabel, {"title": title, "tags": tags}))

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
        return (await self._service.steer(self.id, command)).effect


@_take_options(StartOptions)
async def start(question: str, options: StartOptions) -> RunHandle:
    """Start a run, and the local stack if it is needed and not running.

    Raises:
        TenureError: the run cannot be started.
    """
    values = _get_given(options)
    home = values.pop("home", None)
    paths = {name: _make_absolute(values[name]) for name in ("docs", "files", "tests") if name in values}
    request = validate_request(StartRequest, values | paths | {"question": question})
    service = await open_service(_load_settings(home))
    return RunHandle(service, (await service.start(request)).id)


async def open_run(run_id: str, *, home: PathName | None = None) -> RunHandle:
    """Open a run by its id.

    Args:
        run_id: id of the run.
        home: folder of all state; that of the settings by default.

    Raises:
        TenureError: there is no such run.
    """
    service = await open_service(_load_settings(home))
    return RunHandle(service, (await service.describe(run_id)).id)


@_take_options(StartOptions)
async def research(question: str, options: StartOptions) -> Result:
    """Run a question to its end and return the result document; in a notebook, show its progress and its report.

    Raises:
        TenureError: the run cannot be started, or failed.
    """
    run = await start(question, **_get_given(options))
    if _is_notebook():
        await run.show()
    return await run.wait()


@_take_options(StartOptions)
def research_sync(question: str, options: StartOptions) -> Result:
    """Run a question to its end from a program without an event loop, and return the result document.

    Raises:
        TenureError: the run cannot be started, or failed, or the program has an event loop, as a notebook has.
    """
    if _is_notebook():
        raise TenureError("a notebook has an event loop: write `await research(…)`")
    return asyncio.run(research(question, **_get_given(options)))


def _is_notebook() -> bool:
    """Return whether a kernel of Jupyter runs this program, such as that of a notebook or an editor."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    return hasattr(shell, "kernel")


def _load_settings(home: PathName | None) -> Settings:
    return choose_model(Settings() if home is None else Settings(home=Path(home).expanduser()))


def _get_given(options: StartOptions) -> dict[str, Any]:
    return {name: getattr(options, name) for name in options.model_fields_set}


def _make_absolute(paths: Sequence[PathName]) -> list[str]:
    return [str(Path(path).expanduser().absolute()) for path in paths]
