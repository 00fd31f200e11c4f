"""Extraction of prose from files: docstrings, comments, strings that are sentences, and Markdown text."""

import ast
import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from markdown_it import MarkdownIt
from markdown_it.token import Token

Kind = Literal["docstring", "attribute", "comment", "string", "markdown"]
"""Origin of a fragment; `attribute` is the docstring of a field, constant or property."""

DATA_MARKER = re.compile(r"#.*\bprose: data\b")
"""Comment that exempts the strings of its statement."""

MIN_WORDS = 3
"""Number of words from which a string counts as prose."""

_WORD = re.compile(r"[A-Za-z][a-z'’]+")
_REGEX = re.compile(r"\\[bwsdWSDAZ]|\(\?|\[\^|\[[a-z]-[a-z]|\.\*|\)\?|\[\w+\][*+?]|(?:\w\|.*){3}")
_SQL = re.compile(
    r"\s*\(?(?:SELECT|WITH|INSERT|CREATE|DELETE|UPDATE|DESCRIBE|COPY|ATTACH|SET|FROM|WHERE|ORDER BY|AS SELECT)\b"
)
_CODE_SPAN = re.compile(r"(`+)(?:(?!`).)+?\1", re.DOTALL)
_ARGUMENT = re.compile(r"^( {4,})(\*{0,2}[A-Za-z_]\w*)(?=(?: \([^)\n]*\))?: )", re.MULTILINE)
_HASH_COMMENT = re.compile(r"^\s*#(?!!)\s?(.*)$|\s#\s(.*)$")

_MARKDOWN = MarkdownIt("commonmark").enable("table")


@dataclass(frozen=True)
class Fragment:
    """A piece of prose and its place in a file."""

    kind: Kind
    text: str
    """Text with the contents of code spans masked."""
    line: int
    """Number of its first line."""
    end_line: int
    owner: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module | None = None
    """Definition that a docstring belongs to."""
    nested: bool = False
    """Whether the owner is defined inside a function or a private class."""

    def line_at(self, position: int) -> int:
        """Return the line of a position in the text."""
        return min(self.line + self.text.count("\n", 0, position), self.end_line)


def mask(text: str) -> str:
    """Replace the contents of code spans by x, keeping lengths and line breaks."""
    return _CODE_SPAN.sub(lambda match: re.sub(r"[^`\n]", "x", match.group()), text) if "`" in text else text


def is_prose(text: str) -> bool:
    """Return whether a string literal reads like a sentence or a phrase, not like code or a pattern."""
    if " " not in text or _SQL.match(text) or _REGEX.search(text):
        return False
    return len(_WORD.findall(text)) >= MIN_WORDS


def python_fragments(source: str, *, strings: bool) -> list[Fragment]:
    """Return the prose of a Python file.

    Args:
        source: text of the file.
        strings: whether string literals are included besides docstrings and comments.
    """
    tree = ast.parse(source)
    lines = source.splitlines()
    reader = _Reader(lines)
    reader.visit_body(tree, nested=False)
    reader.visit_expressions(tree)
    found = list(reader.docstrings)
    found += _comments(lines, reader.spans)
    if strings:
        exempt = _exempt_lines(tree, lines)
        found += [string for string in reader.strings if string.line not in exempt]
    return found


class _Reader:
    """Collector of docstrings and strings of a syntax tree."""

    def __init__(self, lines: list[str]) -> None:
        self.docstrings: list[Fragment] = []
        self.strings: list[Fragment] = []
        self.spans: list[tuple[int, int, int, int]] = []
        self._lines = lines
        self._seen: set[ast.AST] = set()

    def visit_body(self, owner: ast.AST, *, nested: bool) -> None:
        """Collect the docstrings of a definition and of everything defined in it."""
        body: list[ast.stmt] = getattr(owner, "body", [])
        for number, statement in enumerate(body):
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                if isinstance(statement.value.value, str):
                    self._add_docstring(owner, statement.value, first=number == 0, nested=nested)
            elif isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
                self.visit_body(statement, nested=nested or not isinstance(owner, ast.Module | ast.ClassDef))
            elif isinstance(statement, ast.ClassDef):
                self.visit_body(statement, nested=nested or statement.name.startswith("_"))
            elif isinstance(statement, ast.If | ast.With | ast.AsyncWith | ast.Try):
                self.visit_body(statement, nested=nested)

    def visit_expressions(self, tree: ast.Module) -> None:
        """Collect the string literals that are no docstrings."""
        pending: list[ast.AST] = [tree]
        while pending:
            node = pending.pop()
            if isinstance(node, ast.Name) or node in self._seen:
                continue
            if isinstance(node, ast.Constant):
                if isinstance(node.value, str):
                    self._add_string(node, node.value)
                continue
            if isinstance(node, ast.Call):
                self._skip_patterns(node)
            elif isinstance(node, ast.JoinedStr):
                self._add_joined(node)
            for field in node._fields:
                value = getattr(node, field)
                if isinstance(value, list):
                    pending += [item for item in value if isinstance(item, ast.AST)]
                elif field not in ("ctx", "op") and isinstance(value, ast.AST):
                    pending.append(value)

    def _add_docstring(self, owner: ast.AST, node: ast.Constant, *, first: bool, nested: bool) -> None:
        self._seen.add(node)
        self._add_span(node)
        definition = isinstance(owner, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module)
        kind: Kind = "docstring" if first and definition and not _is_property(owner) else "attribute"
        text = _ARGUMENT.sub(lambda match: match[1] + "x" * len(match[2]), mask(str(node.value)))
        last = node.end_lineno or node.lineno
        own = owner if first and isinstance(owner, _DEFINITIONS) else None
        self.docstrings.append(Fragment(kind, text, node.lineno, last, own, nested))

    def _skip_patterns(self, call: ast.Call) -> None:
        """Leave out regular expressions and texts that are split into words."""
        function = call.func
        if not isinstance(function, ast.Attribute):
            return
        receiver = function.value
        if function.attr in ("split", "splitlines") and isinstance(receiver, ast.Constant | ast.JoinedStr):
            self._skip(receiver)
        if isinstance(receiver, ast.Name) and receiver.id == "re":
            for argument in call.args[:1]:
                self._skip(argument)

    def _skip(self, tree: ast.AST) -> None:
        for node in ast.walk(tree):
            self._seen.add(node)
            if isinstance(node, ast.JoinedStr | ast.Constant):
                self._add_span(node)

    def _add_joined(self, node: ast.JoinedStr) -> None:
        pieces: list[str] = []
        for value in node.values:
            if isinstance(value, ast.Constant):
                self._seen.add(value)
                pieces.append(str(value.value))
            else:
                pieces.append("{}")
        self._add_string(node, "".join(pieces))

    def _add_string(self, node: ast.Constant | ast.JoinedStr, text: str) -> None:
        self._add_span(node)
        opening = self._lines[node.lineno - 1].encode()[node.col_offset :][:2].lower()
        if not opening.startswith((b"r", b"br")) and is_prose(text):
            last = node.end_lineno or node.lineno
            self.strings.append(Fragment("string", mask(text), node.lineno, last))

    def _add_span(self, node: ast.expr) -> None:
        end_line, end_column = node.end_lineno or node.lineno, node.end_col_offset or 0
        self.spans.append((node.lineno, node.col_offset, end_line, end_column))


