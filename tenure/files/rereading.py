"""Read the texts of files that were read before, to find places in them."""

from collections.abc import Iterable
from pathlib import Path

from tenure.files.opening import FileRefused, open_file

MAX_TEXT_BYTES = 8_000_000
"""Largest file in which places are looked for."""


def read_texts(paths: Iterable[str]) -> dict[str, str]:
    """Return the texts of those absolute paths that are readable files of UTF-8 text, by path.

    A file that has gone, is refused, is very large or is no text is left out: a place in it is not needed.
    """
    texts = {path: _read_text(Path(path)) for path in dict.fromkeys(paths) if path.startswith("/")}
    return {path: text for path, text in texts.items() if text is not None}


def _read_text(path: Path) -> str | None:
    try:
        with open_file(path) as file:
            data = file.read(MAX_TEXT_BYTES + 1)
    except (OSError, FileRefused):
        return None
    if len(data) > MAX_TEXT_BYTES or b"\0" in data:
        return None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return None
