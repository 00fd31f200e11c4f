"""Test the bounded output of a program."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.algorithms.text.printable import escape_control_characters
from tenure.sandbox.output import BoundedOutput


@given(st.lists(st.binary(max_size=40)))
def test_beginning_and_end_are_kept(pieces: list[bytes]) -> None:
    """However the stream is cut, a short one is whole, and a long one has its beginning, its end and their distance."""
    kept, whole = BoundedOutput(32), b"".join(pieces)
    for piece in pieces:
        kept.add(piece)

    assert kept.is_truncated == (len(whole) > 32)
    if kept.is_truncated:
        assert kept.text.startswith(escape_control_characters(whole[:16].decode(errors="replace")))
        assert kept.text.endswith(escape_control_characters(whole[-16:].decode(errors="replace")))
        assert f"[... {len(whole) - 32} bytes left out ...]" in kept.text
    else:
        assert kept.text == escape_control_characters(whole.decode(errors="replace"))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain\n\ttext ä 好 😀", "plain\n\ttext ä 好 😀"),
        ("\x1b[2J\r\x00\x9b", "\\x1b[2J\\x0d\\x00\\x9b"),
        ("\u202e\u200b\ufeff\u2028", "\\u202e\\u200b\\ufeff\\u2028"),
        ("\ud800", "\\ud800"),
    ],
)
def test_what_acts_or_hides_is_written_out(text: str, shown: str) -> None:
    """Text stays as it is but for what acts on a terminal, hides, or is no character."""
    assert escape_control_characters(text) == shown
