"""Test the displays on a terminal and in a pipe, with all degrees of verbosity."""

import io
import json
import os
import sys

import pytest
from rich.console import Console

from tenure.cli.progress.display import PlainDisplay, QuietDisplay, Verbosity, choose_display
from tenure.cli.progress.snapshot import RunSnapshot
from tenure.contracts.run.control import InputRequest
from tenure.installation import PROGRAM
from tests.cli.conftest import ROOT
from tests.cli.progress.samples import WRITING
from tests.cli.progress.test_live import CROWDED
from tests.support.screen import Screen, run_on_terminal

SHOWING = """
import json, sys
from dataclasses import replace
from tenure.cli.progress.display import choose_display
from tenure.cli.terminal import make_stderr_console
from tests.cli.progress.test_live import CROWDED
verbosity, ends = json.loads(sys.argv[1])
with choose_display(make_stderr_console(), verbosity) as display:
    for second in range(6):
        progress = CROWDED.progress.model_copy(update={"last": f"event {second}"})
        display.show(replace(CROWDED, progress=progress, seconds=60.0 + second))
        display._live.refresh()
    display.say("a line that stays")
    if not ends:
        sys.stderr.flush()
        import os; os._exit(0)
"""
"""Program that shows a run of which much is to be said, and is killed at its end on request."""


def show(columns: int, rows: int, *, verbosity: Verbosity = "normal", ends: bool = False, **extra: str) -> Screen:
    """Return the window of a terminal after the program."""
    environment = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "COLUMNS", "LINES")}
    environment |= {"PYTHONPATH": str(ROOT), "TERM": "xterm-256color", **extra}
    command = [sys.executable, "-c", SHOWING, json.dumps([verbosity, ends])]
    written = run_on_terminal(command, environment, columns, rows)
    screen = Screen(columns, rows)
    screen.feed(written)
    assert not any("Traceback" in line for line in screen.lines), written
    return screen


@pytest.mark.parametrize(("columns", "rows"), [(80, 24), (160, 50)])
def test_the_live_view_is_redrawn_in_place(columns: int, rows: int) -> None:
    """On a real terminal no line wraps, the headline is visible once, and nothing of older views remains."""
    screen = show(columns, rows)
    shown = "\n".join(screen.window)

    assert screen.wrapped == 0
    assert shown.count("waiting (revision 1) · 47% covered") == 1
    assert "1:05" in shown and "1:04" not in shown
    assert "a line that stays" in shown
    assert screen.highest < rows


def test_the_live_view_disappears_at_the_end() -> None:
    """After the run only lines that were printed remain."""
    screen = show(80, 24, ends=True)

    assert [line for line in screen.lines if line.strip()] == ["a line that stays"]


def test_the_live_view_has_no_colours_if_they_are_refused() -> None:
    """NO_COLOR leaves the movements of the cursor and removes every colour."""
    environment = os.environ | {"PYTHONPATH": str(ROOT), "TERM": "xterm-256color", "NO_COLOR": "1"}
    written = run_on_terminal([sys.executable, "-c", SHOWING, '["normal", true]'], environment, 80, 24)

    assert "a line that stays" in written
    assert "\x1b[1A" in written
    assert not any(f"\x1b[{code}m" in written for code in (31, 32, 33, 34, 35, 36, "1;36", "38"))


def test_a_verbose_terminal_has_both() -> None:
    """With `--verbose` every change stays above the live view."""
    screen = show(160, 50, verbosity="verbose")
    shown = "\n".join(screen.lines)

    assert all(f"[1:0{second}] event {second}" in shown for second in range(6))
    assert "topic " in "\n".join(screen.window)


def test_plain_lines_outside_of_a_terminal() -> None:
    """A pipe gets a line with the time for each change, also if its colours are forced."""
    for console in (Console(file=io.StringIO(), width=100), Console(file=io.StringIO(), force_terminal=True)):
        with choose_display(console) as display:
            display.show(RunSnapshot(WRITING, seconds=5))

        assert isinstance(display, PlainDisplay)
        assert isinstance(console.file, io.StringIO)
        assert "[0:05] writing sections (revision 1)" in console.file.getvalue()
        assert "\x1b[2K" not in console.file.getvalue()


def test_a_quiet_display_passes_on_only_what_a_person_has_to_do() -> None:
    """The question of a run is printed once, lines on the progress never, and warnings always."""
    file = io.StringIO()
    question = InputRequest(
        reporter="r", number=1, kind="plan", text="Right?", assumption="yes", deadline="2026-01-01T00:00:00"
    )
    asked = RunSnapshot(WRITING.model_copy(update={"input_request": question}), seconds=7)
    with choose_display(Console(file=file, width=100), "quiet") as display:
        for snapshot in (RunSnapshot(WRITING), CROWDED, asked, asked):
            display.show(snapshot)
        display.report("[1 of 2] done")
        display.say("no worker polls")

    lines = file.getvalue().splitlines()
    assert isinstance(display, QuietDisplay)
    assert lines[1:] == [
        f"[0:07] Right? (`{PROGRAM} approve r`; default at 2026-01-01 00:00 UTC: yes)",
        "no worker polls",
    ]
    assert f'{PROGRAM} answer r "TEXT"' in lines[0]
