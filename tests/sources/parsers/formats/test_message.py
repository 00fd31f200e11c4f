"""Tests of the parser of e-mails."""

import base64

import pytest

from tenure.contracts.evidence.places import DocumentPlace
from tenure.sources.document.document import Document, Unreadable
from tenure.sources.parsers.formats.message import parse_message
from tenure.sources.parsers.mailbox import PARENT_HEADER
from tests.architecture.text_functions import TextFunction
from tests.files.secret_samples import make_key
from tests.sources.packages import make_epub, package
from tests.sources.pdfs import make_pdf

LIMIT = 10_000_000
HEAD = (
    "From: =?utf-8?q?Ann_L=C3=A9e?= <ann@a.example>\r\nTo: bo@b.example\r\nSubject: Re: Plan\r\n"
    "Date: Fri, 3 May 2024 10:22:00 +0200\r\nMessage-ID: <2@a>\r\nIn-Reply-To: <1@b>\r\n"
)
SHOWN = "# Re: Plan\n\nFrom: Ann Lée <ann@a.example>\nTo: bo@b.example\nDate: 2024-05-03 10:22+02:00"
REPLY = """\
> Which day is best?
> It has to be a weekday.
>
> And who tests?

We ship on Friday.

On Thu, Bo wrote:
> > Who pays?
> Nobody pays.
"""


def parse(body: str, head: str = HEAD, kind: str = "text/plain; charset=utf-8") -> Document:
    """Parse a message with one part."""
    return parse_message(f"{head}Content-Type: {kind}\r\n\r\n{body}".encode(), LIMIT)


def attach(*parts: tuple[str, str, bytes], words: str = "Attached.") -> bytes:
    """Return a message with attachments: their media types, names and contents."""
    written = "".join(
        f'--b\nContent-Type: {kind}\nContent-Disposition: attachment; filename="{name}"\n'
        f"Content-Transfer-Encoding: base64\n\n{base64.encodebytes(data).decode()}\n"
        for kind, name, data in parts
    )
    top = f"{HEAD}Content-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: text/plain\n\n{words}\n"
    return f"{top}{written}--b--\n".encode()


def test_a_message_has_its_people_date_and_subject() -> None:
    """Headers are decoded and shown above the words, and are the metadata of the document."""
    document = parse("We ship\non Friday.\n")

    assert document.text == f"{SHOWN}\n\nWe ship\non Friday."
    assert (document.title, document.author, document.published) == (
        "Re: Plan",
        "Ann Lée <ann@a.example>",
        "2024-05-03",
    )


def test_words_of_others_are_marked() -> None:
    """Each quoted paragraph says that it is quoted, so that a passage of it is not cited as the sender's."""
    assert parse(REPLY).text == (
        f"{SHOWN}\n\nQuoted: Which day is best? It has to be a weekday.\n\nQuoted: And who tests?\n\n"
        "We ship on Friday.\n\nOn Thu, Bo wrote:\n\nQuoted: Who pays? Nobody pays."
    )
    assert parse("Yes.\n\n-----Original Message-----\nFrom: Bo\nSubject: Plan\n\nWhich day?\n").text == (
        f"{SHOWN}\n\nYes.\n\nOriginal message:\n\nFrom: Bo\nSubject: Plan\n\nWhich day?"
    )


def test_a_reply_in_a_mailbox_does_not_repeat_its_parent() -> None:
    """With the message that it answers in the mailbox, only the paragraph above each answer is kept."""
    head = f"{PARENT_HEADER}: present\r\n{HEAD}"

    assert parse(REPLY, head).text == f"{SHOWN}\n\nQuoted: And who tests?\n\nWe ship on Friday.\n\nOn Thu, Bo wrote:"
    assert parse("Yes.\n-----Original Message-----\nFrom: Bo\n\nWhich day?\n", head).text == f"{SHOWN}\n\nYes."
    html = "<p>Yes.</p><blockquote>Which day?</blockquote>"
    assert parse(html, head, "text/html").text == f"{SHOWN}\n\nYes."


def test_html_is_read_as_a_page() -> None:
    """Hidden text is removed, quotes are marked, and a plain part that is only a remark is ignored."""
    html = (
        "<div style='display:none'>Win</div><h1>Plan</h1><p>We <b>ship</b> on Friday with all of the tests.</p>"
        "<blockquote><p>Which day?</p></blockquote>"
    )
    body = f"--b\nContent-Type: text/plain\n\nNo HTML.\n--b\nContent-Type: text/html\n\n{html}\n--b--\n"

    assert parse(body, kind="multipart/alternative; boundary=b").text == (
        f"{SHOWN}\n\n# Plan\n\nWe ship on Friday with all of the tests.\n\nQuoted: Which day?"
    )


