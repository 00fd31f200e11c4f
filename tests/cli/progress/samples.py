"""States of runs for tests of the displays."""

import io

from rich.console import Console
from rich.spinner import Spinner

from tenure.cli.progress.live import LiveView
from tenure.contracts.base import RunId
from tenure.contracts.run.run import RunProgress, TopicProgress, Usage
from tenure.runs.session.snapshot import RunSnapshot

WRITING = RunProgress(
    id=RunId("r"),
    question="Why?",
    phase="write",
    revision=1,
    topics=(
        TopicProgress(topic="Causes", phase="done", claims=7, sources=3, coverage=0.75),
        TopicProgress(topic="[bold]Effects", phase="drafting"),
    ),
    usage=Usage(calls=12, tokens_in=1500, tokens_out=250, searches=4),
    last="found a passage about causes",
)


def draw(snapshot: RunSnapshot, width: int = 100, height: int = 40, events: tuple[str, ...] = ()) -> str:
    """Return the live view of a window as text."""
    console = Console(record=True, width=width, height=height, file=io.StringIO(), force_terminal=True)
    console.print(LiveView(Spinner("dots"), snapshot, events))
    return console.export_text()
