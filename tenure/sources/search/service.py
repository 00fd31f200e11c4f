"""HTTP with the server of a search provider, bounded on every side.

An answer has a largest size, packed and unpacked; redirects are not followed, since a key would go along; nothing of
the environment (proxies, `.netrc`) is used. What goes wrong arrives as a `SearchError` that holds no key and none of
the server's own words.
"""

import asyncio
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NoReturn, TypeVar

import httpx
from pydantic import BaseModel, SecretStr, ValidationError

from tenure.sources.fetch.decompression import ACCEPTED, Body
from tenure.sources.fetch.errors import Unusable
from tenure.sources.fetch.transfer import retry_after
from tenure.sources.search.base import Refused, Unavailable

MOST_BYTES: Final = 4 * 1024 * 1024
"""Bytes of an answer; fifty results with all their abstracts have less than a tenth."""
CONNECT_SECONDS: Final = 5.0
MOST_WAITING: Final = 10.0
"""Seconds that a request waits for its turn at the most, where a server wants a gap between two."""
_PASSING: Final = frozenset({408, 409, 421, 425, 429, 432, 433})
"""Refusals below 500 that say "not now"; 432 and 433 are Tavily's for a used-up plan."""

Reply = TypeVar("Reply", bound=BaseModel)


class Http:
    """One pool of connections for all providers; the first request opens it."""

    def __init__(self, agent: str) -> None:
        """Say who asks as `agent`."""
        self._agent = agent
        self._client: httpx.AsyncClient | None = None

    @property
    def client(self) -> httpx.AsyncClient:
        """The client; made when it is needed, since that costs a worker's start time."""
        if self._client is None:
            self._client = httpx.AsyncClient(
                headers={"User-Agent": self._agent, "Accept-Encoding": ACCEPTED},
                timeout=httpx.Timeout(60.0, connect=CONNECT_SECONDS),
                follow_redirects=False,
                trust_env=False,
            )
        return self._client

    async def aclose(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.aclose()


@dataclass
class Service:
    """The server of one provider."""

    http: Http
    """Connections."""
    name: str
    """The provider's name."""
    base: str
    """Address that the provider's paths are below."""
    key: SecretStr | None = None
    """What it lets us in with."""
    key_setting: str = ""
    """Variable that holds the key, for advice."""
    address_setting: str = ""
    """Variable that holds the address, for advice."""
    gap: float = 0.0
    """Seconds from one request to the next, where the server asks for that."""
    contact: str = ""
    """Mail address of who asks, for servers that like to know."""
    _next: float = field(default=0.0, init=False)

    @property
    def secret(self) -> str:
        """The key in plain text, for the place where its server wants it; empty without one."""
        return self.key.get_secret_value() if self.key else ""

    @property
    def bearer(self) -> dict[str, str]:
        """The header that most servers want a key in; none without a key."""
        return {"Authorization": f"Bearer {self.secret}"} if self.key else {}

    async def get(
        self,
        path: str,
        params: Mapping[str, str | int],
        headers: Mapping[str, str] | None = None,
        *,
        base: str | None = None,
    ) -> bytes:
        """Return the body of a GET; parameters without a value are left out.

        Raises:
            SearchError: there is none.
        """
        given = {name: value for name, value in params.items() if value != ""}
        start = base or self.base
        address = start.rstrip("/") + path if path else start
        return await self._exchanged("GET", address, params=given or None, headers=dict(headers or {}))

    async def post(self, path: str, body: Mapping[str, object], headers: Mapping[str, str]) -> bytes:
        """Return the body of the answer to a POST of JSON.

        Raises:
            SearchError: there is none.
        """
        return await self._exchanged("POST", self.base.rstrip("/") + path, json=body, headers=dict(headers))

    def read(self, kind: type[Reply], body: bytes) -> Reply:
        """Take an answer out of a body.

        Raises:
            Refused: it is something else.
        """
        try:
            return kind.model_validate_json(body)
        except ValidationError as error:
            raise self.unexpected() from error

    def unexpected(self) -> Refused:
        """Return the error for an answer of another kind than the provider's."""
        advice = f"; check {self.address_setting}" if self.address_setting else ""
        return Refused(f"{self.name} answered with something else than its results{advice}")

    async def _exchanged(self, method: str, address: str, **options: Any) -> bytes:
        await self._turn()
        try:
            async with self.http.client.stream(method, address, **options) as response:
                if response.status_code != httpx.codes.OK:
                    self._refuse(response)
                return await self._body(response)
        except (httpx.InvalidURL, httpx.UnsupportedProtocol):
            raise Refused(f"{self.name} has an address that cannot be used; check {self.address_setting}") from None
        except httpx.TimeoutException:
            raise Unavailable(f"{self.name} did not answer in time") from None
        except httpx.HTTPError as error:
            raise Unavailable(f"{self.name} could not be reached ({type(error).__name__})") from None

    async def _turn(self) -> None:
        """Wait until the server may be asked again; those who wait go in the order in which they came.

        Raises:
            Unavailable: too many wait already. Who is turned away takes no turn, or a rush would never end.
        """
        now = time.monotonic()
        turn = max(now, self._next)
        if turn - now > MOST_WAITING:
            raise Unavailable(f"{self.name} is asked as often as its rules allow")
        self._next = turn + self.gap
        await asyncio.sleep(turn - now)

    async def _body(self, response: httpx.Response) -> bytes:
        """Read a body, and unpack it within a bound."""
        body = Body(MOST_BYTES)
        try:
            body.begin(response.headers.get("content-encoding", ""))
            async for piece in response.aiter_raw():
                body.feed(piece)
            return body.content()
        except Unusable as error:
            raise Refused(f"{self.name} sent an answer of no use: {error}") from None

    def _refuse(self, response: httpx.Response) -> NoReturn:
        """Say what a status other than 200 means.

        Raises:
            SearchError: always.
        """
        status, headers = response.status_code, response.headers
        spent = status == httpx.codes.FORBIDDEN and (
            "retry-after" in headers or headers.get("x-ratelimit-remaining") == "0"
        )
        if status in _PASSING or status >= 500 or spent:
            said = "has had too many requests" if spent or status in (429, 432, 433) else "cannot answer now"
            raise Unavailable(f"{self.name} {said} (status {status})", retry_after=retry_after(headers, 0.0))
        if status in (401, 403):
            raise Refused(f"{self.name} {self._unwelcome()} (status {status})", status=status)
        if 300 <= status < 400:
            raise Refused(
                f"{self.name} is somewhere else; check {self.address_setting} (status {status})", status=status
            )
        raise Refused(f"{self.name} refused the search (status {status})", status=status)

    def _unwelcome(self) -> str:
        if not self.key_setting:
            return "does not let the search in"
        return (
            f"does not accept its key; check {self.key_setting}" if self.key else f"wants a key: set {self.key_setting}"
        )


def parsed(body: bytes) -> object:
    """Return the value of a JSON text.

    Raises:
        ValueError: it is none, or one that is nested too deeply.
    """
    try:
        return json.loads(body)
    except RecursionError:
        raise ValueError("nested too deeply") from None
