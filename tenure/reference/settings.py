"""Write `docs/settings.md` from the descriptions of the settings: `python -m tenure.reference.settings`.

Each setting is described only once, so that the page cannot differ from the code.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, get_args, get_origin

from pydantic import SecretStr
from pydantic.fields import FieldInfo

from tenure.contracts.evidence.rerank import RerankOptions
from tenure.contracts.run.limit_fields import LimitFields
from tenure.contracts.run.options import Option, get_option
from tenure.settings import Settings, get_environment_variable
from workflows.research.strategies import list_search_strategies

PUBLISHED: Final = Path(__file__).resolve().parents[2] / "docs" / "settings.md"
"""File of the page."""

_CODING_LIMITS: Final = (
    *("max_code_attempts", "candidates", "program_seconds", "program_memory_mib", "repair_seconds"),
    "sandbox_wait_seconds",
)
"""Limits of the coding path."""

GROUPS: Final = {
    "Home, ports and knowledge base": (
        "These settings define where Tenure keeps its state and on which ports it listens. Each home has its own "
        "stack, runs and knowledge base.",
        (
            "home",
            "temporal_port",
            "ui_port",
            "site_port",
            "mcp_port",
            "local_model_port",
            "retention_days",
            "worker_versioning",
            "document_roots",
            *("lancedb_uri", "files_uri"),
            "vector_index",
            "maintenance_hours",
            "archive_hours",
            *("owner", "owner_token", "owners", "owner_namespace"),
            "encryption_keys",
            *("codec_port", "codec_host", "codec_url", "codec_origins", "codec_certificate", "codec_private_key"),
            "codec_token",
            *("health_port", "health_host", "shutdown_seconds", "heartbeat_seconds"),
        ),
    ),
    "Memories": (
        "These settings control how memories of earlier runs age, are merged and are forgotten. The worker reads them "
        "when it starts.",
        (
            *(
                "memory",
                "consolidation_hours",
                "memory_half_life_days",
                "memory_short_term_hours",
                "memory_confirmation_days",
            ),
            *("memory_merge_similarity", "memory_forget_below", "memory_max_per_owner"),
        ),
    ),
    "Chat model and embedding model": (
        "Model settings connect Tenure to an OpenAI-compatible server. Without a key and a URL, fallbacks replace the "
        "chat model and the built-in embedding model is used.",
        (
            *("openai_api_key", "openai_base_url", "model", "fast_model", "temperature", "reasoning_effort"),
            *(
                "answer_cache_megabytes",
                "answer_cache_days",
                "max_output",
                "roles",
                "prices",
                "model_api",
                "model_timeout",
                "model_calls_per_second",
            ),
            *("model_concurrency", "embedding_model", "embedding_threads"),
            *("local_model_context", "rerank_model", "rerank_base_url", "rerank_api_key"),
        ),
    ),
    "Limits of a run": (
        "Limits bound the length of a report and the work of a run. The client reads them and sends them with the "
        "question, so a run keeps the limits it was started with. Two limits bound improvements: "
        "`max_report_revisions` counts the versions of a report, and `max_code_attempts` (below) the generations of a "
        "program whose tests fail.",
        tuple(name for name in LimitFields.model_fields if name not in _CODING_LIMITS),
    ),
    "Programs": ("Programs have limits of their own, which the client reads in the same way.", _CODING_LIMITS),
    "Sandbox": (
        "These settings define the sandbox of programs and its content. The worker reads them when it starts.",
        ("sandbox", "sandbox_python", "sandbox_cgroup", "sandbox_image", "sandbox_runtime"),
    ),
    "Tables and databases": (
        "Queries over tables run in a separate process, within these limits. Databases are defined here once, so that "
        "no URL and no password is sent with a run.",
        ("sql_seconds", "sql_rows", "sql_memory_mb", "databases"),
    ),
    "Fetching pages": (
        "The worker fetches web pages under these rules, which it reads when it starts. URLs are not trusted: hosts "
        "inside your own network are only contacted if they are allowed here.",
        (
            *("web", "web_pages", "web_archive"),
            *("fetch_allow", "fetch_domains", "fetch_deny", "fetch_user_agent", "fetch_robots"),
            *("fetch_seconds", "fetch_megabytes", "fetch_per_host", "fetch_delay_seconds"),
            *("page_ttl_hours", "page_cache_megabytes", "browser", "domain_authority"),
        ),
    ),
    "Web search": (
        "The worker queries search providers, and only for runs that may use the web. A provider without its key is "
        "left out, and the report says so.",
        (*("search_providers", "search_keys", "search_urls", "search_contact", "opensearch", "search_seconds"),),
    ),
    "MCP servers": (
        "Each server is defined here once with its allowed tools and resources; all others are refused. A run contains "
        "only the name of a server.",
        ("mcp_servers", "mcp_seconds"),
    ),
    "Notifications": (
        "Tenure notifies people of runs in these ways. The client requests notifications if one of them is set, and "
        "the worker sends them with its own settings.",
        ("notify_url", "notify_secret", "notify_command"),
    ),
    "Logs and metrics": (
        "These settings make the worker observable. Traces are configured by the standard variables of OpenTelemetry, "
        "such as `OTEL_EXPORTER_OTLP_ENDPOINT`.",
        ("log_level", "log_format", "metrics_port", "metrics_address"),
    ),
    "Chunks of documents": (
        "The length of chunks applies to the ingestion of documents. After a change, all files of a corpus are "
        "ingested again the next time.",
        ("chunk_tokens", "cold_start_chunks", "ingest_seconds"),
    ),
}
"""Settings by subject, each with an introduction."""

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
    return "\n".join([_HEAD, *(_render_group(title, *group) for title, group in GROUPS.items()), _TAIL])


def _render_group(title: str, about: str, names: tuple[str, ...]) -> str:
    """Render one subject: a heading, a paragraph, a table."""
    rows = "\n".join(_render_row(name, Settings.model_fields[name]) for name in names)
    about = re.sub(r"`(\w+)`", _replace_name, about)
    return f"## {title}\n\n{about}\n\n| variable | meaning | values | default |\n|---|---|---|---|\n{rows}\n"


def _render_row(name: str, field: FieldInfo) -> str:
    """Render one setting as a row of its table."""
    meaning = re.sub(r"`(\w+)`", _replace_name, " ".join(describe_field(field).split()))
    cells = (f"`{get_environment_variable(name)}`", meaning, _describe_values(field), _render_default(field.default))
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def describe_field(field: FieldInfo) -> str:
    """Return the meaning of a setting."""
    option = get_option(field.metadata)
    return option.description if option else field.description or ""


def _replace_name(match: re.Match[str]) -> str:
    """Replace the name of a setting by its variable."""
    return f"`{get_environment_variable(match[1])}`" if match[1] in Settings.model_fields else match[0]


def _describe_values(field: FieldInfo) -> str:
    """Describe the allowed values of a setting."""
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
    ((dict, RerankOptions), "JSON object"),
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


if __name__ == "__main__":
    PUBLISHED.write_text(render_page(), encoding="utf-8")
    print(f"wrote {PUBLISHED}")
