"""Write `docs/tools.md` from the registered tools: `python -m tenure.reference.tools`.

The page shows the descriptions that a model reads, so that it cannot differ from the code.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, Literal, get_args, get_origin

from pydantic.fields import FieldInfo

from tenure.algorithms.calculator.functions import DATE_FUNCTIONS, FUNCTIONS
from workflows.research.tool import Tool
from workflows.research.tool_registry import TOOLS

PUBLISHED: Final = Path(__file__).resolve().parents[2] / "docs" / "tools.md"
"""File of the page."""

_HEAD: Final = """\
# Tools of a task

Every run, every task of a run and every follow-up question can use tools. The command \
`python -m tenure.reference.tools` writes this page from the code.

With a model, plans give tasks that need a tool to the [strategy `react`](research.md#step-by-step-tasks-with-tools), \
which chooses a tool in each step. The model reads the description and the typed arguments of each tool; invalid \
arguments are answered with a correction and are not guessed. The question of a run and a follow-up question use the \
following tools, after their search and before it is decided whether there is evidence:

| question | tool |
|---|---|
| a calculation with numbers, units or dates, such as “What is 15 % of 2,400?” | `calculate`; if the question is \
nothing else, its result is the whole answer |
| a figure of rows and columns, such as “total revenue per year” | `sql`, if there are tables; \
a model writes the query |
| what a tool or resource of a server of `--mcp` is about | `mcp`, `read_resource`, with a model; see \
[below](#tools-and-resources-of-mcp-servers) |

A tool returns an observation: a text of at most 4,000 characters, the passages found as evidence, and the \
reliability of the text, from 0 to 1. The observation of a failed call says why it failed, and the task continues. \
Passages have numbers from 1 in the order in which a task has first seen them; arguments name passages by number. The \
result of a calculation, a program or a foreign server becomes a source, which a report can cite and no search of \
another run finds.

A task has only the tools whose requirements its run meets: those of the web with `--web`, those of tables if \
documents or databases contain some, `run_python` if a worker also has a sandbox, and `mcp` and `read_resource` with \
`--mcp`.

"""

_NEEDS: Final = {
    None: "",
    "web": "permission to read the web",
    "tables": "tables",
    "sandbox": "tables and a sandbox",
    "mcp": "servers of `--mcp`",
    "mcp_resources": "servers of `--mcp` with resources",
}

_CALCULATOR: Final = """\
## Expressions of the calculator

The calculator has a grammar of its own and never runs an expression as code. Numbers are fractions, so `0.1 + 0.2` \
is 0.3; what has no exact value, such as `sqrt(2)`, is computed to 50 digits and marked with ≈. The operators are \
`+ - * / // ^` (also `**`), and `!` for a factorial. A unit follows its number, has SI or binary prefixes, and \
is converted with `to`: `(3.5 km + 120 m) / 2 to m`. Currencies are units without conversion rates. A percentage is a \
hundredth: `15% of 200` is 30. Days are written as `2024-03-01`; two can be subtracted, and days or weeks added.

An expression has at most 1,000 characters and 40 levels, and a number at most 2,000 digits. The size of every result \
is estimated before it is computed, so `9**9**9` is refused immediately.

The functions are {functions}.

"""

_SERVERS: Final = """\
## Tools and resources of MCP servers

The option `--mcp NAME` lets a run use a server of the setting `TENURE_MCP_SERVERS`, and of its tools and resources \
those that the setting allows. The run and its tasks with tools ask the servers what they offer. Arguments are \
validated against the schema of a tool before it is called; references of the schema to other documents are not \
fetched. A call is never retried, since it may have effects on the server; a call that failed or was lost is reported \
in the notes of the run.

The role `tool_selector` selects at most three calls and three resources for the question; tasks with tools call what \
their steps name. Of a resource, the six passages nearest to the question become evidence. Without a model no tool of \
a server is called, and `--mcp` is refused.

An answer is foreign text, like a web page: it becomes a source, is shown to a model between marks that its words \
cannot close, and has a low reliability if it contains instructions for its reader.
"""


def render_page() -> str:
    """Return the page as Markdown."""
    functions = ", ".join(f"`{name}`" for name in sorted((*FUNCTIONS, *DATE_FUNCTIONS)))
    tools = "\n".join(map(_render_arguments, TOOLS.values()))
    return "".join((_HEAD, _render_overview(), "\n", tools, "\n", _CALCULATOR.format(functions=functions), _SERVERS))


def _render_overview() -> str:
    rows = "\n".join(
        f"| `{tool.name}` | {tool.description} | {_NEEDS[tool.requires]} | {tool.bounds} |" for tool in TOOLS.values()
    )
    return f"## Overview of the tools\n\n| tool | what it does | needs | bounds |\n|---|---|---|---|\n{rows}\n"


def _render_arguments(tool: Tool[Any]) -> str:
    rows = "\n".join(_render_row(name, field) for name, field in tool.arguments.model_fields.items())
    title = f"### Arguments of the {tool.name.replace('_', ' ')} tool"
    return f"{title}\n\n| argument | meaning | values | default |\n|---|---|---|---|\n{rows}\n"


def _render_row(name: str, field: FieldInfo) -> str:
    meaning = " ".join((field.description or "").split())
    default = "" if field.is_required() or field.default in ("", (), {}, None) else f"`{field.default}`"
    cells = (f"`{name}`", meaning, ", ".join(_describe_values(field)), "needed" if field.is_required() else default)
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _describe_values(field: FieldInfo) -> Iterator[str]:
    """Yield descriptions of the values that a field accepts."""
    if get_origin(field.annotation) is Literal:
        yield from (f"`{choice}`" for choice in get_args(field.annotation))
        return
    kinds = [(words, unit) for kind, words, unit in _KINDS if _is_of_type(field.annotation, kind)]
    is_list = kinds[0][0] == "list"  # the values of a list are described by its length
    words, unit = [" or ".join(words for words, _ in (kinds[:1] if is_list else kinds))], kinds[0][1]
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
"""Types of arguments with their names and the units of their length."""
_BOUNDS: Final = {"ge": "from {}", "le": "to {}", "max_length": "of at most {} {}"}


def _is_of_type(annotation: Any, kind: type) -> bool:
    """Return whether an annotation is a type, possibly optional or with constraints."""
    origin = get_origin(annotation)
    return kind in (annotation, origin) or any(
        _is_of_type(part, kind) for part in get_args(annotation) if origin is not kind
    )


if __name__ == "__main__":
    PUBLISHED.write_text(render_page(), encoding="utf-8")
    print(f"wrote {PUBLISHED}")
