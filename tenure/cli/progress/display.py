"""Show the progress of a run on standard error: a live view on a terminal, one line per change elsewhere."""

from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from typing import Self

from rich.console import Console
from rich.spinner import Spinner
from rich.text import Text

from tenure.cli.output import Verbosity
from tenure.cli.progress.live import LiveView
from tenure.cli.progress.speed import SpeedMeter
from tenure.cli.progress.window import WindowLive
from tenure.runs.formatting import format_duration, truncate_line
from tenure.runs.session.progress_lines import describe_question, iterate_changes
from tenure.runs.session.snapshot import RunSnapshot

_MAX_EVENTS = 100
_EVENT_LENGTH = 300


class ProgressDisplay:
    """Output of progress: one line per change, for logs and pipes."""

    def __init__(self, console: Console, *, verbose: bool = False) -> None:
        self._console = console
        self._verbose = verbose
        self._last = RunSnapshot()
        self._meter = SpeedMeter()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exit: object) -> None:
        return None

    def show(self, snapshot: RunSnapshot) -> None:
        """Show a snapshot."""
        self._draw(replace(snapshot, speed=self._meter.describe(snapshot)))

    def say(self, line: str) -> None:
        """Print a permanent line that a person needs to know."""
        self._console.print(Text(line), soft_wrap=True)

    def report(self, line: str) -> None:
        """Print a permanent line about progress."""
        self.say(line)

    def _draw(self, snapshot: RunSnapshot) -> None:
        """Print the changes since the last snapshot."""
        for line in self._iterate_lines(snapshot):
            self.say(f"[{format_duration(snapshot.seconds)}] {line}")
        self._last = snapshot

    def _iterate_lines(self, snapshot: RunSnapshot) -> Iterator[str]:
        return iterate_changes(self._last, snapshot, verbose=self._verbose)


class LiveDisplay(ProgressDisplay):
    """View of a run that is redrawn in place; with `log`, every change also remains as a line above it."""

    def __init__(self, console: Console, *, log: bool = False) -> None:
        super().__init__(console, verbose=True)
        self._spinner = Spinner("dots")
        self._live = WindowLive(LiveView(self._spinner, RunSnapshot()), console)
        self._has_log = log
        self._events: deque[str] = deque(maxlen=_MAX_EVENTS)
        self._last_event = ""

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, *exit: object) -> None:
        self._live.stop()

    def _draw(self, snapshot: RunSnapshot) -> None:
        """Draw the view again."""
        if self._has_log:
            super()._draw(snapshot)
        event = snapshot.progress.last if snapshot.progress else ""
        if event and event != self._last_event and not self._has_log:
            self._events.append(f"{format_duration(snapshot.seconds)} {truncate_line(event, _EVENT_LENGTH)}")
        self._last_event = event
        self._live.update(LiveView(self._spinner, snapshot, tuple(self._events)))


class QuietDisplay(ProgressDisplay):
    """Only what the run asks of a person, and what the person has to start."""

    def _iterate_lines(self, snapshot: RunSnapshot) -> Iterator[str]:
        progress, before = snapshot.progress, self._last.progress
        question = progress.input_request if progress else None
        if progress and question and (before is None or before.input_request != question):
            yield describe_question(progress, question)

    def report(self, line: str) -> None:
        """Print nothing."""


def choose_display(console: Console, verbosity: Verbosity = "normal") -> ProgressDisplay:
    """Return the live view for a terminal on which the cursor can be moved, plain lines otherwise."""
    if verbosity == "quiet":
        return QuietDisplay(console)
    verbose = verbosity == "verbose"
    # FORCE_COLOR makes a console of a log file interactive, in which the cursor cannot be moved.
    if console.is_interactive and console.file.isatty():
        return LiveDisplay(console, log=verbose)
    return ProgressDisplay(console, verbose=verbose)
