"""Connections, and a provider asked on the loopback."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from pydantic import SecretStr

from tenure.contracts.evidence.web import WebSearchRequest
from tenure.sources.search.base import Found, SearchProvider
from tenure.sources.search.service import Http, Service
from tests.sources.search.engine import Asked, Engine, Said

KEY = "sk-verysecret123"

Searched = Callable[..., Awaitable[tuple[list[Found], list[Asked]]]]


@pytest.fixture
async def http() -> AsyncIterator[Http]:
    http = Http("Tenure/test")
    yield http
    await http.aclose()


@pytest.fixture
def searched(http: Http) -> Searched:
    """Ask a provider whose server gives these answers; return its results and what the server was asked."""

    async def ask(
        make: Callable[[Service], SearchProvider], *said: Any, key: str = KEY, path: str = "", **request: Any
    ) -> tuple[list[Found], list[Asked]]:
        answers = [answer if isinstance(answer, Said) or callable(answer) else Said(answer) for answer in said]
        with Engine(*answers) as engine:
            service = Service(
                http,
                "engine",
                engine.url + path,
                SecretStr(key) if key else None,
                "TENURE_KEY",
                "TENURE_ADDRESS",
                contact="me@a.org",
            )
            results = await make(service).search(WebSearchRequest(**{"query": "rye starter", **request}))
        return results, engine.asked

    return ask
