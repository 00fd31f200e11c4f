"""Split source code into definitions, and long definitions into their members and statements.

With a syntax tree, definitions are its nodes, each with the comments and attributes before it. A long one is split
between its members, and a long member between its statements; the head of a definition and its docstring stay with what
follows. Without a tree, a definition starts at a line at column 0 and is split into its paragraphs.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Final

from tree_sitter import Node

from tenure.algorithms.chunking.pieces import Bond, Piece, Splitter, TextLine, find_lines
from tenure.algorithms.chunking.prose import CLOSING, TextBlock, split_block
from tenure.algorithms.coding.symbols import CodeSymbol, find_symbols
from tenure.algorithms.coding.syntax import SyntaxTree

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


_MAX_DEPTH: Final = 24
"""Nodes in each other that are split; every depth measures the text of its nodes again."""
_ATTACHED: Final = frozenset(
    ("comment", "line_comment", "block_comment", "attribute_item", "decorator", "attribute_list", "annotation")
)
"""Types of nodes that belong to the next node."""


def split_tree(syntax: SyntaxTree, splitter: Splitter) -> Iterator[Piece]:
    """Yield the pieces of source code: definitions that fit, and parts of the others, with their symbols."""
    yield from _TreeSplitter(syntax, splitter).split()


class _TreeSplitter:
    """Splitter of lines at the nodes of a syntax tree."""

    def __init__(self, syntax: SyntaxTree, splitter: Splitter) -> None:
        self._root, self._splitter = syntax.root, splitter
        # Lines that are not blank, with their numbers from 0 like the rows of nodes.
        self._lines: list[TextLine] = []
        self._rows: list[int] = []
        row = position = 0
        for line in find_lines(splitter.text):
            row += splitter.text.count("\n", position, line.start)
            position = line.start
            self._lines.append(line)
            self._rows.append(row)
        self._outer, self._members = _group_symbols(find_symbols(syntax))

    def split(self) -> Iterator[Piece]:
        """Yield the pieces of the whole text."""
        if not self._lines:
            return
        for start, end, node in self._partition(self._root, 0, len(self._lines)):
            yield from self._split_part(start, end, node, Bond.NONE, 0)

    def _split_part(self, start: int, end: int, node: Node | None, bond: Bond, depth: int) -> Iterator[Piece]:
        """Yield the lines of a node whole if they fit, otherwise the parts of its children."""
        lines = self._lines[start:end]
        piece = self._splitter.measure(lines[0].start, lines[-1].end, bond)
        if piece.tokens <= self._splitter.limit:
            yield self._name(piece, start, end)
            return
        parts = list(self._partition(node, start, end)) if node is not None and depth < _MAX_DEPTH else []
        if not parts or node is None:
            for one in split_block(TextBlock("code", lines), bond, self._splitter):
                yield self._name(one, start, end)
            return
        body = node.child_by_field_name("body")
        for number, (first, last, child) in enumerate(parts):
            if number:
                introduces = child == body or _is_docstring(parts[number - 1][2], number)
                bond = Bond.INTRODUCTION if introduces else self._find_bond(first, last)
            yield from self._split_part(first, last, child, bond, depth + 1)

    def _partition(self, node: Node, start: int, end: int) -> Iterator[tuple[int, int, Node | None]]:
        """Yield the range of lines of each child with the child; the head before the first child has none.

        A child starts with the comments and attributes before it.
        """
        cuts: list[tuple[int, Node | None]] = [(start, None)]
        attached_row = attached_end = previous_end = -2
        for child in node.named_children:
            row, (end_row, end_column) = child.start_point[0], child.end_point
            end_row -= end_column == 0 and end_row > row
            begin = attached_row if attached_row >= 0 and row <= attached_end + 1 else row
            if child.type in _ATTACHED and row > previous_end:
                attached_row, attached_end = begin, end_row
                continue
            attached_row = -2
            at = bisect_left(self._rows, begin, start, end)
            latest, known = cuts[-1]
            if at == latest and (known is None or end_row > known.end_point[0]):
                cuts[-1] = (at, child)  # of the children in a line, the one with the other lines
            elif latest < at < end and (row > previous_end or end_row > row):
                cuts.append((at, child))
            previous_end = max(previous_end, end_row)
        for (first, part), (last, _) in pairwise((*cuts, (end, None))):
            yield first, last, part

    def _find_bond(self, first: int, last: int) -> Bond:
        """Return the bond of a part to the part before it."""
        if self._list_names(self._members, first, last, begins=True):
            return Bond.MEMBER
        return Bond.PARAGRAPH if self._rows[first] > self._rows[first - 1] + 1 else Bond.STATEMENT

    def _name(self, piece: Piece, start: int, end: int) -> Piece:
        """Return a piece with the symbol that it belongs to, and with the members of which it has a part."""
        outer = self._list_names(self._outer, start, end)
        whole = self._list_names(self._outer, start, end, begins=True, ends=True)
        inner = self._list_names(self._members, start, end) if len(outer) == 1 and not whole else []
        return piece._replace(outer=", ".join(outer), inner=", ".join(inner))

    def _list_names(
        self, symbols: Sequence[CodeSymbol], start: int, end: int, *, begins: bool = False, ends: bool = False
    ) -> list[str]:
        """Return the names of symbols in a range of lines, or only of those that begin, and end, in it."""
        first, last = self._rows[start] + 1, self._rows[end - 1] + 1
        at = bisect_left(symbols, first, key=lambda symbol: symbol.first)
        near = symbols[at - 1 : at] if at and not begins else ()
        names = [symbol.name for symbol in near if symbol.last >= first]
        while at < len(symbols) and symbols[at].first <= last:
            if not ends or symbols[at].last <= last:
                names.append(symbols[at].name)
            at += 1
        return list(dict.fromkeys(names))


def _group_symbols(symbols: Iterable[CodeSymbol]) -> tuple[list[CodeSymbol], list[CodeSymbol]]:
    """Return the outermost symbols and their members; a namespace only surrounds the symbols of a file."""
    outer: list[CodeSymbol] = []
    members: list[CodeSymbol] = []
    for symbol in symbols:
        if symbol.kind in ("namespace", "variable"):
            continue
        if not outer or symbol.first > outer[-1].last:
            outer.append(symbol)
        elif symbol.depth == outer[-1].depth + 1 and (not members or symbol.first > members[-1].last):
            members.append(symbol)
    return outer, members


def _is_docstring(node: Node | None, number: int) -> bool:
    """Return whether the part before the part with this number is a head or a docstring, which introduce it."""
    if node is None:
        return True
    return number == 1 and node.type == "expression_statement" and [c.type for c in node.named_children] == ["string"]


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
