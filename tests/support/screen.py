"""Run a program on a pseudo-terminal, and read what its window shows."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

_PARTS = re.compile(r"\x1b\[(\?)?([\d;]*)([A-Za-z])|([\r\n])|([^\x1b\r\n]+)")
"""A control sequence, a movement to a line's beginning or to the next line, or text."""


@dataclass
class Screen:
    """Window of a terminal that knows the movements and deletions that a live view uses, and no others."""

    columns: int
    rows: int
    lines: list[str] = field(default_factory=lambda: [""])
    """All lines that were written; the window shows the last ones."""
    row: int = 0
    column: int = 0
    wrapped: int = 0
    """Number of lines that were longer than the window and continued on the next one."""
    wraps: bool = True
    """Whether text beyond the edge continues on the next line."""
    highest: int = 0
    """Largest number of lines by which the cursor moved up in one step."""

    def feed(self, written: str) -> None:
        """Apply what a program has written."""
        for private, number, code, movement, text in _PARTS.findall(written):
            if movement:
                self.column = 0
                self.row += movement == "\n"
                self.lines += [""] * (self.row + 1 - len(self.lines))
            elif code == "A":
                self.row -= int(number or 1)
                self.highest = max(self.highest, int(number or 1))
                assert self.row > len(self.lines) - 1 - self.rows, "the cursor cannot leave the window"
            elif code == "K":
                assert number == "2"
                self.lines[self.row] = ""
            elif text:
                self._write(text)
            elif private and number == "7":
                self.wraps = code == "h"
            else:
                assert code in "mhl", f"unknown control sequence {number}{code}"

    def _write(self, text: str) -> None:
        room = self.columns - self.column
        line = self.lines[self.row].ljust(self.column)
        self.lines[self.row] = line[: self.column] + text[:room] + line[self.column + len(text) :]
        self.column += len(text[:room])
        if len(text) > room and self.wraps:
            self.wrapped += 1
            self.row, self.column = self.row + 1, 0
            self.lines += [""] * (self.row + 1 - len(self.lines))
            self._write(text[room:])

    def resize(self, columns: int, rows: int, *, breaks_lines: bool = True) -> None:
        """Change the size; lines that are too wide are broken into several, or cut."""
        resized: list[str] = []
        for number, line in enumerate(self.lines):
            parts = [line[start : start + columns] for start in range(0, len(line), columns)] or [""]
            kept = parts if breaks_lines else parts[:1]
            resized += kept
            if number == self.row:
                row, column = len(resized) - 1, min(self.column - columns * (len(kept) - 1), columns)
        self.lines, self.row, self.column = resized, row, column
        self.columns, self.rows = columns, rows

    @property
    def window(self) -> list[str]:
        """Lines that are visible."""
        return self.lines[-self.rows :]


RESIZE = "\x05"
"""Character by which a program asks for the next size of its window; it then reads a line."""


def run_on_terminal(
    command: Sequence[str], environment: Mapping[str, str], columns: int, rows: int, *later: tuple[int, int]
) -> str:
    """Run a command whose standard streams are a terminal, and return what it writes.

    Args:
        command: the command.
        environment: its environment variables.
        columns: width of the window.
        rows: height of the window.
        later: widths and heights that the window gets when the program asks for them.
    """
    own, other = pty.openpty()
    set_size(other, columns, rows)
    # The terminal does not repeat its input.
    modes = termios.tcgetattr(other)
    modes[3] &= ~termios.ECHO
    termios.tcsetattr(other, termios.TCSANOW, modes)
    sizes = iter(later)
    with subprocess.Popen(command, env=environment, stdin=other, stdout=other, stderr=other, close_fds=True):
        os.close(other)
        written = b""
        while True:
            try:
                part = os.read(own, 65_536)
            except OSError:  # Linux says so at the end of the program
                break
            if not part:
                break
            written += part
            if RESIZE.encode() in part:
                set_size(own, *next(sizes))
                os.write(own, b"\n")
    os.close(own)
    return written.decode()


def set_size(terminal: int, columns: int, rows: int) -> None:
    """Set the size of the window of a terminal."""
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
