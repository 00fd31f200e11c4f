"""Settings of the web: pages, search providers and MCP servers."""

from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationInfo, field_validator, model_validator

from tenure.extensions import SEARCH_PROVIDERS, list_extensions
from tenure.settings.group import CommaSeparated, IdentifierName, SettingsGroup


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
    def _check_transport(self) -> Self:
        """Reject a server with both a command and a URL, or with neither."""
        if bool(self.command) == bool(self.url):
            raise ValueError("a server has either a `command` or a `url`")
        return self


class WebSettings(SettingsGroup):
    """Web pages of a run.

    The client reads these settings and sends them with the question.
    """

    web: bool = False
    """Whether runs read the web by default; without this, only with `--web`."""
    web_pages: int = Field(default=5, ge=1, le=30)
    """Number of pages read for one web search."""


class FetchSettings(SettingsGroup):
    """Fetching pages.

    The worker fetches web pages under these rules, which it reads when it starts. URLs are not trusted: hosts
    inside your own network are only contacted if they are allowed here.
    """

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
    browser: Path | None = None
    """Chromium or Chrome executable that renders pages with scripts; empty for none. It requires the package
    `playwright`.
    """


class McpSettings(SettingsGroup):
    """MCP servers.

    Each server is defined here once with its allowed tools and resources; all others are refused. A run contains
    only the name of a server.
    """

    mcp_servers: dict[IdentifierName, McpServer] = {}
    """MCP servers by name, with what may be used of each."""
    mcp_seconds: float = Field(default=60.0, gt=0, le=600)
    """Timeout of a call of an MCP server in seconds, its start included."""


class SearchSettings(FetchSettings, McpSettings):
    """Web search.

    The worker queries search providers, and only for runs that may use the web. A provider without its key is left
    out, and the report says so.
    """

    search_keys: dict[str, SecretStr] = {}
    """API keys by search provider; a variable such as `TENURE_BRAVE_KEY` sets the key of one provider."""
    search_contact: str = Field(default="", max_length=200)
    """Mail address sent to Crossref, which answers faster with one."""
    search_urls: dict[str, str] = {}
    """API URLs by search provider, for your own server or a proxy; `TENURE_SEARXNG_URL` sets the URL of SearXNG."""
    opensearch: dict[IdentifierName, str] = {}
    """Additional search engines by name: the URL of an OpenSearch description, or a URL template."""
    search_providers: CommaSeparated = ()
    """Search providers to use; empty for all configured ones, or Wikipedia if none is."""
    search_seconds: float = Field(default=15.0, gt=0, le=300)
    """Timeout of a search provider in seconds."""

    @field_validator("opensearch", "mcp_servers")
    @classmethod
    def _check_own_names(cls, providers: dict[str, object]) -> dict[str, object]:
        """Reject names of known search providers."""
        if reserved := [name for name in providers if name in list_extensions(SEARCH_PROVIDERS)]:
            raise ValueError(f"{reserved[0]!r} is the name of a search provider")
        return providers

    @field_validator("search_keys", "search_urls", "search_providers")
    @classmethod
    def _check_providers(cls, providers: Any, info: ValidationInfo) -> Any:
        """Reject unknown search providers; engines and MCP servers of a person have no keys."""
        available = list(list_extensions(SEARCH_PROVIDERS))
        if info.field_name == "search_providers":
            servers = info.data.get("mcp_servers", {})
            available += info.data.get("opensearch", ())
            available += [name for name, server in servers.items() if server.search]
        if unknown := [name for name in providers if name not in available]:
            raise ValueError(f"there is no {unknown[0]!r}; there are {', '.join(available)}")
        return providers
