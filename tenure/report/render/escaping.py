"""Write inline text as Markdown that shows it unchanged.

Sources, questions and models are untrusted: their text may contain headings, lists, HTML, links and terminal control
codes. `escape` makes it inert and keeps the look of ordinary prose: a character gets a backslash only if Markdown
would interpret it. A balanced `code span` is kept, since Markdown does not interpret its content. A bare URL is shown
as text, not as a link: links lead to sources only.
"""

import re

from tenure.algorithms.text.printable import flatten, remove_control_characters
from tenure.report.layout.text import split_spans

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

_LINE_START = re.compile(r"(?=[#>+=|~*-]|\[.*\]:|\[[ xX]\]\s)")
"""Beginning of a block: `# x`, `> x`, `- x`, `| x |`, `~~~`, `===`, a link definition `[x]: y`, a task `[ ] x`."""
# "1. x" and "2024) x" would begin a numbered list.
_NUMBERED_START = re.compile(r"(\d{1,9})(?=[.)](\s|$))")


def escape(text: str) -> str:
    """Escape one line of untrusted text so that Markdown shows it unchanged, also at the start of a line."""
    spans = split_spans(text)
    return escape_line_start("".join(f"`{s.text}`" if s.kind == "code" else escape_words(s.text) for s in spans))


def escape_words(text: str) -> str:
    """Escape words within a line."""
    return _ACTIVE.sub(lambda match: "\\" + match.group(), text)


def escape_line_start(line: str) -> str:
    """Escape what Markdown interprets only at the start of a line."""
    if _LINE_START.match(line):
        return "\\" + line
    return _NUMBERED_START.sub(r"\1\\", line, count=1) if _NUMBERED_START.match(line) else line


def escape_cell(markdown: str) -> str:
    """Return Markdown of one line for a cell of a table."""
    return re.sub(r"(?<!\\)\|", r"\|", markdown)


def format_code_span(text: str) -> str:
    """Return one line of untrusted text as a code span that the text cannot close."""
    flat = flatten(text)
    fence = "`" * (max((len(run) for run in re.findall("`+", flat)), default=0) + 1)
    pad = " " if flat.startswith("`") or flat.endswith("`") else ""
    return f"{fence}{pad}{flat}{pad}{fence}" if flat else ""


def format_code_block(text: str, language: str = "") -> str:
    """Return untrusted text as a code block whose fence it cannot close."""
    body = remove_control_characters(text).rstrip("\n")
    longest = max((len(run) for run in re.findall(r"`+", body)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{body}\n{fence}"
