"""The page cache: what was fetched of the web, shared by all runs.

A page stands under its own canonical address. Where a request was redirected, each address on the way has a row that
names where it led, so that the same request finds the page again without asking anyone.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

import pyarrow as pa

from tenure.knowledge.store.schema import PAGES, PAGES_SCHEMA
from tenure.knowledge.store.store import Store

_OVERHEAD: Final = 500
"""Bytes that a row is taken to need beside its body."""
_FACTS: Final = [name for name in PAGES_SCHEMA.names if name != "body"]
_FRESHNESS: Final = ("address", "etag", "last_modified", "fetched_at", "fresh_until")


class KnownPage(NamedTuple):
    """What is known of a page, without its body."""

    address: str
    """Its canonical address."""
    goal: str
    """Where a request for it led; the same address unless it was redirected."""
    fetched_at: str
    """When its server last confirmed it, ISO 8601 in UTC."""
    fresh_until: str
    """Until when nobody has to ask again, likewise."""
    etag: str = ""
    last_modified: str = ""
    media_type: str = ""
    """What it is, such as `text/html`."""
    charset: str = ""
    """The encoding of its text, where the header names one."""
    content_hash: str = ""
    """Hash of its body."""
    size: int = 0
    """Bytes of its body."""

    def is_fresh(self, now: datetime) -> bool:
        """Whether it can be used without asking its server."""
        return moment(now) < self.fresh_until


@dataclass(frozen=True)
class CachedPage:
    """A page with its body."""

    known: KnownPage
    body: bytes


class PageCache:
    """The pages of a knowledge base; safe to share between threads, processes and machines."""

    def __init__(self, store: Store) -> None:
        """Keep pages in `store`."""
        self._store = store

    def known(self, addresses: Iterable[str]) -> dict[str, KnownPage]:
        """Return what is known of pages by canonical address, and of those that requests for them were led to."""
        found = self._known(sorted(set(addresses)))
        goals = sorted({page.goal for page in found.values()} - found.keys())
        return found | self._known(goals)

    def keep(self, pages: Sequence[CachedPage]) -> None:
        """Keep pages; one that is there already is replaced."""
        rows = {page.known.address: _row(page) for page in pages}  # the database takes each key once
        self._store.merge(PAGES, pa.Table.from_pylist(list(rows.values()), schema=PAGES_SCHEMA), "address")

    def confirm(self, pages: Sequence[KnownPage]) -> None:
        """Keep that servers have confirmed pages, and leave the bodies as they are."""
        rows = {page.address: {name: getattr(page, name) for name in _FRESHNESS} for page in pages}
        schema = pa.schema([PAGES_SCHEMA.field(name) for name in _FRESHNESS])
        self._store.fill(PAGES, pa.Table.from_pylist(list(rows.values()), schema=schema), "address")

    def pages(self, addresses: Iterable[str], at_once: int = 16) -> Iterator[CachedPage]:
        """Yield the pages of canonical addresses that are at hand, in order, a few bodies in memory at a time."""
        wanted = list(dict.fromkeys(addresses))
        for start in range(0, len(wanted), at_once):
            part = wanted[start : start + at_once]
            rows = self._store.rows_in(PAGES, PAGES_SCHEMA.names, "address", part).to_pylist()
            there = {row["address"]: CachedPage(_known(row), row["body"]) for row in rows}
            yield from (there[address] for address in part if address in there)

    def _known(self, addresses: Sequence[str]) -> dict[str, KnownPage]:
        rows = self._store.rows_in(PAGES, _FACTS, "address", addresses).to_pylist()
        return {row["address"]: _known(row) for row in rows}


def trim(store: Store, limit: int) -> int:
    """Remove the pages that were confirmed longest ago until the bodies fit in `limit` bytes; return how many went."""
    rows = store.rows(PAGES, ["address", "size", "fetched_at"]).to_pylist()
    rows.sort(key=lambda row: (row["fetched_at"], row["address"]), reverse=True)
    gone, total = [], 0
    for row in rows:
        total += row["size"] + _OVERHEAD
        if total > limit:
            gone.append(row["address"])
    store.delete_in(PAGES, "address", gone)
    return len(gone)


def moment(when: datetime) -> str:
    """Return a time as the table has it: in UTC, so that later means larger."""
    return when.astimezone(UTC).isoformat(timespec="seconds")


def redirected(address: str, to: KnownPage) -> CachedPage:
    """Return the row of an address from which a request was led to a page."""
    return CachedPage(KnownPage(address, to.address, fetched_at=to.fetched_at, fresh_until=to.fresh_until), b"")


def _known(row: dict[str, Any]) -> KnownPage:
    return KnownPage(**{name: row[name] for name in KnownPage._fields})


def _row(page: CachedPage) -> dict[str, Any]:
    return {**page.known._asdict(), "body": page.body}
