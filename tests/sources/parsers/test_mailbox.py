"""Tests of mailboxes."""

import io

from tenure.sources.parsers.formats.message import parse_message
from tenure.sources.parsers.mailbox import iterate_messages
from tests.architecture.text_functions import TextFunction

MAILBOX = """\
From bo@b.example Thu May  2 09:00:00 2024
From: bo@b.example
Subject: Plan/costs
Date: Thu, 2 May 2024 09:00:00 +0200
Message-ID: <1@b>

Which day?

From 10 to 12, we test.

From ann@a.example Fri May  3 10:22:00 2024
From: ann@a.example
Subject: Re: Plan/costs
Date: Fri, 3 May 2024 10:22:00 +0200
Message-ID: <2@a>
In-Reply-To: <1@b>

We ship on Friday.
>From now on: no changes.

> Which day?

From x Sat May  4 10:22:00 2024
"""


def test_messages_are_files_with_date_and_subject() -> None:
    """Each message has a name that its date and subject begin, and a separator needs a time."""
    names, messages = zip(*iterate_messages(io.BytesIO(MAILBOX.encode()), 10_000), strict=True)

    assert [name[:-10] for name in names] == ["2024-05-02 Plan costs ", "2024-05-03 Re Plan costs "]
    assert all(name.endswith(".eml") for name in names)
    assert b"\nFrom 10 to 12, we test.\n" in messages[0]


def test_a_reply_does_not_repeat_its_parent() -> None:
    """The words of a message that is in the mailbox are not read again in its answer."""
    texts = [parse_message(data, 10_000).text for _, data in iterate_messages(io.BytesIO(MAILBOX.encode()), 10_000)]

    assert ["Which day?" in text for text in texts] == [True, False]
    assert texts[1].endswith("We ship on Friday.\nFrom now on: no changes.")


def test_a_message_keeps_its_name() -> None:
    """Messages before it do not change the name of a message, so it is not read again."""
    (first, _), (second, _) = iterate_messages(io.BytesIO(MAILBOX.encode()), 10_000)
    moved = MAILBOX[MAILBOX.index("From ann") :] + MAILBOX[: MAILBOX.index("From ann")]

    assert {name for name, _ in iterate_messages(io.BytesIO(moved.encode()), 10_000)} == {first, second}


def test_a_repeated_message_is_read_once() -> None:
    """A mailbox that contains its messages twice has no more messages than one that contains them once."""
    assert len(list(iterate_messages(io.BytesIO(f"{MAILBOX}\n{MAILBOX}".encode()), 10_000))) == 2


def test_a_huge_message_is_cut() -> None:
    """The lines after the limit are left out, and the next message is read."""
    data = MAILBOX.replace("Which day?\n", "x" * 100 + "\n" + "y" * 100 + "\n", 1).encode()
    messages = [message for _, message in iterate_messages(io.BytesIO(data), 150)]

    assert b"y" not in messages[0].partition(b"x" * 100)[2]
    assert len(messages) == 2


def test_time_grows_with_length() -> None:
    """Mailboxes of one repeated piece are split in proportional time."""

    def split_mailbox(text: str) -> list[tuple[str, bytes]]:
        return list(iterate_messages(io.BytesIO(f"From a 10:22:00\n{text}".encode()), 10**6))

    for piece in ("\nFrom a 10:22:00\nMessage-ID: <a>\n", "From ", "Subject: a\n b\n", "References: <a> <b>\n"):
        assert not TextFunction(split_mailbox).is_slow(piece)
