"""The page cache: pages by their addresses, shared by writers, bounded by maintenance."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta, timezone

import pytest

from tenure.knowledge.ingestion.ingest import never
from tenure.knowledge.maintenance import maintain
from tenure.knowledge.pages.cache import CachedPage, KnownPage, PageCache, moment, redirected, trim
from tenure.knowledge.store.errors import CommitConflict
from tenure.knowledge.store.schema import PAGES
from tenure.knowledge.store.store import Store

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)


def page(name: str, body: bytes = b"body", fetched: datetime = NOON) -> CachedPage:
    """Return a page that is fresh for an hour."""
    address = f"https://a.example/{name}"
    known = KnownPage(
        address,
        address,
        fetched_at=moment(fetched),
        fresh_until=moment(fetched + timedelta(hours=1)),
        etag='"1"',
        media_type="text/html",
        charset="utf-8",
        content_hash=f"hash of {name}",
        size=len(body),
    )
    return CachedPage(known, body)


@pytest.fixture
def store(uri: str) -> Store:
    return Store(uri)


@pytest.fixture
def cache(store: Store) -> PageCache:
    return PageCache(store)


def test_a_page_is_found_by_its_address(cache: PageCache) -> None:
    """What is kept comes back as it was, byte for byte, and what was not is absent."""
    kept = page("a", bytes(range(256)))
    cache.keep([kept, page("b")])

    assert cache.known([kept.known.address, "https://a.example/none"]) == {kept.known.address: kept.known}
    assert list(cache.pages([kept.known.address, "https://a.example/none"])) == [kept]
    assert cache.known([]) == {}


def test_a_page_is_kept_once(cache: PageCache, store: Store) -> None:
    """A newer version takes the place of the older one, also within one batch."""
    cache.keep([page("a", b"old")])
    cache.keep([page("a", b"older"), page("a", b"new")])

    assert [one.body for one in cache.pages([page("a").known.address])] == [b"new"]
    assert store.count(PAGES) == 1


def test_a_redirect_leads_to_its_page(cache: PageCache) -> None:
    """An address that was redirected is known together with where it led, and has no body of its own."""
    goal = page("goal")
    cache.keep([goal, redirected("https://b.example/", goal.known)])
    known = cache.known(["https://b.example/"])

    assert known["https://b.example/"].goal == goal.known.address
    assert known[goal.known.address] == goal.known
    assert (known["https://b.example/"].etag, known["https://b.example/"].size) == ("", 0)


def test_a_confirmed_page_keeps_its_body(cache: PageCache) -> None:
    """News of a server change the dates and validators of a page that is there, and make none that is not."""
    kept = page("a", b"long body")
    cache.keep([kept])
    newer = page("a", fetched=NOON + timedelta(days=1)).known._replace(etag='"2"', size=len(b"long body"))
    cache.confirm([newer, page("none").known])

    assert list(cache.pages([newer.address, page("none").known.address])) == [CachedPage(newer, b"long body")]


def test_bodies_come_in_order_a_few_at_a_time(cache: PageCache) -> None:
    """Any number of pages can be read, in the order of their addresses, each once."""
    cache.keep([page(str(number)) for number in range(40)])
    wanted = [page(str(number)).known.address for number in (39, 3, 20, 3, 0)]

    assert [one.known.address for one in cache.pages(wanted, at_once=2)] == list(dict.fromkeys(wanted))


def test_a_page_is_fresh_until_its_time(cache: PageCache) -> None:
    """Times are compared wherever in the world they were written."""
    known = page("a").known

    assert known.is_fresh(NOON + timedelta(minutes=59))
    assert not known.is_fresh(NOON + timedelta(hours=1))
    assert moment(NOON.astimezone(timezone(timedelta(hours=5)))) == moment(NOON)


def test_writers_do_not_lose_each_others_pages(uri: str) -> None:
    """Workers that keep pages at the same time, some of them the same, leave each page once."""

    def work(worker: int) -> None:
        cache = PageCache(Store(uri))
        for number in range(3):
            cache.keep([page("shared"), page(f"{worker}-{number}")])

    PageCache(Store(uri)).keep([page("first")])
    with ThreadPoolExecutor(3) as threads:
        list(threads.map(work, range(3)))

    assert Store(uri).count(PAGES) == 1 + 1 + 9


def test_the_oldest_pages_go_first(store: Store, cache: PageCache) -> None:
    """Of pages that are larger than the bound together those go that were confirmed longest ago."""
    cache.keep([page(str(hour), bytes(1_000), NOON + timedelta(hours=hour)) for hour in range(6)])

    assert trim(store, 10_000) == 0
    assert trim(store, 4_600) == 3
    assert sorted(cache.known(page(str(hour)).known.address for hour in range(6))) == [
        page(str(hour)).known.address for hour in (3, 4, 5)
    ]


def test_maintenance_bounds_the_cache(store: Store, cache: PageCache) -> None:
    """The step that compacts trims the cache first, where there is a bound, and other steps leave it alone."""
    cache.keep([page(str(number), bytes(1_000)) for number in range(6)])
    maintain(store, "index", lambda progress: None, never, page_bytes=3_000)
    maintain(store, "compact", lambda progress: None, never)
    assert store.count(PAGES) == 6
    report = maintain(store, "compact", lambda progress: None, never, page_bytes=3_000)

    assert (store.count(PAGES), report.left) == (2, ())


def test_a_table_that_cannot_be_trimmed_is_left(
    store: Store, cache: PageCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Writers that keep winning cost the cache its turn, and no other table."""
    cache.keep([page("a")])

    def refuse(name: str, where: str) -> None:
        raise CommitConflict(name, 40)

    monkeypatch.setattr(store, "delete", refuse)
    report = maintain(store, "compact", lambda progress: None, never, page_bytes=0)

    assert len(report.left) == 1
