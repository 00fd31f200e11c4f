"""Several lists of pages become one."""

import random
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.contracts.evidence.web import WebSearchRequest
from tenure.sources.search.fusion import MAX_URL_LENGTH, fuse
from tenure.sources.search.provider import SearchResult

TODAY = date(2026, 3, 10)
ANY = WebSearchRequest(query="rye")


def addresses(offers: dict[str, list[SearchResult]], request: WebSearchRequest = ANY) -> list[str]:
    return [hit.url for hit in fuse(offers, request, TODAY)]


def test_what_several_offer_comes_first() -> None:
    """A page two providers rank second beats one that a single provider ranks first."""
    offers = {
        "one": [SearchResult("https://a.org/"), SearchResult("https://b.org/")],
        "two": [SearchResult("https://c.org/"), SearchResult("https://b.org/")],
    }

    assert addresses(offers) == ["https://b.org/", "https://a.org/", "https://c.org/"]


def test_ways_to_write_an_address_are_one_page() -> None:
    """Tracking, case, default ports and fragments make no second page, and each provider's rank is kept."""
    offers = {
        "one": [SearchResult("HTTPS://A.org:443/x?utm_source=one#part"), SearchResult("https://a.org/x")],
        "two": [SearchResult("https://z.org/"), SearchResult("https://a.org/x?fbclid=9")],
    }

    first, second = fuse(offers, ANY, TODAY)

    assert (first.url, first.ranks) == ("https://a.org/x", {"one": 1, "two": 2})
    assert (second.url, second.ranks) == ("https://z.org/", {"two": 1})


@pytest.mark.parametrize(
    "address",
    [
        "",
        "ftp://a.org/",
        "javascript:alert(1)",
        "file:///etc/passwd",
        "/relative",
        "https://u@a.org/",
        "http://0x7f.1/",
    ],
)
def test_what_is_no_address_of_a_page_is_dropped(address: str) -> None:
    """A provider that lies about an address costs that result and no rank of the others."""
    (hit,) = fuse({"one": [SearchResult(address), SearchResult("https://a.org/")]}, ANY, TODAY)

    assert (hit.url, hit.ranks) == ("https://a.org/", {"one": 1})


def test_an_endless_address_is_dropped() -> None:
    """Nothing travels that nobody can read."""
    assert addresses({"one": [SearchResult("https://a.org/" + "x" * MAX_URL_LENGTH)]}) == []


def test_domains_are_held() -> None:
    """Pages of other domains and of unwanted ones go, however a provider took the wish."""
    offers = {
        "one": [SearchResult(f"https://{host}/") for host in ("a.org", "www.a.org", "x.a.org", "nota.org", "b.org")]
    }
    wanted = WebSearchRequest(query="rye", domains=("A.org",), excluded_domains=("x.a.org",))

    assert addresses(offers, wanted) == ["https://a.org/", "https://www.a.org/"]


def test_what_is_known_to_be_too_old_goes() -> None:
    """A date counts whole: a year alone may be its last day; a page without a date stays."""
    dates = {"old": "2025-12-31", "new": "2026-03-01T10:00:00Z", "year": "2026", "none": "", "odd": "some day"}
    offers = {"one": [SearchResult(f"https://{name}.org/", published=said) for name, said in dates.items()]}

    kept = addresses(offers, WebSearchRequest(query="rye", time_range="month"))

    assert kept == [f"https://{name}.org/" for name in ("new", "year", "none", "odd")]


def test_words_come_from_the_best_rank_that_has_them() -> None:
    """A title that the best provider leaves out is taken from the next, and a date is made comparable."""
    offers = {
        "one": [SearchResult("https://a.org/", snippet="first words")],
        "two": [
            SearchResult("https://b.org/"),
            SearchResult("https://a.org/", "Rye", "second words", "Tue, 03 Feb 2026 08:00:00 GMT"),
        ],
    }

    hit = fuse(offers, ANY, TODAY)[0]

    assert (hit.title, hit.snippet, hit.published) == ("Rye", "first words", "2026-02-03")


def test_only_as_many_as_wanted() -> None:
    """The best k are left."""
    offers = {"one": [SearchResult(f"https://a.org/{n}") for n in range(30)]}

    assert addresses(offers, WebSearchRequest(query="rye", k=3)) == [f"https://a.org/{n}" for n in range(3)]


_PAGES = st.lists(st.integers(0, 12).map(lambda n: SearchResult(f"https://a.org/{n}", f"page {n}")), max_size=8)


@given(st.dictionaries(st.sampled_from("abcdef"), _PAGES), st.integers(1, 20), st.randoms(use_true_random=False))
def test_the_order_of_providers_changes_nothing(
    offers: dict[str, list[SearchResult]], k: int, chance: random.Random
) -> None:
    """However the providers are listed, the fused list is the same, to the last bit of its scores."""
    names = list(offers)
    chance.shuffle(names)
    request = WebSearchRequest(query="rye", k=k)

    assert fuse({name: offers[name] for name in names}, request, TODAY) == fuse(offers, request, TODAY)
