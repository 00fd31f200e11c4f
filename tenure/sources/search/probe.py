"""One search with every provider that is set up: `python -m tenure.sources.search.probe` prints the reply as JSON.

`doctor` runs this as a process of its own, as it does with models. Wikipedia is not asked where it would only stand in
for providers that nobody has set up: looking at settings is no reason to reach out.
"""

import asyncio
import sys

from tenure.contracts.evidence.web import WebSearchReply, WebSearchRequest
from tenure.settings import Settings
from tenure.sources.search.ask import WebSearch
from tenure.sources.search.providers import FALLBACK, Providers
from tenure.sources.search.service import Http

QUERY = "history of bread"
"""Everybody who is about anything has a page on it."""


async def try_search(settings: Settings) -> WebSearchReply:
    """Ask every provider that is set up for a page."""
    providers = Providers(settings, Http(settings.fetch_user_agent))
    names = providers.usable
    if not settings.search_providers and names == (FALLBACK,):
        return WebSearchReply()
    engines = WebSearch(providers, seconds=settings.search_seconds)
    try:
        return await engines.search(WebSearchRequest(query=QUERY, k=1, providers=names))
    finally:
        await engines.aclose()


def main() -> None:
    """Print what became of each provider."""
    sys.stdout.write(asyncio.run(try_search(Settings())).model_dump_json())


if __name__ == "__main__":
    main()
