"""Test the displays on a terminal and in a pipe, with all degrees of verbosity."""

import io
import itertools
import json
import os
import sys

import pytest
from rich.console import Console
from rich.spinner import Spinner

from tenure.cli.output import Verbosity
from tenure.cli.progress.display import ProgressDisplay, QuietDisplay, choose_display
from tenure.cli.progress.window import is_breaking_lines
from tenure.contracts.run.control import InputRequest
from tenure.installation import PROGRAM
from tenure.runs.session.snapshot import RunSnapshot
from tests.cli.conftest import ROOT
from tests.cli.progress.samples import WRITING
from tests.cli.progress.test_live import CROWDED
from tests.support.screen import RESIZE, Screen, run_on_terminal

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


SPINNER = "".join(Spinner("dots").frames)

RESIZING = """
import json, os, sys
from tenure.cli.progress.display import choose_display
from tenure.cli.terminal import make_stderr_console
from tests.cli.progress.test_live import CROWDED
number, ends = json.loads(sys.argv[1])
with choose_display(make_stderr_console()) as display:
    display._live._refresh_thread.stop()
    display._live._refresh_thread.join()
    display.say("a line that stays")
    display.show(CROWDED)
    display._live.refresh()
    for left in reversed(range(number)):
        os.write(2, b"\\x05")
        sys.stdin.readline()
        if left or not ends:
            display._live.refresh()
    if not ends:
        os._exit(0)
"""
"""Program whose window gets another size before each view, the last one also after the last view on request."""


def resize(*sizes: tuple[int, int], ends: bool = False, breaks_lines: bool = True, late: bool = False) -> Screen:
    """Return the window of a terminal after it had several sizes.

    Args:
        sizes: the sizes.
        ends: whether the run ends with the last size.
        breaks_lines: whether the terminal breaks lines that have become too wide.
        late: whether the program is informed of each size after two more views.
    """
    if late:
        announced = [size for before, size in itertools.pairwise(sizes) for size in (before, before, size)]
        announced, sizes = [sizes[0], *announced], (sizes[0], *(size for size in sizes[1:] for _ in range(3)))
    else:
        announced = list(sizes)
    hidden = ("NO_COLOR", "COLUMNS", "LINES", "TMUX", "XTERM_VERSION")
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    environment |= {"PYTHONPATH": str(ROOT), "TERM": "xterm-256color" if breaks_lines else "rxvt-unicode"}
    command = [sys.executable, "-c", RESIZING, json.dumps([len(sizes) - 1, ends])]
    first, *parts = run_on_terminal(command, environment, *sizes[0], *announced[1:]).split(RESIZE)
    screen = Screen(*sizes[0])
    screen.feed(first)
    for size, part in zip(sizes[1:], parts, strict=True):
        screen.resize(*size, breaks_lines=breaks_lines)
        screen.feed(part)
    return screen


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


@pytest.fixture(scope="module")
def narrow_window() -> Screen:
    """Return a window that always had the same size."""
    return resize((70, 140))


@pytest.mark.parametrize(("breaks_lines", "late"), [(True, False), (True, True), (False, False), (False, True)])
def test_a_narrower_window_shows_nothing_of_the_wider_one(
    narrow_window: Screen, breaks_lines: bool, late: bool
) -> None:
    """Rows into which a terminal breaks the lines of the former view are erased, and lines above it stay.

    Some terminals announce a size only after more views were drawn for the former one.
    """
    screen = resize((160, 140), (90, 140), (130, 140), (70, 140), breaks_lines=breaks_lines, late=late)

    assert screen.wrapped == 0
    assert len(narrow_window.lines) > 30
    assert narrow_window.lines[0] == "a line that stays"
    # The spinner is another one in each view.
    found, wanted = ([line.lstrip(SPINNER) for line in one.lines if line] for one in (screen, narrow_window))
    assert found == wanted


def test_a_view_that_no_longer_fits_is_replaced() -> None:
    """If the broken lines fill the window, it shows only the new view."""
    screen = resize((160, 24), (60, 20))

    assert screen.wrapped == 0
    assert "\n".join(screen.window).count("47% covered") == 1
    assert screen.highest < 20


def test_a_view_disappears_from_a_narrower_window() -> None:
    """At the end of the run only the printed lines remain, even if the window has changed since the last view."""
    screen = resize((160, 140), (80, 140), ends=True)

    assert [line for line in screen.lines if line.strip()] == ["a line that stays"]


def test_terminals_break_lines_unless_they_are_known_to_cut_them() -> None:
    """A multiplexer decides for the terminal around it."""
    assert is_breaking_lines({"TERM": "xterm-256color"})
    assert is_breaking_lines({"TERM": "screen-256color", "TMUX": "tmux-0/default,1,0", "XTERM_VERSION": "XTerm(390)"})
    assert not is_breaking_lines({"TERM": "xterm-256color", "XTERM_VERSION": "XTerm(390)"})
    assert not any(is_breaking_lines({"TERM": term}) for term in ("linux", "rxvt-unicode-256color", "screen-256color"))


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

        assert isinstance(display, ProgressDisplay)
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
