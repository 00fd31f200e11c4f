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
    highest: int = 0
    """Largest number of lines by which the cursor moved up in one step."""

    def feed(self, written: str) -> None:
        """Apply what a program has written."""
        for _, number, code, movement, text in _PARTS.findall(written):
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
            else:
                assert code in "mhl", f"unknown control sequence {number}{code}"

    def _write(self, text: str) -> None:
        room = self.columns - self.column
        line = self.lines[self.row].ljust(self.column)
        self.lines[self.row] = line[: self.column] + text[:room] + line[self.column + len(text) :]
        self.column += len(text[:room])
        if len(text) > room:
            self.wrapped += 1
            self.row, self.column = self.row + 1, 0
            self.lines += [""] * (self.row + 1 - len(self.lines))
            self._write(text[room:])

    @property
    def window(self) -> list[str]:
        """Lines that are visible."""
        return self.lines[-self.rows :]


def run_on_terminal(command: Sequence[str], environment: Mapping[str, str], columns: int, rows: int) -> str:
    """Run a command whose standard streams are a terminal of a size, and return what it writes."""
    own, other = pty.openpty()
    fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
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
    os.close(own)
    return written.decode()