_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Module)


def _is_property(node: ast.AST) -> bool:
    decorators = getattr(node, "decorator_list", [])
    names = [decorator.attr if isinstance(decorator, ast.Attribute) else decorator for decorator in decorators]
    texts = [name if isinstance(name, str) else getattr(name, "id", "") for name in names]
    return any("property" in text or text == "computed_field" for text in texts)


def _exempt_lines(tree: ast.Module, lines: list[str]) -> set[int]:
    """Return the lines of the statements that a comment marks as data."""
    marked = [number for number, line in enumerate(lines, 1) if "prose: data" in line and DATA_MARKER.search(line)]
    if not marked:
        return set()
    statements = [node for node in ast.walk(tree) if isinstance(node, ast.stmt)]
    exempt: set[int] = set()
    for number in marked:
        around = [node for node in statements if node.lineno <= number <= (node.end_lineno or node.lineno)]
        if lines[number - 1].lstrip().startswith("#"):
            around += [node for node in statements if node.lineno == number + 1]
        if around:
            inner = max(around, key=lambda node: (node.lineno, -(node.end_lineno or 0)))
            exempt |= set(range(inner.lineno, (inner.end_lineno or inner.lineno) + 1))
    return exempt


def _comments(lines: list[str], spans: list[tuple[int, int, int, int]]) -> Iterator[Fragment]:
    """Yield the comments outside of strings; those on consecutive lines form one fragment."""
    spans = sorted(spans)
    starts = [(line, column) for line, column, _, _ in spans]
    block: list[str] = []
    first = 0
    for number, line in enumerate([*lines, ""], 1):
        column = _comment_column(line, number, spans, starts) if "#" in line else -1
        alone = column >= 0 and not line[:column].strip()
        if block and not alone:
            yield _comment(block, first)
            block = []
        if alone:
            first = first if block else number
            block.append(line[column:])
        elif column >= 0:
            yield _comment([line[column:]], number)


def _comment(block: list[str], line: int) -> Fragment:
    texts = [text.lstrip("#!").strip() for text in block]
    kept = ["" if re.match(r"(?:noqa|type:|pragma|ruff:|prose:|mypy:)", text) else text for text in texts]
    return Fragment("comment", mask("\n".join(kept)), line, line + len(block) - 1)


def _comment_column(
    line: str, number: int, spans: list[tuple[int, int, int, int]], starts: list[tuple[int, int]]
) -> int:
    """Return the column at which the comment of a line starts, or -1 if it has none."""
    column = line.find("#")
    while column >= 0:
        place = (number, len(line[:column].encode()))
        before = bisect_right(starts, place) - 1
        if before < 0 or place >= spans[before][2:]:
            return column
        column = line.find("#", column + 1)
    return -1


def markdown_fragments(source: str) -> Iterator[Fragment]:
    """Yield the paragraphs, headings and table cells of a Markdown file."""
    around = (0, 1)
    for token in _MARKDOWN.parse(source):
        if token.map:
            around = (token.map[0], token.map[1])
        if token.type == "inline":
            text = "".join(_inline(token.children or []))
            yield Fragment("markdown", text, around[0] + 1, max(around[1], around[0] + 1))


def _inline(tokens: list[Token]) -> Iterator[str]:
    for token in tokens:
        if token.type == "text":
            yield token.content
        elif token.type == "code_inline":
            yield "`" + "x" * len(token.content) + "`"
        elif token.type in ("softbreak", "hardbreak"):
            yield "\n"
        elif token.type == "image":
            yield from _inline(token.children or [])


def hash_comment_fragments(source: str) -> Iterator[Fragment]:
    """Yield the comments of a file in a language that starts them with a hash."""
    for number, line in enumerate(source.splitlines(), 1):
        if "#" in line and (match := _HASH_COMMENT.search(line)):
            yield Fragment("comment", mask(match[1] or match[2] or ""), number, number)
