"""Dead links: whether the pages that a report refers to are still there for its readers.

Only what a server says outright makes a link dead. A server that does not answer, or that a rule keeps us from
asking, leaves the question open: readers may have more luck.
"""

import asyncio
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Final
from urllib.parse import quote

from tenure.algorithms.addresses import InvalidAddress, canonical
from tenure.contracts.web import CheckedLink, LinkReply, LinkRequest
from tenure.knowledge.fetching import now
from tenure.knowledge.pages import KnownPage, PageCache, moment
from tenure.sources.fetch import Fetcher
from tenure.sources.fetch_errors import BadStatus, FetchError

LATELY: Final = timedelta(hours=1)
"""A page that was fetched or confirmed within this time is there: a run need not ask for its own pages again."""
PLACE: Final = "{address}"
"""Where the address of a page stands in that of an archive."""
_GONE: Final = (404, 410)


class LinkCheck:
    """Finds out which references of a report lead nowhere."""

    def __init__(
        self, cache: PageCache, fetcher: Fetcher, archive: str = "", clock: Callable[[], datetime] = now
    ) -> None:
        """Ask with `fetcher` for what is not in the cache of late, and name `archive` for what is gone."""
        self._cache, self._fetcher, self._archive, self._clock = cache, fetcher, archive, clock

    async def check(self, request: LinkRequest) -> LinkReply:
        """Check links, each by itself.

        Raises:
            KnowledgeError: the page cache cannot be read.
        """
        forms = [form for address in request.addresses if (form := _form(address))]
        known = await asyncio.to_thread(self._cache.known, forms)
        return LinkReply(links=tuple(await asyncio.gather(*(self._one(one, known) for one in request.addresses))))

    async def _one(self, address: str, known: Mapping[str, KnownPage]) -> CheckedLink:
        there = known.get(_form(address))
        if there and there.fetched_at >= moment(self._clock() - LATELY):
            return CheckedLink(address=address, state="alive")
        try:
            await self._fetcher.look(address)
        except BadStatus as error:
            gone = error.code in _GONE
            return CheckedLink(
                address=address,
                state="dead" if gone else "unknown",
                code=error.code,
                note=str(error),
                archive=archived(self._archive, address) if gone else "",
            )
        except FetchError as error:
            return CheckedLink(address=address, state="unknown", note=str(error))
        return CheckedLink(address=address, state="alive")


def archived(archive: str, address: str) -> str:
    """Return where an archive has a page; empty without an archive."""
    before, place, after = archive.partition(PLACE)
    return before + (quote(address, safe="") if "?" in before else address) + after if place else ""


def _form(address: str) -> str:
    """Return the canonical form of an address; empty for what is none, which the fetcher refuses with its reason."""
    try:
        return canonical(address)
    except InvalidAddress:
        return ""
