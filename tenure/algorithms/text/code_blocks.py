"""Code in texts: blocks that are Python, the names that tests ask for, and examples with their results.

The twins of the coding roles live on it: they find programs that somebody has written, they write none.
"""

import ast
import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from tenure.algorithms.text.sentences import stems

_FENCE = re.compile(r"^([`~]{3,})[ \t]*([\w+-]*)[^\n]*\n(.*?)(?:^\1[`~]*[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_INDENTED = re.compile(r"(?:^(?: {4}|\t)[^\n]*\n?(?:[ \t]*\n)*)+", re.MULTILINE)
_TOP_LEVEL = re.compile(r"^(?=@|def |async def |class |import |from )", re.MULTILINE)
_PYTHON = ("", "py", "python", "python3")
_PROMPT = re.compile(r"^[ \t]*>>> ?(?P<call>\w+\(.*\))[ \t]*\n[ \t]*(?P<result>(?!>>>)\S[^\n]*)", re.MULTILINE)
_SAID = re.compile(r"(?P<call>\b\w+\([^()\n]*\))`?\s*(?:==|=>|->|→|returns|gives|is)\s*`?(?=(?P<result>[^\n`;]+))")
_NAMED = re.compile(r"`(\w+)(?:\([^`]*\))?`|\b([a-z_]\w*)\([^)]*\)|\bfunction\s+(?:named|called)?\s*([a-z]\w*_\w+)\b")

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True)
class Example:
    """A call and the value it is said to have."""

    function: str
    """What is called."""
    call: str
    """The call, as an expression."""
    result: str
    """The value, as a literal."""


def tree_of(code: str) -> ast.Module | None:
    """Return the syntax tree of a text; None where it is no Python."""
    try:
        return ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def defined(code: str) -> tuple[str, ...]:
    """Return the functions and classes that code defines at its top level."""
    tree = tree_of(code)
    return tuple(node.name for node in tree.body if isinstance(node, Definition)) if tree else ()


def blocks(text: str) -> Iterator[str]:
    """Yield the pieces of a text that are Python and define something: fenced, indented, or the text as a whole."""
    fenced = [body for _, language, body in _FENCE.findall(text) if language.lower() in _PYTHON]
    indented = [textwrap.dedent(found.group()) for found in _INDENTED.finditer(_FENCE.sub("\n", text))]
    for piece in (*fenced, *indented) if tree_of(text) is None or not defined(text) else (text,):
        yield from _parsing(textwrap.dedent(piece).strip("\n") + "\n")


def _parsing(piece: str) -> Iterator[str]:
    """Yield a piece that parses, or those of its top-level parts that do: a chunk may end in the middle of one."""
    parts = [piece] if tree_of(piece) else [part for part in _TOP_LEVEL.split(piece) if tree_of(part)]
    whole = "".join(parts)
    if defined(whole):
        yield whole


def imported(tests: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return the modules that tests import, each with the names they take from it."""
    found: dict[str, list[str]] = {}
    for tree in map(tree_of, tests):
        for node in ast.walk(tree) if tree else ():
            if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found.setdefault(node.module, []).extend(alias.name for alias in node.names)
            elif isinstance(node, ast.Import):
                for alias in node.names:
                    found.setdefault(alias.name, []).extend(_attributes(tree, alias.asname or alias.name))
    return {module: tuple(dict.fromkeys(names)) for module, names in found.items()}


def _attributes(tree: ast.Module | None, module: str) -> list[str]:
    nodes = ast.walk(tree) if tree else ()
    return [
        node.attr
        for node in nodes
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == module
    ]


def named(question: str) -> tuple[str, ...]:
    """Return the functions that a request names: in code marks, called, or after the word."""
    return tuple(dict.fromkeys(next(name for name in found if name) for found in _NAMED.findall(question)))


def fitting(wanted: Sequence[str], question: str, offered: Iterable[str]) -> list[str]:
    """Return the code that defines some of the wanted names, or shares most words with the question; best first.

    Without wanted names a definition fits whose name is made of words of the question.
    """
    asked = set(stems(question))

    def merit(code: str) -> tuple[int, int]:
        names = defined(code)
        hits = sum(name in names for name in wanted) if wanted else _all_said(names, asked)
        return hits, len(asked & set(stems(code)))

    scored = [(merit(code), code) for code in dict.fromkeys(offered)]
    return [code for score, code in sorted(scored, key=lambda one: one[0], reverse=True) if score[0]]


def _all_said(names: Sequence[str], asked: set[str]) -> int:
    """Count the names all of whose words are in the question."""
    words = [set(stems(name.replace("_", " "))) for name in names]
    return sum(bool(one) and one <= asked for one in words)


def examples(text: str) -> tuple[Example, ...]:
    """Return the examples of a text: interactive sessions, and calls that are said to return something."""
    found = [_example(match) for pattern in (_PROMPT, _SAID) for match in pattern.finditer(text)]
    return tuple(dict.fromkeys(example for example in found if example))


def _example(match: re.Match[str]) -> Example | None:
    """Read an example; None where its call or its result is nothing that can be compared."""
    call, result = match["call"].strip(), _literal(match["result"])
    tree = tree_of(call)
    expression = tree.body[0] if tree and len(tree.body) == 1 else None
    if result is None or not (isinstance(expression, ast.Expr) and isinstance(expression.value, ast.Call)):
        return None
    function = expression.value.func
    return Example(function.id, call, result) if isinstance(function, ast.Name) else None


def _literal(text: str) -> str | None:
    """Return the longest literal that a text begins with; None where there is none."""
    words = text.strip().rstrip(".,;:` ").split(" ")
    for end in range(len(words), 0, -1):
        piece = " ".join(words[:end]).rstrip(".,;:`")
        try:
            ast.literal_eval(piece)
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            continue
        return piece
    return None
