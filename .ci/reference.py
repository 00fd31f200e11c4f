"""Write the generated parts of the manual and the JSON schema of results.

Usage: PYTHONPATH=. uv run python .ci/reference.py

A page has text of its own; a part of it between the comments `<!-- NAME -->` and `<!-- end of NAME -->` is generated
from the settings, the tools and the registries. A test compares the files.
"""

import ast
import inspect
import json
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, Literal, get_args, get_origin

import reference_tables
from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema
from pydantic_settings import NoDecode
from reference_commands import render_commands

from tenure.algorithms.calculator.functions import DATE_FUNCTIONS, FUNCTIONS
from tenure.contracts.base import Contract
from tenure.contracts.evidence.rerank import RecencyOptions, RerankOptions
from tenure.contracts.result.result import Result
from tenure.contracts.run.limit_fields import LimitFields
from tenure.contracts.run.options import Option
from tenure.settings import Settings, get_environment_variable
from tenure.settings.description import describe_field, insert_variables, list_types
from tenure.settings.home import CodecSettings, ConnectionSettings, HomeSettings, StackSettings
from tenure.settings.knowledge import KnowledgeSettings, MemorySettings, TableSettings
from tenure.settings.models import (
    ChatModelSettings,
    ModelServerSettings,
    RetrievalModelSettings,
    TranscriptionSettings,
)
from tenure.settings.team import TeamSettings
from tenure.settings.web import FetchSettings, McpSettings, SearchSettings, WebSettings
from tenure.settings.worker import NotifierSettings, SandboxSettings, WorkerSettings
from tenure.sources.parsers.registry import list_formats
from tenure.sources.search.registry import get_key_variable, get_url_variable, load_provider_classes
from workflows.research.strategies import list_search_strategies
from workflows.research.tool import Tool
from workflows.research.tool_registry import TOOLS

ROOT: Final = Path(__file__).resolve().parents[1]
SCHEMA: Final = ROOT / "docs" / "result.schema.json"

GROUPS: Final[tuple[type[BaseModel], ...]] = (
    *(HomeSettings, ConnectionSettings, StackSettings, CodecSettings, TeamSettings),
    *(WorkerSettings, NotifierSettings),
    *(ModelServerSettings, ChatModelSettings, RetrievalModelSettings, TranscriptionSettings, LimitFields),
    SandboxSettings,
    *(KnowledgeSettings, MemorySettings, TableSettings, WebSettings, FetchSettings, SearchSettings, McpSettings),
)
"""Groups of settings in the order of the page, which has a section for each."""

_REQUIREMENTS: Final = {
    None: "",
    "web": "permission to read the web",
    "tables": "tables",
    "sandbox": "tables and a sandbox",
    "mcp": "servers of `--mcp`",
    "mcp_resources": "servers of `--mcp` with resources",
}
"""Requirements of tools in words."""

_BOUNDS: Final = {"ge": "from {}", "gt": "above {}", "le": "to {}", "lt": "below {}", "max_length": "of at most {} {}"}
_KINDS: Final[tuple[tuple[tuple[type, ...], str, str], ...]] = (
    ((tuple,), "list", "entries"),
    ((int,), "whole number", ""),
    ((float,), "number", ""),
    ((Path,), "path", ""),
    ((dict, RerankOptions, RecencyOptions), "JSON object", "entries"),
    ((bool,), "`true` or `false`", ""),
    ((SecretStr,), "secret text", ""),
    ((str,), "text", "characters"),
)
"""Types of fields with their names and the units of their length."""


def render_settings() -> str:
    """Return a section for each group of settings."""
    return "\n\n".join(map(_render_group, GROUPS))


def list_own_settings(group: type[BaseModel]) -> list[str]:
    """Return the names of the settings that a group does not inherit from another one."""
    inherited = {name for base in group.__bases__ for name in getattr(base, "model_fields", ())}
    return [name for name in group.model_fields if name not in inherited]


def _render_group(group: type[BaseModel]) -> str:
    """Return one group: a heading, a paragraph if it has an introduction, a table."""
    title, _, about = inspect.cleandoc(group.__doc__ or "").partition("\n\n")
    rows = []
    for variable, field, meaning in _list_variables(group):
        rows.append([f"`{variable}`", insert_variables(meaning), _describe_values(field), _render_default(field)])
    table = _render_table(("variable", "meaning", "values", "default"), rows)
    return "\n\n".join(filter(None, (f"## {title.removesuffix('.')}", insert_variables(about), table)))


