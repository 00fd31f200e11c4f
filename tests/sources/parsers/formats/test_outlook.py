"""Tests of the parser of Outlook's messages; its library reads the container."""

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import oxmsg
import pytest

from tenure.sources.document.document import Unreadable
from tenure.sources.parsers.formats.outlook import parse_outlook

STORED: dict[str, Any] = {
    "subject": "Re: Plan\0",
    "sender": '"Ann Lée" <ann@a.example>\r\nBcc: x',
    "sent_date": datetime(2024, 5, 3, 8, 22, tzinfo=UTC),
    "recipients": [
        SimpleNamespace(name="Bo", email_address="bo@b.example"),
        SimpleNamespace(name="", email_address=None),
    ],
    "body": "We ship.\r\n> Which day?\0",
    "html_body": None,
    "attachments": [
        SimpleNamespace(file_name="a.txt", file_bytes=b"It costs 5 euros."),
        SimpleNamespace(file_name="Minutes", file_bytes=None),
    ],
}


def store(monkeypatch: pytest.MonkeyPatch, **changes: Any) -> None:
    """Let the library return a message."""
    stored = SimpleNamespace(**STORED | changes)
    monkeypatch.setattr(oxmsg.Message, "load", lambda file: stored)


def test_a_message_is_read_like_an_email(monkeypatch: pytest.MonkeyPatch) -> None:
    """People, date, words and attachments have the form of an e-mail, and no header injects another."""
    store(monkeypatch)
    document = parse_outlook(b"", 1_000_000)

    assert document.text == (
        "# Re: Plan\n\nFrom: Ann Lée <ann@a.example> Bcc: x\nTo: Bo <bo@b.example>\nDate: 2024-05-03 08:22+00:00\n\n"
        "We ship.\n\nQuoted: Which day?\n\n# Attachment a.txt\n\nIt costs 5 euros."
    )
    assert "Minutes" in document.unread  # a message in a message has no bytes


def test_html_is_read_without_plain_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """A message that has only HTML is read as a page."""
    store(monkeypatch, body=None, html_body="<p>We <b>ship</b>.</p>", attachments=[])

    assert parse_outlook(b"", 1_000_000).text.endswith("\n\nWe ship.")


@pytest.mark.parametrize("data", [b"words", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), b""])
def test_damaged_files_are_unreadable(data: bytes) -> None:
    """Another format and a damaged container have a reason."""
    with pytest.raises(Unreadable, match="is not a valid Outlook message"):
        parse_outlook(data, 1_000_000)
