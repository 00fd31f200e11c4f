"""Draw the state of a run on a terminal, within its window and in the order of importance."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.progress_bar import ProgressBar
from rich.segment import Segment
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from tenure.contracts.run.run import RunProgress, StepProgress, TopicProgress
from tenure.installation import PROGRAM
from tenure.runs.formatting import format_duration
from tenure.runs.session.progress_lines import (
    STARTING,
    describe_default,
    describe_embedding,
    describe_ingestion,
    describe_phase,
    list_commands,
    list_usage,
)
from tenure.runs.session.snapshot import RunSnapshot, count_ingested

Line: TypeAlias = list[Segment]
"""Segments of one line."""

_BAR_WIDTH = 12
_MAX_FAILURES = 4
_MAX_QUESTION_LINES = 4
_MAX_EVENTS = 12
_MIN_FAILED_ATTEMPTS = 3
"""Attempts of a step after which the view names the command that looks for the reason."""
_MAX_TOPIC_WIDTH = 90
_SPARE_LINES = 2
"""Lines left free below the view: for the cursor, and so that the window does not scroll."""
_SEPARATOR = " · "


class LiveView:
    """State of a run, drawn for the size of the window at each refresh, with its latest events, the newest last."""

    def __init__(self, spinner: Spinner, snapshot: RunSnapshot, events: Sequence[str] = ()) -> None:
        self._spinner = spinner
        self._snapshot = snapshot
        self._events = events

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the lines that fit into the window."""
        space = _Space(console, options.update(height=None), max(console.size.height - _SPARE_LINES, 1))
        snapshot, progress = self._snapshot, self._snapshot.progress
        head = space.render(self._headline())
        if progress is not None:
            head += space.render(*_list_waiting(console, progress, options.max_width))
        head += space.render(*_list_failures(snapshot))
        if snapshot.ingest is not None:
            head += space.render(_draw_ingestion(snapshot, options.max_width))
        if snapshot.chunks_to_embed:
            head += space.render(_line(describe_embedding(snapshot.chunks_to_embed), "dim"))
        usage: list[Line] = []
        if progress is not None:
            usage += space.render(*(_line(line) for line in _fold(progress.budget, options.max_width)))
            usage += space.render(*(_line(line, "dim") for line in _fold(list_usage(progress), options.max_width)))
        space.rows -= len(head) + len(usage)
        details = self._details(space, options.max_width)
        for line in [*head, *usage, *details][: space.limit]:
            yield from line
            yield Segment.line()

    def _details(self, space: "_Space", width: int) -> "list[Line]":
        """Return topics, set-ups, arriving answers, steps, the end of a draft and events, as far as there is room."""
        progress = self._snapshot.progress
        lines: list[Line] = []
        if progress is not None:
            lines += space.render(*_draw_topics(progress.topics, width, space.rows))
            lines += space.render(*(_line(setup.line, "cyan") for setup in self._snapshot.setups))
            lines += space.render(*(_line(answer.line, "cyan") for answer in self._snapshot.streamed_answers))
            if progress.phase == "research":
                lines += space.render(*map(_draw_step, progress.steps))
            for answer in self._snapshot.streamed_answers:
                lines += space.render(*_draw_draft(space.console, answer.text, width, space.rows - len(lines)))
        room = min(space.rows - len(lines), _MAX_EVENTS)
        return lines + space.render(*(_line(event, "dim") for event in self._events[-room:] if room > 0))

    def _headline(self) -> RenderableType:
        """Return the phase with the mean coverage and the time."""
        progress = self._snapshot.progress
        idle = "blocked by failures" if self._snapshot.pending_failures else "waiting for a worker"
        words = describe_phase(progress) if progress else STARTING if self._snapshot.starting else idle
        if progress is None and self._snapshot.ingest:
            words = "reading the documents"
        text = Text(words, style="bold", no_wrap=True, overflow="ellipsis")
        if progress and progress.topics:
            covered = sum(_share(topic) for topic in progress.topics) / len(progress.topics)
            text.append(f"{_SEPARATOR}{covered:.0%} covered" if covered else "", "not bold")
        text.append(f"{_SEPARATOR}{format_duration(self._snapshot.seconds)}", "not bold cyan")
        self._spinner.update(text=text)
        return self._spinner


@dataclass
class _Space:
    """Lines of the window, of which a view may have `limit`."""

    console: Console
    options: ConsoleOptions
    limit: int

    def __post_init__(self) -> None:
        self.rows = self.limit

    def render(self, *parts: RenderableType) -> "list[Line]":
        """Return the lines of what is to be drawn."""
        return [line for part in parts for line in self.console.render_lines(part, self.options, pad=False)]


def _list_waiting(console: Console, progress: RunProgress, width: int) -> Iterator[RenderableType]:
    """Yield the run's question to a person, the commands that let it continue, and its default."""
    question = progress.input_request
    if question is not None:
        words = Text(" ".join(question.text.split()), style="yellow")
        yield from words.wrap(console, width)[:_MAX_QUESTION_LINES]
    for command in list_commands(progress):
        yield _line(f"  {command}", "bold")
    if question is not None:
        yield _line(f"  {describe_default(question)}", "dim")


