"""Progress of a run: a live table on a terminal, a plain line per change elsewhere. Always on standard error."""

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

from tenure.cli.formatting import counted, duration, one_line
from tenure.contracts.evidence.corpora import IngestProgress
from tenure.contracts.run.control import Question
from tenure.contracts.run.run import Progress, TopicProgress

_BAR_WIDTH = 12
_SHOWN_TROUBLES = 4
_FEW_TOKENS = 128
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
    "reflect": "looking at what failed",
    "refine": "writing the next version",
    "compose": "delivering the program",
    "assemble": "putting the result together",
}


@dataclass(frozen=True)
class Trouble:
    """Something that does not get on, and is tried again."""

    what: str
    """What, and why it failed."""
    attempt: int
    """Which attempt this is, from 1."""
    wait: float | None = None
    """Seconds until the next attempt; None while one is under way."""

    @property
    def line(self) -> str:
        """The trouble in one line."""
        pause = "" if self.wait is None else f", next try in {self.wait:.0f} s"
        return f"{self.what} (attempt {self.attempt}{pause})"

    @property
    def step(self) -> tuple[str, int]:
        """What is worth a new line in a log: another reason, or twice the attempts."""
        return self.what, self.attempt.bit_length()


@dataclass(frozen=True)
class Writing:
    """An answer that is coming in."""

    what: str
    """What is being written."""
    tokens: int
    """Tokens that have arrived, about."""

    @property
    def line(self) -> str:
        """The writing in one line."""
        return f"{self.what}: {counted(self.tokens, 'token')}"

    @property
    def step(self) -> tuple[str, int]:
        """What is worth a new line in a log: its beginning, and then twice as many tokens."""
        return self.what, max(self.tokens, _FEW_TOKENS).bit_length()


@dataclass(frozen=True)
class Snapshot:
    """What is known of a run at a moment."""

    progress: Progress | None = None
    """The run's own answer; None while no worker gives one."""
    ingest: IngestProgress | None = None
    """The ingestion under way; None while there is none."""
    seconds: float = 0.0
    """Time since the run's start."""
    troubles: tuple[Trouble, ...] = ()
    """What keeps the run from getting on."""
    writings: tuple[Writing, ...] = ()
    """The answers that are coming in."""
    starting: bool = False
    """Whether the worker has been started and does not work yet."""


class Display(Protocol):
    """Where progress is shown."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def show(self, snapshot: Snapshot) -> None:
        """Show how far the run is."""
        ...

    def say(self, line: str) -> None:
        """Say something that stays on the screen."""
        ...


class LiveDisplay:
    """A table that is redrawn in place."""

    def __init__(self, console: Console) -> None:
        self._live = Live(render(Snapshot()), console=console, refresh_per_second=8, transient=True)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()

    def show(self, snapshot: Snapshot) -> None:
        """Redraw the table."""
        self._live.update(render(snapshot))

    def say(self, line: str) -> None:
        """Print a line above the table."""
        self._live.console.print(Text(line))


class PlainDisplay:
    """One line per change, for logs and pipes."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._last = Snapshot()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None

    def show(self, snapshot: Snapshot) -> None:
        """Print what changed since the last time."""
        for line in changes(self._last, snapshot):
            self.say(f"[{duration(snapshot.seconds)}] {line}")
        self._last = snapshot

    def say(self, line: str) -> None:
        """Print a line."""
        self._console.print(Text(line), soft_wrap=True)


def display_for(console: Console) -> Display:
    """Choose the live table for a terminal, plain lines for everything else."""
    return LiveDisplay(console) if console.is_terminal else PlainDisplay(console)


def render(snapshot: Snapshot) -> RenderableType:
    """Draw a snapshot."""
    return Group(*_parts(snapshot))


def changes(before: Snapshot, now: Snapshot) -> Iterator[str]:
    """Yield a line for everything that is new in a snapshot."""
    yield from _ingest_changes(before.ingest, now.ingest)
    yield from _new_troubles(before.troubles, now.troubles)
    known = {writing.step for writing in before.writings}
    yield from (writing.line for writing in now.writings if writing.step not in known)
    if now.starting and not before.starting:
        yield _STARTING
    if now.progress is not None:
        yield from _progress_changes(before.progress, now.progress)


