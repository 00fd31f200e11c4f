"""Read all settings from environment variables or a `.env` file.

Variables have the prefix `TENURE_`, except `OPENAI_API_KEY` and `OPENAI_BASE_URL`, which OpenAI-compatible tools share.
`docs/settings.md` is generated from the descriptions of the fields.
"""

import os
import re
from collections import ChainMap
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import (
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    StringConstraints,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
)

from tenure.contracts.evidence.corpora import VectorIndex
from tenure.contracts.evidence.rerank import RecencyOptions, RerankOptions
from tenure.contracts.knowledge.memory_policy import MemoryPolicy
from tenure.contracts.run.limit_fields import LimitFields
from tenure.contracts.run.role_calls import DEFAULT_HEARTBEAT_SECONDS, MAX_MODEL_TIMEOUT_SECONDS
from tenure.encryption_keys import parse_encryption_keys
from tenure.extensions import SEARCH_PROVIDERS, list_extensions
from tenure.installation import DEFAULT_HOME
from tenure.ownership import MIN_TOKEN_LENGTH, locate_owner_home
from tenure.roles.registry import RoleName

ReasoningEffort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
"""Amount of hidden reasoning before a model answers."""

IdentifierName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,39}$")]
"""Name that a person gives to a database or server."""

AUTO_MODEL = "auto"
"""Value of `model` for one that a model server on this machine offers."""


def _split_words(written: object) -> object:
    """Split a text at commas and drop duplicates."""
    if not isinstance(written, str):
        return written
    return tuple(dict.fromkeys(part.strip() for part in written.split(",") if part.strip()))


CommaSeparated = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_split_words)]
"""List of words, separated by commas in the environment."""


def _split_paths(written: object) -> object:
    """Split a text at colons into absolute paths.

    Raises:
        ValueError: a path is relative.
    """
    if not isinstance(written, str):
        return written
    paths = [Path(part.strip()).expanduser() for part in written.split(os.pathsep) if part.strip()]
    if relative := [path for path in paths if not path.is_absolute()]:
        raise ValueError(f"{str(relative[0])!r} is not an absolute path")
    return tuple(dict.fromkeys(paths))


class RoleSettings(BaseModel):
    """Settings of one role; omitted ones are those of all roles."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    model: str = ""
    """Chat model."""
    temperature: float | None = Field(default=None, ge=0, le=2)
    """Temperature."""
    reasoning_effort: ReasoningEffort | None = None
    """Reasoning effort."""
    max_output: int | None = Field(default=None, ge=256)
    """Maximum number of answer tokens."""


class McpServer(BaseModel):
    """An MCP server and what may be used of it."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True, hide_input_in_errors=True)

    command: tuple[str, ...] = ()
    """Command line of a server that is started for each call and communicates over standard input and output."""
    environment: dict[str, SecretStr] = {}
    """Environment variables of such a server; of the worker's own, only a path and a home are passed on."""
    url: str = ""
    """URL of an HTTP server."""
    headers: dict[str, SecretStr] = {}
    """HTTP headers sent to it, such as a key."""
    tools: tuple[str, ...] = ()
    """Allowed tools, by name or by a pattern such as `read_*`."""
    resources: tuple[str, ...] = ()
    """Readable resources, by URI or by a pattern such as `docs://*`."""
    search: str = ""
    """Tool that searches; it makes the server a search provider under its name."""

    @model_validator(mode="after")
    def _check_transport(self) -> "McpServer":
        """Reject a server with both a command and a URL, or with neither."""
        if bool(self.command) == bool(self.url):
            raise ValueError("a server has either a `command` or a `url`")
        return self


class _ProviderVariables(PydanticBaseSettingsSource):
    """Source of the variables of single search providers, such as `TENURE_BRAVE_KEY` and `TENURE_SEARXNG_URL`."""

    def __init__(self, settings_cls: type[BaseSettings], *sources: PydanticBaseSettingsSource) -> None:
        super().__init__(settings_cls)
        self._variables = ChainMap(*(dict(s.env_vars) for s in sources if isinstance(s, EnvSettingsSource)))

    def get_field_value(self, field: object, field_name: str) -> tuple[None, str, bool]:
        return None, field_name, False

    def __call__(self) -> dict[str, dict[str, str]]:
        values: dict[str, dict[str, str]] = {"search_keys": {}, "search_urls": {}}
        for name in list_extensions(SEARCH_PROVIDERS):
            for suffix, setting in {"key": "search_keys", "token": "search_keys", "url": "search_urls"}.items():
                if value := self._variables.get(f"tenure_{name}_{suffix}"):
                    values[setting][name] = value
        return values


