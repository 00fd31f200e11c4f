"""Parse messages that Outlook stores, as e-mails with the same headers, words and attachments."""

import codecs
import io
from email.message import EmailMessage
from email.utils import format_datetime
from typing import Final

from oxmsg import Message

from tenure.sources.document.document import Document, Unreadable
from tenure.sources.document.normal_form import clean_text, collapse_whitespace
from tenure.sources.parsers.formats.message import parse_message
from tenure.sources.parsers.registry import Format

OUTLOOK: Final = Format(
    parser="parse_outlook",
    description="messages of Outlook, like e-mails",
    suffixes=(".msg",),
    media_types=("application/vnd.ms-outlook",),
    is_binary=True,
)

_CODE_PAGE: Final = "windows_"
# Messages name code pages as Windows does, and Python knows "windows-1252" but not "windows-950".
codecs.register(lambda name: codecs.lookup("cp" + name[len(_CODE_PAGE) :]) if name.startswith(_CODE_PAGE) else None)


def parse_outlook(data: bytes, limit_bytes: int) -> Document:
    """Parse a message."""
    # The library raises errors of all kinds for damaged files.
    try:
        message = _convert(Message.load(io.BytesIO(data)))
    except (OSError, LookupError, ValueError, AttributeError, TypeError, ArithmeticError, RuntimeError) as error:
        raise Unreadable("is not a valid Outlook message") from error
    return parse_message(message.as_bytes(), limit_bytes)


def _convert(stored: Message) -> EmailMessage:
    """Return a message as an e-mail."""
    message = EmailMessage()
    people = (f"{person.name or ''} <{person.email_address or ''}>".strip() for person in stored.recipients)
    to = ", ".join(person for person in people if person != "<>")
    headers = {"Subject": stored.subject or "", "From": stored.sender or "", "To": to}
    for name, value in headers.items():
        if words := collapse_whitespace(value).replace(" <>", ""):
            message[name] = words
    if stored.sent_date:
        message["Date"] = format_datetime(stored.sent_date)
    if stored.body or not stored.html_body:
        message.set_content(clean_text(stored.body or ""))
    else:
        message.set_content(stored.html_body, subtype="html")
    for attachment in stored.attachments:
        name = attachment.file_name or "without a name"
        # A message in a message has no bytes of its own; it is named as unread.
        message.add_attachment(attachment.file_bytes or b"", "application", "octet-stream", filename=name)
    return message
