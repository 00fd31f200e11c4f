"""The settings reference, `docs/settings.md`, out of the docstrings of `tenure/settings.py`.

`python -m tenure.reference.settings` writes it. A setting is described in one place only, so that the
page cannot tell something else than the code.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, get_args, get_origin

from pydantic import SecretStr
from pydantic.fields import FieldInfo

from tenure.contracts.evidence.rerank import Rerank
from tenure.settings import Settings, variable

PUBLISHED: Final = Path(__file__).resolve().parents[2] / "docs" / "settings.md"
"""Where the reference is published."""

GROUPS: Final = {
    "Home, ports and knowledge base": (
        "Settings of the home say where Tenure keeps its state and where it listens. Each home has a stack, runs and "
        "a knowledge base of its own.",
        (
            "home",
            "temporal_port",
            "ui_port",
            "lancedb_uri",
            "vector_index",
            "maintenance_hours",
            "encryption_keys",
            "codec_port",
            "log_level",
        ),
    ),
    "Memories": (
        "Memories of earlier runs age, join and go as these settings say. The worker reads them when it starts.",
        (
            *(
                "memory",
                "consolidation_hours",
                "memory_half_life_days",
                "memory_short_term_hours",
                "memory_waiting_days",
            ),
            *("memory_same", "memory_forget_below", "memory_most"),
        ),
    ),
    "Chat model and embedding model": (
        "Model settings connect Tenure to an OpenAI-compatible server. Without a key and an address, the offline twins "
        "and the built-in embedding model do the work.",
        (
            *("openai_api_key", "openai_base_url", "model", "fast_model", "temperature", "reasoning_effort"),
            *("max_output", "roles", "prices", "model_api", "model_timeout", "model_calls_per_second"),
            *("model_concurrency", "embedding_model", "embedding_threads"),
            *("rerank_model", "rerank_base_url", "rerank_api_key"),
        ),
    ),
    "Limits of a run": (
        "Limits bound the length of a report and the effort of a run. The client reads them and sends them along with "
        "the question, so a running run keeps the limits it was started with.",
        (
            *("effort", "max_cycles", "subagents", "strategy", "max_sections", "max_reflexions", "max_revisions"),
            *("evaluation_bar", "language"),
            *("reasoning", "reasoning_samples", "thought_breadth", "thought_depth"),
            *("passages_per_section", "max_per_source", "min_relevance", "min_novelty", "parallel_sections"),
            *("rerank", "rerank_listwise"),
            *("max_tokens", "max_cost_usd", "max_calls", "max_searches"),
            *("max_seconds", "grace_seconds", "long_history"),
            *("approve_plan", "interactive", "answer_seconds"),
        ),
    ),
    "Programs": (
        "Programs are bounded like reports: by the client, when a run is started.",
        (
            *("max_attempts", "candidates", "program_seconds", "program_memory_mib", "repair_seconds"),
            "sandbox_wait",
        ),
    ),
    "Sandbox": (
        "Programs run in a sandbox, of which these settings say what makes it and what is in it. The worker reads "
        "them when it starts.",
        ("sandbox", "sandbox_python", "sandbox_cgroup", "sandbox_image", "sandbox_runtime"),
    ),
    "Tables and databases": (
        "Queries over tables run in a process of their own, within these limits. Databases are named here once, so "
        "that no address and no password ever travels with a run.",
        ("sql_seconds", "sql_rows", "sql_memory_mb", "databases"),
    ),
    "Fetching pages": (
        "Pages of the web are fetched under these rules by the worker, which reads them when it starts. The address "
        "of a page is never trusted: what lies inside your own network is fetched only where it is named here.",
        (
            *("web", "web_pages", "web_archive"),
            *("fetch_allow", "fetch_domains", "fetch_deny", "fetch_user_agent", "fetch_robots"),
            *("fetch_seconds", "fetch_megabytes", "fetch_concurrency", "fetch_per_host", "fetch_gap"),
            *("page_ttl_hours", "page_cache_megabytes", "browser", "domain_authority"),
        ),
    ),
    "Search of the web": (
        "Search engines are asked by the worker, and only for runs that may use the web. A provider whose key is not "
        "set is left out, which the report says.",
        (
            *("search_providers", "searxng_url", "brave_key", "tavily_key", "semantic_scholar_key", "openalex_key"),
            *("github_token", "search_contact", "search_urls", "opensearch", "search_seconds"),
        ),
    ),
    "Servers of the Model Context Protocol": (
        "Each server is named once, with the tools and resources that may be used of it; whatever is not named is "
        "refused. A run only ever knows the name.",
        ("mcp_servers", "mcp_seconds"),
    ),
    "Notices": (
        "People outside are told of runs in these ways. The client asks for it where one of them is set, and the "
        "worker does it with settings of its own.",
        ("notify_url", "notify_secret", "notify_command"),
    ),
    "Chunks of documents": (
        "The length of a chunk concerns the reading of documents. A changed length has all files of a corpus read and "
        "cut anew the next time.",
        ("chunk_tokens", "cold_start_chunks"),
    ),
}
"""Settings by subject, with a sentence or two on each subject."""

_HEAD: Final = """\
# Settings

