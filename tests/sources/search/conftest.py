"""Fixtures: a connection pool, and a search with a provider against a loopback server."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from pydantic import SecretStr

from tenure.contracts.evidence.web import WebSearchRequest
from tenure.sources.search.api_client import ApiClient, HttpConnections
from tenure.sources.search.provider import SearchProvider, SearchResult
from tests.sources.search.fake_search_server import FakeResponse, FakeSearchServer, RecordedRequest

KEY = "sk-verysecret123"

Searched = Callable[..., Awaitable[tuple[list[SearchResult], list[RecordedRequest]]]]


@pytest.fixture
async def http() -> AsyncIterator[HttpConnections]:
    http = HttpConnections("Tenure/test")
    yield http
    await http.aclose()


@pytest.fixture
def searched(http: HttpConnections) -> Searched:
    """Search with a provider whose server sends the given responses; return results and recorded requests."""

    async def ask(
        provider: Callable[[ApiClient], SearchProvider], *responses: Any, key: str = KEY, path: str = "", **request: Any
    ) -> tuple[list[SearchResult], list[RecordedRequest]]:
        answers = [
            answer if isinstance(answer, FakeResponse) or callable(answer) else FakeResponse(answer)
            for answer in responses
        ]
        with FakeSearchServer(*answers) as server:
            client = ApiClient(
                http,
                "server",
                server.url + path,
                SecretStr(key) if key else None,
                "TENURE_KEY",
                "TENURE_ADDRESS",
                contact="me@a.org",
            )
            results = await provider(client).search(WebSearchRequest(**{"query": "rye starter", **request}))
        return results, server.requests

    return ask
