"""Bound the output of a program and make it safe to show."""

from tenure.algorithms.text.printable import escape_control_characters


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
