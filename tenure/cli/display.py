"""Show the progress of a run on standard error: a live table on a terminal, one line per change elsewhere."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from types import TracebackType
from typing import Protocol, Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from tenure.algorithms.control.step_lines import describe_step
from tenure.cli.formatting import format_count, format_duration, truncate_line
from tenure.contracts.evidence.corpora import IngestProgress
from tenure.contracts.run.control import InputRequest
from tenure.contracts.run.run import RunProgress, TopicProgress

_BAR_WIDTH = 12
_MAX_FAILURES_SHOWN = 4
_MIN_TOKENS_SHOWN = 128
_STARTING = "the worker is starting"
_PHASES = {
    "ingest": "reading the documents",
    "retrieve": "finding evidence",
    "route": "choosing the path",
    "outline": "outlining",
    "research": "researching",
    "specify": "writing the tests",
    "generate": "writing the program",
    "test": "testing the program",
    "write": "writing sections",
    "reason": "reasoning from what was found",
    "reflect": "criticising the report",
    "refine": "repairing the report",
    "compose": "title and abstract",
    "assemble": "numbering the sources",
    "done": "finished",
}
_CODE_PHASES = {
    "reflect": "analysing the failure",
    "refine": "writing the next version",
    "compose": "delivering the program",
    "assemble": "putting the result together",
}


@dataclass(frozen=True)
class PendingFailure:
    """Activity or workflow task that failed and is being retried."""

    what: str
    """Name and reason of the failure."""
    attempt: int
    """Number of the attempt, from 1."""
    wait: float | None = None
    """Seconds until the next attempt, or None while one is running."""

    @property
    def line(self) -> str:
        """Description in one line."""
        pause = "" if self.wait is None else f", next try in {self.wait:.0f} s"
        return f"{self.what} (attempt {self.attempt}{pause})"

    @property
    def step(self) -> tuple[str, int]:
        """Key that changes when the failure is worth another log line: a new reason, or twice the attempts."""
        return self.what, self.attempt.bit_length()


@dataclass(frozen=True)
class StreamedAnswer:
    """Model answer that is arriving."""

    what: str
    """Description of the text being written."""
    tokens: int
    """Approximate number of tokens received."""

    @property
    def line(self) -> str:
        """Description in one line."""
        return f"{self.what}: {format_count(self.tokens, 'token')}"

    @property
    def step(self) -> tuple[str, int]:
        """Key that changes when the answer is worth another log line: its start, then every doubling of its tokens."""
        return self.what, max(self.tokens, _MIN_TOKENS_SHOWN).bit_length()


@dataclass(frozen=True)
class RunSnapshot:
    """State of a run at one moment."""

    progress: RunProgress | None = None
    """The run's own progress, or None if no worker answers."""
    ingest: IngestProgress | None = None
    """Progress of a running ingestion, or None if there is none."""
    seconds: float = 0.0
    """Time since the run's start."""
    pending_failures: tuple[PendingFailure, ...] = ()
    """Failures that block the run."""
    streamed_answers: tuple[StreamedAnswer, ...] = ()
    """Answers that are arriving."""
    starting: bool = False
    """Whether the worker was started and does not poll yet."""


class ProgressDisplay(Protocol):
    """Output of progress."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def show(self, snapshot: RunSnapshot) -> None:
        """Show a snapshot."""
        ...

    def say(self, line: str) -> None:
        """Print a permanent line."""
        ...


class LiveDisplay:
    """Table that is redrawn in place."""

    def __init__(self, console: Console) -> None:
        self._live = Live(render_snapshot(RunSnapshot()), console=console, refresh_per_second=8, transient=True)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()

    def show(self, snapshot: RunSnapshot) -> None:
        """Render the table again."""
        self._live.update(render_snapshot(snapshot))

    def say(self, line: str) -> None:
        """Print a line above the table."""
        self._live.console.print(Text(line))


class PlainDisplay:
    """One line per change, for logs and pipes."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._last = RunSnapshot()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None

    def show(self, snapshot: RunSnapshot) -> None:
        """Print the changes since the last snapshot."""
        for line in iterate_changes(self._last, snapshot):
            self.say(f"[{format_duration(snapshot.seconds)}] {line}")
        self._last = snapshot

    def say(self, line: str) -> None:
        """Print a line."""
        self._console.print(Text(line), soft_wrap=True)


def choose_display(console: Console) -> ProgressDisplay:
    """Return the live table for a terminal, plain lines otherwise."""
    return LiveDisplay(console) if console.is_terminal else PlainDisplay(console)


def render_snapshot(snapshot: RunSnapshot) -> RenderableType:
    """Render a snapshot as a table."""
    return Group(*_parts(snapshot))


