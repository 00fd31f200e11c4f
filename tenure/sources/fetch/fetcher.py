"""Fetching pages: guarded, polite, and bounded in time, size and redirects, whatever a server does.

Redirects are followed by hand, so that each hop is a request of its own: its address is judged, its site's rules are
read, its host's turn is waited for. No cookie is kept and no credential is sent, so none can cross to another host.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

import httpx

from tenure.algorithms.text.urls import InvalidAddress, canonical, parse, resolved
from tenure.settings import Settings
from tenure.sources.fetch import robots
from tenure.sources.fetch.errors import BadStatus, NotAnswered, Refused, Unusable
from tenure.sources.fetch.guard import Guard
from tenure.sources.fetch.rate_limits import Turns
from tenure.sources.fetch.robots import Robots
from tenure.sources.fetch.transfer import (
    BrokenOff,
    Transfer,
    Validators,
    charset,
    lifetime,
    media_type,
    request_headers,
    retry_after,
)
from tenure.sources.fetch.transport import GuardedTransport

REDIRECTS: Final = 8
"""Redirects that are followed."""
TRIES: Final = 5
"""Requests for one page at the most, where connections break or a host asks to come back soon."""

_CONNECT: Final = 10.0
"""Seconds for a connection; everything after it is bounded as a whole."""
_MOVED: Final = (301, 302, 303, 307, 308)
_LATER: Final = (429, 503)
_SOON: Final = 2.0
"""Seconds after which a host is asked again that does not say when."""
_LATEST: Final = 3_600.0
"""Seconds for which a host is left alone that asks for longer."""


@dataclass(frozen=True)
class Limits:
    """What one page may cost."""

    seconds: float = 30.0
    """Seconds of transfer, redirects and new tries included."""
    size: int = 20_000_000
    """Bytes, unpacked."""


_ROBOTS: Final = Limits(10.0, robots.LIMIT)


@dataclass(frozen=True)
class Manners:
    """How hosts are treated."""

    user_agent: str = "Tenure"
    """How to introduce oneself."""
    robots: bool = True
    """Whether the rules of sites are obeyed."""
    at_once: int = 16
    """Requests at the same time."""
    per_host: int = 2
    """Those with one host among them."""
    gap: float = 0.5
    """Seconds between the beginnings of two requests to one host."""
    patience: float = 30.0
    """Seconds that a page may wait for its host's turn."""


@dataclass(frozen=True)
class Fetched:
    """A page as its server delivered it."""

    hops: tuple[str, ...]
    """The canonical addresses on the way to it, from the one that was asked for to its own."""
    code: int
    """Status of the last answer."""
    unchanged: bool
    """Whether the server said that the copy at hand is current; there is no body then."""
    media_type: str
    """What it is, such as `text/html`; empty where the server does not say."""
    charset: str
    """The encoding of its text, where the header names one."""
    validators: Validators
    """By what the server can tell whether it has changed."""
    lifetime: float | None
    """Seconds for which the server says that it stays the same; None where it says nothing."""
    body: bytes
    """Its content, unpacked."""
    transferred: int
    """Bytes of bodies that came over the wire for it."""

    @property
    def address(self) -> str:
        """Its own canonical address, after all redirects."""
        return self.hops[-1]


