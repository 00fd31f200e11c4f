"""Find the symbols that source code defines, and the names that it refers to."""

import re
from bisect import bisect_right
from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from tree_sitter import Node, QueryCursor

from tenure.algorithms.coding.syntax import SyntaxTree

MAX_SYMBOLS: Final = 5_000
"""Symbols of a file; a generated one of 1 MB has more."""
MAX_SIGNATURE_CHARACTERS: Final = 160
_MIN_NAME_CHARACTERS: Final = 2
"""Length of a name whose references are recorded; `i` and `x` say nothing."""
_BLOCK: Final = "block"
"""Kind of a definition that is no symbol but contains some, such as `impl T` in Rust."""
_CONTAINERS: Final = frozenset(("class", "interface", "struct", "enum", "trait", "namespace", "type", _BLOCK))
# `Reader`, the last one of the receiver `(r *Reader)` in Go
_NAME: Final = re.compile(r"[^\W\d]\w*")
# `Box::run` in C++, `lib.run` in JavaScript
_PATH: Final = re.compile(r"::|\.")


class CodeSymbol(NamedTuple):
    """Definition of a symbol."""

    name: str
    qualified_name: str
    """Names of the symbols around it and its own, separated by dots."""
    kind: str
    """`class`, `function`, `method`, `interface`, `struct`, `enum`, `trait`, `type`, `namespace` or `variable`."""
    signature: str
    """Its code up to the body, in a line."""
    first: int
    last: int
    """Lines, from 1."""
    depth: int = 0
    """Number of symbols around it."""


class CodeOutline(NamedTuple):
    """Symbols and references of a file."""

    symbols: tuple[CodeSymbol, ...] = ()
    """In the order of the text."""
    references: Mapping[str, tuple[int, ...]] = {}
    """Lines that name something which they do not define, by name."""


def outline_code(syntax: SyntaxTree) -> CodeOutline:
    """Return the symbols that a syntax tree defines, and the names that it refers to."""
    definitions = _find_definitions(syntax)
    symbols = tuple(symbol for symbol in _list_symbols(syntax, definitions) if symbol.kind != _BLOCK)
    return CodeOutline(symbols, _find_references(syntax, definitions))


def find_symbols(syntax: SyntaxTree) -> tuple[CodeSymbol, ...]:
    """Return the symbols that a syntax tree defines and the blocks of some, in the order of the text."""
    return tuple(_list_symbols(syntax, _find_definitions(syntax)))


def find_enclosing(symbols: Sequence[CodeSymbol], line: int) -> CodeSymbol | None:
    """Return the innermost symbol that contains a line and is no variable; symbols are in the order of the text."""
    for symbol in reversed(symbols[: bisect_right(symbols, line, key=lambda one: one.first)]):
        if symbol.last >= line and symbol.kind != "variable":
            return symbol
        if symbol.depth == 0 and symbol.kind != "variable":
            return None
    return None


class _Definition(NamedTuple):
    node: Node
    name: Node
    kind: str


def _find_definitions(syntax: SyntaxTree) -> dict[int, _Definition]:
    """Return the definitions by the offsets of their names."""
    definitions: dict[int, _Definition] = {}
    for _, captures in QueryCursor(syntax.grammar.definitions).matches(syntax.root):
        [name] = captures.pop("name")
        [(kind, [node])] = captures.items()
        # Two patterns may match one name, such as a variable with a function as its value.
        if kind != "variable" or name.start_byte not in definitions:
            definitions[name.start_byte] = _Definition(node, name, kind)
    return definitions


def _list_symbols(syntax: SyntaxTree, definitions: Mapping[int, _Definition]) -> Iterator[CodeSymbol]:
    # The definitions around the current one, with the names below which their symbols are.
    around: list[tuple[int, str, str]] = []
    count = 0
    for node, name, kind in sorted(definitions.values(), key=lambda item: (item.node.start_byte, -item.node.end_byte)):
        while around and around[-1][0] <= node.start_byte:
            around.pop()
        outer, outer_kind = (around[-1][1], around[-1][2]) if around else ("", "")
        own_name = _decode(name)
        if kind == "function" and outer_kind in _CONTAINERS - {"namespace"}:
            kind = "method"
        parts = [part for part in _PATH.split(own_name) if part]
        own_name = parts[-1] if parts else own_name
        if kind == "method" and not outer and (receiver := node.child_by_field_name("receiver")):
            parts = [*_NAME.findall(_decode(receiver))[-1:], own_name]
        qualified = ".".join(filter(None, (outer, *(parts or [own_name]))))
        around.append((node.end_byte, qualified, kind))
        if not own_name:
            continue
        count += 1
        if count > MAX_SYMBOLS:
            return
        signature = _read_signature(syntax, node)
        yield CodeSymbol(own_name, qualified, kind, signature, *find_lines_of(node), len(around) - 1)


def find_lines_of(node: Node) -> tuple[int, int]:
    """Return the first and the last line of a node, from 1; a line break at its end is no line of its own."""
    (first, _), (last, column) = node.start_point, node.end_point
    return first + 1, max(last + (column > 0), first + 1)


def _read_signature(syntax: SyntaxTree, node: Node) -> str:
    """Return the code of a definition up to its body, or its first line, in one line."""
    value = node.child_by_field_name("value") or node
    body = node.child_by_field_name("body") or value.child_by_field_name("body")
    start, end = node.start_byte, body.start_byte if body else node.end_byte
    head = syntax.source[start : min(end, start + 4 * MAX_SIGNATURE_CHARACTERS)].decode("utf-8", "replace")
    lines = head if body else head.split("\n", 1)[0]
    return " ".join(lines.split()).rstrip("{=:>, ")[:MAX_SIGNATURE_CHARACTERS]


def _find_references(syntax: SyntaxTree, defined: Container[int]) -> dict[str, tuple[int, ...]]:
    source = syntax.source
    lines: dict[bytes, dict[int, None]] = {}
    for node in QueryCursor(syntax.grammar.names).captures(syntax.root).get("name", ()):
        start = node.start_byte
        if start not in defined:
            lines.setdefault(source[start : node.end_byte], {})[node.start_point[0] + 1] = None
    return {
        name.decode("utf-8", "replace"): tuple(sorted(rows))
        for name, rows in sorted(lines.items())
        if len(name) >= _MIN_NAME_CHARACTERS
    }


def _decode(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")