def iterate_changes(before: RunSnapshot, now: RunSnapshot) -> Iterator[str]:
    """Yield a line for everything that is new in a snapshot."""
    yield from _ingest_changes(before.ingest, now.ingest)
    yield from _new_pending_failures(before.pending_failures, now.pending_failures)
    known = {writing.step for writing in before.streamed_answers}
    yield from (writing.line for writing in now.streamed_answers if writing.step not in known)
    if now.starting and not before.starting:
        yield _STARTING
    if now.progress is not None:
        yield from _progress_changes(before.progress, now.progress)


def _ingest_changes(old: IngestProgress | None, now: IngestProgress | None) -> Iterator[str]:
    """Yield a line if an ingestion has reached another step."""
    if now is None or _ingest_step(now) == _ingest_step(old):
        return
    if old is None or _ingest_line(now) != _ingest_line(old):
        yield _ingest_line(now)


def _new_pending_failures(before: tuple[PendingFailure, ...], now: tuple[PendingFailure, ...]) -> Iterator[str]:
    """Yield a line for every failure that is new or persists, and one when all are resolved."""
    known = {trouble.step for trouble in before}
    yield from (trouble.line for trouble in now if trouble.step not in known)
    if before and not now:
        yield "recovered"


def _progress_changes(old: RunProgress | None, now: RunProgress) -> Iterator[str]:
    """Yield a line for everything that is new in the run's progress."""
    if old is None or _step(old) != _step(now):
        yield describe_phase(now)
    if now.phase == "research":
        yield from _step_changes(old, now)
        yield from _coverage_changes(old, now)
    else:
        yield from _topic_changes(old, now)
    for handled in now.feedback[len(old.feedback) if old else 0 :]:
        yield f"feedback received: {truncate_line(handled.text, 100)}"
    if now.input_request and (
        old is None or old.input_request != now.input_request or _headings(old) != _headings(now)
    ):
        if now.input_request.kind == "plan":
            yield f"outline: {' · '.join(_headings(now))}"
        yield _waiting_line(now.input_request)
    if now.last and (old is None or old.last != now.last):
        yield truncate_line(now.last, 160)


def _waiting_line(question: InputRequest) -> str:
    """Return the run's question and its default in one line."""
    how = "`approve` it" if question.kind == "plan" else "`answer` it"
    until, assumed = (
        f"{datetime.fromisoformat(question.deadline):%Y-%m-%d %H:%M} UTC",
        truncate_line(question.assumption, 160),
    )
    return f"{truncate_line(question.text, 300)} ({how}; default at {until}: {assumed})"


def _headings(progress: RunProgress) -> list[str]:
    return [truncate_line(topic.topic, 60) for topic in progress.topics]


def _step(progress: RunProgress) -> tuple[str, str, int, int]:
    """Return the key that changes when a new headline is due."""
    return progress.phase, progress.status, progress.cycle, progress.revision


def _topic_changes(old: RunProgress | None, now: RunProgress) -> Iterator[str]:
    """Yield a line for every topic whose state changed; waiting topics need none."""
    known = {topic.topic: topic.phase for topic in old.topics} if old else {}
    for topic in now.topics:
        if known.get(topic.topic) != topic.phase and topic.phase != "waiting":
            yield _topic_line(topic)


def _step_changes(old: RunProgress | None, now: RunProgress) -> Iterator[str]:
    """Yield a line for every step of the current plan whose state changed; pending steps need none."""
    known = old.steps if old else ()
    for step in now.steps:
        if step not in known and step.status != "pending":
            yield truncate_line(describe_step(step), 240)


def _coverage_changes(old: RunProgress | None, now: RunProgress) -> Iterator[str]:
    """Yield the coverage of the topics if it changed."""
    shares = [f"{truncate_line(topic.topic, 60)} {topic.coverage:.0%}" for topic in now.topics]
    before = [f"{truncate_line(topic.topic, 60)} {topic.coverage:.0%}" for topic in old.topics] if old else []
    if shares and shares != before:
        yield f"covered: {' · '.join(shares)}"


def _parts(snapshot: RunSnapshot) -> Iterator[RenderableType]:
    """Yield the parts of the live table from top to bottom."""
    progress = snapshot.progress
    head = Table.grid(padding=(0, 1))
    idle = "blocked by failures" if snapshot.pending_failures else "waiting for a worker"
    idle = _STARTING if snapshot.starting else idle
    words = describe_phase(progress) if progress else idle
    if progress is None and snapshot.ingest:
        words = _PHASES["ingest"]
    head.add_row(Spinner("dots"), Text(words, style="bold"), Text(format_duration(snapshot.seconds), style="cyan"))
    yield head
    if snapshot.ingest is not None:
        yield _ingest_bar(snapshot.ingest)
    for trouble in snapshot.pending_failures[:_MAX_FAILURES_SHOWN]:
        yield Text(trouble.line, style="yellow")
    if progress is None:
        return
    if progress.input_request:
        yield Text(_waiting_line(progress.input_request), style="yellow")
    if progress.topics:
        yield _topics(progress.topics)
    for writing in snapshot.streamed_answers:
        yield Text(writing.line, style="cyan")
    yield Text(describe_usage(progress), style="dim")
    if progress.last:
        yield Text(truncate_line(progress.last, 160), style="dim")


