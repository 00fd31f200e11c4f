"""Send requests to the API of a search provider.

Responses are limited in size, compressed and decompressed. Redirects are not followed, because they would forward the
key. Proxies and `.netrc` of the environment are ignored. Failures are raised as `SearchError`, whose message contains
neither a key nor text of the server.
"""

import asyncio
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, NoReturn, TypeVar

import httpx
from pydantic import BaseModel, SecretStr, ValidationError

from tenure.sources.fetch.decompression import ACCEPT_ENCODING, ResponseBody
from tenure.sources.fetch.errors import UnusableResponse
from tenure.sources.fetch.transfer import parse_retry_after
from tenure.sources.search.provider import SearchRefused, SearchUnavailable

MAX_RESPONSE_BYTES: Final = 4 * 1024 * 1024
"""Maximum size of a response; fifty results with abstracts have less than a tenth of it."""
CONNECT_TIMEOUT_SECONDS: Final = 5.0
MAX_WAIT_SECONDS: Final = 10.0
"""Maximum time that a request waits for the minimum interval of its API."""
_TRANSIENT_STATUSES: Final = frozenset({408, 409, 421, 425, 429, 432, 433})
"""Transient errors below 500; Tavily sends 432 and 433 when the quota of a plan is exhausted."""

Reply = TypeVar("Reply", bound=BaseModel)


class HttpConnections:
    """One connection pool for all providers, opened by the first request."""

    def __init__(self, user_agent: str) -> None:
        self._user_agent = user_agent

    @cached_property
    def client(self) -> httpx.AsyncClient:
        """HTTP client, created at the first use because its creation would slow down the start of a worker."""
        return httpx.AsyncClient(
            headers={"User-Agent": self._user_agent, "Accept-Encoding": ACCEPT_ENCODING},
            timeout=httpx.Timeout(60.0, connect=CONNECT_TIMEOUT_SECONDS),
            follow_redirects=False,
            trust_env=False,
        )

    async def aclose(self) -> None:
        """Close the connections."""
        if "client" in vars(self):
            await self.client.aclose()


@dataclass
class ApiClient:
    """Client of the API of one provider; a request that fails raises `SearchError`."""

    http: HttpConnections
    name: str
    base_url: str
    """URL to which paths are appended."""
    key: SecretStr | None = None
    key_setting: str = ""
    """Environment variable of the key, for error messages."""
    url_setting: str = ""
    """Environment variable of the URL, for error messages."""
    min_interval: float = 0.0
    """Minimum time in seconds between the starts of two requests."""
    contact: str = ""
    """Mail address of the operator, for servers that ask for one."""
    _next_start: float = field(default=0.0, init=False)

    @property
    def key_text(self) -> str:
        """API key in plain text; empty without a key."""
        return self.key.get_secret_value() if self.key else ""

    @property
    def bearer_header(self) -> dict[str, str]:
        """`Authorization` header with the key; empty without a key."""
        return {"Authorization": f"Bearer {self.key_text}"} if self.key else {}

    async def get(
        self,
        path: str,
        params: Mapping[str, str | int],
        headers: Mapping[str, str] | None = None,
        *,
        base_url: str | None = None,
    ) -> bytes:
        """Return the body of the response to a GET request; empty parameters are omitted."""
        query = {name: value for name, value in params.items() if value != ""}
        start = base_url or self.base_url
        url = start.rstrip("/") + path if path else start
        return await self._send("GET", url, params=query or None, headers=dict(headers or {}))

    async def post(self, path: str, body: Mapping[str, object], headers: Mapping[str, str]) -> bytes:
        """Return the body of the response to a POST request with JSON."""
        return await self._send("POST", self.base_url.rstrip("/") + path, json=body, headers=dict(headers))

    def parse(self, kind: type[Reply], body: bytes) -> Reply:
        """Parse the body of a response."""
        try:
            return kind.model_validate_json(body)
        except ValidationError as error:
            raise self.build_parse_error() from error

    def build_parse_error(self) -> SearchRefused:
        """Return the error for a response in an unexpected format."""
        advice = f"; check {self.url_setting}" if self.url_setting else ""
        return SearchRefused(f"{self.name} returned an unexpected response{advice}")

    async def _send(self, method: str, url: str, **options: Any) -> bytes:
        await self._wait_for_interval()
        try:
            async with self.http.client.stream(method, url, **options) as response:
                if response.status_code != httpx.codes.OK:
                    self._raise_for_status(response)
                return await self._read_body(response)
        except (httpx.InvalidURL, httpx.UnsupportedProtocol):
            raise SearchRefused(f"{self.name} has an invalid URL; check {self.url_setting}") from None
        except httpx.TimeoutException:
            raise SearchUnavailable(f"{self.name} did not answer in time") from None
        except httpx.HTTPError as error:
            raise SearchUnavailable(f"{self.name} could not be reached ({type(error).__name__})") from None

    async def _wait_for_interval(self) -> None:
        """Wait until the minimum interval has passed; requests proceed in the order of their arrival."""
        now = time.monotonic()
        turn = max(now, self._next_start)
        if turn - now > MAX_WAIT_SECONDS:
            raise SearchUnavailable(f"{self.name} has reached its rate limit")
        self._next_start = turn + self.min_interval
        await asyncio.sleep(turn - now)

    async def _read_body(self, response: httpx.Response) -> bytes:
        body = ResponseBody(MAX_RESPONSE_BYTES)
        try:
            body.start(response.headers.get("content-encoding", ""))
            async for piece in response.aiter_raw():
                body.feed(piece)
            return body.get_content()
        except UnusableResponse as error:
            raise SearchRefused(f"{self.name} sent an unusable response: {error}") from None

    def _raise_for_status(self, response: httpx.Response) -> NoReturn:
        status, headers = response.status_code, response.headers
        rate_limited = status == httpx.codes.FORBIDDEN and (
            "retry-after" in headers or headers.get("x-ratelimit-remaining") == "0"
        )
        if status in _TRANSIENT_STATUSES or status >= 500 or rate_limited:
            problem = (
                "has received too many requests" if rate_limited or status in (429, 432, 433) else "cannot answer now"
            )
            raise SearchUnavailable(
                f"{self.name} {problem} (status {status})", retry_after=parse_retry_after(headers, 0.0)
            )
        if status in (401, 403):
            raise SearchRefused(f"{self.name} {self._describe_authentication_error()} (status {status})", status=status)
        if 300 <= status < 400:
            raise SearchRefused(
                f"{self.name} redirects to another URL; check {self.url_setting} (status {status})", status=status
            )
        raise SearchRefused(f"{self.name} rejected the search (status {status})", status=status)

    def _describe_authentication_error(self) -> str:
        if not self.key_setting:
            return "denies access"
        return f"rejects the key; check {self.key_setting}" if self.key else f"requires a key: set {self.key_setting}"


def parse_json(body: bytes) -> object:
    """Parse JSON.

    Raises:
        ValueError: the text is no JSON, or is nested too deeply.
    """
    try:
        return json.loads(body)
    except RecursionError:
        raise ValueError("nested too deeply") from None
