"""Fetching pages into the page cache: who asks again is answered from it, and a server only confirms what is there.

Pages that several ask for at the same time are requested once. A page whose server does not answer is taken as it
was last, and the reply says so.
"""

import asyncio
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final, Protocol

from tenure.algorithms.text.urls import InvalidAddress, canonical
from tenure.contracts.evidence.web import FetchedPage, FetchReply, FetchRequest
from tenure.knowledge.pages.cache import CachedPage, KnownPage, PageCache, moment, redirected
from tenure.sources.fetch.errors import BadStatus, FetchError, NotAnswered, Refused
from tenure.sources.fetch.fetcher import Fetched
from tenure.sources.fetch.transfer import Validators

CONFIRMED: Final = timedelta(hours=1)
"""Time after which a page that is to be confirmed is asked for again."""
LEAST: Final = timedelta(minutes=10)
"""Time for which a page is used again even if its server says that it must not be kept: a run has to be able to
read what it has fetched, and a repeated attempt must not fetch it anew."""
_BATCH: Final = 32
"""Pages that are written together."""
_BATCH_BYTES: Final = 8_000_000


def now() -> datetime:
    """Return the time."""
    return datetime.now(UTC)


class Visitor(Protocol):
    """Who fetches single pages."""

    async def fetch(self, address: str, known: Mapping[str, Validators] | None = None) -> Fetched:
        """Fetch a page.

        Args:
            address: where it is.
            known: validators of the pages at hand, by canonical address.

        Raises:
            FetchError: it is not to be had; the text says why.
        """
        ...


class PageFetching:
    """Fetches pages for all runs of one worker; to be used in one event loop."""

    def __init__(
        self,
        cache: PageCache,
        fetcher: Visitor,
        lasts: timedelta,
        clock: Callable[[], datetime] = now,
        *,
        anew: bool = False,
    ) -> None:
        """Fetch with `fetcher` into `cache`, and use a page again as long as it lasts, unless all are wanted anew."""
        self._cache, self._fetcher, self._lasts, self._clock = cache, fetcher, lasts, clock
        self._anew = anew
        self._shared: dict[str, _Shared] = {}
        self._writing = asyncio.Lock()

    async def fetch(self, request: FetchRequest) -> FetchReply:
        """Fetch pages, as far as they are not at hand; each page fails by itself.

        Raises:
            KnowledgeError: the page cache cannot be read or written.
        """
        forms = {address: _form(address) for address in request.addresses}
        wanted = list(dict.fromkeys(form for form in forms.values() if isinstance(form, str)))
        known = await asyncio.to_thread(self._cache.known, wanted)
        kept = _Kept(self._cache, self._writing)
        try:
            async with asyncio.TaskGroup() as group:
                tasks = {form: group.create_task(self._one(form, known, kept, request.confirm)) for form in wanted}
        except ExceptionGroup as errors:
            raise errors.exceptions[0] from None  # pages fail by themselves: this is the cache
        await kept.write()
        return FetchReply(
            pages=tuple(
                tasks[form].result().model_copy(update={"address": address}) if isinstance(form, str) else form
                for address in request.addresses
                for form in (forms[address],)
            )
        )

    async def _one(
        self, address: str, known: Mapping[str, KnownPage], kept: "_Kept", confirm: bool = False
    ) -> FetchedPage:
        """Fetch one page."""
        time = self._clock()
        copy = _copy(address, known)
        old = copy and confirm and copy.fetched_at < moment(time - CONFIRMED)
        if not (self._anew or old) and copy and known[address].is_fresh(time) and copy.is_fresh(time):
            return _at_hand(address, copy)
        told = {page.address: Validators(page.etag, page.last_modified) for page in known.values()}
        validators = {where: one for where, one in told.items() if any(one)}
        try:
            fetched = await self._fetched(address, validators)
        except Refused as error:
            return FetchedPage(address=address, status="refused", note=str(error))
        except FetchError as error:
            code = error.code if isinstance(error, BadStatus) else 0
            if copy and (isinstance(error, NotAnswered) or (isinstance(error, BadStatus) and error.passing)):
                return _at_hand(address, copy, f"{error}; this is what it was on {copy.fetched_at[:10]}")
            return FetchedPage(address=address, status="failed", code=code, note=str(error))
        return await self._keep(address, fetched, known, kept)

    async def _keep(self, address: str, fetched: Fetched, known: Mapping[str, KnownPage], kept: "_Kept") -> FetchedPage:
        """Keep a page that was fetched, or that its server has confirmed."""
        page = self._page(fetched, known.get(fetched.address))
        if fetched.unchanged:
            await kept.confirmed(page)
        else:
            await kept.fetched(CachedPage(page, fetched.body))
        for hop in fetched.hops[:-1]:
            await kept.fetched(redirected(hop, page))
        return FetchedPage(
            address=address,
            status="unchanged" if fetched.unchanged else "fetched",
            page=page.address,
            media_type=page.media_type,
            size=page.size,
            transferred=fetched.transferred,
            code=fetched.code,
        )

    def _page(self, fetched: Fetched, before: KnownPage | None) -> KnownPage:
        """Return what is known of a page once it was fetched."""
        time = self._clock()
        lasts = self._lasts
        if fetched.lifetime is not None:
            lasts = min(lasts, max(timedelta(seconds=fetched.lifetime), LEAST))
        page = KnownPage(
            address=fetched.address,
            goal=fetched.address,
            fetched_at=moment(time),
            fresh_until=moment(time + lasts),
            etag=fetched.validators.etag,
            last_modified=fetched.validators.last_modified,
            media_type=fetched.media_type,
            charset=fetched.charset,
            content_hash=hashlib.sha256(fetched.body).hexdigest(),
            size=len(fetched.body),
        )
        return _confirmed(before, page) if fetched.unchanged and before else page

    async def _fetched(self, address: str, validators: Mapping[str, Validators]) -> Fetched:
        """Fetch a page, together with whoever else is fetching it now."""
        shared = self._shared.get(address)
        if shared is None:
            task = asyncio.create_task(self._fetcher.fetch(address, validators))
            shared = self._shared[address] = _Shared(task)
        shared.waiting += 1
        try:
            return await asyncio.shield(shared.task)
        finally:
            shared.waiting -= 1
            if not shared.waiting:
                self._shared.pop(address)
                shared.task.cancel()  # without effect if it is done; else whoever waited was cancelled


