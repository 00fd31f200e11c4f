"""Record every outgoing connection of this process, with an audit hook of the interpreter."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_watching: list[list[tuple[Any, ...]]] = []
_hooked = False


@contextmanager
def connects() -> Iterator[list[tuple[Any, ...]]]:
    """Yield a list of the addresses (host and port) to which the block connects."""
    global _hooked
    if not _hooked:
        sys.addaudithook(_hook)  # permanent: the interpreter cannot remove a hook
        _hooked = True
    seen: list[tuple[Any, ...]] = []
    _watching.append(seen)
    try:
        yield seen
    finally:
        _watching.remove(seen)


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "socket.connect" and isinstance(arguments[1], tuple):
        for seen in _watching:
            seen.append(arguments[1])
