"""Test the page cache: lookup, concurrent writers, and trimming by maintenance."""

import hashlib
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pyarrow as pa
import pytest

from tenure.knowledge.maintenance import Maintenance
from tenure.knowledge.pages.cache import CachedPage, PageCache, PageMetadata, build_redirect, format_time, trim_pages
from tenure.knowledge.store.errors import CommitConflict
from tenure.knowledge.store.schema import PAGES, PAGES_SCHEMA
from tenure.knowledge.store.store import Store
from tenure.settings.knowledge import KnowledgeSettings

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)


def page(name: str, body: bytes = b"body", fetched: datetime = NOON) -> CachedPage:
    """Return a page that is fresh for an hour."""
    address = f"https://a.example/{name}"
    known = PageMetadata(
        address,
        address,
        fetched_at=format_time(fetched),
        fresh_until=format_time(fetched + timedelta(hours=1)),
        etag='"1"',
        media_type="text/html",
        charset="utf-8",
        content_hash=hashlib.sha256(body).hexdigest(),
        size=len(body),
    )
    return CachedPage(known, body)


@pytest.fixture
def store(uri: str) -> Store:
    return Store(uri)


@pytest.fixture
def cache(store: Store) -> PageCache:
    return PageCache(store)


def test_page_is_found_by_its_url(cache: PageCache) -> None:
    """A stored page is returned unchanged, and an unknown URL is absent."""
    kept = page("a", bytes(range(256)))
    cache.store_pages([kept, page("b")])

    assert cache.load_metadata([kept.known.url, "https://a.example/none"]) == {kept.known.url: kept.known}
    assert list(cache.load_pages([kept.known.url, "https://a.example/none"])) == [kept]
    assert cache.load_metadata([]) == {}


def test_newer_page_replaces_the_older(cache: PageCache, store: Store) -> None:
    """This also holds within one batch."""
    cache.store_pages([page("a", b"old")])
    cache.store_pages([page("a", b"older"), page("a", b"new")])

    assert [one.body for one in cache.load_pages([page("a").known.url])] == [b"new"]
    assert store.count_rows(PAGES) == 1


def test_a_redirect_leads_to_its_page(cache: PageCache) -> None:
    """A redirected URL is returned together with its target, and has no body."""
    target = page("target")
    cache.store_pages([target, build_redirect("https://b.example/", target.known)])
    known = cache.load_metadata(["https://b.example/"])

    assert known["https://b.example/"].target_url == target.known.url
    assert known[target.known.url] == target.known
    assert (known["https://b.example/"].etag, known["https://b.example/"].size) == ("", 0)


def test_confirmed_page_keeps_its_body(cache: PageCache) -> None:
    """A confirmation updates times and validators of an existing page, and creates none."""
    kept = page("a", b"long body")
    cache.store_pages([kept])
    newer = page("a", b"long body", NOON + timedelta(days=1)).known._replace(etag='"2"', size=len(b"long body"))
    cache.confirm([newer, page("none").known])

    assert list(cache.load_pages([newer.url, page("none").known.url])) == [CachedPage(newer, b"long body")]


def test_a_damaged_body_is_removed(cache: PageCache, store: Store) -> None:
    """A body that does not have its hash is neither returned nor kept, so that the page is fetched again."""
    cache.store_pages([page("a"), page("b")])
    row = store.read_rows(PAGES, PAGES_SCHEMA.names, "url LIKE '%/a'").to_pylist()
    store.upsert(PAGES, pa.Table.from_pylist([row[0] | {"body": b"bodY"}], schema=PAGES_SCHEMA), "url")

    assert [one.known.url for one in cache.load_pages([page("a").known.url, page("b").known.url])] == [
        page("b").known.url
    ]
    assert cache.load_metadata([page("a").known.url]) == {}


def test_a_damaged_cache_is_replaced(cache: PageCache, uri: str) -> None:
    """A table that cannot be read is moved aside, and pages are stored in an empty one."""
    cache.store_pages([page("a")])
    for file in Path(uri, f"{PAGES}.lance", "data").iterdir():
        file.write_bytes(file.read_bytes()[:9])
    fresh = PageCache(Store(uri))

    assert fresh.load_metadata([page("a").known.url]) == {}
    fresh.store_pages([page("b")])
    assert [*fresh.load_metadata([page("a").known.url, page("b").known.url])] == [page("b").known.url]
    assert Path(uri, f"{PAGES}.damaged").is_dir()


def test_bodies_are_loaded_in_order(cache: PageCache) -> None:
    """Any number of pages is returned in the order of the URLs, each once."""
    cache.store_pages([page(str(number)) for number in range(40)])
    wanted = [page(str(number)).known.url for number in (39, 3, 20, 3, 0)]

    assert [one.known.url for one in cache.load_pages(wanted, batch_size=2)] == list(dict.fromkeys(wanted))


def test_freshness_is_compared_in_utc(cache: PageCache) -> None:
    """Times of different time zones are compared correctly."""
    known = page("a").known

    assert known.is_fresh(NOON + timedelta(minutes=59))
    assert not known.is_fresh(NOON + timedelta(hours=1))
    assert format_time(NOON.astimezone(timezone(timedelta(hours=5)))) == format_time(NOON)


def test_concurrent_writers_lose_no_pages(uri: str) -> None:
    """Workers that store pages concurrently, some of them the same, leave each page once."""

    def work(worker: int) -> None:
        cache = PageCache(Store(uri))
        for number in range(3):
            cache.store_pages([page("shared"), page(f"{worker}-{number}")])

    PageCache(Store(uri)).store_pages([page("first")])
    with ThreadPoolExecutor(3) as threads:
        list(threads.map(work, range(3)))

    assert Store(uri).count_rows(PAGES) == 1 + 1 + 9


def test_oldest_pages_are_trimmed_first(store: Store, cache: PageCache) -> None:
    """Above the limit the pages confirmed longest ago are removed."""
    cache.store_pages([page(str(hour), bytes(1_000), NOON + timedelta(hours=hour)) for hour in range(6)])

    assert trim_pages(store, 10_000) == 0
    assert trim_pages(store, 4_600) == 3
    assert sorted(cache.load_metadata(page(str(hour)).known.url for hour in range(6))) == [
        page(str(hour)).known.url for hour in (3, 4, 5)
    ]


def test_maintenance_trims_the_cache(store: Store, cache: PageCache) -> None:
    """Only the compaction step trims the cache, to the size of the settings."""
    cache.store_pages([page(str(number), bytes(300_000)) for number in range(6)])
    small, large = (Maintenance(store, KnowledgeSettings(page_cache_megabytes=size)) for size in (1, 2))
    small.run_step("index", lambda progress: None)
    large.run_step("compact", lambda progress: None)
    assert store.count_rows(PAGES) == 6
    report = small.run_step("compact", lambda progress: None)

    assert (store.count_rows(PAGES), report.failed_tables) == (3, ())


def test_conflicts_while_trimming_are_reported(store: Store, cache: PageCache, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commit conflicts fail only the table of pages, and no other."""
    cache.store_pages([page("a", bytes(1_100_000))])

    def refuse(name: str, where: str) -> None:
        raise CommitConflict(name, 40)

    monkeypatch.setattr(store, "delete_rows", refuse)
    maintenance = Maintenance(store, KnowledgeSettings(page_cache_megabytes=1))
    report = maintenance.run_step("compact", lambda progress: None)

    assert len(report.failed_tables) == 1
