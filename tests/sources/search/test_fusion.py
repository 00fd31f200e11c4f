"""Tests of the fusion of results."""

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


def test_pages_of_several_providers_rank_first() -> None:
    """A page that two providers rank second ranks above one that a single provider ranks first."""
    offers = {
        "one": [SearchResult("https://a.org/"), SearchResult("https://b.org/")],
        "two": [SearchResult("https://c.org/"), SearchResult("https://b.org/")],
    }

    assert addresses(offers) == ["https://b.org/", "https://a.org/", "https://c.org/"]


def test_variants_of_a_url_are_one_page() -> None:
    """Tracking parameters, case, default ports and fragments make no second page, and each rank is kept."""
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
def test_invalid_urls_are_dropped(address: str) -> None:
    """An invalid URL is dropped without an effect on other ranks."""
    (hit,) = fuse({"one": [SearchResult(address), SearchResult("https://a.org/")]}, ANY, TODAY)

    assert (hit.url, hit.ranks) == ("https://a.org/", {"one": 1})


def test_a_very_long_url_is_dropped() -> None:
    """URLs have a maximum length."""
    assert addresses({"one": [SearchResult("https://a.org/" + "x" * MAX_URL_LENGTH)]}) == []


def test_domains_are_filtered() -> None:
    """Pages of other and excluded domains are dropped, whether or not a provider has filtered them."""
    offers = {
        "one": [SearchResult(f"https://{host}/") for host in ("a.org", "www.a.org", "x.a.org", "nota.org", "b.org")]
    }
    wanted = WebSearchRequest(query="rye", domains=("A.org",), excluded_domains=("x.a.org",))

    assert addresses(offers, wanted) == ["https://a.org/", "https://www.a.org/"]


def test_old_pages_are_dropped() -> None:
    """An incomplete date counts as its last day; a page without a date is kept."""
    dates = {"old": "2025-12-31", "new": "2026-03-01T10:00:00Z", "year": "2026", "none": "", "odd": "some day"}
    offers = {"one": [SearchResult(f"https://{name}.org/", published=said) for name, said in dates.items()]}

    kept = addresses(offers, WebSearchRequest(query="rye", time_range="month"))

    assert kept == [f"https://{name}.org/" for name in ("new", "year", "none", "odd")]


def test_fields_come_from_the_best_rank_that_has_them() -> None:
    """A missing title is taken from the next provider, and dates are normalized."""
    offers = {
        "one": [SearchResult("https://a.org/", snippet="first words")],
        "two": [
            SearchResult("https://b.org/"),
            SearchResult("https://a.org/", "Rye", "second words", "Tue, 03 Feb 2026 08:00:00 GMT"),
        ],
    }

    hit = fuse(offers, ANY, TODAY)[0]

    assert (hit.title, hit.snippet, hit.published) == ("Rye", "first words", "2026-02-03")


def test_the_best_k_are_returned() -> None:
    """The best k pages are returned."""
    offers = {"one": [SearchResult(f"https://a.org/{n}") for n in range(30)]}

    assert addresses(offers, WebSearchRequest(query="rye", k=3)) == [f"https://a.org/{n}" for n in range(3)]


_PAGES = st.lists(st.integers(0, 12).map(lambda n: SearchResult(f"https://a.org/{n}", f"page {n}")), max_size=8)


@given(st.dictionaries(st.sampled_from("abcdef"), _PAGES), st.integers(1, 20), st.randoms(use_true_random=False))
def test_the_order_of_providers_has_no_effect(
    offers: dict[str, list[SearchResult]], k: int, chance: random.Random
) -> None:
    """The fused list is identical for any order of providers, including its scores."""
    names = list(offers)
    chance.shuffle(names)
    request = WebSearchRequest(query="rye", k=k)

    assert fuse({name: offers[name] for name in names}, request, TODAY) == fuse(offers, request, TODAY)
