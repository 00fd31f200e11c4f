"""Escape untrusted text for Markdown.

Sources, questions and models are untrusted: their text may contain headings, lists, HTML, links and terminal control
codes. `escape` makes it inert and keeps the look of ordinary prose: a character gets a backslash only if Markdown
would interpret it. A balanced `code span` is kept, since Markdown does not interpret its content. A bare URL is shown
as text, not as a link: links lead to sources only. Sentences of a report may have *emphasis* and **strong emphasis** as
well, and names of code in them are set as code.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from tenure.algorithms.text.printable import remove_control_characters

_LINE_BREAK = re.compile("[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
"""Line breaks that are control characters; they separate words."""

_SPACE = re.compile(r"\s+")

_CODE = re.compile(r"(?<!`)`(?!`)([^`]+)`(?!`)")

_FORMATTED = re.compile(
    r"""
      (?<!`)`(?!`)(?P<code>[^`]+)`(?!`)
    | (?<![\w*])\*\*(?=[^\s*])(?P<strong>[^*]+)(?<=[^\s*])\*\*(?![\w*])
    | (?<![\w*])\*(?=[^\s*])(?P<em>[^*]+)(?<=[^\s*])\*(?![\w*])
    | (?<![\w`/.@:\\-])(?P<name>
          @[A-Za-z_]\w*(?:\.\w+)*(?:\(\))?         # a decorator
        | [A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*\(\)      # a function
        | --[a-z][\w-]+                             # an option
        | [A-Za-z0-9]+(?:_[A-Za-z0-9]+)+(?=[\s,.;:)\]]|\Z)  # a name with underscores
      )(?![\w`/@])
    """,
    re.VERBOSE,
)
"""Inline formats of sentences: code spans, emphasis, and names of code without backticks."""

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


SpanFormat = Literal["text", "code", "em", "strong"]
"""SpanFormat of words."""


@dataclass(frozen=True)
class TextSpan:
    """Words with the same format."""

    text: str
    """The words."""
    kind: SpanFormat = "text"
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


def split_sentence_spans(text: str) -> tuple[TextSpan, ...]:
    """Split a sentence into words, emphasised words, code spans and names of code."""
    return tuple(span for kind, spans in _split_formats(text) for span in _with_kind(spans, kind))


def _split_formats(text: str) -> Iterator[tuple[SpanFormat, tuple[TextSpan, ...]]]:
    """Yield the parts of a sentence with the same format; emphasised parts may contain code spans."""
    flat = flatten(text)
    position = 0
    for match in _FORMATTED.finditer(flat):
        if before := flat[position : match.start()]:
            yield "text", (TextSpan(before),)
        if words := match["code"] or match["name"]:
            yield "code", (TextSpan(words, "code"),)
        else:
            yield ("strong", split_spans(match["strong"])) if match["strong"] else ("em", split_spans(match["em"]))
        position = match.end()
    if rest := flat[position:]:
        yield "text", (TextSpan(rest),)


def _with_kind(spans: Iterable[TextSpan], kind: SpanFormat) -> Iterator[TextSpan]:
    for span in spans:
        yield span if span.kind == "code" else TextSpan(span.text, kind)


def escape_sentence(text: str) -> str:
    """Escape a sentence for Markdown, which may have emphasis and code spans; names of code become code spans."""
    marks: dict[SpanFormat, str] = {"strong": "**", "em": "*"}
    parts = (
        f"{marks.get(kind, '')}{''.join(map(_to_markdown, spans))}{marks.get(kind, '')}"
        for kind, spans in _split_formats(text)
    )
    line = "".join(parts)
    return line if line.startswith("*") and _FORMATTED.match(flatten(text)) else _escape_line_start(line)


def _to_markdown(span: TextSpan) -> str:
    return f"`{span.text}`" if span.kind == "code" else _inert(span.text)


def escape_cell(markdown: str) -> str:
    """Return Markdown of one line for a cell of a table."""
    return re.sub(r"(?<!\\)\|", r"\|", markdown)


def escape(text: str) -> str:
    """Escape one line of untrusted text so that Markdown shows it unchanged, also at the start of a line."""
    return _escape_line_start("".join(map(_to_markdown, split_spans(text))))


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