def _ingest_changes(old: IngestProgress | None, now: IngestProgress | None) -> Iterator[str]:
    """Yield a line where an ingestion has come a step further, and the step has other words."""
    if now is None or _ingest_step(now) == _ingest_step(old):
        return
    if old is None or _ingest_line(now) != _ingest_line(old):
        yield _ingest_line(now)


def _new_troubles(before: tuple[Trouble, ...], now: tuple[Trouble, ...]) -> Iterator[str]:
    """Yield a line for every trouble that is new or has become worse, and one when all are over."""
    known = {trouble.step for trouble in before}
    yield from (trouble.line for trouble in now if trouble.step not in known)
    if before and not now:
        yield "getting on again"


def _progress_changes(old: Progress | None, now: Progress) -> Iterator[str]:
    """Yield a line for everything that is new in a run's own answer."""
    if old is None or _step(old) != _step(now):
        yield _headline(now)
    if now.phase == "research":
        yield from _coverage_changes(old, now)
    else:
        yield from _topic_changes(old, now)
    for handled in now.feedback[len(old.feedback) if old else 0 :]:
        yield f"feedback received: {one_line(handled.text, 100)}"
    if now.waiting and (old is None or old.waiting != now.waiting or _headings(old) != _headings(now)):
        if now.waiting.kind == "plan":
            yield f"outline: {' · '.join(_headings(now))}"
        yield _waiting_line(now.waiting)
    if now.last and (old is None or old.last != now.last):
        yield one_line(now.last, 160)


def _waiting_line(question: Question) -> str:
    """Say in one line what a run asks, and what happens unless somebody answers."""
    how = "`approve` it" if question.kind == "plan" else "`answer` it"
    until, assumed = f"{datetime.fromisoformat(question.until):%Y-%m-%d %H:%M} UTC", one_line(question.assumed, 160)
    return f"{one_line(question.text, 300)} ({how}; assumed at {until} unless somebody does: {assumed})"


def _headings(progress: Progress) -> list[str]:
    return [one_line(topic.topic, 60) for topic in progress.topics]


def _step(progress: Progress) -> tuple[str, str, int, int]:
    """Return what is worth a new headline."""
    return progress.phase, progress.status, progress.cycle, progress.revision


def _topic_changes(old: Progress | None, now: Progress) -> Iterator[str]:
    """Yield a line for every topic that is in another state; one that waits for its turn needs none."""
    known = {topic.topic: topic.phase for topic in old.topics} if old else {}
    for topic in now.topics:
        if known.get(topic.topic) != topic.phase and topic.phase != "waiting":
            yield _topic_line(topic)


def _coverage_changes(old: Progress | None, now: Progress) -> Iterator[str]:
    """Yield how far the topics are covered, where that is news."""
    shares = [f"{one_line(topic.topic, 60)} {topic.coverage:.0%}" for topic in now.topics]
    before = [f"{one_line(topic.topic, 60)} {topic.coverage:.0%}" for topic in old.topics] if old else []
    if shares and shares != before:
        yield f"covered: {' · '.join(shares)}"


def _parts(snapshot: Snapshot) -> Iterator[RenderableType]:
    """Yield the lines of the live table from top to bottom."""
    progress = snapshot.progress
    head = Table.grid(padding=(0, 1))
    idle = "not getting on" if snapshot.troubles else "waiting for a worker"
    idle = _STARTING if snapshot.starting else idle
    words = _headline(progress) if progress else idle
    if progress is None and snapshot.ingest:
        words = _PHASES["ingest"]
    head.add_row(Spinner("dots"), Text(words, style="bold"), Text(duration(snapshot.seconds), style="cyan"))
    yield head
    if snapshot.ingest is not None:
        yield _ingest_bar(snapshot.ingest)
    for trouble in snapshot.troubles[:_SHOWN_TROUBLES]:
        yield Text(trouble.line, style="yellow")
    if progress is None:
        return
    if progress.waiting:
        yield Text(_waiting_line(progress.waiting), style="yellow")
    if progress.topics:
        yield _topics(progress.topics)
    for writing in snapshot.writings:
        yield Text(writing.line, style="cyan")
    yield Text(_usage_line(progress), style="dim")
    if progress.last:
        yield Text(one_line(progress.last, 160), style="dim")


