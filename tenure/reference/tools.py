"""Write `docs/tools.md` from the registered tools: `python -m tenure.reference`.

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
# Tools

A run with a model can calculate, query tables, run programs, read pages and ask other servers. Plans give a task that \
needs a tool to the strategy `react`, in which a model names a tool and its arguments step by step. This page is \
written by `python -m tenure.reference` from the descriptions that the model reads.

- Arguments are checked before a call; what does not fit is sent back with the errors.
- A tool returns a text of at most 4,000 characters and the passages that it found. A failed call says why it failed, \
and the task continues.
- Results of calculations, queries, programs and foreign servers become sources that the report can cite. No search of \
another run finds them.
- `calculate` also answers a question that is a calculation (“What is 15 % of 2,400?”), with and without a model.

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
## The calculator

Numbers are fractions, so `0.1 + 0.2` is 0.3; what has no exact value, such as `sqrt(2)`, is marked with ≈. Operators \
are `+ - * / // ^` (also `**`) and `!`. A unit follows its number, has SI or binary prefixes, and is converted with \
`to`: `(3.5 km + 120 m) / 2 to m`. Currencies are units without conversion rates, `15% of 200` is 30, and days are \
written as `2024-03-01`. An expression is never run as code, and a result that would be too large is refused before it \
is computed. The functions are {functions}.

"""

_SERVERS: Final = """\
## Tools of MCP servers

`--mcp NAME` lets a run use a server of the setting `TENURE_MCP_SERVERS`, as far as the setting allows its tools and \
resources. A model selects them, so `--mcp` is refused without a model. Arguments are validated against the schema of \
the tool. A call is never repeated, because it may have effects on the server; a failed call is named in the notes of \
the run. An answer is foreign text and is treated like a web page.
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
    return f"## Overview\n\n| tool | what it does | needs | bounds |\n|---|---|---|---|\n{rows}\n"


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
