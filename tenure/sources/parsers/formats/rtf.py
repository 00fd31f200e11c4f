"""Parse RTF: paragraphs, lists and rows of tables, without pictures, notes and embedded files."""

import re
from typing import Final

from striprtf.striprtf import rtf_to_text

from tenure.sources.document.document import Document, Unreadable
from tenure.sources.document.normal_form import NormalFormWriter
from tenure.sources.parsers.registry import Format

RTF: Final = Format(
    parser="parse_rtf",
    description="RTF documents: paragraphs, lists and tables",
    suffixes=(".rtf",),
    media_types=("application/rtf", "text/rtf"),
    is_binary=True,
    signature=b"{\\rtf",
)

_SIGNATURE: Final = b"{\\rtf"
_ITEM: Final = re.compile(r"[ ]{0,8}(?:[•·–-]|(?P<number>\d{1,3})[.)])\t(?P<words>.*)")  # "•\tfirst", "2.\tsecond".


def parse_rtf(data: bytes, limit_bytes: int) -> Document:
    """Parse a document, whose text is ASCII with escapes."""
    if not data.startswith(_SIGNATURE):
        raise Unreadable("is not a valid RTF document")
    try:
        text: str = rtf_to_text(data.decode("latin-1"), errors="replace")  # type: ignore[no-untyped-call]
    except (LookupError, ValueError, OverflowError) as error:
        raise Unreadable("is not a valid RTF document") from error
    form = NormalFormWriter()
    # Characters beyond the first 65,536 are two escapes.
    for line in text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").split("\n"):
        if line.endswith("|"):
            form.add_row(line[:-1].split("|"))
        elif match := _ITEM.match(line):
            form.add_item(match["words"], is_numbered=match["number"] is not None)
        elif line.strip():
            form.close_items()
            form.add_paragraph(line)
    return Document(title="", text=form.text, kind="prose")