def _topics(topics: tuple[TopicProgress, ...]) -> Table:
    """Draw the table of topics."""
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
    """Name a topic's state in its colour."""
    colours = {"done": "green", "failed": "red", "no_evidence": "yellow", "waiting": "dim"}
    return Text(topic.phase.replace("_", " "), style=colours.get(topic.phase, "cyan"))


def _topic_line(topic: TopicProgress) -> str:
    """Say in one line how a topic stands."""
    line = f"{one_line(topic.topic, 80)}: {topic.phase.replace('_', ' ')}"
    if topic.phase == "done":
        figures = f"{counted(topic.claims, 'claim')}, {counted(topic.sources, 'source')}"
        line += f" ({figures}, coverage {topic.coverage:.0%})"
    elif topic.round:
        line += f", round {topic.round + 1}"
    return line


def _headline(progress: Progress) -> str:
    """Say in one line what a run does."""
    words = (_PHASES | _CODE_PHASES if progress.mode == "CODE" else _PHASES)[progress.phase]
    if progress.phase == "research" and progress.cycle:
        words += f", cycle {progress.cycle}"
    if progress.status == "paused":
        words = f"paused while {words}"
    elif progress.status != "running":
        words = progress.status.replace("_", " ")
    if progress.tests:
        words += f", {progress.tests_passed} of {counted(progress.tests, 'test')} passed"
    named = "generation" if progress.mode == "CODE" else "revision"
    return f"{words} ({named} {progress.revision})" if progress.revision else words


def _usage_line(progress: Progress) -> str:
    """Say in one line what was used, and how much of what is limited."""
    usage = progress.usage
    tokens = usage.tokens_in + usage.tokens_out
    spent = f"{usage.tokens_in:,} + {usage.tokens_out:,} tokens" if tokens else "offline"
    figures = [spent, counted(usage.calls, "call"), counted(usage.searches, "search", "searches")]
    figures += [f"{usage.cost_usd:.4f} USD"] if usage.cost_usd is not None else []
    return " · ".join([*figures, *progress.budget])


def _ingest_bar(ingest: IngestProgress) -> Table:
    """Draw how far an ingestion is."""
    grid = Table.grid(padding=(0, 1))
    done, total = _ingest_share(ingest)
    bar = ProgressBar(total=max(total, 1), completed=min(done, total), width=30, pulse=not total)
    grid.add_row(bar, Text(_ingest_line(ingest)))
    return grid


def _ingest_line(ingest: IngestProgress) -> str:
    """Say in one line how far an ingestion is."""
    if ingest.stage == "embedding":
        return f"embedding: {ingest.embedded:,} of {counted(ingest.to_embed, 'chunk')}"
    if not ingest.files_total:
        return "looking for documents" if ingest.stage == "scanning" else "found no documents"
    chunks = counted(ingest.chunks, "chunk")
    if ingest.stage == "done":
        return f"read {counted(ingest.files_total, 'file')}, {chunks}"
    line = f"{ingest.stage}: {ingest.files_done:,} of {counted(ingest.files_total, 'file')}, {chunks}"
    return f"{line}, {one_line(ingest.last.rsplit('/', 1)[-1], 60)}" if ingest.last else line


def _ingest_step(ingest: IngestProgress | None) -> tuple[str, int] | None:
    """Round an ingestion to tenths, so that a log gets ten lines and not a thousand."""
    if ingest is None:
        return None
    done, total = _ingest_share(ingest)
    return ingest.stage, 10 * done // max(total, 1)


def _ingest_share(ingest: IngestProgress) -> tuple[int, int]:
    """Return how many files or vectors there are, and how many there are to be."""
    embedding = ingest.stage == "embedding"
    return (ingest.embedded, ingest.to_embed) if embedding else (ingest.files_done, ingest.files_total)
