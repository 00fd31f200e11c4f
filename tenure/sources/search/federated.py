"""Query search providers concurrently; a failing provider loses only its own results.

One object serves a whole worker. It respects the `Retry-After` of each provider, and caches results for some minutes:
parts of a run often send the same search, and some providers charge per search.
"""

import asyncio
import time
from collections.abc import Sequence
from datetime import UTC, datetime

from tenure.algorithms.text.urls import is_in_domains
from tenure.contracts.evidence.web import ProviderOutcome, WebSearchReply, WebSearchRequest
from tenure.settings.web import SearchSettings
from tenure.sources.search.api_client import HttpConnections
from tenure.sources.search.fusion import fuse
from tenure.sources.search.provider import ProviderSkipped, SearchError, SearchProvider, SearchResult, SearchUnavailable
from tenure.sources.search.registry import ProviderRegistry

MAX_RETRY_AFTER_SECONDS = 3600.0
"""Maximum time for which a provider is not queried, whatever its `Retry-After` says."""
CACHE_SECONDS = 600.0
MAX_CACHED_SEARCHES = 500
"""Number of cached searches; the oldest are removed first."""

CacheKey = tuple[str, WebSearchRequest]


class FederatedSearch:
    """The search providers of one worker as one search."""

    def __init__(
        self,
        providers: ProviderRegistry,
        *,
        timeout_seconds: float,
        domains: tuple[str, ...] = (),
        excluded_domains: tuple[str, ...] = (),
        max_cached: int = MAX_CACHED_SEARCHES,
    ) -> None:
        self._providers, self._timeout_seconds = providers, timeout_seconds
        self._domains, self._excluded_domains, self._max_cached = domains, excluded_domains, max_cached
        self._blocked_until: dict[str, float] = {}
        self._cache: dict[CacheKey, tuple[float, list[SearchResult]]] = {}

    @classmethod
    def from_settings(cls, settings: SearchSettings) -> "FederatedSearch":
        """Return the search that the settings configure; it opens no connection before its first search."""
        return cls(
            ProviderRegistry(settings, HttpConnections(settings.fetch_user_agent)),
            timeout_seconds=settings.search_seconds,
            domains=settings.fetch_domains,
            excluded_domains=settings.fetch_deny,
        )

    async def search(self, request: WebSearchRequest) -> WebSearchReply:
        """Query every provider that the request or the settings name, and fuse their results."""
        excluded = (*request.excluded_domains, *self._excluded_domains)
        request = request.model_copy(update={"domains": request.domains or self._domains, "excluded_domains": excluded})
        names = tuple(dict.fromkeys(request.providers)) or self._providers.default_names
        replies = await asyncio.gather(*(self._query_provider(name, request) for name in names))
        offers = {answer.provider: results for answer, results in replies if answer.status == "answered"}
        answers = tuple(answer for answer, _ in replies)
        return WebSearchReply(hits=fuse(offers, request, datetime.now(UTC).date()), outcomes=answers)

    async def aclose(self) -> None:
        """Close all connections."""
        await self._providers.aclose()

    async def _query_provider(
        self, name: str, request: WebSearchRequest
    ) -> tuple[ProviderOutcome, Sequence[SearchResult]]:
        began = time.monotonic()
        try:
            results = await self._fetch_results(self._providers.get_provider(name), request)
        except ProviderSkipped as missing:
            return ProviderOutcome(provider=name, status="left_out", note=str(missing)), ()
        except SearchError as error:
            passing = isinstance(error, SearchUnavailable)
            spent = time.monotonic() - began
            return ProviderOutcome(
                provider=name, status="failed", note=str(error), transient=passing, seconds=spent
            ), ()
        spent = time.monotonic() - began
        return ProviderOutcome(provider=name, status="answered", hits=len(results), seconds=spent), results

    async def _fetch_results(self, provider: SearchProvider, request: WebSearchRequest) -> list[SearchResult]:
        """Return the results of one provider, from the cache if possible."""
        if not _can_match_domains(provider, request):
            raise ProviderSkipped(f"{provider.name} has only pages of {', '.join(provider.domains)}")
        key = (provider.name, request.model_copy(update={"providers": ()}))
        until, results = self._cache.get(key, (0.0, []))
        if until > time.monotonic():
            return results
        wait = self._blocked_until.get(provider.name, 0.0) - time.monotonic()
        if wait > 0:
            raise SearchUnavailable(f"{provider.name} accepts no request for {wait:.0f} s")
        try:
            async with asyncio.timeout(self._timeout_seconds):
                results = await provider.search(request)
        except TimeoutError:
            raise SearchUnavailable(f"{provider.name} did not answer within {self._timeout_seconds:g} s") from None
        except SearchUnavailable as busy:
            self._blocked_until[provider.name] = time.monotonic() + min(busy.retry_after, MAX_RETRY_AFTER_SECONDS)
            raise
        self._cache.pop(key, None)
        self._cache[key] = (time.monotonic() + CACHE_SECONDS, results)
        if len(self._cache) > self._max_cached:
            del self._cache[next(iter(self._cache))]
        return results


def _can_match_domains(provider: SearchProvider, request: WebSearchRequest) -> bool:
    if not provider.domains:
        return True
    if any(is_in_domains(domain, request.excluded_domains) for domain in provider.domains):
        return False
    return not request.domains or any(
        is_in_domains(domain, request.domains) or is_in_domains(required, provider.domains)
        for domain in provider.domains
        for required in request.domains
    )
