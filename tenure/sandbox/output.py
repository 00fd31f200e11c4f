"""What a program prints, bounded and shown harmlessly."""

import re
from typing import Final

_HARMFUL: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff]"
)
"""Control codes but newline and tab, changes of direction, invisible characters, halves of characters."""


class Kept:
    """The beginning and the end of a stream of bytes."""

    def __init__(self, room: int) -> None:
        self._half = room // 2
        self._head = bytearray()
        self._tail = bytearray()
        self._total = 0

    def add(self, piece: bytes) -> None:
        """Take in what came next."""
        self._total += len(piece)
        fits = self._half - len(self._head)
        self._head += piece[:fits]
        self._tail += piece[fits:]
        if len(self._tail) > 2 * self._half:
            del self._tail[: -self._half]

    @property
    def truncated(self) -> bool:
        """Whether the middle was left out."""
        return self._total > 2 * self._half

    @property
    def text(self) -> str:
        """What was kept, as text that is safe to show."""
        if not self.truncated:
            return harmless((self._head + self._tail).decode(errors="replace"))
        left_out = self._total - 2 * self._half
        head, tail = self._head.decode(errors="replace"), self._tail[-self._half :].decode(errors="replace")
        return harmless(f"{head}\n[... {left_out} bytes left out ...]\n{tail}")


def harmless(text: str) -> str:
    """Return text with every character that acts on a terminal or hides itself written as an escape."""
    return _HARMFUL.sub(lambda found: f"\\x{ord(found[0]):02x}" if ord(found[0]) < 256 else _wide(found[0]), text)


def _wide(character: str) -> str:
    """Return the escape of a character beyond Latin-1."""
    return f"\\u{ord(character):04x}"