def _topics(topics: tuple[TopicProgress, ...]) -> Table:
    """Render the table of topics."""
    table = Table(box=None, padding=(0, 1), header_style="dim")
    table.add_column("topic", ratio=1, overflow="ellipsis", no_wrap=True)
    table.add_column("state")
    table.add_column("claims", justify="right")
    table.add_column("sources", justify="right")
    table.add_column("coverage", no_wrap=True)
    for topic in topics:
        bar = Table.grid(padding=(0, 1))
        share = min(max(topic.coverage, 0.0), 1.0)
        bar.add_row(ProgressBar(total=1.0, completed=share, width=_BAR_WIDTH), f"{share:.0%}")
        table.add_row(Text(topic.topic), _topic_state(topic), str(topic.claims), str(topic.sources), bar)
    return table


def _topic_state(topic: TopicProgress) -> Text:
    """Return a topic's state in its colour."""
    colours = {"done": "green", "failed": "red", "no_evidence": "yellow", "waiting": "dim"}
    return Text(topic.phase.replace("_", " "), style=colours.get(topic.phase, "cyan"))


def _topic_line(topic: TopicProgress) -> str:
    """Return a topic's state in one line."""
    line = f"{truncate_line(topic.topic, 80)}: {topic.phase.replace('_', ' ')}"
    if topic.phase == "done":
        figures = f"{format_count(topic.claims, 'claim')}, {format_count(topic.sources, 'source')}"
        line += f" ({figures}, coverage {topic.coverage:.0%})"
    elif topic.round:
        line += f", round {topic.round + 1}"
    return line


def describe_phase(progress: RunProgress) -> str:
    """Return the run's activity in one line."""
    words = (_PHASES | _CODE_PHASES if progress.mode == "CODE" else _PHASES)[progress.phase]
    if progress.phase == "research" and progress.cycle:
        words += f", cycle {progress.cycle}"
    if progress.status == "paused":
        words = f"paused while {words}"
    elif progress.status != "running":
        words = progress.status.replace("_", " ")
    if progress.tests:
        words += f", {progress.tests_passed} of {format_count(progress.tests, 'test')} passed"
    named = "generation" if progress.mode == "CODE" else "revision"
    return f"{words} ({named} {progress.revision})" if progress.revision else words


def describe_usage(progress: RunProgress) -> str:
    """Return the usage in one line, with the limits."""
    usage = progress.usage
    tokens = usage.tokens_in + usage.tokens_out
    saved = usage.saved
    spent = f"{usage.tokens_in:,} + {usage.tokens_out:,} tokens" if tokens or saved.answers else "offline"
    calls = format_count(usage.calls, "call") + (f" ({usage.critical_path} in a row)" if usage.critical_path else "")
    figures = [spent, calls, format_count(usage.searches, "search", "searches")]
    figures += [f"{usage.cost_usd:.4f} USD"] if usage.cost_usd is not None else []
    figures += [f"{saved.tokens_in + saved.tokens_out:,} tokens saved by cached answers"] if saved.answers else []
    return " · ".join([*figures, *progress.budget])


def _ingest_bar(ingest: IngestProgress) -> Table:
    """Render the progress bar of an ingestion."""
    grid = Table.grid(padding=(0, 1))
    done, total = _ingest_share(ingest)
    bar = ProgressBar(total=max(total, 1), completed=min(done, total), width=30, pulse=not total)
    grid.add_row(bar, Text(_ingest_line(ingest)))
    return grid


def _ingest_line(ingest: IngestProgress) -> str:
    """Return the progress of an ingestion in one line."""
    if ingest.stage == "embedding":
        return f"embedding: {ingest.embedded:,} of {format_count(ingest.to_embed, 'chunk')}"
    if not ingest.files_total:
        return "looking for documents" if ingest.stage == "scanning" else "found no documents"
    chunks = format_count(ingest.chunks, "chunk")
    if ingest.stage == "done":
        return f"read {format_count(ingest.files_total, 'file')}, {chunks}"
    line = f"{ingest.stage}: {ingest.files_done:,} of {format_count(ingest.files_total, 'file')}, {chunks}"
    return f"{line}, {truncate_line(ingest.last_file.rsplit('/', 1)[-1], 60)}" if ingest.last_file else line


def _ingest_step(ingest: IngestProgress | None) -> tuple[str, int] | None:
    """Round an ingestion's progress to tenths, so that a log gets ten lines and not a thousand."""
    if ingest is None:
        return None
    done, total = _ingest_share(ingest)
    return ingest.stage, 10 * done // max(total, 1)


def _ingest_share(ingest: IngestProgress) -> tuple[int, int]:
    """Return the number of files or vectors done, and their total."""
    embedding = ingest.stage == "embedding"
    return (ingest.embedded, ingest.to_embed) if embedding else (ingest.files_done, ingest.files_total)