def test_attachments_are_read_by_their_formats() -> None:
    """An attachment follows the message, its places name it with its page, and others are named with the reason."""
    document = parse_message(
        attach(
            ("application/pdf", "plan.pdf", make_pdf([["It costs 5 euros."], ["It ends in May."]])),
            ("application/octet-stream", "run.py", b"if x:\n    y()\n"),
            ("text/csv", "costs.csv", b"item,price\nrye,2\noats,3\n"),
            ("application/zip", "old.zip", b"PK"),
            ("text/plain", "id_rsa", b"words"),
            ("text/plain", "key.txt", make_key().encode()),
            ("text/plain", "empty.txt", b" "),
        ),
        LIMIT,
    )
    labels = {place.label: document.text[place.start :].split("\n")[0] for place in document.places}
    rows = ("| item | price |", "| rye | 2 |", "| oats | 3 |")
    cells = {f"A{n}": row for n, row in enumerate(rows, 1)} | {"B1": "| price |", "B2": "| 2 |", "B3": "| 3 |"}

    assert labels == {
        "attachment plan.pdf": "# Attachment plan.pdf",
        "attachment plan.pdf, page 1": "It costs 5 euros. It ends in May.",
        "attachment plan.pdf, page 2": "It ends in May.",
        "attachment run.py": "# Attachment run.py",
        "attachment costs.csv": "# Attachment costs.csv",
        **{f"attachment costs.csv, cell {cell}": row for cell, row in cells.items()},
    }
    assert "    if x:\n        y()" in document.text
    assert "The table costs has 2 rows" in document.text
    assert document.unread.startswith(
        "was read without the attachment old.zip (is not a valid archive), the attachment id_rsa ("
    )
    assert "the attachment key.txt (contains" in document.unread
    assert document.unread.endswith("the attachment empty.txt (is empty)")


def test_archives_are_attachments_of_their_files() -> None:
    """Files of an archive are named with it; an archive of a message in an archive is not unpacked."""
    inner = attach(("application/zip", "deep.zip", package(**{"x.txt": "Deep words."})))
    archive = package(**{"plan.md": b"# Plan\n\nWe ship on Friday.", "empty.txt": b" ", "mail.eml": inner})

    document = parse_message(attach(("application/zip", "all.zip", archive)), LIMIT)

    assert [place.label for place in document.places] == [
        "attachment all.zip/mail.eml",
        "attachment all.zip/plan.md",
    ]
    assert "We ship on Friday." in document.text and "Deep words." not in document.text
    assert document.unread == "was read without the attachment all.zip/empty.txt (is empty)"


def test_an_archive_that_explodes_costs_only_itself() -> None:
    """An archive is bounded by its ratio, and the message and its other attachments are read."""
    archive = package(**{"a.txt": b"Words.", "b.txt": b"0" * 60_000_000})

    document = parse_message(attach(("application/zip", "big.zip", archive), ("text/plain", "b.txt", b"Words.")), LIMIT)

    assert "Attached." in document.text and "Words." in document.text
    assert document.unread.startswith("was read without the attachment big.zip (unpacks to more than ")


