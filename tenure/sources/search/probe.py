"""Send one search to every configured provider: `python -m tenure.sources.search.probe` prints the reply as JSON.

`doctor` runs this module as a separate process, like the probes of models. Wikipedia as the default provider is not
queried: checking the settings must send no request to a service that the user has not configured.
"""

import asyncio
import sys

from tenure.contracts.evidence.web import WebSearchReply, WebSearchRequest
from tenure.settings import Settings
from tenure.settings.web import SearchSettings
from tenure.sources.search.api_client import HttpConnections
from tenure.sources.search.federated import FederatedSearch
from tenure.sources.search.registry import DEFAULT_PROVIDER, ProviderRegistry

QUERY = "history of bread"
"""A query for which every general provider has results."""


async def probe_providers(settings: SearchSettings) -> WebSearchReply:
    """Search for one page with every configured provider."""
    registry = ProviderRegistry(settings, HttpConnections(settings.fetch_user_agent))
    names = registry.configured_names
    if not settings.search_providers and names == (DEFAULT_PROVIDER,):
        return WebSearchReply()
    search = FederatedSearch(registry, timeout_seconds=settings.search_seconds)
    try:
        return await search.search(WebSearchRequest(query=QUERY, k=1, providers=names))
    finally:
        await search.aclose()


def main() -> None:
    """Print the reply as JSON."""
    sys.stdout.write(asyncio.run(probe_providers(Settings())).model_dump_json())


if __name__ == "__main__":
    main()
