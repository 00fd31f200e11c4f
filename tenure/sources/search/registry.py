"""Find search providers, and create those that the settings configure.

A provider with an HTTP API is one module in `tenure/sources/search/providers/` with one subclass of `ApiProvider`;
OpenSearch servers and MCP servers get their names from the settings.

If the settings list no providers, all providers with a key or URL are queried, or Wikipedia if there are none: it
covers every subject, needs no key and permits such use. Other providers without a key cover research or software,
return irrelevant pages for most questions, and partly ask for few requests; they are queried if the user names them.
"""

from importlib import import_module
from typing import Final

from tenure.extensions import SEARCH_PROVIDERS, list_extensions
from tenure.settings import get_environment_variable
from tenure.settings.web import SearchSettings
from tenure.sources.mcp.servers import McpServers
from tenure.sources.search.api_client import ApiClient, HttpConnections
from tenure.sources.search.api_provider import ApiProvider
from tenure.sources.search.mcp_provider import McpSearchProvider
from tenure.sources.search.opensearch import OpenSearchProvider
from tenure.sources.search.provider import ProviderSkipped, SearchProvider

DEFAULT_PROVIDER: Final = "wikipedia"


def load_provider_classes() -> dict[str, type[ApiProvider]]:
    """Import the providers with an HTTP API, and return their classes by name."""
    return {name: load_provider_class(name) for name in list_extensions(SEARCH_PROVIDERS)}


def load_provider_class(name: str) -> type[ApiProvider]:
    """Import the module of a provider, and return its class.

    Raises:
        TypeError: the module does not define exactly one subclass of `ApiProvider`.
    """
    module = import_module(f"{SEARCH_PROVIDERS}.{name}")
    classes = [
        value
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, ApiProvider) and value.__module__ == module.__name__
    ]
    if len(classes) != 1:
        raise TypeError(f"the search provider {name!r} defines {len(classes)} subclasses of ApiProvider instead of one")
    return classes[0]


class ProviderRegistry:
    """The search providers of one worker; each is created at its first use."""

    def __init__(self, settings: SearchSettings, http: HttpConnections) -> None:
        self._settings, self._http = settings, http
        self._servers = McpServers(settings.mcp_servers, timeout_seconds=settings.mcp_seconds)
        self._classes = load_provider_classes()
        self._providers: dict[str, SearchProvider] = {}

    @property
    def configured_names(self) -> tuple[str, ...]:
        """Names of the providers that a search without names queries."""
        apis = (name for name in self._classes if self._is_configured(name))
        servers = (name for name, server in self._settings.mcp_servers.items() if server.search)
        configured = (*apis, *self._settings.opensearch, *servers)
        return self._settings.search_providers or configured or (DEFAULT_PROVIDER,)

    @property
    def default_names(self) -> tuple[str, ...]:
        """The configured names, and the providers that lack a required setting, which replies list as skipped."""
        if self._settings.search_providers:
            return self._settings.search_providers
        return (*self.configured_names, *(name for name in self._classes if self._find_missing_variable(name)))

    def get_provider(self, name: str) -> SearchProvider:
        """Return a provider.

        Raises:
            ProviderSkipped: no provider has the name, or its required setting is missing.
        """
        if name not in self._providers:
            self._providers[name] = self._create_provider(name)
        return self._providers[name]

    async def aclose(self) -> None:
        """Close all connections."""
        await self._http.aclose()

    def _create_provider(self, name: str) -> SearchProvider:
        if url := self._settings.opensearch.get(name):
            return OpenSearchProvider(
                name, ApiClient(self._http, name, url, url_setting=get_environment_variable("opensearch"))
            )
        server = self._settings.mcp_servers.get(name)
        if server is not None and server.search:
            return McpSearchProvider(name, self._servers, server.search)
        if name not in self._classes:
            raise ProviderSkipped(f"there is no search provider {name!r}")
        if missing := self._find_missing_variable(name):
            raise ProviderSkipped(f"not configured: set {missing}")
        provider = self._classes[name]
        client = ApiClient(
            self._http,
            name,
            self._settings.search_urls.get(name, provider.base_url),
            key=None if provider.key == "none" else self._settings.search_keys.get(name),
            key_setting=get_key_variable(name, provider),
            url_setting=get_url_variable(name),
            min_interval=provider.min_interval,
            contact=self._settings.search_contact,
        )
        return provider(client)

    def _is_configured(self, name: str) -> bool:
        """Return whether the operator has set a key, or the URL of a provider without a public server."""
        provider = self._classes[name]
        if not provider.base_url:
            return bool(self._settings.search_urls.get(name))
        return provider.key != "none" and name in self._settings.search_keys

    def _find_missing_variable(self, name: str) -> str:
        """Return the variable that a provider requires and that is not set, or an empty text."""
        provider = self._classes[name]
        if not provider.base_url and not self._settings.search_urls.get(name):
            return get_url_variable(name)
        if provider.key == "required" and name not in self._settings.search_keys:
            return get_key_variable(name, provider)
        return ""


def get_key_variable(name: str, provider: type[ApiProvider]) -> str:
    """Return the environment variable with the key of a provider, or an empty text if it takes none."""
    return "" if provider.key == "none" else f"TENURE_{name}_{provider.key_noun}".upper()


def get_url_variable(name: str) -> str:
    """Return the environment variable with the URL of a provider's API."""
    return f"TENURE_{name}_URL".upper()