def test_a_parser_that_fails_costs_only_its_attachment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lack of memory and a bug lose one attachment, with the reason."""

    def fail(data: bytes, name: str, *rest: object, **more: object) -> Document:
        raise MemoryError if name == "a.txt" else KeyError(name)

    monkeypatch.setattr("tenure.sources.parsers.formats.message.parse_content", fail)

    document = parse_message(attach(("text/plain", "a.txt", b"Words."), ("text/plain", "b.txt", b"Words.")), LIMIT)

    assert document.text.endswith("Attached.")
    assert document.unread == (
        "was read without the attachment a.txt (needs more memory than a document may), "
        "the attachment b.txt (broke its parser: KeyError)"
    )


def test_messages_inside_a_message_are_read() -> None:
    """A forwarded message is a section with its own people and date, and its attachments belong to the whole."""
    inner = attach(("application/epub+zip", "book.epub", make_epub())).decode()
    body = f"--o\nContent-Type: text/plain\n\nSee below.\n--o\nContent-Type: message/rfc822\n\n{inner}\n--o--\n"
    document = parse(body, kind="multipart/mixed; boundary=o")

    assert document.text.startswith(f"{SHOWN}\n\nSee below.\n\n#{SHOWN}\n\nAttached.\n\n# Attachment book.epub\n\n")
    assert document.places == (DocumentPlace(document.text.index("# Attachment"), "attachment book.epub"),)


def test_many_attachments_are_bounded() -> None:
    """After fifty attachments the others are counted, the first of them named."""
    document = parse_message(attach(*(("text/plain", f"{n}.txt", b"Words.") for n in range(60))), LIMIT)

    assert len(document.places) == 50
    assert document.unread.startswith("was read without the attachment 50.txt (follows 50 others), ")
    assert document.unread.endswith(" and 5 more")


@pytest.mark.parametrize(
    ("head", "body", "text"),
    [
        ("Subject: a\r\n b\r\nSubject: c\r\n", "x", "# a b\n\nx"),
        ("Subject: =?utf-8?b?YQpGcm9tOiBC?=\r\n", "x", "# a From: B\n\nx"),
        ("Subject: =?nonsense?q?a?= =?utf-8?b?!!?=\r\n", "x", "# a\n\nx"),
        ("Subject: Grüße\r\nDate: soon\r\n", "x", "# Grüße\n\nDate: soon\n\nx"),
        (
            "From: a\r\nContent-Type: text/plain; charset*=bad''x%\r\n",
            "x",
            "# Message without a subject\n\nFrom: a\n\nx",
        ),
        ("From: a\r\nContent-Type: multipart/mixed\r\n", "x", "# Message without a subject\n\nFrom: a\n\nx"),
        ("12\nFrom: a\r\n", "x", "# Message without a subject\n\nFrom: a\n\nx"),
        ("", "No headers: but words.", "No headers: but words."),
    ],
)
def test_unusual_headers_are_read(head: str, body: str, text: str) -> None:
    """Repeated, folded, encoded and damaged headers stay in their lines; a text without headers is plain text."""
    assert parse_message(f"{head}\r\n{body}".encode(), LIMIT).text == text


def test_wrong_charsets_are_recognized() -> None:
    """The declared encoding of a part is ignored if it does not fit."""
    data = f"{HEAD}Content-Type: text/plain; charset=us-ascii\n\nGrüße aus Köln".encode()

    assert parse_message(data, LIMIT).text == f"{SHOWN}\n\nGrüße aus Köln"


def test_deep_nesting_is_bounded() -> None:
    """Parts in parts beyond a depth are named as not read, or the message is."""
    body = "words"
    for depth in range(60):
        body = f"Content-Type: multipart/mixed; boundary=b{depth}\n\n--b{depth}\n{body}\n--b{depth}--"
    document = parse_message(f"From: a\n{body}".encode(), LIMIT)
    chain = "From: a\nContent-Type: message/rfc822\n\n" * 60
    forwarded = parse_message(f"{chain}From: a\n\nwords".encode(), LIMIT)

    assert document.unread == "was read without further parts (is nested too deeply)"
    assert forwarded.unread == "was read without messages inside messages (is nested too deeply)"


def test_an_encrypted_message_says_so() -> None:
    """The headers are read, and the encrypted part is named."""
    body = "--b\nContent-Type: application/pgp-encrypted\n\nVersion: 1\n--b--\n"

    assert parse(body, kind="multipart/encrypted; boundary=b").unread == "was read without its encrypted part"


def test_a_program_is_no_message() -> None:
    """A binary file with the suffix of a message is unreadable."""
    with pytest.raises(Unreadable, match="is a binary file"):
        parse_message(bytes(range(256)), LIMIT)


@pytest.mark.parametrize(
    "piece",
    [
        *(
            "> a\n",
            "> a\n\nb\n",
            "-----Original Message-----\n",
            "--b\n",
            "--b\n\na\n",
            "=?utf-8?q?a?=",
            "<blockquote>",
        ),
        *(
            "--b\nContent-Type: text/plain\n\na\n",
            "--b\nContent-Type: message/rfc822\n\nFrom: a\n\na\n",
            "a: b\n",
            "----",
        ),
    ],
)
def test_time_grows_with_length(piece: str) -> None:
    """A message of one repeated piece is read in proportional time, as words, as parts and as headers."""

    def read_message(text: str) -> list[Document]:
        heads = ("", f"{HEAD}\n", f"{HEAD}Content-Type: multipart/mixed; boundary=b\n\n", f"{HEAD}Cc: ")
        return [parse_message(f"{head}{text}".encode(), LIMIT) for head in heads]

    assert not TextFunction(read_message).is_slow(piece)
