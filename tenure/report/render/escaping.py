"""Escape untrusted text for Markdown.

Sources, questions and models are untrusted: their text may contain headings, lists, HTML, links and terminal control
codes. `escape` makes it inert and keeps the look of ordinary prose: a character gets a backslash only if Markdown
would interpret it. A balanced `code span` is kept, since Markdown does not interpret its content. A bare URL is shown
as text, not as a link: links lead to sources only.
"""

import re
from dataclasses import dataclass
from typing import Literal

from tenure.algorithms.text.printable import remove_control_characters

_LINE_BREAK = re.compile("[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
"""Line breaks that are control characters; they separate words."""

_SPACE = re.compile(r"\s+")

_CODE = re.compile(r"(?<!`)`(?!`)([^`]+)`(?!`)")

_ACTIVE = re.compile(
    r"""
      \\(?=[!-/:-@\[-`{-~]|\Z)      # a backslash that would escape what follows
    | `                              # a backtick that closes no code span
    | <(?=[A-Za-z/!?])               # a tag, a comment, an autolink
    | &(?=\#?\w+;)                   # an entity
    | \](?=[(\[])                    # the joint of a link or an image
    | \[(?=\^)                       # a footnote
    | ~(?=~)                         # struck-out text
    | \*(?=\S)|(?<=\S)\*             # emphasis; `2 * 3` is none
    | (?<=[A-Za-z]):(?=//)           # an address that some readers make a link of
    | (?<=www)\.|@(?=[\w-]+\.)       # the same without a scheme, and mail
    | (?<![^\W_])_(?=\S)|(?<=\S)_(?![^\W_])  # emphasis; snake_case is none
    """,
    re.VERBOSE | re.IGNORECASE,
)

_LINE_START = re.compile(r"(?=[#>+=|~*\[-])")
_NUMBERED_START = re.compile(r"(\d{1,9})(?=[.)](\s|$))")


def flatten(text: str) -> str:
    """Return a text on one line, without control characters and invisible characters."""
    return _SPACE.sub(" ", remove_control_characters(_LINE_BREAK.sub(" ", text))).strip()


@dataclass(frozen=True)
class TextSpan:
    """Words with the same format."""

    text: str
    """The words."""
    kind: Literal["text", "code", "em", "strong"] = "text"
    """Their format."""


def split_spans(text: str) -> tuple[TextSpan, ...]:
    """Split one line of untrusted text into words and balanced code spans."""
    flat = flatten(text)
    found: list[TextSpan] = []
    position = 0
    for code in _CODE.finditer(flat):
        found += [TextSpan(flat[position : code.start()]), TextSpan(code.group(1), "code")]
        position = code.end()
    return tuple(span for span in (*found, TextSpan(flat[position:])) if span.text)


def escape(text: str) -> str:
    """Escape one line of untrusted text so that Markdown shows it unchanged, also at the start of a line."""
    return _escape_line_start(
        "".join(f"`{span.text}`" if span.kind == "code" else _inert(span.text) for span in split_spans(text))
    )


def format_code_span(text: str) -> str:
    """Return one line of untrusted text as a code span that the text cannot close."""
    flat = flatten(text)
    fence = "`" * (max((len(run) for run in re.findall("`+", flat)), default=0) + 1)
    pad = " " if flat.startswith("`") or flat.endswith("`") else ""
    return f"{fence}{pad}{flat}{pad}{fence}" if flat else ""


def _inert(text: str) -> str:
    return _ACTIVE.sub(lambda match: "\\" + match.group(), text)


def _escape_line_start(line: str) -> str:
    """Escape what Markdown interprets only at the start of a line."""
    if _LINE_START.match(line):
        return "\\" + line
    return _NUMBERED_START.sub(r"\1\\", line, count=1) if _NUMBERED_START.match(line) else line
