"""Show the outcome of a command to a model and to people, within bounds."""

import re
from typing import Final

from tenure.contracts.coding.repositories import MAX_OBSERVATION_CHARS
from tenure.sandbox.base import CommandOutcome

MAX_END_LINES: Final = 40
"""Last lines of a failed setup."""
MAX_END_CHARS: Final = 6_000

NETWORK_ERROR: Final = re.compile(
    r"Name or service not known|Temporary failure in name resolution|Network is unreachable|nodename nor servname"
    r"|getaddrinfo|ENOTFOUND|EAI_AGAIN|Could not resolve host|no such host|NameResolutionError|NewConnectionError"
    r"|dial tcp|network was disabled|No matching distribution found"
)
"""Error of a command that finds no network: of Python, pip, Node (`getaddrinfo EAI_AGAIN registry…`), Go (`dial tcp:
lookup …: no such host`), uv (`the network was disabled`), curl and Git."""

# `E   assert 1 == 2`, `FAILED tests/test_a.py::test_b`, `a.py:12: ValueError`, `a.c:3:1: error: …`, `ValueError: x`,
# `--- FAIL: TestA`, `not ok 3`, `___ test_b ___`, `thread 'a' panicked`; not `a.py:12:    x = Error()` of a search
_FAILURE: Final = re.compile(
    r"E  |FAILED|ERROR|FAIL\b|--- FAIL|not ok|_{3,} .* _{3,}$|thread .* panicked"
    r"|(?:\S+:\d+: )?\w*(?:Error|Exception)\b|\S+:\d+: error"
)

# Names of `CommandOutcome.limits_hit`, in words for the model
_LIMITS: Final = {
    "wall": "the time was over",
    "cpu": "a process used too much processor time",
    "memory": "it used too much memory",
    "host-memory": "this machine was short of memory",
    "file": "a file became too large",
    "files": "it made too many files in memory",
    "output": "it printed too much",
    "folder": "its folder grew too large",
    "artifacts": "its report is too large",
}


def show_outcome(outcome: CommandOutcome) -> str:
    """Return how a command ended, in a few words."""
    reasons = [_LIMITS.get(limit, limit) for limit in outcome.limits_hit if limit != "artifacts"]
    if reasons:
        return " and ".join(reasons)
    if outcome.exit_code is not None:
        return f"exit code {outcome.exit_code}"
    return f"ended by {outcome.signal}" if outcome.signal else "killed"


def show_end(text: str) -> str:
    """Return the last lines of a text."""
    lines = [line for line in text.splitlines() if line.strip()]
    return "\n".join(lines[-MAX_END_LINES:])[-MAX_END_CHARS:]


def bound_text(text: str, max_chars: int = MAX_OBSERVATION_CHARS) -> str:
    """Return beginning and end of a text, and between them the lines that report failures, as far as there is room."""
    if len(text) <= max_chars:
        return text
    part = max_chars // 3
    head, tail = text[:part].rpartition("\n")[0] or text[:part], text[-part:].partition("\n")[2] or text[-part:]
    middle = text[len(head) : len(text) - len(tail)]
    room = max_chars - len(head) - len(tail) - 200
    kept: list[str] = []
    for line in filter(_FAILURE.match, middle.splitlines()):
        room -= len(line) + 1
        if room < 0:
            break
        kept.append(line)
    but = ", of which these report failures:" if kept else ""
    note = f"[… {len(middle):,} characters left out{but} …]"
    return "\n".join((head, note, *kept, *(["[…]"] if kept else []), tail))


def show_command(outcome: CommandOutcome) -> str:
    """Return the end of a command and its output."""
    parts = [f"({show_outcome(outcome)}, {outcome.seconds:.1f} s)"]
    for name, text in (("", outcome.stdout), ("stderr:\n", outcome.stderr)):
        if text.strip():
            parts.append(f"{name}{text.rstrip()}")
    if outcome.removed:
        parts.append(f"[removed afterwards: {', '.join(outcome.removed)}]")
    return bound_text("\n".join(parts))
