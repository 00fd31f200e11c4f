"""Cache fetched web pages for all runs; a damaged page is fetched again.

A page is stored under its canonical URL. Each URL that redirected to it has a row with its target, so that the same
request finds the page without network access.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

import pyarrow as pa
import structlog

from tenure.knowledge.store.errors import CorruptTable
from tenure.knowledge.store.schema import PAGES, PAGES_SCHEMA
from tenure.knowledge.store.store import Store

_ROW_OVERHEAD_BYTES: Final = 500
"""Estimated bytes of a row besides the body."""
_METADATA_COLUMNS: Final = [name for name in PAGES_SCHEMA.names if name != "body"]
_FRESHNESS_COLUMNS: Final = ("url", "etag", "last_modified", "fetched_at", "fresh_until")


class PageMetadata(NamedTuple):
    """Cached metadata of a page, without its body."""

    url: str
    target_url: str
    """URL to which the request was redirected; equal to `url` without a redirect."""
    fetched_at: str
    """Time of the last confirmation by the server, ISO 8601 in UTC."""
    fresh_until: str
    """Time until which no revalidation is needed, ISO 8601 in UTC."""
    etag: str = ""
    last_modified: str = ""
    media_type: str = ""
    """Media type, such as `text/html`."""
    charset: str = ""
    """Charset from the HTTP header; empty if there is none."""
    content_hash: str = ""
    size: int = 0

    def is_fresh(self, now: datetime) -> bool:
        """Return whether the page can be used without revalidation."""
        return format_time(now) < self.fresh_until


@dataclass(frozen=True)
class CachedPage:
    """Page with its body."""

    known: PageMetadata
    body: bytes


class PageCache:
    """Pages of a knowledge base; safe to share between threads, processes and machines."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def load_metadata(self, urls: Iterable[str]) -> dict[str, PageMetadata]:
        """Return the metadata of canonical URLs and of their redirect targets, by URL."""
        try:
            pages = self._read_metadata(sorted(set(urls)))
            targets = sorted({page.target_url for page in pages.values()} - pages.keys())
            return pages | self._read_metadata(targets)
        except CorruptTable as error:
            self._store.replace_cache(PAGES, error)
            return {}

    def store_pages(self, pages: Sequence[CachedPage]) -> None:
        """Insert or replace pages."""
        rows = {
            page.known.url: page.known._asdict() | {"body": page.body} for page in pages
        }  # the database requires unique keys
        self._store.upsert(PAGES, pa.Table.from_pylist(list(rows.values()), schema=PAGES_SCHEMA), "url")

    def confirm(self, pages: Sequence[PageMetadata]) -> None:
        """Update the freshness of pages that their servers confirmed; keep the bodies."""
        rows = {page.url: {name: getattr(page, name) for name in _FRESHNESS_COLUMNS} for page in pages}
        schema = pa.schema([PAGES_SCHEMA.field(name) for name in _FRESHNESS_COLUMNS])
        self._store.update_columns(PAGES, pa.Table.from_pylist(list(rows.values()), schema=schema), "url")

    def load_pages(self, urls: Iterable[str], batch_size: int = 16) -> Iterator[CachedPage]:
        """Yield the cached pages of canonical URLs, in order, reading at most `batch_size` bodies ahead.

        Pages whose body is damaged are removed, so that they are fetched again.
        """
        distinct = list(dict.fromkeys(urls))
        for start in range(0, len(distinct), batch_size):
            part = distinct[start : start + batch_size]
            rows = self._store.read_rows_in(PAGES, PAGES_SCHEMA.names, "url", part).to_pylist()
            self._remove_damaged(rows)
            pages = {row["url"]: CachedPage(_read_metadata(row), row["body"]) for row in rows if _is_intact(row)}
            yield from (pages[url] for url in part if url in pages)

    def _remove_damaged(self, rows: Sequence[dict[str, Any]]) -> None:
        damaged = [row["url"] for row in rows if not _is_intact(row)]
        if damaged:
            structlog.get_logger().warning("damaged pages are removed from the cache", urls=damaged)
            self._store.delete_rows_in(PAGES, "url", damaged)

    def _read_metadata(self, urls: Sequence[str]) -> dict[str, PageMetadata]:
        rows = self._store.read_rows_in(PAGES, _METADATA_COLUMNS, "url", urls).to_pylist()
        return {row["url"]: _read_metadata(row) for row in rows}


def trim_pages(store: Store, limit: int) -> int:
    """Remove the pages confirmed longest ago until the rest fits in `limit` bytes; return the number removed."""
    return store.trim_rows(PAGES, "url", "fetched_at", limit, _ROW_OVERHEAD_BYTES)


def format_time(when: datetime) -> str:
    """Return a time in the format of the table: ISO 8601 in UTC, so that strings compare like times."""
    return when.astimezone(UTC).isoformat(timespec="seconds")


def build_redirect(url: str, to: PageMetadata) -> CachedPage:
    """Return the row of a URL that redirects to a page."""
    return CachedPage(PageMetadata(url, to.url, fetched_at=to.fetched_at, fresh_until=to.fresh_until), b"")


def _read_metadata(row: dict[str, Any]) -> PageMetadata:
    return PageMetadata(**{name: row[name] for name in PageMetadata._fields})


def _is_intact(row: dict[str, Any]) -> bool:
    """Return whether a body has its hash; a redirect has neither."""
    return not row["content_hash"] or hashlib.sha256(row["body"]).hexdigest() == row["content_hash"]