@dataclass
class _Shared:
    """A request under way, and how many wait for it."""

    task: "asyncio.Task[Fetched]"
    waiting: int = 0


class _Kept:
    """Pages on their way into the cache, a batch at a time."""

    def __init__(self, cache: PageCache, writing: asyncio.Lock) -> None:
        self._cache, self._writing = cache, writing
        self._pages: list[CachedPage] = []
        self._confirmed: list[KnownPage] = []
        self._size = 0

    async def fetched(self, page: CachedPage) -> None:
        """Take a page; it is written with others, before too much memory is used."""
        self._pages.append(page)
        self._size += len(page.body)
        if len(self._pages) >= _BATCH or self._size >= _BATCH_BYTES:
            await self.write()

    async def confirmed(self, page: KnownPage) -> None:
        """Take the news that a page is current."""
        self._confirmed.append(page)

    async def write(self) -> None:
        """Write what was taken so far."""
        pages, confirmed = self._pages, self._confirmed
        self._pages, self._confirmed, self._size = [], [], 0
        async with self._writing:  # commits of one process need not conflict with each other
            await asyncio.to_thread(_write, self._cache, pages, confirmed)


def _write(cache: PageCache, pages: Sequence[CachedPage], confirmed: Sequence[KnownPage]) -> None:
    if pages:
        cache.keep(pages)
    if confirmed:
        cache.confirm(confirmed)


def _form(address: str) -> str | FetchedPage:
    """Return the canonical form of an address, or what becomes of one that has none."""
    try:
        return canonical(address)
    except InvalidAddress as error:
        return FetchedPage(address=address, status="refused", note=str(error))


def _confirmed(before: KnownPage, page: KnownPage) -> KnownPage:
    """Return what is known of a page that its server has confirmed: an answer without a body says less of it."""
    return before._replace(
        etag=page.etag or before.etag,
        last_modified=page.last_modified or before.last_modified,
        fetched_at=page.fetched_at,
        fresh_until=page.fresh_until,
    )


def _copy(address: str, known: Mapping[str, KnownPage]) -> KnownPage | None:
    """Return the page that a request for an address led to the last time, where it is at hand."""
    there = known.get(address)
    copy = known.get(there.goal) if there else None
    return copy if copy and copy.goal == copy.address else None


def _at_hand(address: str, copy: KnownPage, note: str = "") -> FetchedPage:
    return FetchedPage(
        address=address, status="cached", page=copy.address, media_type=copy.media_type, size=copy.size, note=note
    )
