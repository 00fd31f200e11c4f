"""Fetch web pages through the page cache, with conditional requests for pages that are cached but stale.

Concurrent requests for the same page share one fetch. If a server does not answer, the cached copy is used and the
reply says so.
"""

import asyncio
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Final, Protocol

from tenure.algorithms.text.urls import InvalidUrlError, canonicalize_url, find_domain_violation
from tenure.contracts.evidence.web import FetchedPage, FetchReply, FetchRequest
from tenure.knowledge.pages.cache import CachedPage, PageCache, PageMetadata, build_redirect, format_time
from tenure.sources.fetch.errors import ErrorStatus, FetchError, NoResponse, RequestRefused
from tenure.sources.fetch.fetcher import FetchedResponse, UrlRule, permit_every_url
from tenure.sources.fetch.transfer import Validators

MIN_LIFETIME: Final = timedelta(minutes=10)
"""Minimum time for which a page is reused, even if its server forbids caching: a run must be able to read what it has
fetched, and a retried attempt must not fetch it again.
"""
_MAX_BATCH_PAGES: Final = 32
"""Pages that are written together."""
_MAX_BATCH_BYTES: Final = 8_000_000


def read_utc_clock() -> datetime:
    """Return the current time in UTC."""
    return datetime.now(UTC)


class PageFetcher(Protocol):
    """Client that fetches single pages."""

    async def fetch(
        self, address: str, known: Mapping[str, Validators] | None = None, find_violation: UrlRule = permit_every_url
    ) -> FetchedResponse:
        """Fetch a page.

        Args:
            address: URL of the page.
            known: validators of the cached pages, by canonical URL.
            find_violation: rule for the URL and for every URL that it redirects to.

        Raises:
            FetchError: the page cannot be fetched; the message gives the reason.
        """


class PageFetching:
    """Page fetching for all runs of one worker; used in one event loop."""

    def __init__(
        self,
        cache: PageCache,
        fetcher: PageFetcher,
        max_age: timedelta,
        clock: Callable[[], datetime] = read_utc_clock,
        *,
        refetch: bool = False,
    ) -> None:
        """Fetch with `fetcher` into `cache`; reuse a page up to `max_age`, or never if `refetch`."""
        self._cache, self._fetcher, self._max_age, self._clock = cache, fetcher, max_age, clock
        self._refetch = refetch
        self._shared: dict[tuple[str, tuple[str, ...], tuple[str, ...]], _SharedRequest] = {}
        self._writing = asyncio.Lock()

    async def fetch(self, request: FetchRequest) -> FetchReply:
        """Fetch pages that are not cached; a failure of one page does not affect the others.

        Raises:
            KnowledgeError: the page cache cannot be read or written.
        """
        forms = {address: _canonicalize(address) for address in request.urls}
        addresses = list(dict.fromkeys(form for form in forms.values() if isinstance(form, str)))
        cached = await asyncio.to_thread(self._cache.load_metadata, addresses)
        writes = _PendingWrites(self._cache, self._writing)
        try:
            async with asyncio.TaskGroup() as group:
                tasks = {form: group.create_task(self._fetch_page(form, cached, writes, request)) for form in addresses}
        except ExceptionGroup as errors:
            raise errors.exceptions[0] from None  # failures of pages raise nothing: this is the cache
        await writes.flush()
        return FetchReply(
            pages=tuple(
                tasks[form].result().model_copy(update={"url": address}) if isinstance(form, str) else form
                for address in request.urls
                for form in (forms[address],)
            )
        )

    async def _fetch_page(
        self, address: str, cached: Mapping[str, PageMetadata], writes: "_PendingWrites", request: FetchRequest
    ) -> FetchedPage:
        time = self._clock()
        copy = _find_copy(address, cached)
        if copy and find_domain_violation(copy.url, request.domains, request.excluded_domains):
            copy = None  # Another run was permitted to follow this redirect.
        is_fresh = copy and cached[address].is_fresh(time) and copy.is_fresh(time)
        if copy and is_fresh and not (self._refetch or request.revalidate):
            return _build_cached_reply(address, copy)
        validators_by_url = {page.url: Validators(page.etag, page.last_modified) for page in cached.values()}
        validators = {url: tags for url, tags in validators_by_url.items() if any(tags)}
        try:
            fetched = await self._fetch_shared(address, validators, request)
        except RequestRefused as error:
            return FetchedPage(url=address, status="refused", note=str(error))
        except FetchError as error:
            if copy and (isinstance(error, NoResponse) or (isinstance(error, ErrorStatus) and error.is_transient)):
                return _build_cached_reply(address, copy, f"{error}; this is the copy of {copy.fetched_at[:10]}")
            return FetchedPage(url=address, status="failed", note=str(error))
        return await self._store_page(address, fetched, cached, writes)

    async def _store_page(
        self, address: str, fetched: FetchedResponse, cached: Mapping[str, PageMetadata], writes: "_PendingWrites"
    ) -> FetchedPage:
        page = self._build_metadata(fetched, cached.get(fetched.url))
        if fetched.not_modified:
            await writes.add_confirmation(page)
        else:
            await writes.add_page(CachedPage(page, fetched.body))
        for hop in fetched.redirect_chain[:-1]:
            await writes.add_page(build_redirect(hop, page))
        return FetchedPage(
            url=address,
            status="unchanged" if fetched.not_modified else "fetched",
            canonical_url=page.url,
            media_type=page.media_type,
            size=page.size,
        )

    def _build_metadata(self, fetched: FetchedResponse, before: PageMetadata | None) -> PageMetadata:
        time = self._clock()
        max_age = self._max_age
        if fetched.max_age is not None:
            max_age = min(max_age, max(timedelta(seconds=fetched.max_age), MIN_LIFETIME))
        page = PageMetadata(
            url=fetched.url,
            target_url=fetched.url,
            fetched_at=format_time(time),
            fresh_until=format_time(time + max_age),
            etag=fetched.validators.etag,
            last_modified=fetched.validators.last_modified,
            media_type=fetched.media_type,
            charset=fetched.charset,
            content_hash=hashlib.sha256(fetched.body).hexdigest(),
            size=len(fetched.body),
        )
        return _merge_confirmation(before, page) if fetched.not_modified and before else page

    async def _fetch_shared(
        self, address: str, validators: Mapping[str, Validators], request: FetchRequest
    ) -> FetchedResponse:
        """Fetch a page, or wait for a concurrent fetch of the same page under the same rule."""
        key = (address, request.domains, request.excluded_domains)
        shared = self._shared.get(key)
        if shared is None:
            rule = partial(find_domain_violation, domains=request.domains, excluded_domains=request.excluded_domains)
            task = asyncio.create_task(self._fetcher.fetch(address, validators, rule))
            shared = self._shared[key] = _SharedRequest(task)
        shared.waiting += 1
        try:
            return await asyncio.shield(shared.task)
        finally:
            shared.waiting -= 1
            if not shared.waiting:
                self._shared.pop(key)
                shared.task.cancel()  # no effect if it is done; otherwise all callers were cancelled


