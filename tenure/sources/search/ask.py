"""Search engines asked at once: whoever fails, hangs or lies costs only its own answer.

One object serves a whole worker. It remembers which provider wants to be left alone, and for how long, and what was
found a moment ago: parts of a run often look for the same, and some providers are paid by the search.
"""

import asyncio
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Protocol

from tenure.algorithms.text.urls import within
from tenure.contracts.evidence.web import ProviderAnswer, WebSearchReply, WebSearchRequest
from tenure.settings import Settings
from tenure.sources.search.base import Found, LeftOut, SearchError, SearchProvider, Unavailable
from tenure.sources.search.fusion import fuse
from tenure.sources.search.providers import Providers
from tenure.sources.search.service import Http

PATIENCE = 3600.0
"""Seconds for which a provider is left alone at the most, whatever it says."""
KEPT_SECONDS = 600.0
"""Seconds for which a search is not sent to the same provider again."""
MOST_KEPT = 500
"""Searches that are kept; the oldest go first."""

Key = tuple[str, WebSearchRequest]


class Registry(Protocol):
    """Where providers are."""

    @property
    def chosen(self) -> tuple[str, ...]:
        """Names of the providers to ask where a search names none."""
        ...

    def provider(self, name: str) -> SearchProvider:
        """Return a provider.

        Raises:
            LeftOut: it cannot be asked.
        """
        ...

    async def aclose(self) -> None:
        """Close all connections."""
        ...


class WebSearch:
    """The search engines of one worker.

    Args:
        providers: whom to ask.
        seconds: the time that each has at the most.
        domains: domains that pages may be fetched from, empty for any: no others are looked for.
        denied: domains that no page is fetched from.
        most_kept: searches that are remembered.
    """

    def __init__(
        self,
        providers: Registry,
        *,
        seconds: float,
        domains: tuple[str, ...] = (),
        denied: tuple[str, ...] = (),
        most_kept: int = MOST_KEPT,
    ) -> None:
        self._providers, self._seconds = providers, seconds
        self._domains, self._denied, self._most_kept = domains, denied, most_kept
        self._left_alone: dict[str, float] = {}
        self._kept: dict[Key, tuple[float, list[Found]]] = {}

    @classmethod
    def from_settings(cls, settings: Settings) -> "WebSearch":
        """Return the search engines that the settings name; no connection is opened before the first search."""
        return cls(
            Providers(settings, Http(settings.fetch_user_agent)),
            seconds=settings.search_seconds,
            domains=settings.fetch_domains,
            denied=settings.fetch_deny,
        )

    async def search(self, request: WebSearchRequest) -> WebSearchReply:
        """Ask every provider that the request or the settings name, and fuse what they offer."""
        excluded = (*request.excluded_domains, *self._denied)
        request = request.model_copy(update={"domains": request.domains or self._domains, "excluded_domains": excluded})
        names = tuple(dict.fromkeys(request.providers)) or self._providers.chosen
        asked = await asyncio.gather(*(self._asked(name, request) for name in names))
        offers = {answer.provider: found for answer, found in asked if answer.status == "answered"}
        answers = tuple(answer for answer, _ in asked)
        return WebSearchReply(hits=fuse(offers, request, datetime.now(UTC).date()), answers=answers)

    async def aclose(self) -> None:
        """Close all connections."""
        await self._providers.aclose()

    async def _asked(self, name: str, request: WebSearchRequest) -> tuple[ProviderAnswer, Sequence[Found]]:
        """Ask one provider, and say what became of it."""
        began = time.monotonic()
        try:
            found = await self._found(self._providers.provider(name), request)
        except LeftOut as missing:
            return ProviderAnswer(provider=name, status="left_out", note=str(missing)), ()
        except SearchError as error:
            passing = isinstance(error, Unavailable)
            spent = time.monotonic() - began
            return ProviderAnswer(provider=name, status="failed", note=str(error), passing=passing, seconds=spent), ()
        spent = time.monotonic() - began
        return ProviderAnswer(provider=name, status="answered", hits=len(found), seconds=spent), found

    async def _found(self, provider: SearchProvider, request: WebSearchRequest) -> list[Found]:
        """Return what a provider offers within its time.

        Raises:
            SearchError: it gave no answer, or was not asked.
        """
        if not _may_have(provider, request):
            raise LeftOut(f"{provider.name} has pages of {', '.join(provider.domains)} only")
        key = (provider.name, request.model_copy(update={"providers": ()}))
        until, found = self._kept.get(key, (0.0, []))
        if until > time.monotonic():
            return found
        wait = self._left_alone.get(provider.name, 0.0) - time.monotonic()
        if wait > 0:
            raise Unavailable(f"{provider.name} wants to be left alone for {wait:.0f} s")
        try:
            async with asyncio.timeout(self._seconds):
                found = await provider.search(request)
        except TimeoutError:
            raise Unavailable(f"{provider.name} did not answer within {self._seconds:g} s") from None
        except Unavailable as busy:
            self._left_alone[provider.name] = time.monotonic() + min(busy.retry_after, PATIENCE)
            raise
        self._keep(key, found)
        return found

    def _keep(self, key: Key, found: list[Found]) -> None:
        """Remember what a search has found."""
        self._kept.pop(key, None)
        self._kept[key] = (time.monotonic() + KEPT_SECONDS, found)
        if len(self._kept) > self._most_kept:
            del self._kept[next(iter(self._kept))]


def _may_have(provider: SearchProvider, request: WebSearchRequest) -> bool:
    """Whether a provider can have pages of the wanted domains at all."""
    if not provider.domains:
        return True
    if any(within(domain, request.excluded_domains) for domain in provider.domains):
        return False
    return not request.domains or any(
        within(domain, request.domains) or within(wanted, provider.domains)
        for domain in provider.domains
        for wanted in request.domains
    )
