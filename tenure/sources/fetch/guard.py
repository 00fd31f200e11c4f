"""Where fetching may connect to: the public web, and of one's own network what the settings name.

Addresses of pages come from search engines and from pages, so from strangers. What counts is where a name leads
at the moment of connecting: `Guard.addresses` looks it up once, judges every answer, and the connection is made to
what was judged (`tenure.sources.fetch.transport`). A name that leads to one address inside and one outside is refused.
"""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Iterable, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final, NamedTuple

from tenure.algorithms.text.urls import InvalidAddress, parse, within
from tenure.sources.fetch.errors import NotAnswered, Refused

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network
Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""Looks a name up for a port; raises OSError where there is none."""

INSIDE: Final = {
    "0.0.0.0/8": "stands for this machine",
    "10.0.0.0/8": "belongs to a private network",
    "100.64.0.0/10": "is shared by the customers of a network",
    "127.0.0.0/8": "is this machine",
    "168.63.129.16/32": "is a cloud's own service",
    "169.254.0.0/16": "is reached without a router, as are the metadata of clouds",
    "172.16.0.0/12": "belongs to a private network",
    "192.0.0.0/24": "is set aside for protocols",
    "192.0.2.0/24": "is set aside for examples",
    "192.88.99.0/24": "leads into another network",
    "192.168.0.0/16": "belongs to a private network",
    "198.18.0.0/15": "is set aside for measurements",
    "198.51.100.0/24": "is set aside for examples",
    "203.0.113.0/24": "is set aside for examples",
    "224.0.0.0/4": "means many machines",
    "240.0.0.0/4": "is set aside",
    "::1/128": "is this machine",
    "::/128": "stands for this machine",
    "fc00::/7": "belongs to a private network",
    "fe80::/10": "is reached without a router",
    "fec0::/10": "belongs to a private network",
    "ff00::/8": "means many machines",
    # What wraps an IPv4 address: nobody has to be reached this way, and it hides where it leads.
    "::/96": "wraps an IPv4 address",
    "::ffff:0:0/96": "wraps an IPv4 address",
    "64:ff9b:1::/48": "wraps an IPv4 address",
    "2002::/16": "wraps an IPv4 address",
    "2001::/23": "is set aside for protocols",
    "2001:db8::/32": "is set aside for examples",
    "3fff::/20": "is set aside for examples",
}
"""Networks that are not the public web, and what they are."""

_INSIDE: Final = [(ip_network(network), what) for network, what in INSIDE.items()]
_PUBLIC: Final = IPv6Network("2000::/3")
_TRANSLATED: Final = IPv6Network("64:ff9b::/96")
"""Where a network without IPv4 has its name servers put the IPv4 addresses of others."""
_WEB_PORTS: Final = (80, 443)
_FREE_PORTS: Final = 1024
"""Ports from which none belongs to a service that takes a request for something else."""


class Allowed(NamedTuple):
    """An exception that the settings make."""

    host: str
    """A name; empty where a network is meant."""
    network: Network | None
    port: int | None
    """The one port it holds for; None for all."""


async def system_resolve(host: str, port: int) -> Sequence[str]:
    """Look a name up as every program of this machine does."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(address[0]) for *_, address in found]


class Guard:
    """Says which addresses a host may be reached at."""

    def __init__(
        self,
        allow: Iterable[str] = (),
        domains: Sequence[str] = (),
        deny: Sequence[str] = (),
        resolve: Resolve = system_resolve,
    ) -> None:
        """Take the exceptions and lists of the settings.

        Args:
            allow: hosts, `host:port` or networks inside that may be reached.
            domains: domains that may be reached; empty for any.
            deny: domains that may not.
            resolve: looks names up.

        Raises:
            ValueError: an exception is neither host nor network.
        """
        self._allowed = tuple(map(allowed, allow))
        self._domains, self._deny = tuple(domains), tuple(deny)
        self._resolve = resolve

    async def addresses(self, host: str, port: int) -> tuple[str, ...]:
        """Return where a host is to be reached, each address judged.

        Raises:
            Refused: it may not be reached.
            NotAnswered: nobody knows the name.
        """
        self._check_lists(host)
        try:
            found = list(dict.fromkeys(await self._resolve(host, port)))
        except (OSError, UnicodeError):
            raise NotAnswered(f"nobody knows a host {host!r}") from None
        if not found:
            raise NotAnswered(f"nobody knows a host {host!r}")
        for address in found:
            self._check(host, ip_address(address), port)
        return tuple(found)

    def _check_lists(self, host: str) -> None:
        if within(host, self._deny):
            raise Refused(f"TENURE_FETCH_DENY forbids {host!r}")
        if self._domains and not within(host, self._domains):
            raise Refused(f"TENURE_FETCH_DOMAINS does not hold {host!r}")

    def _check(self, host: str, address: Address, port: int) -> None:
        if any(_covers(one, host, address, port) for one in self._allowed):
            return
        if what := inside(address):
            leads = "" if host == str(address) else f"{host!r} leads to "
            raise Refused(f"{leads}{address} which {what}; TENURE_FETCH_ALLOW can name it")
        if port < _FREE_PORTS and port not in _WEB_PORTS:
            raise Refused(f"port {port} of {host!r} is none of the web; TENURE_FETCH_ALLOW can name it")


def inside(address: Address) -> str:
    """Return what an address is that is not of the public web; empty for one that is."""
    if isinstance(address, IPv6Address):
        if address in _TRANSLATED:
            return inside(IPv4Address(int(address) & 0xFFFF_FFFF))
        if address.scope_id:
            return "is reached without a router"
    for network, what in _INSIDE:
        if address.version == network.version and address in network:
            return what
    return "" if address.version == 4 or address in _PUBLIC else "is set aside"


def allowed(written: str) -> Allowed:
    """Return the exception that a word of the settings makes.

    Raises:
        ValueError: it is neither a host, nor a host with a port, nor a network.
    """
    try:
        return Allowed("", ip_network(written, strict=False), None)
    except ValueError:
        pass
    try:
        parts = parse(f"http://{written}")
    except InvalidAddress as error:
        raise ValueError(f"TENURE_FETCH_ALLOW holds {written!r}: {error.reason}") from None
    if parts.target != "/":
        raise ValueError(f"TENURE_FETCH_ALLOW holds {written!r}, which is neither a host nor a network")
    port = parts.port if written.rpartition("]")[2].count(":") else None
    try:
        return Allowed("", ip_network(parts.host), port)
    except ValueError:
        return Allowed(parts.host, None, port)


def _covers(one: Allowed, host: str, address: Address, port: int) -> bool:
    """Whether an exception holds for an address that a host leads to."""
    if one.port not in (None, port):
        return False
    if one.network is None:
        return host == one.host
    return address.version == one.network.version and address in one.network
