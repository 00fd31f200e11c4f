"""Bound the output of a program and make it safe to show."""

import re
from typing import Final

_UNSAFE: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff]"
)
"""Control codes except newline and tab, direction changes, invisible characters, surrogates."""


class BoundedOutput:
    """Beginning and end of a stream of bytes."""

    def __init__(self, room: int) -> None:
        self._half = room // 2
        self._head = bytearray()
        self._tail = bytearray()
        self._total = 0

    def add(self, piece: bytes) -> None:
        """Append bytes."""
        self._total += len(piece)
        fits = self._half - len(self._head)
        self._head += piece[:fits]
        self._tail += piece[fits:]
        if len(self._tail) > 2 * self._half:
            del self._tail[: -self._half]

    @property
    def is_truncated(self) -> bool:
        """Whether the middle was dropped."""
        return self._total > 2 * self._half

    @property
    def text(self) -> str:
        """Kept bytes as text that is safe to show."""
        if not self.is_truncated:
            return escape_control_characters((self._head + self._tail).decode(errors="replace"))
        left_out = self._total - 2 * self._half
        head, tail = self._head.decode(errors="replace"), self._tail[-self._half :].decode(errors="replace")
        return escape_control_characters(f"{head}\n[... {left_out} bytes left out ...]\n{tail}")


def escape_control_characters(text: str) -> str:
    """Return a text with every character that acts on a terminal or is invisible written as an escape."""
    return _UNSAFE.sub(
        lambda found: f"\\x{ord(found[0]):02x}" if ord(found[0]) < 256 else _escape_character(found[0]), text
    )


def _escape_character(character: str) -> str:
    """Return the escape of a character beyond Latin-1."""
    return f"\\u{ord(character):04x}"
