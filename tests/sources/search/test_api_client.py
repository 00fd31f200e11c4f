"""Tests of the API client over real HTTP: limits, errors, secrets."""

import gzip
import socket
from collections.abc import Callable

import pytest
from pydantic import BaseModel, SecretStr

from tenure.sources.search.api_client import (
    MAX_RESPONSE_BYTES,
    MAX_WAIT_SECONDS,
    ApiClient,
    HttpConnections,
    parse_json,
)
from tenure.sources.search.provider import SearchRefused, SearchUnavailable
from tests.sources.search.fake_search_server import FakeResponse, FakeSearchServer

KEY = "sk-verysecret123"


def service(http: HttpConnections, base: str, key: str | None = KEY) -> ApiClient:
    return ApiClient(http, "server", base, SecretStr(key) if key else None, "TENURE_KEY", "TENURE_ADDRESS")


async def test_a_request_has_headers_and_parameters(http: HttpConnections) -> None:
    """Empty parameters are omitted, and the base URL may have a path."""
    with FakeSearchServer(FakeResponse({"a": 1})) as server:
        client = service(http, f"{server.url}/api/")
        body = await client.get("/search", {"q": "rye & spelt", "page": 2, "lang": ""}, client.bearer_header)

    (asked,) = server.requests
    assert body == b'{"a": 1}'
    assert (asked.method, asked.path, asked.query) == ("GET", "/api/search", {"q": "rye & spelt", "page": "2"})
    assert asked.headers["user-agent"] == "Tenure/test"
    assert asked.headers["authorization"] == f"Bearer {KEY}"


async def test_json_is_posted(http: HttpConnections) -> None:
    """The body is JSON; without a key there is no header for it."""
    with FakeSearchServer(FakeResponse({})) as server:
        client = service(http, server.url, key=None)
        await client.post("/search", {"query": "rye"}, client.bearer_header)

    (asked,) = server.requests
    assert (asked.method, asked.json) == ("POST", {"query": "rye"})
    assert "authorization" not in asked.headers


async def test_compressed_responses_are_decompressed(http: HttpConnections) -> None:
    """Gzip is offered and supported."""
    with FakeSearchServer(FakeResponse(gzip.compress(b"[]"), headers={"Content-Encoding": "gzip"})) as server:
        assert await service(http, server.url).get("/", {}) == b"[]"


@pytest.mark.parametrize(
    "make_response",
    [
        lambda: FakeResponse(b"x" * (MAX_RESPONSE_BYTES + 1)),
        lambda: FakeResponse(endless=b"x" * 65536),
        lambda: FakeResponse(gzip.compress(bytes(64 * MAX_RESPONSE_BYTES), 1), headers={"Content-Encoding": "gzip"}),
    ],
    ids=["long", "endless", "bomb"],
)
async def test_a_long_response_is_refused(http: HttpConnections, make_response: Callable[[], FakeResponse]) -> None:
    """The limit applies to the body and to its decompressed content."""
    with FakeSearchServer(make_response()) as server, pytest.raises(SearchRefused, match="it is larger than"):
        await service(http, server.url).get("/", {})


@pytest.mark.parametrize(
    ("responses", "message"),
    [
        (FakeResponse(b"[", breaks=True), "could not be reached"),
        (FakeResponse(status=429), "too many requests"),
        (FakeResponse(status=432), "too many requests"),
        (FakeResponse(status=503), "cannot answer now"),
        (FakeResponse(status=403, headers={"X-RateLimit-Remaining": "0"}), "too many requests"),
    ],
)
async def test_transient_errors_are_unavailable(http: HttpConnections, responses: FakeResponse, message: str) -> None:
    """Lost connections and busy servers are distinguished from errors that a person has to fix."""
    with FakeSearchServer(responses) as server, pytest.raises(SearchUnavailable, match=message):
        await service(http, server.url).get("/", {})