Tenure is configured by environment variables or by a file named `.env` in the folder where a command runs. \
A variable of the environment wins over the same variable in the file, and an empty variable counts as not set. \
A value outside its range is refused with one line that names the setting and with exit code 2.

A changed setting takes effect with the next command. \
The worker of the local stack is replaced by `start` and `up` when settings that concern it have changed. \
Workers that were started by hand have to be restarted by hand.
"""

_TAIL: Final = """\
## Variables of the Temporal connection

The connection to a Temporal server is described by the standard variables of Temporal, such as `TEMPORAL_ADDRESS`, \
`TEMPORAL_NAMESPACE`, `TEMPORAL_API_KEY`, `TEMPORAL_TLS_CLIENT_CERT_PATH` and `TEMPORAL_PROFILE`. \
Variables of Temporal are read from the environment and not from the file `.env`. \
Without an address, the client and the worker use the local server on the port of `TENURE_TEMPORAL_PORT`.
"""

_BOUNDS: Final = {"ge": "from {}", "gt": "above {}", "le": "to {}", "lt": "below {}"}


def reference() -> str:
    """Return the settings reference as Markdown."""
    return "\n".join([_HEAD, *(_group(title, *group) for title, group in GROUPS.items()), _TAIL])


def _group(title: str, about: str, names: tuple[str, ...]) -> str:
    """Set one subject: a heading, a paragraph, a table."""
    rows = "\n".join(_row(name, Settings.model_fields[name]) for name in names)
    return f"## {title}\n\n{about}\n\n| variable | meaning | values | default |\n|---|---|---|---|\n{rows}\n"


def _row(name: str, field: FieldInfo) -> str:
    """Set one setting as a row of its table."""
    meaning = re.sub(r"`(\w+)`", _named, field.description or "")
    cells = (f"`{variable(name)}`", meaning, _values(field), _default(field.default))
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _named(match: re.Match[str]) -> str:
    """Name a setting that another's description mentions by its variable."""
    return f"`{variable(match[1])}`" if match[1] in Settings.model_fields else match[0]


def _values(field: FieldInfo) -> str:
    """Say which values a setting takes."""
    offered = [choice for part in (field.annotation, *get_args(field.annotation)) for choice in get_args(part)]
    choices = [choice for choice in offered if isinstance(choice, str) and get_origin(field.annotation) is not dict]
    if choices:
        return ", ".join(f"`{choice}`" for choice in choices)
    kind = next(name for types, name in _KINDS if any(_is(field.annotation, wanted) for wanted in types))
    return " ".join([kind, *_bounds(field)])


_KINDS: Final[tuple[tuple[tuple[type, ...], str], ...]] = (
    ((int,), "whole number"),
    ((float,), "number"),
    ((Path,), "path"),
    ((dict, Rerank), "JSON object"),
    ((bool,), "`true` or `false`"),
    ((SecretStr,), "secret text"),
    ((tuple,), "list between commas"),
    ((str,), "text"),
)


def _is(annotation: Any, wanted: type) -> bool:
    """Tell whether a setting is of a type, be it optional or not."""
    return wanted in (annotation, get_origin(annotation)) or wanted in get_args(annotation)


def _bounds(field: FieldInfo) -> Iterator[str]:
    """Yield the bounds of a number in words, the lower one first."""
    for attribute, words in _BOUNDS.items():
        for constraint in field.metadata:
            if (bound := getattr(constraint, attribute, None)) is not None:
                yield words.format(f"{bound:g}")


def _default(value: object) -> str:
    """Set a default; an empty one stays empty."""
    return "" if value in (None, "", (), {}, Rerank()) else f"`{value:g}`" if isinstance(value, float) else f"`{value}`"


if __name__ == "__main__":
    PUBLISHED.write_text(reference(), encoding="utf-8")
    print(f"wrote {PUBLISHED}")
