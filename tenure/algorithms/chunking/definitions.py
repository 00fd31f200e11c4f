"""Split source code into definitions, and long definitions into their paragraphs."""

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise

from tenure.algorithms.chunking.pieces import Bond, Piece, Splitter, TextLine, find_lines
from tenure.algorithms.chunking.prose import CLOSING, TextBlock, split_block

# "export default async function load(", "pub(crate) fn parse<T>", "class Store:", "const open = async (", "create table
# if not exists runs (", "[tool.ruff]".
_SYMBOL = re.compile(
    r"\s*(?:(?:export|default|public|private|protected|internal|static|final|abstract|sealed|async|unsafe|override|inline"
    r"|declare|extern(?:\s+\"\w+\")?|pub(?:\([\w\s]+\))?)\s+)*"
    r"(?:(?:def|class|func|function\*?|fn|struct|enum|interface|trait|impl(?:<[^>]*>)?|type|module|mod|namespace|object"
    r"|record|protocol|union)\s+(?:\([^)]*\)\s*)?|(?:const|let|var)\s+(?=\w+\s*=\s*(?:async\s*)?(?:\(|function))"
    r"|(?i:create\s+(?:or\s+replace\s+)?(?:table|view|index|function|procedure|trigger|type)\s+(?:if\s+not\s+exists\s+)?)"
    r"|\[+(?=[\w.\"' -]+\]))(?P<name>[\w.$:\"'-]*\w)"
    # Prose in a docstring may begin with the same words; only a definition continues with one of these.
    r"(?=\s*(?:[(:<{=\[\];]|$)|\s+(?i:extends|implements|for|where|as|on|struct|interface)\b)"
)
# A definition of C, C++, Java or C#, whose brace ends the line: "static int read_line(char *buffer) {".
_BRACED = re.compile(r"\s*(?:[A-Za-z_][\w:<>,]*[\s*&]+)*(?P<name>[A-Za-z_][\w:~-]*)\s*\([^;]*\{$")
_MAX_SIGNATURE_CHARACTERS = 300  # Longer lines are data, not signatures.
_C_KEYWORDS = frozenset(
    ("if", "for", "while", "switch", "return", "else", "do", "catch", "with", "elif", "print", "assert")
)


def split_definitions(text: str) -> list[list[TextLine]]:
    """Split code into top-level definitions.

    A definition starts after a blank line, at a line at column 0 that is not a closing bracket or keyword.
    """
    definitions: list[list[TextLine]] = []
    previous_end = -2
    for line in find_lines(text):
        at_margin = not text[line.start].isspace()
        if not definitions or (line.start != previous_end + 1 and at_margin and not CLOSING.match(text, *line)):
            definitions.append([line])
        else:
            definitions[-1].append(line)
        previous_end = line.end
    return definitions


def split_definition(lines: list[TextLine], splitter: Splitter) -> Iterator[Piece]:
    """Yield a definition whole if it fits, otherwise its paragraphs with the symbols that they define."""
    outer = _find_symbol(lines, splitter.text, at_margin=True)
    definition = splitter.measure(lines[0].start, lines[-1].end, Bond.NONE)
    if definition.tokens <= splitter.limit:
        yield definition._replace(outer=outer)
        return
    inner = ""
    bond = Bond.NONE
    for part in _split_paragraphs(lines):
        inner = _find_symbol(part, splitter.text, excluded=outer) or inner
        paragraph = splitter.measure(part[0].start, part[-1].end, bond)
        is_short = paragraph.tokens <= splitter.limit
        for piece in (paragraph,) if is_short else split_block(TextBlock("code", part), bond, splitter):
            yield piece._replace(outer=outer, inner=inner)
        bond = Bond.STATEMENT


def _find_symbol(lines: Iterable[TextLine], text: str, at_margin: bool = False, excluded: str = "") -> str:
    """Return the symbol that the first defining line defines; with `at_margin`, only lines at column 0 count."""
    for start, end in lines:
        if end - start > _MAX_SIGNATURE_CHARACTERS or (at_margin and text[start].isspace()):
            continue
        line = text[start:end]
        match = _SYMBOL.match(line) or _BRACED.match(line)
        name = match["name"].strip("\"'") if match else ""
        if name and name != excluded and name not in _C_KEYWORDS:
            return name
    return ""


def _split_paragraphs(lines: list[TextLine]) -> Iterator[list[TextLine]]:
    """Yield runs of lines without a blank line between them."""
    run = [lines[0]]
    for before, line in pairwise(lines):
        if line.start != before.end + 1:
            yield run
            run = []
        run.append(line)
    yield run
