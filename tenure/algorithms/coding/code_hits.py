"""Render results of a search in code as bounded text: the best first, then a note on the others."""

from collections.abc import Iterable, Sequence
from typing import Final

from tenure.algorithms.text.printable import escape_control_characters
from tenure.contracts.coding.repositories import MAX_OBSERVATION_CHARS, ActionResult

MAX_LINE_CHARACTERS: Final = 200
_NOTE_CHARACTERS: Final = 300
"""Room for the first line and the note on what was left out."""


def render_line(path: str, line: int, text: str) -> str:
    """Return a line of code with its place and indentation, bounded and without characters that act on a terminal."""
    return f"{escape_control_characters(path)}:{render_numbered(line, text)}"


def render_numbered(line: int, text: str) -> str:
    """Return a line of code with its number and indentation, in the same way."""
    text = " ".join(text.split()) if len(text) > MAX_LINE_CHARACTERS else text.rstrip()
    cut = text if len(text) <= MAX_LINE_CHARACTERS else f"{text[:MAX_LINE_CHARACTERS]}…"
    return escape_control_characters(f"{line}: {cut}")


def build_hits(action: str, found: str, entries: Iterable[str], left_out: str = "", advice: str = "") -> ActionResult:
    """Return the result of a search.

    Args:
        action: the search, such as `search symbol "run"`.
        found: Number of results, such as `3 definitions, 12 callers`; empty for none.
        entries: entries, best first; those that do not fit are left out.
        left_out: Note on results that were left out before.
        advice: Advice for a search without a result.
    """
    if not found:
        return ActionResult(text=f"{action}: nothing found. {advice}".strip(), summary=f"{action}: nothing")
    lines: list[str] = []
    room = MAX_OBSERVATION_CHARS - _NOTE_CHARACTERS
    listed: Sequence[str] = tuple(entries)
    for entry in listed:
        room -= len(entry) + 1
        if room < 0:
            break
        lines.append(entry)
    hidden = len(listed) - len(lines)
    notes = [f"{hidden} more results did not fit: use a narrower query or a file pattern"] if hidden else []
    notes += [left_out] if left_out else []
    return ActionResult(text="\n".join((f"{action}: {found}", *lines, *notes)), summary=f"{action}: {found}")


def divide_room(sizes: Sequence[int], room: int) -> list[int]:
    """Return the room of each of several sizes: small ones have what they need, large ones equal parts of the rest."""
    shares = [0] * len(sizes)
    for remaining, index in zip(
        range(len(sizes), 0, -1), sorted(range(len(sizes)), key=sizes.__getitem__), strict=True
    ):
        shares[index] = min(sizes[index], room // remaining)
        room -= shares[index]
    return shares
