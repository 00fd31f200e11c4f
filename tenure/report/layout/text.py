"""Turn text of people, documents and models into inline nodes.

The text is untrusted. Control characters are removed, and of Markdown only balanced `code spans` are read; sentences of
a report may have *emphasis* and **strong emphasis** as well, and names of code in them are set as code.
"""

import re
from collections.abc import Iterable, Iterator

from tenure.algorithms.text.printable import collapse_spaces, flatten
from tenure.report.layout.tree import InlineNode, Line, SpanFormat, TextSpan

# "a `b` c", but not the double backticks of "``b``".
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


def split_spans(text: str) -> tuple[TextSpan, ...]:
    """Split one line of untrusted text into words and balanced code spans."""
    return tuple(_split_code(flatten(text)))


def make_line(*pieces: str | InlineNode | Line) -> Line:
    """Return a line of nodes and untrusted text with its code spans, without white space at its ends."""
    nodes: list[InlineNode] = []
    for piece in pieces:
        if isinstance(piece, str):
            nodes += _split_code(collapse_spaces(piece))
        else:
            nodes += piece if isinstance(piece, tuple) else (piece,)
    return tuple(node for node in nodes if not isinstance(node, TextSpan) or node.text)


def format_words(text: str, kind: SpanFormat = "em") -> tuple[TextSpan, ...]:
    """Return one line of untrusted text as emphasised words; code spans stay code."""
    return tuple(_with_kind(split_spans(text), kind))


def make_code(text: str) -> TextSpan:
    """Return one line of untrusted text, such as a path, as a code span."""
    return TextSpan(flatten(text), "code")


def _split_code(text: str) -> Iterator[TextSpan]:
    position = 0
    for code in _CODE.finditer(text):
        yield from filter(lambda span: span.text, (TextSpan(text[position : code.start()]), TextSpan(code[1], "code")))
        position = code.end()
    if tail := text[position:]:
        yield TextSpan(tail)


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
    if tail := flat[position:]:
        yield "text", (TextSpan(tail),)


def _with_kind(spans: Iterable[TextSpan], kind: SpanFormat) -> Iterator[TextSpan]:
    for span in spans:
        yield span if span.kind == "code" else TextSpan(span.text, kind)
