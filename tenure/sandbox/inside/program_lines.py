"""Find the lines of a program that were executed, and those in a traceback."""

from __future__ import annotations

import sys
import threading
import traceback
import types
from typing import Any

MAX_TRACEBACK_LINES = 60
"""Maximum number of lines of a traceback, for endless recursion."""


class LineTracer:
    """Recorder of the executed lines of a folder's files."""

    def __init__(self, folder: str) -> None:
        self._inner = f"{folder}/"
        self._covered: set[tuple[str, int]] = set()
        self._functions: set[tuple[str, int]] = set()
        self._is_restricted = False

    def start(self) -> None:
        """Record from now on."""
        sys.settrace(self._trace_call)
        threading.settrace(self._trace_call)

    def stop(self) -> None:
        """Stop recording."""
        sys.settrace(None)
        threading.settrace(None)

    def restrict(self) -> None:
        """Record from now on only functions that were recorded before, which costs less."""
        self._is_restricted = True

    def read_new_lines(self) -> list[tuple[str, int]]:
        """Return the lines that were executed since the last call."""
        covered = sorted(self._covered)
        self._covered.clear()
        return covered

    def _trace_call(self, frame: types.FrameType, event: str, argument: Any) -> Any:
        code = frame.f_code
        if not code.co_filename.startswith(self._inner):
            return None
        function = code.co_filename, code.co_firstlineno
        if function not in self._functions:
            if self._is_restricted:
                return None
            self._functions.add(function)
        return self._trace_line

    def _trace_line(self, frame: types.FrameType, event: str, argument: Any) -> Any:
        if event == "line":
            self._covered.add((frame.f_code.co_filename[len(self._inner) :], frame.f_lineno))
        return self._trace_line


def find_program_lines(error: BaseException, folder: str) -> list[tuple[str, int]]:
    """Return files and lines of a program in the traceback of an error, outermost first."""
    found = [
        (frame.f_code.co_filename[len(folder) + 1 :], line)
        for frame, line in traceback.walk_tb(error.__traceback__)
        if frame.f_code.co_filename.startswith(f"{folder}/")
    ]
    return found[:MAX_TRACEBACK_LINES]
