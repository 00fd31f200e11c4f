"""The page of tools, `docs/tools.md`, out of the catalogue in `tenure/contracts/research/tools.py`.

`python -m tenure.reference.tools` writes it. What a reader learns of a tool is what a model reads of it, so that the
page cannot tell something else than the code.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, Literal, get_args, get_origin

from pydantic.fields import FieldInfo

from tenure.algorithms.calculator.functions import DATE_FUNCTIONS, FUNCTIONS
from tenure.contracts.research.tools import CATALOGUE, ToolInfo

PUBLISHED: Final = Path(__file__).resolve().parents[2] / "docs" / "tools.md"
"""Where the page is published."""

_HEAD: Final = """\
# Tools of a reasoning task

A task that reasons step by step chooses among tools. Each tool has a description and typed arguments, which are what \
a model reads of it; arguments that do not fit are answered with what to change, and are not guessed. The command \
`python -m tenure.reference.tools` writes this page from the code.

A tool returns an observation: a text of at most 4,000 characters, the passages that were gained as evidence, and how \
far the text can be relied on, from 0 to 1. A tool that fails says why in its observation, so that the task goes on. \
Passages have numbers from 1 in the order in which a task has first seen them, and a tool names passages by them. What \
a tool computes or is told becomes a source of its own, which a report can cite and no search of another run finds.

A task has only the tools that its run has a use for: those of the web with `--web`, those of tables where documents \
or databases hold some, `run_python` where a worker has a sandbox besides, and `mcp` with `--mcp`.

"""

_NEEDS: Final = {
    "": "",
    "web": "permission to read the web",
    "tables": "tables",
    "sandbox": "tables and a sandbox",
    "mcp": "servers of `--mcp`",
}

_CALCULATOR: Final = """\
## Expressions of the calculator

The calculator has a grammar of its own and never runs an expression as code. Numbers are fractions, so `0.1 + 0.2` \
is 0.3; what has no exact value, such as `sqrt(2)`, is computed to 50 digits and marked with ≈. The operators are \
`+ - * / // ^` (also `**`), and `!` for a factorial. A unit stands behind its number, has SI or binary prefixes, and \
is converted with `to`: `(3.5 km + 120 m) / 2 to m`. Currencies are units that no rate connects. A percentage is a \
hundredth: `15% of 200` is 30. Days are written as `2024-03-01`; two can be subtracted, and days or weeks added.

An expression has 1,000 characters and 40 levels at the most, and a number 2,000 digits. The size of every result is \
estimated before it is computed, so `9**9**9` is refused at once.

The functions are {functions}.

"""

_SERVERS: Final = """\
## Tools of MCP servers

The option `--mcp NAME` lets the tasks of a run call a server of the setting `TENURE_MCP_SERVERS`, and of its tools \
those that the setting allows. A task asks the servers for their tools when it begins. Arguments are held against the \
schema of a tool before it is called, and nothing that the schema refers to elsewhere is fetched. A call is never \
repeated by itself, since nobody knows what doing it twice would do; a call that was lost is told as a problem.

An answer is text of others, like a page of the web: it becomes a source, is shown to a model between marks that its \
words cannot close, and counts for little where it gives orders to its readers.
"""


def reference() -> str:
    """Return the page as Markdown."""
    functions = ", ".join(f"`{name}`" for name in sorted((*FUNCTIONS, *DATE_FUNCTIONS)))
    tools = "\n".join(map(_tool, CATALOGUE))
    return "".join((_HEAD, _table(), "\n", tools, "\n", _CALCULATOR.format(functions=functions), _SERVERS))


def _table() -> str:
    """Set all tools side by side."""
    rows = "\n".join(f"| `{one.name}` | {one.description} | {_NEEDS[one.needs]} | {one.bounds} |" for one in CATALOGUE)
    return f"## Overview of the tools\n\n| tool | what it does | needs | bounds |\n|---|---|---|---|\n{rows}\n"


def _tool(tool: ToolInfo) -> str:
    """Set the arguments of one tool."""
    rows = "\n".join(_row(name, field) for name, field in tool.arguments.model_fields.items())
    title = f"### Arguments of the {tool.name.replace('_', ' ')} tool"
    return f"{title}\n\n| argument | meaning | values | default |\n|---|---|---|---|\n{rows}\n"


def _row(name: str, field: FieldInfo) -> str:
    meaning = " ".join((field.description or "").split())
    default = "" if field.is_required() or field.default in ("", (), {}, None) else f"`{field.default}`"
    cells = (f"`{name}`", meaning, ", ".join(_values(field)), "needed" if field.is_required() else default)
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _values(field: FieldInfo) -> Iterator[str]:
    """Yield what a field takes, in words."""
    if get_origin(field.annotation) is Literal:
        yield from (f"`{choice}`" for choice in get_args(field.annotation))
        return
    kind, unit = next((words, unit) for kind, words, unit in _KINDS if _is(field.annotation, kind))
    words = [kind]
    for name, bound in _BOUNDS.items():
        for constraint in field.metadata:
            if (value := getattr(constraint, name, None)) is not None:
                words.append(bound.format(f"{value:,}", unit))
    yield " ".join(words)


_KINDS: Final[tuple[tuple[type, str, str], ...]] = (
    (tuple, "list", "entries"),
    (dict, "JSON object", "entries"),
    (int, "whole number", ""),
    (str, "text", "characters"),
)
"""Kinds of arguments, what they are called, and what their length is counted in."""
_BOUNDS: Final = {"ge": "from {}", "le": "to {}", "max_length": "of at most {} {}"}


def _is(annotation: Any, kind: type) -> bool:
    """Tell whether an annotation is of a type, be it optional or with bounds."""
    origin = get_origin(annotation)
    return kind in (annotation, origin) or any(_is(part, kind) for part in get_args(annotation) if origin is not kind)


if __name__ == "__main__":
    PUBLISHED.write_text(reference(), encoding="utf-8")
    print(f"wrote {PUBLISHED}")