class Settings(BaseSettings, LimitFields):
    """All settings of the client, the worker and the local stack."""

    model_config = SettingsConfigDict(
        env_prefix="TENURE_",
        env_nested_delimiter="__",
        env_file=".env",
        extra="ignore",
        use_attribute_docstrings=True,
        populate_by_name=True,
        env_ignore_empty=True,
        hide_input_in_errors=True,
    )

    home: Path = DEFAULT_HOME
    """Folder of all state; that of an installed `tenure` is `~/.local/share/tenure`, that of a checkout `.tenure`."""
    temporal_port: int = Field(default=7233, ge=1, le=65535)
    """Port of this home's local Temporal server, on 127.0.0.1."""
    ui_port: int = Field(default=8233, ge=1, le=65535)
    """Port of this home's Temporal web UI, on 127.0.0.1."""
    site_port: int = Field(default=8235, ge=0, le=65535)
    """Port of the page and the HTTP API of the local stack, on 127.0.0.1; with 0 the stack serves no page."""
    mcp_port: int = Field(default=8236, ge=1, le=65535)
    """Port of the MCP server of `mcp --http`, on 127.0.0.1."""
    local_model_port: int = Field(default=8237, ge=1, le=65535)
    """Port of the model of `up --local-model`, on 127.0.0.1."""
    local_model_context: int = Field(default=16_384, ge=2048, le=1_048_576)
    """Context of that model in tokens; a longer one needs more memory."""
    retention_days: int = Field(default=365, ge=1, le=36_500)
    """Days for which the local server keeps finished runs; a longer retention of its namespace is not shortened."""
    worker_versioning: bool = True
    """Whether versioned workers take part in Temporal's Worker Versioning, so that a run finishes under the code that
    it began with. Off for a server without it: then a new worker also continues the runs of the old code."""
    document_roots: Annotated[tuple[Path, ...], NoDecode, BeforeValidator(_split_paths)] = ()
    """Folders and files that the worker may ingest or give to programs, as absolute paths separated by colons; commands
    such as `start --docs` add the paths that they name to a list in the home. The word `{owner}` in a path stands for
    the owner.
    """
    lancedb_uri: str = ""
    """Location of the knowledge base: a folder or an object store URI; empty for `knowledge` in the home. All workers
    of a Temporal namespace need the same one.
    """
    files_uri: str = Field(default="", pattern=r"^(s3://[a-z0-9][a-z0-9.-]+(/[\w./-]+)?)?$")
    """Folder of an object store, such as `s3://bucket/files`, for files that programs read and create, if workers and
    clients run on several machines; empty for paths of one machine.
    """
    vector_index: VectorIndex = "auto"
    """Type of the vector index; `auto` scans small tables and creates `ivf_rq` for large ones."""
    maintenance_hours: float = Field(default=6.0, ge=0, le=8760)
    """Hours between two maintenances of the knowledge base; 0 for none."""
    archive_hours: float = Field(default=1.0, ge=0, le=8760)
    """Hours between two searches for ended runs that are not archived, such as terminated ones; 0 for none."""
    consolidation_hours: float = Field(default=24.0, ge=0, le=8760)
    """Hours between two consolidations of memories; 0 for none."""
    memory_half_life_days: float = Field(default=90.0, gt=0, le=36_500)
    """Days after which an unused memory has half of its freshness; a third of that for episodes."""
    memory_short_term_hours: float = Field(default=24.0, gt=0, le=8760)
    """Lifetime of a short-term memory in hours since its last use."""
    memory_confirmation_days: float = Field(default=30.0, gt=0, le=3650)
    """Days within which a statement of one web page must be confirmed by a second one, or it is forgotten."""
    memory_merge_similarity: float = Field(default=0.94, ge=0.8, le=1)
    """Minimum cosine similarity of two memories with the same names and numbers to be merged."""
    memory_forget_below: float = Field(default=0.02, ge=0, le=1)
    """Strength (importance times freshness) below which a memory is forgotten."""
    memory_max_per_owner: int = Field(default=100_000, ge=100, le=10_000_000)
    """Maximum number of memories per owner; the weakest are forgotten first."""

    owner: IdentifierName | Literal[""] = ""
    """Owner of everything that commands start and read, in a namespace and a knowledge base of its own."""
    owner_token: SecretStr | None = None
    """Token of `owner`: keys derived from it encrypt the owner's payloads and open the gate of a local stack."""
    owners: dict[IdentifierName, SecretStr] = {}
    """Tokens of all owners by name, for the worker, which serves their namespaces, and for `up`, which creates them. A
    token has at least 32 characters, such as `openssl rand -hex 32` prints."""
    owner_namespace: str = Field(default="{owner}", pattern=r"^[\w.-]*\{owner\}[\w.-]*$")
    """Namespace of an owner, where `{owner}` stands for the name, such as `tenure-{owner}.a1b2c`."""
    encryption_keys: SecretStr | None = None
    """Keys that encrypt all payloads in Temporal's history, as `id:base64,id:base64`; the first one encrypts."""
    codec_port: int = Field(default=8234, ge=1, le=65535)
    """Port on which the worker decrypts payloads for programs with the home's key, if there are keys."""
    codec_host: str = "127.0.0.1"
    """Address on which it listens; any but 127.0.0.1 requires all `codec_` settings."""
    codec_url: str = Field(default="", pattern=r"^(https://[A-Za-z0-9.-]+(:\d{1,5})?)?$")
    """URL for browsers on other machines, such as `https://codec.example:8234`; empty for this machine only."""
    codec_origins: CommaSeparated = ()
    """Origins of the web UIs that may use it under `codec_url`, such as `https://temporal.example`."""
    codec_certificate: Path | None = None
    """PEM file with its certificate, followed by those of intermediate authorities."""
    codec_private_key: Path | None = None
    """PEM file with the private key of the certificate."""
    codec_token: SecretStr | None = None
    """Token that takes the place of the home's key, for servers on several machines; at least 32 characters."""

    openai_api_key: SecretStr | None = Field(default=None, validation_alias=AliasChoices("OPENAI_API_KEY"))
    """API key of the OpenAI-compatible server. Without a key and a URL, fallbacks answer instead of a model."""
    openai_base_url: str | None = Field(default=None, validation_alias=AliasChoices("OPENAI_BASE_URL"))
    """Base URL of the OpenAI-compatible server; OpenAI's own if only a key is given."""
    model: str = "gpt-5"
    """Chat model of the roles that write and judge; `auto` for the first one of a model server on this machine."""
    fast_model: str = ""
    """Chat model of the small roles (router, decomposer, title); empty for `model`."""
    temperature: float | None = Field(default=None, ge=0, le=2)
    """Temperature of all chat models; empty for the server's default."""
    reasoning_effort: ReasoningEffort | None = None
    """Reasoning effort of all chat models; empty for the server's default."""
    max_output: int | None = Field(default=None, ge=256)
    """Maximum number of answer tokens, hidden reasoning included; empty for the limit of the role's schema."""
    roles: dict[RoleName, RoleSettings] = {}
    """Model, temperature, reasoning effort and answer length of single roles."""
    prices: Path | None = None
    """TOML file with the prices of the models; empty for `prices.toml` in the home, if it exists."""
    model_api: Literal["chat", "responses"] = "chat"
    """API of the model server: Chat Completions, which all servers offer, or OpenAI's Responses in background mode."""
    model_timeout: float = Field(default=180.0, gt=0, le=MAX_MODEL_TIMEOUT_SECONDS)
    """Seconds after which a model call is cancelled and retried by Temporal."""
    model_calls_per_second: float = Field(default=20.0, gt=0)
    """Maximum rate of model calls per second of the whole task queue, enforced by the Temporal server."""
    model_concurrency: int = Field(default=16, ge=1, le=1000)
    """Maximum number of concurrent requests of one worker to the chat model server."""
    embedding_model: str = ""
    """Embedding model of the OpenAI-compatible server; empty for the built-in all-MiniLM-L6-v2."""
    embedding_threads: int = Field(default=0, ge=0, le=256)
    """Threads of the built-in embedding model; 0 for one per core."""

    rerank_model: str = ""
    """Model of a rerank server that scores search results; empty for none."""
    rerank_base_url: str | None = None
    """Base URL of the rerank server, without `/rerank`; required with `rerank_model`."""
    rerank_api_key: SecretStr | None = None
    """API key of the rerank server, if required."""

    memory: bool = True
    """Whether a run uses memories of the owner's earlier runs and keeps memories for later ones."""
    chunk_tokens: int = Field(default=200, ge=32, le=250)
    """Target length of a chunk in tokens of the embedding model; the built-in model reads at most 256."""

    cold_start_chunks: int = Field(default=512, ge=0, le=100_000)
    """Number of chunks up to which ingestion computes all vectors; with more, a run waits half a minute for those that
    its question needs, and the others are computed in the background.
    """

    ingest_seconds: float = Field(default=900.0, gt=0, le=86_400)
    """Seconds of computing time that one ingestion may spend on slow files beyond what their sizes explain; the files
    after that are skipped with a note.
    """

    sql_seconds: float = Field(default=20.0, gt=0, le=600)
    """Timeout of a query over tables in seconds."""
    sql_rows: int = Field(default=200, ge=1, le=5000)
    """Maximum number of rows kept of a query's result."""
    sql_memory_mb: int = Field(default=1024, ge=64, le=1_000_000)
    """Maximum memory of a query in megabytes."""
    databases: dict[IdentifierName, SecretStr] = {}
    """URLs of PostgreSQL databases that may be queried, by name; a read-only user is sufficient."""

    fetch_allow: CommaSeparated = ()
    """Hosts, `host:port` or networks such as `10.0.0.0/8` inside your own network that pages may be fetched from."""
    fetch_domains: CommaSeparated = ()
    """Domains that pages may be fetched from, subdomains included; empty for any."""
    fetch_deny: CommaSeparated = ()
    """Domains that no page is fetched from."""
    fetch_user_agent: str = Field(default="Tenure/0.1 (research agent)", pattern=r"^[!-~][ -~]{0,199}$")
    """User agent of page requests; a site's `robots.txt` may name the word before the slash."""
    fetch_robots: bool = True
    """Whether `robots.txt` is obeyed."""
    fetch_seconds: float = Field(default=30.0, gt=0, le=600)
    """Timeout of fetching a page in seconds, redirects and retries included."""
    fetch_megabytes: float = Field(default=20.0, gt=0, le=200)
    """Maximum size of a decompressed page in megabytes."""
    fetch_per_host: int = Field(default=2, ge=1, le=64)
    """Maximum number of concurrent requests to one host."""
    fetch_delay_seconds: float = Field(default=0.5, ge=0, le=60)
    """Minimum seconds between the starts of two requests to one host, or the crawl delay of its `robots.txt`."""
    page_ttl_hours: float = Field(default=24.0, ge=0, le=8760)
    """Hours for which a cached page is used without revalidation."""
    page_cache_megabytes: int = Field(default=2000, ge=1)
    """Size to which maintenance reduces the page cache, in megabytes; the oldest pages are removed first."""
    answer_cache_megabytes: int = Field(default=200, ge=0)
    """Size to which maintenance reduces the cache of model answers, in megabytes; 0 disables the cache."""
    answer_cache_days: float = Field(default=30.0, gt=0, le=3650)
    """Days after which a cached answer is requested again."""
    browser: Path | None = None
    """Chromium or Chrome executable that renders pages with scripts; empty for none. It requires the package
    `playwright`.
    """
    domain_authority: dict[str, Annotated[float, Field(ge=0, le=1)]] = {}
    """Authority of domains and their subdomains, from 0 to 1; 0.7 for other domains."""

    search_keys: dict[str, SecretStr] = {}
    """API keys by search provider; a variable such as `TENURE_BRAVE_KEY` sets the key of one provider."""
    search_contact: str = Field(default="", max_length=200)
    """Mail address sent to Crossref, which answers faster with one."""
    search_urls: dict[str, str] = {}
    """API URLs by search provider, for your own server or a proxy; `TENURE_SEARXNG_URL` sets the URL of SearXNG."""
    opensearch: dict[IdentifierName, str] = {}
    """Additional search engines by name: the URL of an OpenSearch description, or a URL template."""
    mcp_servers: dict[IdentifierName, McpServer] = {}
    """MCP servers by name, with what may be used of each."""
    mcp_seconds: float = Field(default=60.0, gt=0, le=600)
    """Timeout of a call of an MCP server in seconds, its start included."""
    search_providers: CommaSeparated = ()
    """Search providers to use; empty for all configured ones, or Wikipedia if none is."""
    search_seconds: float = Field(default=15.0, gt=0, le=300)
    """Timeout of a search provider in seconds."""
    web: bool = False
    """Whether runs read the web by default; without this, only with `--web`."""
    web_pages: int = Field(default=5, ge=1, le=30)
    """Number of pages read for one web search."""
    web_archive: str = Field(default="", pattern=r"^(https?://\S*\{address\}\S*)?$")
    """URL template of a web archive for references, with `{address}` and optionally `{date}`; empty for none."""

    sandbox: Literal["bubblewrap", "docker"] = "bubblewrap"
    """Sandbox of programs; programs are never run without one."""
    sandbox_python: Path | None = None
    """Python interpreter of sandboxed programs with the packages they may use; empty for an environment in the home."""
    sandbox_cgroup: Path | None = None
    """Control group for programs, writable for the worker; empty to look for a delegated one."""
    sandbox_image: str = ""
    """Container image with Python and pytest; required with `docker`."""
    sandbox_runtime: str = ""
    """Container runtime, such as `runsc`; empty for the default."""

    notify_url: SecretStr | None = None
    """URL that receives a POST request when a run waits for a person, is finished or has failed."""
    notify_secret: SecretStr | None = None
    """Secret that signs these requests; empty for no signature."""
    notify_command: str = ""
    """Shell command run on the same events; environment variables describe the event."""

    health_port: int = Field(default=0, ge=0, le=65535)
    """Port on which a worker answers health checks; 0 for any free port, which the commands of the home find. Workers
    of the local stack always use a free port.
    """
    health_host: str = "127.0.0.1"
    """Address on which a worker answers health checks."""
    shutdown_seconds: float = Field(default=60.0, ge=0, le=3600)
    """Seconds that running calls of models and MCP servers may continue after a worker is asked to stop; other
    activities have at most ten. The worker ends at most ten seconds later.
    """
    heartbeat_seconds: float = Field(default=DEFAULT_HEARTBEAT_SECONDS, ge=5, le=600)
    """Seconds without a heartbeat after which an activity counts as lost and another worker repeats it. It must exceed
    the time for which the Temporal server may be away, since a repeated call of a model is paid again.
    """
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    """Log level of the worker."""
    log_format: Literal["text", "json"] = "text"
    """Format of the worker's log: text, or one JSON object per line."""
    metrics_port: int | None = Field(default=None, ge=1, le=65535)
    """Port on which the worker serves Prometheus metrics at `/metrics`, or the next free one of ten; empty for none."""
    metrics_address: str = "127.0.0.1"
    """IP address on which metrics are served, to anyone who reaches it; `0.0.0.0` for all interfaces of a container."""

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Add the variables of single search providers."""
        providers = _ProviderVariables(settings_cls, env_settings, dotenv_settings)
        return init_settings, env_settings, dotenv_settings, providers

    @field_validator("owners")
    @classmethod
    def _check_owners(cls, owners: dict[str, SecretStr]) -> dict[str, SecretStr]:
        """Reject short and shared tokens without repeating any of them."""
        tokens = [token.get_secret_value() for token in owners.values()]
        if any(len(token) < MIN_TOKEN_LENGTH for token in tokens):
            raise ValueError(f"a token needs at least {MIN_TOKEN_LENGTH} characters: `openssl rand -hex 32` makes one")
        if len(set(tokens)) < len(tokens):
            raise ValueError("two owners have the same token: each needs one of its own")
        return owners

    @model_validator(mode="after")
    def _check_owner(self) -> Self:
        """Reject an owner without a token, and a token without an owner."""
        if bool(self.owner) != bool(self.owner_token and self.owner_token.get_secret_value()):
            raise ValueError("TENURE_OWNER and TENURE_OWNER_TOKEN belong together: set both or neither")
        return self

    @model_validator(mode="after")
    def _check_auto_model(self) -> Self:
        """Reject a search for a model server next to one that is named; its key must reach no other server."""
        if self.model == AUTO_MODEL and self.has_model:
            raise ValueError(
                "TENURE_MODEL=auto uses a model server on this machine without a key: name the model, or unset "
                "OPENAI_API_KEY and OPENAI_BASE_URL"
            )
        return self

    @field_validator("metrics_address")
    @classmethod
    def _check_metrics_address(cls, address: str) -> str:
        """Reject names of hosts and malformed addresses."""
        try:
            return str(ip_address(address))
        except ValueError:
            raise ValueError("it is an IP address, such as 127.0.0.1") from None

    @field_validator("encryption_keys")
    @classmethod
    def _check_encryption_keys(cls, keys: SecretStr | None) -> SecretStr | None:
        """Reject unusable keys without repeating any of them."""
        if keys is not None:
            parse_encryption_keys(keys.get_secret_value())
        return keys

    @field_validator("codec_origins")
    @classmethod
    def _check_codec_origins(cls, origins: tuple[str, ...]) -> tuple[str, ...]:
        """Reject everything but origins of encrypted pages."""
        if wrong := [origin for origin in origins if not re.fullmatch(r"https://[A-Za-z0-9.-]+(:\d{1,5})?", origin)]:
            raise ValueError(f"{wrong[0]!r} is not an origin such as https://temporal.example")
        return origins

    @model_validator(mode="after")
    def _check_codec(self) -> Self:
        """Reject a codec server that other machines reach without encryption, a token or a named origin."""
        if self.codec_token is not None and len(self.codec_token.get_secret_value()) < MIN_TOKEN_LENGTH:
            raise ValueError(
                f"TENURE_CODEC_TOKEN needs at least {MIN_TOKEN_LENGTH} characters: `openssl rand -hex 32` makes one"
            )
        remote = ("codec_url", "codec_origins", "codec_certificate", "codec_private_key")
        if self.codec_host == "127.0.0.1" and not any(getattr(self, name) for name in remote):
            return self
        missing = [name for name in (*remote, "codec_token") if not getattr(self, name)]
        if missing:
            raise ValueError(
                f"a codec server for other machines needs {', '.join(map(get_environment_variable, missing))} as well"
            )
        return self

    @field_validator("search_keys", "search_urls")
    @classmethod
    def _check_provider_names(cls, named: dict[str, object]) -> dict[str, object]:
        """Reject unknown search providers."""
        known = list_extensions(SEARCH_PROVIDERS)
        if unknown := [name for name in named if name not in known]:
            raise ValueError(f"there is no {unknown[0]!r}; there are {', '.join(known)}")
        return named

    @field_validator("opensearch", "mcp_servers")
    @classmethod
    def _check_own_names(cls, named: dict[str, object]) -> dict[str, object]:
        """Reject names of known search providers."""
        if taken := [name for name in named if name in list_extensions(SEARCH_PROVIDERS)]:
            raise ValueError(f"{taken[0]!r} is the name of a search provider")
        return named

    @field_validator("search_providers")
    @classmethod
    def _check_search_providers(cls, named: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        """Reject unknown search providers."""
        servers = info.data.get("mcp_servers", {})
        searching = (name for name, server in servers.items() if server.search)
        known = (*list_extensions(SEARCH_PROVIDERS), *info.data.get("opensearch", ()), *searching)
        if unknown := [name for name in named if name not in known]:
            raise ValueError(f"there is no {unknown[0]!r}; there are {', '.join(known)}")
        return named

    @field_validator("rerank", mode="before")
    @classmethod
    def _check_rerank_steps(cls, rerank: object) -> object:
        """Reject unknown steps; `RerankOptions` itself ignores them, since other versions may send them."""
        for given, model in (
            (rerank, RerankOptions),
            (rerank.get("recency") if isinstance(rerank, dict) else None, RecencyOptions),
        ):
            unknown = sorted(given.keys() - model.model_fields.keys()) if isinstance(given, dict) else []
            if unknown:
                raise ValueError(f"there is no {unknown[0]!r}; there are {', '.join(model.model_fields)}")
        return rerank

    @property
    def owner_home(self) -> Path:
        """Folder of what belongs to the owner; without one, the home."""
        return locate_owner_home(self.home, self.owner)

    @property
    def knowledge_uri(self) -> str:
        """URI of the knowledge base of the owner; by default a folder in the home."""
        if not self.lancedb_uri:
            return str(self.owner_home / "knowledge")
        return f"{self.lancedb_uri.rstrip('/')}/owner-{self.owner}" if self.owner else self.lancedb_uri

    @property
    def rerank_options(self) -> RerankOptions:
        """Options of the second stage; a rerank endpoint without a weight gets all that is left."""
        if not self.rerank_model or "endpoint" in self.rerank.model_fields_set:
            return self.rerank
        return self.rerank.model_copy(update={"endpoint": 1 - self.rerank.late_interaction})

    @property
    def memory_policy(self) -> MemoryPolicy:
        """Rules for ageing, merging and deleting memories."""
        return MemoryPolicy(
            half_life_days=self.memory_half_life_days,
            short_term_hours=self.memory_short_term_hours,
            confirmation_days=self.memory_confirmation_days,
            merge_similarity=self.memory_merge_similarity,
            forget_below=self.memory_forget_below,
            max_memories=self.memory_max_per_owner,
        )

    @property
    def prices_file(self) -> Path:
        """Path of the price file, which need not exist unless it is configured."""
        return self.prices or self.home.absolute() / "prices.toml"

    @property
    def chat_models(self) -> tuple[str, ...]:
        """All chat models that may be called."""
        chosen = (self.model, self.fast_model, *(role.model for role in self.roles.values()))
        return tuple(dict.fromkeys(name for name in chosen if name))

    def list_owners(self) -> "tuple[Settings, ...]":
        """Return settings for each owner of a worker, for the owner without a name first."""
        named = {"": None, **self.owners}
        return tuple(self.model_copy(update={"owner": name, "owner_token": token}) for name, token in named.items())

    @property
    def has_notifications(self) -> bool:
        """Whether notifications are configured."""
        return self.notify_url is not None or bool(self.notify_command)

    @property
    def has_model(self) -> bool:
        """Whether a chat model is configured."""
        return self.openai_api_key is not None or self.openai_base_url is not None


def get_environment_variable(name: str) -> str:
    """Return the environment variable of a setting."""
    alias = Settings.model_fields[name].validation_alias
    return str(alias.choices[0]) if isinstance(alias, AliasChoices) else f"TENURE_{name.upper()}"


def describe_settings_error(error: ValidationError | SettingsError) -> str:
    """Return one line that names the invalid setting and the allowed values."""
    if isinstance(error, SettingsError):
        named = re.search(r'field "(\w+)"', str(error))
        return f"{get_environment_variable(named[1]) if named else 'a setting'} is not valid: it is not JSON"
    first = error.errors()[0]
    if not first["loc"]:  # several settings contradict each other
        return str(first["msg"]).removeprefix("Value error, ")
    setting, *inner = (str(part) for part in first["loc"] if part != "[key]")
    known = get_environment_variable(setting) if setting in Settings.model_fields else setting
    words = str(first["msg"])
    if first["type"] == "extra_forbidden":
        inside = McpServer if setting == "mcp_servers" else RoleSettings
        words = f"Should be one of {', '.join(inside.model_fields)}"
    return f"{'__'.join([known, *(part.upper() for part in inner)])} is not valid: {words[0].lower()}{words[1:]}"