def _list_failures(snapshot: RunSnapshot) -> Iterator[RenderableType]:
    """Yield the failures and, if they last, the command that looks for their reason."""
    failures = snapshot.pending_failures
    for failure in failures[:_MAX_FAILURES]:
        yield _line(failure.line, "yellow")
    if any(failure.attempt >= _MIN_FAILED_ATTEMPTS for failure in failures):
        yield _line(f"  {PROGRAM} doctor", "bold")


def _draw_ingestion(snapshot: RunSnapshot, width: int) -> RenderableType:
    """Return the progress bar of an ingestion, with its speed and remaining time before the details."""
    assert snapshot.ingest is not None
    done, total = count_ingested(snapshot.ingest)
    size = min(30, width // 4)
    share = f"{done / total:.0%}" if total else ""
    grid = Table.grid(padding=(0, 1))
    grid.add_column(no_wrap=True, width=size)
    grid.add_column(no_wrap=True, overflow="ellipsis")
    grid.add_row(
        ProgressBar(total=max(total, 1), completed=min(done, total), width=size, pulse=not total),
        Text(_SEPARATOR.join(filter(None, (share, snapshot.speed, describe_ingestion(snapshot.ingest))))),
    )
    return grid


def _draw_topics(topics: tuple[TopicProgress, ...], width: int, room: int) -> list[RenderableType]:
    """Return the rows of the topics that fit; unfinished topics precede finished ones if there is no room for all."""
    if not topics or room < 2:
        return []
    displayed = topics
    if len(topics) + 1 > room:
        ranked = sorted(topics, key=lambda topic: topic.phase == "done")[: room - 2]
        displayed = tuple(topic for topic in topics if topic in ranked)
    longest = max((len(topic.topic) for topic in displayed), default=0)
    columns = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", pad_edge=False, expand=True)
    columns.width = min(width, min(longest, _MAX_TOPIC_WIDTH) + 54)
    columns.add_column("topic", ratio=1, overflow="ellipsis", no_wrap=True)
    columns.add_column("state", no_wrap=True, width=11)
    columns.add_column("claims", justify="right", no_wrap=True, width=6)
    columns.add_column("sources", justify="right", no_wrap=True, width=7)
    columns.add_column("coverage", no_wrap=True, width=_BAR_WIDTH + 5)
    for topic in displayed:
        columns.add_row(Text(topic.topic), _state(topic), str(topic.claims), str(topic.sources), _coverage(topic))
    more = len(topics) - len(displayed)
    return [columns, _line(f"… and {more} more", "dim")] if more else [columns]


def _draw_step(step: StepProgress) -> Text:
    """Return a step of the plan with its state first, since a long query is cut."""
    return _line(f"  {step.status.replace('_', ' '):<11}  {step.kind} “{step.query}”", "dim")


def _draw_draft(console: Console, text: str, width: int, room: int) -> list[Text]:
    """Return the last lines of a draft, as many as there is room for below an empty line."""
    if not text or room < 2:
        return []
    # Only the end is wrapped, since the view is drawn eight times a second.
    lines = text[-room * width :].splitlines()
    rows = [row for line in lines for row in _format_line(line).wrap(console, width) or [Text()]]
    return [Text(), *rows[1 - room :]]


def _format_line(line: str) -> Text:
    """Return a line of Markdown, a heading in bold."""
    return Text(line.lstrip("# "), "bold") if line.startswith("#") else Text(line)


def _coverage(topic: TopicProgress) -> RenderableType:
    bar = Table.grid(padding=(0, 1))
    bar.add_row(ProgressBar(total=1.0, completed=_share(topic), width=_BAR_WIDTH), f"{_share(topic):4.0%}")
    return bar


def _share(topic: TopicProgress) -> float:
    return min(max(topic.coverage, 0.0), 1.0)


def _state(topic: TopicProgress) -> Text:
    """Return a topic's state in its colour."""
    colours = {"done": "green", "failed": "red", "no_evidence": "yellow", "waiting": "dim"}
    return Text(topic.phase.replace("_", " "), style=colours.get(topic.phase, "cyan"))


def _line(text: str, style: str = "") -> Text:
    """Return a text on one line, which is cut at the window's edge."""
    return Text(text.replace("\n", " "), style=style, no_wrap=True, overflow="ellipsis")


def _fold(phrases: Iterable[str], width: int) -> list[str]:
    """Join phrases to lines of at most the given width, as far as each phrase fits."""
    lines: list[str] = []
    for phrase in phrases:
        longer = lines[-1] + _SEPARATOR + phrase if lines else ""
        if lines and len(longer) <= width:
            lines[-1] = longer
        else:
            lines.append(phrase)
    return lines