class Fetcher:
    """Fetches pages of the web; to be used in one event loop."""

    def __init__(self, guard: Guard, limits: Limits = Limits(), manners: Manners = Manners()) -> None:
        """Fetch what the guard lets through, within limits and with manners."""
        self._limits = limits
        self._transport = GuardedTransport(guard, manners.at_once)
        self._headers = request_headers(manners.user_agent)
        self._turns = Turns(manners.per_host, manners.gap, manners.patience)
        self._slots = asyncio.Semaphore(manners.at_once)
        self._robots = Robots(self._load_robots, manners.user_agent) if manners.robots else None

    async def fetch(self, address: str, known: Mapping[str, Validators] | None = None) -> Fetched:
        """Fetch a page.

        Args:
            address: where it is.
            known: validators of the pages at hand, by canonical address.

        Raises:
            FetchError: it is not to be had; the text says why.
        """
        return await self._follow(_usable(address), known or {}, self._limits)

    async def aclose(self) -> None:
        """Close all connections."""
        await self._transport.aclose()

    async def _load_robots(self, address: str) -> bytes:
        """Load a site's rules; where they stand says nothing about who may be asked for them."""
        return (await self._follow(address, {}, _ROBOTS, of_robots=True)).body

    async def _follow(
        self, address: str, known: Mapping[str, Validators], limits: Limits, *, of_robots: bool = False
    ) -> Fetched:
        """Fetch what an address leads to."""
        time = _Time(limits.seconds)
        hops = [address]
        transferred = 0
        while True:
            gap = await self._robots.gap(hops[-1]) if self._robots and not of_robots else 0.0
            transfer = Transfer(known.get(hops[-1]), limits.size, cut=of_robots)
            await self._carry_out(hops[-1], transfer, time, gap)
            transferred += transfer.received
            if transfer.code not in _MOVED:
                return _fetched(tuple(hops), transfer, transferred)
            hops.append(_next(hops, transfer.headers))

    async def _carry_out(self, address: str, transfer: Transfer, time: "_Time", gap: float) -> None:
        """Ask for one address until there is a whole answer."""
        host = parse(address).host
        for left in reversed(range(TRIES)):
            try:
                async with self._turns.turn(host, gap), self._slots, time.passing():
                    await self._request(address, transfer)
            except BrokenOff as error:
                if not left:
                    raise NotAnswered(str(error)) from error
                continue
            if transfer.code not in _LATER:
                return
            self._turns.rest(host, min(retry_after(transfer.headers, _SOON), _LATEST))

    async def _request(self, address: str, transfer: Transfer) -> None:
        """Send one request, and take in its answer."""
        headers = self._headers | transfer.request_headers()
        try:
            response = await self._transport.handle_async_request(
                httpx.Request("GET", address, headers=headers, extensions={"timeout": {"connect": _CONNECT}})
            )
            try:
                await transfer.take(response)
            finally:
                await response.aclose()
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            raise NotAnswered(f"its server cannot be reached{_because(error)}") from error
        except httpx.TransportError as error:
            raise BrokenOff(f"the connection broke off{_because(error)}") from error


class _Time:
    """The time that a page may take; waiting for a host's turn costs none of it."""

    def __init__(self, seconds: float) -> None:
        self._seconds = self._left = seconds

    @asynccontextmanager
    async def passing(self) -> AsyncIterator[None]:
        """Let time pass, and stop the block when it is over."""
        clock = asyncio.get_running_loop().time
        start = clock()
        try:
            async with asyncio.timeout(self._left):
                yield
        except TimeoutError:
            raise NotAnswered(f"its transfer takes longer than {self._seconds:g} s") from None
        finally:
            self._left -= clock() - start


def _usable(address: str) -> str:
    """Return the canonical form of an address that is to be fetched."""
    try:
        return canonical(address)
    except InvalidAddress as error:
        raise Refused(str(error)) from None


def _next(hops: list[str], headers: httpx.Headers) -> str:
    """Return where a redirect leads."""
    location = headers.get("location", "")
    if not location:
        raise Unusable("it redirects to nowhere")
    try:
        goal = resolved(hops[-1], location)
    except InvalidAddress as error:
        raise Refused(f"it redirects to where nobody may follow: {error.reason}") from None
    if goal in hops:
        raise Unusable("it redirects in a circle")
    if len(hops) > REDIRECTS:
        raise Unusable(f"it redirects more than {REDIRECTS} times")
    return goal


def _fetched(hops: tuple[str, ...], transfer: Transfer, transferred: int) -> Fetched:
    """Return a page out of its last answer."""
    if not transfer.unchanged and not HTTPStatus(200) <= transfer.code < HTTPStatus(300):
        raise BadStatus(transfer.code)
    headers = transfer.headers
    return Fetched(
        hops=hops,
        code=transfer.code,
        unchanged=transfer.unchanged,
        media_type=media_type(headers),
        charset=charset(headers),
        validators=Validators(headers.get("etag", ""), headers.get("last-modified", "")),
        lifetime=lifetime(headers),
        body=b"" if transfer.unchanged else transfer.content(),
        transferred=transferred,
    )


def _because(error: Exception) -> str:
    """Return the reason of an error in brackets, where it has one."""
    said = " ".join(str(error).split())[:200]
    return f" ({said})" if said else ""


def fetcher(settings: Settings) -> Fetcher:
    """Return what fetches pages by the settings.

    Raises:
        ValueError: an exception to the guard cannot be understood.
    """
    return Fetcher(
        Guard(settings.fetch_allow, settings.fetch_domains, settings.fetch_deny),
        Limits(settings.fetch_seconds, int(settings.fetch_megabytes * 1e6)),
        Manners(
            user_agent=settings.fetch_user_agent,
            robots=settings.fetch_robots,
            at_once=settings.fetch_concurrency,
            per_host=settings.fetch_per_host,
            gap=settings.fetch_gap,
        ),
    )
