"""Write `docs/settings.md` from the descriptions of the settings: `python -m tenure.reference`.

Each setting is described only once, so that the page cannot differ from the code.
"""

import re
from collections.abc import Iterator, Sequence
from inspect import cleandoc
from pathlib import Path
from typing import Any, Final, get_args, get_origin

from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo

from tenure.contracts.evidence.rerank import RecencyOptions, RerankOptions
from tenure.contracts.run.limit_fields import LimitFields
from tenure.contracts.run.options import Option, get_option
from tenure.settings import Settings, get_environment_variable
from tenure.settings.home import CodecSettings, ConnectionSettings, HomeSettings, StackSettings
from tenure.settings.knowledge import KnowledgeSettings, MemorySettings, TableSettings
from tenure.settings.models import ChatModelSettings, ModelServerSettings, RetrievalModelSettings
from tenure.settings.web import FetchSettings, McpSettings, SearchSettings, WebSettings
from tenure.settings.worker import NotifierSettings, SandboxSettings, WorkerSettings
from workflows.research.strategies import list_search_strategies

PUBLISHED: Final = Path(__file__).resolve().parents[2] / "docs" / "settings.md"
"""File of the page."""

GROUPS: Final[tuple[type[BaseModel], ...]] = (
    *(HomeSettings, ConnectionSettings, StackSettings, CodecSettings, WorkerSettings, NotifierSettings),
    *(ModelServerSettings, ChatModelSettings, RetrievalModelSettings, LimitFields, SandboxSettings),
    *(KnowledgeSettings, MemorySettings, TableSettings, WebSettings, FetchSettings, SearchSettings, McpSettings),
)
"""Groups of settings in the order of the page, which has a section for each."""

_HEAD: Final = """\
# Settings

Tenure is configured by environment variables or by a file named `.env` in the folder where a command runs. \
An environment variable overrides the same variable in the file, and an empty variable counts as not set. \
A value outside its range is refused with an error that names the setting, and with exit code 2.

A changed setting takes effect with the next command. \
`start` and `up` replace the worker of the local stack if its settings have changed. \
Workers started by hand must be restarted by hand.
"""

_TAIL: Final = """\
## Variables of the Temporal connection

The connection to a Temporal server is described by the standard variables of Temporal, such as `TEMPORAL_ADDRESS`, \
`TEMPORAL_NAMESPACE`, `TEMPORAL_API_KEY`, `TEMPORAL_TLS_CLIENT_CERT_PATH` and `TEMPORAL_PROFILE`. \
Variables of Temporal are read from the environment and not from the file `.env`. \
Without an address, the client and the worker use the local server on the port of `TENURE_TEMPORAL_PORT`.
"""

_BOUNDS: Final = {"ge": "from {}", "gt": "above {}", "le": "to {}", "lt": "below {}"}


def render_page() -> str:
    """Return the settings reference as Markdown."""
    return "\n".join([_HEAD, *map(_render_group, GROUPS), _TAIL])


def list_own_settings(group: type[BaseModel]) -> list[str]:
    """Return the names of the settings that a group does not inherit from another one."""
    inherited = {name for base in group.__bases__ for name in getattr(base, "model_fields", ())}
    return [name for name in group.model_fields if name not in inherited]


def _render_group(group: type[BaseModel]) -> str:
    """Render one group: a heading, a paragraph if it has an introduction, a table."""
    title, _, about = cleandoc(group.__doc__ or "").partition("\n\n")
    rows = [row for name in list_own_settings(group) for row in _render_rows(name, Settings.model_fields[name])]
    table = "\n".join(["| variable | meaning | values | default |", "|---|---|---|---|", *rows])
    words = re.sub(r"`(\w+)`", _replace_name, " ".join(about.split()))
    return "\n\n".join(part for part in (f"## {title.removesuffix('.')}", words, table) if part) + "\n"


def _render_rows(name: str, field: FieldInfo) -> Iterator[str]:
    """Yield the row of a setting, and for the JSON object of reranking one of each part that has a variable."""
    variable = get_environment_variable(name)
    yield _render_row(variable, field)
    if field.annotation is RerankOptions:
        for part, inner in RerankOptions.model_fields.items():
            yield _render_row(f"{variable}__{part.upper()}", inner)


def _render_row(variable: str, field: FieldInfo) -> str:
    meaning = re.sub(r"`(\w+)`", _replace_name, " ".join(describe_field(field).split()))
    cells = (f"`{variable}`", meaning, _describe_values(field), _render_default(field.default))
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def describe_field(field: FieldInfo) -> str:
    """Return the meaning of a setting."""
    option = get_option(field.metadata)
    return option.description if option else field.description or ""


def _replace_name(match: re.Match[str]) -> str:
    return f"`{get_environment_variable(match[1])}`" if match[1] in Settings.model_fields else match[0]


def _describe_values(field: FieldInfo) -> str:
    if field is Settings.model_fields["strategy"]:
        return ", ".join(f"`{name}`" for name in list_search_strategies())
    offered = [choice for part in (field.annotation, *get_args(field.annotation)) for choice in get_args(part)]
    choices = [choice for choice in offered if isinstance(choice, str) and get_origin(field.annotation) is not dict]
    if choices:
        return ", ".join(f"`{choice}`" for choice in choices)
    kind = next(name for types, name in _KINDS if any(_is_of_type(field.annotation, wanted) for wanted in types))
    return " ".join([kind, *_describe_bounds(field)])


_KINDS: Final[tuple[tuple[tuple[type, ...], str], ...]] = (
    ((int,), "whole number"),
    ((float,), "number"),
    ((Path,), "path"),
    ((dict, RerankOptions, RecencyOptions), "JSON object"),
    ((bool,), "`true` or `false`"),
    ((SecretStr,), "secret text"),
    ((tuple,), "comma-separated list"),
    ((str,), "text"),
)


def _is_of_type(annotation: Any, wanted: type) -> bool:
    """Return whether a setting is of a type, optional or not."""
    return wanted in (annotation, get_origin(annotation)) or wanted in get_args(annotation)


def _describe_bounds(field: FieldInfo) -> Iterator[str]:
    """Yield the bounds of a number in words, the lower one first."""
    for attribute, words in _BOUNDS.items():
        for constraint in _expand(field.metadata):
            if (bound := getattr(constraint, attribute, None)) is not None:
                yield words.format(f"{bound:,.12g}")


def _expand(metadata: Sequence[Any]) -> Iterator[Any]:
    """Yield the parts of metadata, and in place of an option its bounds."""
    for part in metadata:
        yield from part if isinstance(part, Option) else (part,)


def _render_default(value: object) -> str:
    """Render a default value; empty for an empty one."""
    return (
        ""
        if value in (None, "", (), {}, RerankOptions())
        else f"`{value:g}`"
        if isinstance(value, float)
        else f"`{value}`"
    )