async def test_an_unreachable_server_is_unavailable(http: HttpConnections) -> None:
    """A refused connection may be a restart."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        with pytest.raises(SearchUnavailable, match="server could not be reached"):
            await service(http, f"http://127.0.0.1:{unused.getsockname()[1]}").get("/", {})


@pytest.mark.parametrize(
    ("responses", "key", "message"),
    [
        (FakeResponse(status=401), KEY, "rejects the key; check TENURE_KEY"),
        (FakeResponse(status=401), None, "requires a key: set TENURE_KEY"),
        (FakeResponse(status=404), KEY, r"rejected the search \(status 404\)"),
        (FakeResponse(status=302, headers={"Location": "https://elsewhere.example/"}), KEY, "check TENURE_ADDRESS"),
        (FakeResponse(b"no gzip", headers={"Content-Encoding": "gzip"}), KEY, "its content encoding is wrong"),
        (FakeResponse(gzip.compress(b"[1, 2]")[:-9], headers={"Content-Encoding": "gzip"}), KEY, "it is incomplete"),
    ],
)
async def test_permanent_errors_are_refused(
    http: HttpConnections, responses: FakeResponse, key: str | None, message: str
) -> None:
    """The message says what to change; a redirect is not followed, because it would forward the key."""
    with FakeSearchServer(responses) as server, pytest.raises(SearchRefused, match=message):
        await service(http, server.url, key).get("/", {})

    assert len(server.requests) == 1


async def test_an_error_without_a_key_setting_names_none(http: HttpConnections) -> None:
    """Without a setting for a key, the message names none."""
    with (
        FakeSearchServer(FakeResponse(status=403)) as server,
        pytest.raises(SearchRefused, match="server denies access"),
    ):
        await ApiClient(http, "server", server.url).get("/", {})


@pytest.mark.parametrize("base", ["server.example", "ftp://server.example", "http://[::1", ""])
async def test_an_invalid_url_is_reported(http: HttpConnections, base: str) -> None:
    """The first search reports it."""
    with pytest.raises(SearchRefused, match="check TENURE_ADDRESS"):
        await service(http, base).get("/search", {})


async def test_retry_after_is_part_of_the_error(http: HttpConnections) -> None:
    """The error contains the delay."""
    with (
        FakeSearchServer(FakeResponse(status=429, headers={"Retry-After": "7"})) as server,
        pytest.raises(SearchUnavailable) as caught,
    ):
        await service(http, server.url).get("/", {})

    assert caught.value.retry_after == 7


async def test_requests_keep_the_minimum_interval(http: HttpConnections) -> None:
    """Waiting requests start one after the other, an interval apart."""
    with FakeSearchServer(FakeResponse({})) as server:
        client = ApiClient(http, "server", server.url, min_interval=0.01)
        await client.get("/", {})
        first = client._next_start
        await client.get("/", {})

    assert client._next_start >= first + 0.01
    assert len(server.requests) == 2


async def test_too_many_waiting_requests_are_refused(http: HttpConnections) -> None:
    """A refused request fails immediately and does not prolong the queue."""
    with FakeSearchServer(FakeResponse({})) as server:
        client = ApiClient(http, "server", server.url, min_interval=1_000 * MAX_WAIT_SECONDS)
        await client.get("/", {})
        after = client._next_start
        with pytest.raises(SearchUnavailable, match="server has reached its rate limit"):
            await client.get("/", {})

    assert (client._next_start, len(server.requests)) == (after, 1)


class _Reply(BaseModel):
    results: list[str]


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b'{"results": 1}', b'{"results": ["\xff"]}', b"[" * 10**6])
async def test_an_unexpected_response_is_refused(http: HttpConnections, body: bytes) -> None:
    """Any body that does not fit the model is reported."""
    with pytest.raises(SearchRefused, match="unexpected response; check TENURE_ADDRESS"):
        service(http, "http://127.0.0.1:9").parse(_Reply, body)


def test_deeply_nested_json_is_an_error() -> None:
    """The recursion limit of the interpreter applies."""
    assert parse_json(b"[1]") == [1]
    with pytest.raises(ValueError, match="nested"):
        parse_json(b"[" * 10**6)
