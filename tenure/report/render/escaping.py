"""Text that is not ours, set as Markdown that shows its words and does nothing else.

Sources, questions and models are hostile authors: their text may hold headings, lists, HTML, links
and terminal control codes. `escape` takes the effect out and leaves the look of ordinary prose: a
character gets a backslash only where Markdown would act on it. One thing is left on purpose: a balanced
`code span`, whose content Markdown does not read. A bare web address is shown as it is, but as words:
what a model or a page says is no link, since links lead to sources only.
"""

import re
from dataclasses import dataclass
from typing import Literal

_INVISIBLE = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]")
"""Terminal controls, direction overrides and zero-width marks: they change what a reader sees."""

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
    """Put text on one line, without control characters and invisible marks."""
    return _SPACE.sub(" ", _INVISIBLE.sub("", text)).strip()


def visible(text: str) -> str:
    """Take control characters and invisible marks out of a text, and keep its lines."""
    return _INVISIBLE.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))


@dataclass(frozen=True)
class Span:
    """Some words that are set alike."""

    text: str
    """The words."""
    kind: Literal["text", "code", "em", "strong"] = "text"
    """How they are set."""


def spans(text: str) -> tuple[Span, ...]:
    """Take one line of foreign text apart into words and balanced code spans."""
    flat = flatten(text)
    found: list[Span] = []
    position = 0
    for code in _CODE.finditer(flat):
        found += [Span(flat[position : code.start()]), Span(code.group(1), "code")]
        position = code.end()
    return tuple(span for span in (*found, Span(flat[position:])) if span.text)


def escape(text: str) -> str:
    """Set one line of foreign text so that Markdown shows it as it is, also at the start of a line."""
    return _inert_start("".join(f"`{span.text}`" if span.kind == "code" else _inert(span.text) for span in spans(text)))


def code(text: str) -> str:
    """Set one line of foreign text as a code span whose fence the text cannot close."""
    flat = flatten(text)
    fence = "`" * (max((len(run) for run in re.findall("`+", flat)), default=0) + 1)
    pad = " " if flat.startswith("`") or flat.endswith("`") else ""
    return f"{fence}{pad}{flat}{pad}{fence}" if flat else ""


def _inert(text: str) -> str:
    return _ACTIVE.sub(lambda match: "\\" + match.group(), text)


def _inert_start(line: str) -> str:
    """Take the effect out of what Markdown reads at the start of a line only."""
    if _LINE_START.match(line):
        return "\\" + line
    return _NUMBERED_START.sub(r"\1\\", line, count=1) if _NUMBERED_START.match(line) else line
