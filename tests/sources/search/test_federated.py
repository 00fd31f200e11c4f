"""Tests of the federated search over real HTTP: a failing provider loses only its own results."""

import itertools

import pytest

from tenure.contracts.evidence.web import WebSearchReply, WebSearchRequest
from tenure.sources.search.api_client import ApiClient, HttpConnections
from tenure.sources.search.federated import FederatedSearch
from tenure.sources.search.provider import (
    ProviderSkipped,
    SearchProvider,
    SearchRefused,
    SearchResult,
    SearchUnavailable,
)
from tenure.sources.search.providers.searxng import Searxng
from tenure.sources.search.registry import ProviderRegistry
from tests.sources.search.fake_search_server import FakeResponse, FakeSearchServer


class Registry(ProviderRegistry):
    """Registry of the providers of a test."""

    def __init__(self, *providers: SearchProvider) -> None:
        self._providers = {provider.name: provider for provider in providers}
        self.is_closed = False

    @property
    def default_names(self) -> tuple[str, ...]:
        return tuple(self._providers)

    def get_provider(self, name: str) -> SearchProvider:
        if name not in self._providers:
            raise ProviderSkipped("not set up: set TENURE_SOMETHING")
        return self._providers[name]

    async def aclose(self) -> None:
        self.is_closed = True


class Fixed:
    """Provider with fixed results."""

    def __init__(self, name: str, *pages: str, domains: tuple[str, ...] = (), error: Exception | None = None) -> None:
        self.name, self.domains, self.asked = name, domains, 0
        self._pages, self._error = pages, error

    async def search(self, request: WebSearchRequest) -> list[SearchResult]:
        self.asked += 1
        if self._error:
            raise self._error
        return [SearchResult(page) for page in self._pages]


def client(*providers: SearchProvider, seconds: float = 20.0) -> FederatedSearch:
    return FederatedSearch(Registry(*providers), timeout_seconds=seconds)


def story(reply: WebSearchReply) -> list[tuple[str, str, int]]:
    return [(answer.provider, answer.status, answer.hits) for answer in reply.outcomes]


QUERY = WebSearchRequest(query="rye")


async def test_all_providers_are_queried() -> None:
    """Results are fused; an empty result is an answer."""
    reply = await client(
        Fixed("a", "https://x.org/", "https://y.org/"), Fixed("b", "https://y.org/"), Fixed("c")
    ).search(QUERY)

    assert [hit.url for hit in reply.hits] == ["https://y.org/", "https://x.org/"]
    assert story(reply) == [("a", "answered", 2), ("b", "answered", 1), ("c", "answered", 0)]
    assert not reply.has_failed


async def test_a_request_may_name_providers() -> None:
    """Each provider is queried once, and a provider without its setting is skipped with a note."""
    one, two = Fixed("one", "https://x.org/"), Fixed("two", "https://y.org/")

    reply = await client(one, two).search(WebSearchRequest(query="rye", providers=("two", "three", "two")))

    assert story(reply) == [("two", "answered", 1), ("three", "left_out", 0)]
    assert reply.outcomes[1].note == "not set up: set TENURE_SOMETHING"
    assert (one.asked, two.asked) == (0, 1)


async def test_errors_are_reported() -> None:
    """Transient errors are distinguished from permanent ones."""
    reply = await client(
        Fixed("a", error=SearchUnavailable("busy")), Fixed("b", error=SearchRefused("wants a key"))
    ).search(QUERY)

    assert reply.has_failed
    assert [(answer.note, answer.transient) for answer in reply.outcomes] == [("busy", True), ("wants a key", False)]


async def test_no_provider_is_a_failure() -> None:
    """Such a reply does not mean that nothing was found."""
    reply = await client().search(QUERY)

    assert reply.has_failed
    assert reply.hits == ()


async def test_retry_after_is_respected() -> None:
    """After an error with a delay, the provider is not queried until then."""
    busy = Fixed("busy", error=SearchUnavailable("too many requests", retry_after=10**9))
    search = client(busy)

    first, second = await search.search(QUERY), await search.search(QUERY)

    assert busy.asked == 1
    assert first.outcomes[0].note == "too many requests"
    assert second.outcomes[0].note == "busy accepts no request for 3600 s"


async def test_results_are_cached() -> None:
    """The names of other providers do not matter; another query or option is another search."""
    one, two = Fixed("one", "https://x.org/"), Fixed("two")
    search = client(one, two)

    await search.search(WebSearchRequest(query="rye", providers=("one",)))
    again = await search.search(QUERY)
    await search.search(WebSearchRequest(query="rye", language="de"))

    assert [hit.url for hit in again.hits] == ["https://x.org/"]
    assert (one.asked, two.asked) == (2, 2)


async def test_failures_are_not_cached() -> None:
    """A failed provider is queried again."""
    broken = Fixed("broken", error=SearchUnavailable("broken"))
    search = client(broken)
    for _ in range(2):
        await search.search(QUERY)

    assert broken.asked == 2


