"""Extract Python code blocks, requested function names and usage examples from text.

The fallbacks of the coding roles use these functions: they find existing programs and never write one.
"""

import ast
import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from tenure.algorithms.text.sentences import stem_words

# "```python … ```", "~~~ … ~~~", and a block that the text ends without closing.
_FENCE = re.compile(r"^([`~]{3,}+)[ \t]*([\w+-]*)[^\n]*\n(.*?)(?:^\1[`~]*[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
# Lines with four blanks or a tab before them, and the blank lines between them.
_INDENTED = re.compile(r"(?:^(?: {4}|\t)[^\n]*\n?(?:[ \t]*\n)*)+", re.MULTILINE)
# The start of "def", "class", "import" or a decorator at the margin.
_TOP_LEVEL = re.compile(r"^(?=@|def |async def |class |import |from )", re.MULTILINE)
_PYTHON = ("", "py", "python", "python3")
# ">>> add(1, 2)" with "3" on the next line.
_PROMPT = re.compile(r"^[ \t]*>>> ?(?P<call>\w+\(.*\))[ \t]*\n[ \t]*(?P<result>(?!>>>)\S[^\n]*)", re.MULTILINE)
# "`add(1, 2)` returns `3`", "add(1, 2) == 3".
_STATED_RESULT = re.compile(
    r"(?P<call>\b\w+\([^()\n]*\))`?\s*(?:==|=>|->|→|returns|gives|is)\s*`?(?=(?P<result>[^\n`;]+))"
)
# "`add`", "add(1, 2)", "a function named add_all".
_FUNCTION_NAME = re.compile(
    r"`(\w+)(?:\([^`]*\))?`|\b([a-z_]\w*)\([^)]*\)|\bfunction\s+(?:named|called)?\s*([a-z]\w*_\w+)\b"
)

MAX_LITERAL_CHARACTERS = 500
"""Characters after a call in which its result is sought."""

DefinitionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True)
class CodeExample:
    """Call with its documented result."""

    function: str
    call: str
    result: str
    """The result, as a literal."""


def parse_python(code: str) -> ast.Module | None:
    """Parse Python code; None if the text is not valid Python."""
    try:
        return ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def list_definitions(code: str) -> tuple[str, ...]:
    """List the functions and classes that code defines at its top level."""
    tree = parse_python(code)
    return tuple(node.name for node in tree.body if isinstance(node, DefinitionNode)) if tree else ()


def extract_python_blocks(text: str) -> Iterator[str]:
    """Yield the Python blocks of a text that define something: fenced blocks, indented blocks, or the whole text."""
    fenced = [body for _, language, body in _FENCE.findall(text) if language.lower() in _PYTHON]
    indented = [textwrap.dedent(match.group()) for match in _INDENTED.finditer(_FENCE.sub("\n", text))]
    for block in (text,) if list_definitions(text) else (*fenced, *indented):
        piece = textwrap.dedent(block).strip("\n") + "\n"
        # Of a piece that does not parse, the top-level parts that do: a chunk may end inside a definition.
        parts = [piece] if parse_python(piece) else [part for part in _TOP_LEVEL.split(piece) if parse_python(part)]
        if list_definitions(code := "".join(parts)):
            yield code


def collect_imports(tests: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return the modules that tests import, each with the names that the tests use from it."""
    modules: dict[str, list[str]] = {}
    for tree in filter(None, map(parse_python, tests)):
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                modules.setdefault(node.module, []).extend(alias.name for alias in node.names)
            elif isinstance(node, ast.Import):
                for alias in node.names:
                    used = _list_attributes(ast.walk(tree), alias.asname or alias.name)
                    modules.setdefault(alias.name, []).extend(used)
    return {module: tuple(dict.fromkeys(names)) for module, names in modules.items()}


def _list_attributes(nodes: Iterable[ast.AST], module: str) -> list[str]:
    return [
        node.attr
        for node in nodes
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == module
    ]


def extract_function_names(question: str) -> tuple[str, ...]:
    """Extract the function names of a request: in backticks, as calls, or after the word "function"."""
    return tuple(dict.fromkeys(next(name for name in groups if name) for groups in _FUNCTION_NAME.findall(question)))


def rank_code(requested: Sequence[str], question: str, candidates: Iterable[str]) -> list[str]:
    """Return the code blocks that match a request, best match first.

    A block matches if it defines a requested name. Without such names, it matches if all words of a defined name occur
    in the question. The number of words shared with the question breaks ties.
    """
    stems = set(stem_words(question))

    def compute_score(code: str) -> tuple[int, int]:
        names = list_definitions(code)
        described = (set(stem_words(name.replace("_", " "))) for name in names)
        by_words = (bool(words) and words <= stems for words in described)
        hits = (name in names for name in requested) if requested else by_words
        return sum(hits), len(stems & set(stem_words(code)))

    scored = [(compute_score(code), code) for code in dict.fromkeys(candidates)]
    return [code for score, code in sorted(scored, key=lambda item: item[0], reverse=True) if score[0]]


def extract_examples(text: str) -> tuple[CodeExample, ...]:
    """Extract usage examples: interactive sessions, and calls with a stated result."""
    examples = [_parse_example(match) for pattern in (_PROMPT, _STATED_RESULT) for match in pattern.finditer(text)]
    return tuple(dict.fromkeys(example for example in examples if example))


def _parse_example(match: re.Match[str]) -> CodeExample | None:
    """Parse an example; None if the call or the result cannot be evaluated and compared."""
    call, result = match["call"].strip(), _parse_literal(match["result"])
    tree = parse_python(call)
    expression = tree.body[0] if tree and len(tree.body) == 1 else None
    if result is None or not (isinstance(expression, ast.Expr) and isinstance(expression.value, ast.Call)):
        return None
    function = expression.value.func
    return CodeExample(function.id, call, result) if isinstance(function, ast.Name) else None


def _parse_literal(text: str) -> str | None:
    """Return the longest Python literal at the start of a text, if any."""
    words = text.strip()[:MAX_LITERAL_CHARACTERS].rstrip(".,;:` ").split(" ")
    if len(text.strip()) > MAX_LITERAL_CHARACTERS:
        words.pop()  # it may be the beginning of a longer word
    for end in range(len(words), 0, -1):
        piece = " ".join(words[:end]).rstrip(".,;:`")
        try:
            ast.literal_eval(piece)
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            continue
        return piece
    return None
