"""SearXNG, in the format of its JSON."""

import pytest

from tenure.contracts.evidence.web import WebSearchRequest
from tenure.sources.search.base import Found, Refused, Unavailable
from tenure.sources.search.searxng import Searxng
from tenure.sources.search.service import Http, Service
from tests.sources.search.engine import Asked, Engine, Said


def page(asked: Asked) -> Said:
    """Return one of two pages of three results each."""
    number = int(asked.query["pageno"])
    results = [
        {
            "url": f"https://a.org/{number}/{n}",
            "title": f"Rye {n}",
            "content": "A <em>grass</em>.",
            "publishedDate": "2026-01-05T00:00:00" if n else None,
            "engine": "somewhere",
            "engines": ["somewhere"],
            "score": 1.0,
        }
        for n in range(3 if number < 3 else 0)
    ]
    return Said({"query": asked.query["q"], "number_of_results": 0, "results": results, "unresponsive_engines": []})


async def test_the_request_is_what_searxng_takes(http: Http) -> None:
    """Time range, language, safe search and domains are handed on, and JSON is asked for."""
    wish = WebSearchRequest(query="rye", k=2, time_range="month", language="de-CH", safe=False, domains=("a.org",))
    with Engine(page) as engine:
        results = await Searxng(Service(http, "searxng", engine.url)).search(wish)

    (asked,) = engine.asked
    assert asked.path == "/search"
    assert asked.query == {
        "q": "rye site:a.org",
        "format": "json",
        "categories": "general",
        "pageno": "1",
        "time_range": "month",
        "language": "de-CH",
        "safesearch": "0",
    }
    assert results[1] == Found("https://a.org/1/1", "Rye 1", "A grass.", "2026-01-05T00:00:00")
    assert results[0].published == ""


@pytest.mark.parametrize(
    ("tag", "name"), [("", "all"), ("de", "de"), ("de-CH", "de-CH"), ("zh-Hant", "zh"), ("German", "all")]
)
async def test_languages_are_in_the_form_that_is_taken(http: Http, tag: str, name: str) -> None:
    """A script is left out, and what is no tag asks for any."""
    with Engine(page) as engine:
        await Searxng(Service(http, "searxng", engine.url)).search(WebSearchRequest(query="rye", k=1, language=tag))

    assert engine.asked[0].query["language"] == name


async def test_pages_are_asked_for_until_there_is_enough(http: Http) -> None:
    """One page may hold less than is wanted; when nothing new comes, there is no more."""
    with Engine(page) as engine:
        results = await Searxng(Service(http, "searxng", engine.url)).search(WebSearchRequest(query="rye", k=50))

    assert len(results) == 6
    assert [asked.query["pageno"] for asked in engine.asked] == ["1", "2", "3"]


async def test_engines_that_were_not_heard_make_no_empty_answer(http: Http) -> None:
    """Nothing found while engines behind the instance failed says nothing, and is told with their names."""
    silent = {"results": [], "unresponsive_engines": [["one", "timeout"], ["two", "access denied"]]}
    with Engine(Said(silent)) as engine, pytest.raises(Unavailable, match="one: timeout, two: access denied"):
        await Searxng(Service(http, "searxng", engine.url)).search(WebSearchRequest(query="rye"))


async def test_an_instance_without_json_is_told_what_to_set(http: Http) -> None:
    """The refusal of a format is the usual fault of a new instance."""
    with Engine(Said("Forbidden", 403)) as engine, pytest.raises(Refused, match="add `json`"):
        await Searxng(Service(http, "searxng", engine.url)).search(WebSearchRequest(query="rye"))


async def test_other_refusals_stay_what_they_are(http: Http) -> None:
    """A wrong address is not a question of formats."""
    with Engine(Said("Not found", 404)) as engine, pytest.raises(Refused, match="status 404"):
        await Searxng(Service(http, "searxng", engine.url)).search(WebSearchRequest(query="rye"))