async def test_fetch_domains_restrict_searches() -> None:
    """Permitted and forbidden domains of the settings apply to every search; a request may restrict them further."""
    one = Fixed("one", "https://a.org/", "https://b.org/", "https://x.a.org/", "https://c.org/")
    search = FederatedSearch(
        Registry(one), timeout_seconds=20, domains=("a.org", "b.org"), excluded_domains=("x.a.org",)
    )

    hits = (await search.search(QUERY)).hits
    narrowed = (await search.search(WebSearchRequest(query="rye", domains=("b.org",)))).hits

    assert [hit.url for hit in hits] == ["https://a.org/", "https://b.org/"]
    assert [hit.url for hit in narrowed] == ["https://b.org/"]


async def test_the_cache_is_limited() -> None:
    """The oldest searches are removed first."""
    one = Fixed("one")
    search = FederatedSearch(Registry(one), timeout_seconds=20, max_cached=2)
    for query in ("a", "b", "c", "c", "b", "a"):
        await search.search(WebSearchRequest(query=query))

    assert one.asked == 4


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (WebSearchRequest(query="q"), "answered"),
        (WebSearchRequest(query="q", domains=("code.example",)), "answered"),
        (WebSearchRequest(query="q", domains=("docs.code.example",)), "answered"),
        (WebSearchRequest(query="q", domains=("example",)), "answered"),
        (WebSearchRequest(query="q", domains=("other.org",)), "left_out"),
        (WebSearchRequest(query="q", excluded_domains=("code.example",)), "left_out"),
        (WebSearchRequest(query="q", excluded_domains=("docs.code.example",)), "answered"),
    ],
)
async def test_providers_of_other_domains_are_skipped(request_: WebSearchRequest, status: str) -> None:
    """A provider of one domain is skipped if pages of another are requested."""
    provider = Fixed("code", domains=("code.example",))

    (answer,) = (await client(provider).search(request_)).outcomes

    assert answer.status == status
    assert provider.asked == (status == "answered")


GOOD = {"results": [{"url": "https://a.org/rye", "title": "Rye", "content": "A grass."}]}
BAD = {
    "endless": FakeResponse(endless=b" " * 65536),
    "long": FakeResponse(b'{"results": [' + b" " * 10 * 1024**2),
    "wrong": FakeResponse(b'{"results": [{"url": 7}]}'),
    "html": FakeResponse("<html>a portal</html>"),
    "failing": FakeResponse(status=500),
    "busy": FakeResponse(status=429, headers={"Retry-After": "120"}),
    "broken": FakeResponse(b'{"results": [', breaks=True),
}


async def test_a_misbehaving_provider_loses_only_its_results(http: HttpConnections) -> None:
    """Every failure is reported, and the results of a working provider are returned."""
    servers = {name: FakeSearchServer(responses) for name, responses in {**BAD, "good": FakeResponse(GOOD)}.items()}
    for server in servers.values():
        server.__enter__()
    try:
        providers = [Searxng(ApiClient(http, name, server.url)) for name, server in servers.items()]
        reply = await client(*providers, seconds=60.0).search(QUERY)
    finally:
        for server in servers.values():
            server.__exit__()

    assert [hit.url for hit in reply.hits] == ["https://a.org/rye"]
    assert {answer.provider for answer in reply.outcomes if answer.status == "failed"} == set(BAD)
    assert all(answer.note for answer in reply.outcomes if answer.status == "failed")
    passing = {answer.provider for answer in reply.outcomes if answer.transient}
    assert passing == {"failing", "busy", "broken"}


async def test_a_hanging_provider_times_out(http: HttpConnections) -> None:
    """It fails at its timeout, and the results of others are returned."""
    with FakeSearchServer(FakeResponse(hangs=True)) as server:
        providers: list[SearchProvider] = [
            Searxng(ApiClient(http, "hanging", server.url)),
            Fixed("good", "https://a.org/"),
        ]
        reply = await client(*providers, seconds=0.2).search(QUERY)

    assert story(reply) == [("hanging", "failed", 0), ("good", "answered", 1)]
    assert (reply.outcomes[0].note, reply.outcomes[0].transient) == ("hanging did not answer within 0.2 s", True)


async def test_the_order_of_providers_has_no_effect() -> None:
    """The fused list is the same for any order of providers."""
    providers = [
        Fixed(name, *(f"https://{page}.org/" for page in pages))
        for name, pages in zip("abc", ("xy", "yz", "zw"), strict=True)
    ]

    fused = [(await client(*order).search(QUERY)).hits for order in itertools.permutations(providers)]

    assert all(hits == fused[0] for hits in fused)


async def test_closing_closes_the_providers() -> None:
    """No connection remains open."""
    registry = Registry()
    await FederatedSearch(registry, timeout_seconds=1).aclose()

    assert registry.is_closed