def _list_variables(group: type[BaseModel]) -> Iterator[tuple[str, FieldInfo, str]]:
    """Yield the variables of a group with their meanings, and those of the parts of its object of reranking."""
    for name in list_own_settings(group):
        variable, field = get_environment_variable(name), Settings.model_fields[name]
        yield variable, field, describe_field(field)
        if field.annotation is RerankOptions:
            for part, meaning in _read_descriptions(RerankOptions).items():
                yield f"{variable}__{part}".upper(), RerankOptions.model_fields[part], meaning


def render_tools() -> str:
    """Return the tools with their requirements and bounds."""
    rows = ([f"`{tool.name}`", tool.description, _REQUIREMENTS[tool.requires], tool.bounds] for tool in TOOLS.values())
    return _render_table(("tool", "what it does", "needs", "bounds"), rows)


def render_arguments() -> str:
    """Return a section on the arguments of each tool."""
    return "\n\n".join(map(_render_arguments, TOOLS.values()))


def _render_arguments(tool: Tool[Any]) -> str:
    rows = []
    for name, field in tool.arguments.model_fields.items():
        meaning, default = " ".join(describe_field(field).split()), _render_default(field)
        rows.append([f"`{name}`", meaning, _describe_values(field), "needed" if field.is_required() else default])
    title = f"### Arguments of the {tool.name.replace('_', ' ')} tool"
    return f"{title}\n\n{_render_table(('argument', 'meaning', 'values', 'default'), rows)}"


def render_functions() -> str:
    """Return the functions of the calculator."""
    return f"The functions are {', '.join(f'`{name}`' for name in sorted((*FUNCTIONS, *DATE_FUNCTIONS)))}."


def render_providers() -> str:
    """Return the search providers with the variables that configure them."""
    rows = []
    for name, provider in load_provider_classes().items():
        key = f"`{get_key_variable(name, provider)}`" if provider.key != "none" else ""
        variable = key + (", or nothing" if provider.key == "optional" else "") or "nothing"
        rows.append(
            [f"`{name}`", provider.description, variable if provider.base_url else f"`{get_url_variable(name)}`"]
        )
    rows.append(["a name of yours", "a server with an OpenSearch description", "`TENURE_OPENSEARCH`"])
    rows.append(["a name of yours", "an MCP server with a search tool", "`TENURE_MCP_SERVERS`"])
    return _render_table(("name", "content", "configured by"), rows)


def render_formats() -> str:
    """Return the document formats with their suffixes."""
    rows = ([", ".join(f"`{suffix}`" for suffix in one.suffixes), one.description] for one in list_formats())
    return _render_table(("suffixes", "content"), rows)


def _describe_values(field: FieldInfo) -> str:
    """Return the choices of a field, or its types and bounds."""
    if field is Settings.model_fields["strategy"]:
        return ", ".join(f"`{name}`" for name in list_search_strategies())
    types = list(list_types(field.annotation))
    choices = [choice for kind in types if get_origin(kind) is Literal for choice in get_args(kind) if choice]
    if choices:
        return ", ".join(f"`{choice}`" for choice in choices)
    kinds = [
        (name, unit)
        for known, name, unit in _KINDS
        if any(kind in known or get_origin(kind) in known for kind in types)
    ]
    # The values of a list are described by its length.
    words = [kinds[0][0] if kinds[0][0] == "list" else " or ".join(name for name, _ in kinds)]
    if NoDecode in field.metadata:
        words = ["paths" if Path in get_args(field.annotation) else "comma-separated list"]
    for name, bound in _BOUNDS.items():
        for constraint in _list_constraints(field):
            if (value := getattr(constraint, name, None)) is not None:
                words.append(bound.format(f"{value:,.12g}", kinds[0][1]))
    return " ".join(words)


def _list_constraints(field: FieldInfo) -> Iterator[Any]:
    """Yield the constraints of a field, and in place of an option its bounds."""
    for part in field.metadata:
        yield from part if isinstance(part, Option) else (part,)