@dataclass
class _SharedRequest:
    """Running request, and the number of callers that wait for it."""

    task: "asyncio.Task[FetchedResponse]"
    waiting: int = 0


class _PendingWrites:
    """Pages that wait to be written to the cache."""

    def __init__(self, cache: PageCache, writing: asyncio.Lock) -> None:
        self._cache, self._writing = cache, writing
        self._pages: list[CachedPage] = []
        self._merge_confirmation: list[PageMetadata] = []
        self._size = 0

    async def add_page(self, page: CachedPage) -> None:
        """Add a page; write the batch if it is large."""
        self._pages.append(page)
        self._size += len(page.body)
        if len(self._pages) >= _MAX_BATCH_PAGES or self._size >= _MAX_BATCH_BYTES:
            await self.flush()

    async def add_confirmation(self, page: PageMetadata) -> None:
        """Add the confirmation of a page, which is written together with others."""
        self._merge_confirmation.append(page)

    async def flush(self) -> None:
        """Write everything that was added."""
        pages, confirmed = self._pages, self._merge_confirmation
        self._pages, self._merge_confirmation, self._size = [], [], 0
        async with self._writing:  # avoids commit conflicts within this process
            await asyncio.to_thread(_write, self._cache, pages, confirmed)


def _write(cache: PageCache, pages: Sequence[CachedPage], confirmed: Sequence[PageMetadata]) -> None:
    if pages:
        cache.store_pages(pages)
    if confirmed:
        cache.confirm(confirmed)


def _canonicalize(address: str) -> str | FetchedPage:
    try:
        return canonicalize_url(address)
    except InvalidUrlError as error:
        return FetchedPage(url=address, status="refused", note=str(error))


def _merge_confirmation(before: PageMetadata, page: PageMetadata) -> PageMetadata:
    """Return the metadata of a confirmed page; a reply without a body has fewer headers than the original."""
    return before._replace(
        etag=page.etag or before.etag,
        last_modified=page.last_modified or before.last_modified,
        fetched_at=page.fetched_at,
        fresh_until=page.fresh_until,
    )


def _find_copy(address: str, cached: Mapping[str, PageMetadata]) -> PageMetadata | None:
    """Return the cached page of a URL after redirects; None if it is not cached."""
    metadata = cached.get(address)
    copy = cached.get(metadata.target_url) if metadata else None
    return copy if copy and copy.target_url == copy.url else None


def _build_cached_reply(address: str, copy: PageMetadata, note: str = "") -> FetchedPage:
    return FetchedPage(
        url=address, status="cached", canonical_url=copy.url, media_type=copy.media_type, size=copy.size, note=note
    )
