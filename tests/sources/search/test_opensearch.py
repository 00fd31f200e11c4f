"""Tests of OpenSearch servers."""

from typing import Any

import pytest

from tenure.contracts.evidence.web import WebSearchRequest
from tenure.sources.search.api_client import ApiClient, HttpConnections
from tenure.sources.search.opensearch import OpenSearchProvider, fill_template
from tenure.sources.search.provider import SearchRefused, SearchResult
from tests.sources.search.fake_search_server import FakeResponse, FakeSearchServer, RecordedRequest
from tests.sources.search.test_feeds import ATOM, BOMB

WISH = WebSearchRequest(query="rye & spelt", k=5, language="de")


def description(*urls: tuple[str, str]) -> str:
    """Return a description with these media types and templates."""
    lines = "".join(f'<Url type="{kind}" template="{template.replace("&", "&amp;")}"/>' for kind, template in urls)
    return f'<OpenSearchDescription xmlns="http://a9.com/-/spec/opensearch/1.1/"><ShortName>E</ShortName>{lines}</OpenSearchDescription>'


class Described:
    """Server with a description, whose templates are at its own URL."""

    def __init__(self, urls: list[tuple[str, str]], results: Any) -> None:
        self.urls, self.results, self.home = urls, results, ""

    def __call__(self, asked: RecordedRequest) -> FakeResponse:
        if asked.path == "/description.xml":
            return FakeResponse(description(*((kind, path.replace("HOME", self.home)) for kind, path in self.urls)))
        return FakeResponse(self.results)


async def found(
    http: HttpConnections, served: Described, path: str = "/description.xml"
) -> tuple[list[SearchResult], list[RecordedRequest]]:
    with FakeSearchServer(served) as server:
        served.home = server.url
        provider = OpenSearchProvider("own", ApiClient(http, "own", server.url + path, url_setting="TENURE_OPENSEARCH"))
        results = await provider.search(WISH)
        await provider.search(WISH)
    return results, server.requests


async def test_the_best_format_is_used(http: HttpConnections) -> None:
    """Atom precedes JSON and HTML; the description is loaded once."""
    urls = [
        ("text/html", "HOME/html?q={searchTerms}"),
        ("application/json", "HOME/json?q={searchTerms}"),
        ("application/atom+xml", "HOME/atom?q={searchTerms}&n={count?}&from={startIndex?}&l={language?}&x={geo:box?}"),
        ("application/x-suggestions+json", "HOME/suggest?q={searchTerms}"),
    ]

    results, asked = await found(http, Described(urls, ATOM))

    assert [result.url for result in results] == ["https://a.org/x"]
    assert [one.path for one in asked] == ["/description.xml", "/atom", "/atom"]
    assert asked[1].query == {"q": "rye & spelt", "n": "5", "from": "1", "l": "de", "x": ""}


async def test_json_of_any_schema_is_parsed(http: HttpConnections) -> None:
    """OpenSearch does not define the schema of JSON."""
    served = Described([("application/json", "HOME/json?q={searchTerms}")], {"hits": [{"url": "https://a.org/"}]})

    assert [result.url for result in (await found(http, served))[0]] == ["https://a.org/"]


async def test_a_template_needs_no_description(http: HttpConnections) -> None:
    """A setting with a parameter for the query is the template itself."""
    results, asked = await found(http, Described([], [{"url": "https://a.org/"}]), "/s?q={searchTerms}")

    assert [result.url for result in results] == ["https://a.org/"]
    assert [one.path for one in asked] == ["/s", "/s"]


@pytest.mark.parametrize(
    "template",
    ["http://169.254.169.254/?q={searchTerms}", "https://other.example/?q={searchTerms}", "file:///etc/{searchTerms}"],
)
async def test_a_template_must_have_the_host_of_its_description(http: HttpConnections, template: str) -> None:
    """The operator trusts the host of the description, not its statements about other hosts."""
    with pytest.raises(SearchRefused, match="leads to another host; put the template itself into TENURE_OPENSEARCH"):
        await found(http, Described([("application/json", template)], []))


@pytest.mark.parametrize("urls", [[], [("text/html", "HOME/?q={searchTerms}")], [("application/json", "HOME/?q=rye")]])
async def test_a_description_without_a_supported_format_is_refused(
    http: HttpConnections, urls: list[tuple[str, str]]
) -> None:
    """HTML cannot be parsed as results, and a template needs a parameter for the query."""
    with pytest.raises(SearchRefused, match="no results as Atom, RSS or JSON; check TENURE_OPENSEARCH"):
        await found(http, Described(urls, []))


@pytest.mark.parametrize("body", [BOMB, b"no results", b"<html>"])
async def test_an_unexpected_response_is_an_error(http: HttpConnections, body: bytes) -> None:
    """Neither descriptions nor results may be other text."""
    with pytest.raises(SearchRefused, match="unexpected response"):
        await found(http, Described([("application/json", "HOME/?q={searchTerms}")], body))
    with FakeSearchServer(FakeResponse(body)) as server, pytest.raises(SearchRefused, match="unexpected response"):
        await OpenSearchProvider("own", ApiClient(http, "own", server.url)).search(WISH)


def test_parameters_of_a_template_are_filled() -> None:
    """Values are escaped; parameters without a value are empty."""
    assert (
        fill_template("https://a.org/{searchTerms}?x={x:y?}", {"searchTerms": "a/b c"}) == "https://a.org/a%2Fb%20c?x="
    )