def _render_default(field: FieldInfo) -> str:
    """Return a default value; empty for an empty one."""
    if field.default in (None, "", (), {}, RerankOptions()):
        return ""
    return f"`{field.default:g}`" if isinstance(field.default, float) else f"`{field.default}`"


def _render_table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    head = list(headings)
    cells = ([cell.replace("|", "\\|") for cell in row] for row in rows)
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, *cells)).replace("\n", f"\n|{'---|' * len(head)}\n", 1)


PARTS: Final[dict[str, tuple[str, Callable[[], str]]]] = {
    "settings": ("settings.md", render_settings),
    "tools": ("tools.md", render_tools),
    "arguments of tools": ("tools.md", render_arguments),
    "functions of the calculator": ("tools.md", render_functions),
    "commands": ("cli.md", render_commands),
    "search providers": ("documents.md", render_providers),
    "document formats": ("documents.md", render_formats),
    "efforts": ("asking.md", reference_tables.render_efforts),
    "retrieval strategies": ("asking.md", reference_tables.render_strategies),
    "model tiers": ("models.md", reference_tables.render_tiers),
    "operations": ("interfaces.md", reference_tables.render_operations),
    "roles": ("architecture.md", reference_tables.render_roles),
    "activities": ("architecture.md", reference_tables.render_activities),
    "metrics": ("operations.md", reference_tables.render_metrics),
}
"""Page and content of each written part."""


def replace_part(page: str, name: str, content: str) -> str:
    """Return a page with a new part.

    Raises:
        ValueError: the page does not have the comments exactly once.
    """
    start, end = f"<!-- {name} -->\n\n", f"\n\n<!-- end of {name} -->"
    pattern = re.compile(f"{re.escape(start)}.*?{re.escape(end)}", re.DOTALL)
    text, count = pattern.subn(lambda _: start + content + end, page)
    if count != 1:
        raise ValueError(f"{count} parts {name}")
    return text


class _AllFieldsRequired(GenerateJsonSchema):
    """JSON schema generator that requires every field: a written document contains all of them."""

    def field_is_required(self, field: Any, total: bool) -> bool:
        """Return True for every field."""
        return True


def build_result_schema() -> dict[str, Any]:
    """Return the JSON schema of the result document as `--json` writes it."""
    schema = Result.model_json_schema(mode="serialization", schema_generator=_AllFieldsRequired)
    by_name = {model.__name__: model for model in _iterate_models(Result)}
    for name, described in {Result.__name__: schema, **schema["$defs"]}.items():
        meanings = _read_descriptions(by_name[name])
        for field, property_ in described["properties"].items():
            property_["description"] = meanings[field]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def _iterate_models(annotation: Any) -> Iterator[type[Contract]]:
    """Yield a model, or those inside another annotation, and every model inside their fields."""
    if isinstance(annotation, type) and issubclass(annotation, Contract):
        yield annotation
        for field in annotation.model_fields.values():
            yield from _iterate_models(field.annotation)
    for inner in get_args(annotation):
        yield from _iterate_models(inner)


def _read_descriptions(model: type[Contract]) -> dict[str, str]:
    """Return the descriptions of a model's fields, inherited ones included, from the docstrings below them."""
    classes = [kind for kind in reversed(model.__mro__) if issubclass(kind, Contract)]
    definitions = [ast.parse(textwrap.dedent(inspect.getsource(kind))).body[0] for kind in classes]
    return {
        field.target.id: inspect.cleandoc(text.value.value)
        for definition in definitions
        if isinstance(definition, ast.ClassDef)
        for field, text in pairwise(definition.body)
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
        if isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant) and isinstance(text.value.value, str)
    }


def render_files() -> dict[Path, str]:
    """Return the current text of each file that is written here, in whole or in parts."""
    texts = {SCHEMA: json.dumps(build_result_schema(), indent=2, ensure_ascii=False) + "\n"}
    for name, (page, render) in PARTS.items():
        path = ROOT / "docs" / page
        texts[path] = replace_part(texts.get(path) or path.read_text(encoding="utf-8"), name, render())
    return texts


if __name__ == "__main__":
    for file, text in render_files().items():
        file.write_text(text, encoding="utf-8")
        print(f"wrote {file}")
