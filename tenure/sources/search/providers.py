"""Which search providers there are, and which of them the settings let us ask.

Without a list in the settings, those are asked that somebody has set up: whoever gives a key or an address wants it
used. Where nobody has, Wikipedia is, which is about everything, needs no key and welcomes such use. The other servers
that need no key are about research or about software: for most questions they offer what has to be fetched in vain,
and some of them ask not to be asked often. They have to be named.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from pydantic import SecretStr

from tenure.settings import SearchEngine, Settings, variable
from tenure.sources.mcp.servers import McpServers
from tenure.sources.search.arxiv import Arxiv
from tenure.sources.search.base import LeftOut, SearchProvider
from tenure.sources.search.brave import Brave
from tenure.sources.search.crossref import Crossref
from tenure.sources.search.github import GitHub
from tenure.sources.search.mcp_search import McpSearch
from tenure.sources.search.openalex import OpenAlex
from tenure.sources.search.opensearch import OpenSearch
from tenure.sources.search.searxng import Searxng
from tenure.sources.search.semantic_scholar import SemanticScholar
from tenure.sources.search.service import Http, Service
from tenure.sources.search.tavily import Tavily
from tenure.sources.search.wikipedia import Wikipedia

FALLBACK: Final[SearchEngine] = "wikipedia"
"""Whom to ask where nobody has been set up."""


@dataclass(frozen=True)
class _Kind:
    """How a provider is set up."""

    make: Callable[[Service], SearchProvider]
    """Its class."""
    address: str = ""
    """Its server; empty where the setting is the address."""
    setting: str = ""
    """Setting that sets it up: its key or its address."""
    needed: bool = False
    """Whether it cannot be asked without the setting."""
    gap: float = 0.0
    """Seconds from one request to the next that its rules ask for."""


_KINDS: Final[dict[SearchEngine, _Kind]] = {
    "searxng": _Kind(Searxng, "", "searxng_url", needed=True),
    "brave": _Kind(Brave, "https://api.search.brave.com/res/v1", "brave_key", needed=True),
    "tavily": _Kind(Tavily, "https://api.tavily.com", "tavily_key", needed=True),
    "wikipedia": _Kind(Wikipedia, "https://{language}.wikipedia.org"),
    "arxiv": _Kind(Arxiv, "https://export.arxiv.org", gap=3.0),
    "semantic_scholar": _Kind(SemanticScholar, "https://api.semanticscholar.org", "semantic_scholar_key", gap=1.0),
    "openalex": _Kind(OpenAlex, "https://api.openalex.org", "openalex_key"),
    "crossref": _Kind(Crossref, "https://api.crossref.org"),
    "github": _Kind(GitHub, "https://api.github.com", "github_token"),
}


class Providers:
    """The search providers of one worker; each is made when it is first asked."""

    def __init__(self, settings: Settings, http: Http) -> None:
        """Make providers as `settings` say, on the connections of `http`."""
        self._settings, self._http = settings, http
        self._servers = McpServers(settings.mcp_servers, seconds=settings.mcp_seconds)
        self._made: dict[str, SearchProvider] = {}

    @property
    def usable(self) -> tuple[str, ...]:
        """Names of the providers that are asked where nobody names one."""
        engines = (name for name, kind in _KINDS.items() if self._is_set(kind))
        servers = (name for name, server in self._settings.mcp_servers.items() if server.search)
        own = (*engines, *self._settings.opensearch, *servers)
        return self._settings.search_providers or own or (FALLBACK,)

    @property
    def chosen(self) -> tuple[str, ...]:
        """Those, and the ones that could be if they had a key: that they are left out belongs to an answer."""
        if self._settings.search_providers:
            return self._settings.search_providers
        missing = (name for name, kind in _KINDS.items() if kind.needed and not self._is_set(kind))
        return (*self.usable, *missing)

    def provider(self, name: str) -> SearchProvider:
        """Return a provider.

        Raises:
            LeftOut: there is none of the name, or it is not set up.
        """
        if name not in self._made:
            self._made[name] = self._make(name)
        return self._made[name]

    async def aclose(self) -> None:
        """Close all connections."""
        await self._http.aclose()

    def _make(self, name: str) -> SearchProvider:
        if address := self._settings.opensearch.get(name):
            return OpenSearch(name, Service(self._http, name, address, address_setting=variable("opensearch")))
        server = self._settings.mcp_servers.get(name)
        if server is not None and server.search:
            return McpSearch(name, self._servers, server.search)
        for known, kind in _KINDS.items():
            if known == name:
                return kind.make(self._service(known, kind))
        raise LeftOut(f"there is no search provider {name!r}")

    def _service(self, name: SearchEngine, kind: _Kind) -> Service:
        """Return a provider's server.

        Raises:
            LeftOut: it cannot be asked without a setting.
        """
        if kind.needed and not self._is_set(kind):
            raise LeftOut(f"not set up: set {variable(kind.setting)}")
        value = getattr(self._settings, kind.setting) if kind.setting else None
        own = value if isinstance(value, str) else kind.address
        return Service(
            self._http,
            name,
            self._settings.search_urls.get(name, own),
            key=value if isinstance(value, SecretStr) else None,
            key_setting=variable(kind.setting) if kind.address and kind.setting else "",
            address_setting=variable("search_urls") if kind.address else variable(kind.setting),
            gap=kind.gap,
            contact=self._settings.search_contact,
        )

    def _is_set(self, kind: _Kind) -> bool:
        return bool(kind.setting and getattr(self._settings, kind.setting))
