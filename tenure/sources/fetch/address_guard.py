"""Protect against server-side request forgery (SSRF): permit connections only to public addresses and allowed hosts.

URLs come from search results and pages, so they are untrusted. `AddressGuard.resolve` resolves a name once, checks
every address, and the connection is made to a checked address (`tenure.sources.fetch.transport`). A name with both
public and private addresses is refused.
"""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Iterable, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final, NamedTuple

from tenure.algorithms.text.urls import InvalidUrlError, is_in_domains, parse_url
from tenure.sources.fetch.errors import NoResponse, RequestRefused

IpAddress = IPv4Address | IPv6Address
IpNetwork = IPv4Network | IPv6Network
Resolver = Callable[[str, int], Awaitable[Sequence[str]]]
"""Function that resolves a name for a port; it raises OSError if the name does not exist."""

NON_PUBLIC_NETWORKS: Final = {
    "0.0.0.0/8": "this machine",
    "10.0.0.0/8": "a private network",
    "100.64.0.0/10": "a carrier-grade NAT network",
    "127.0.0.0/8": "this machine",
    "168.63.129.16/32": "a cloud metadata service",
    "169.254.0.0/16": "link-local, like cloud metadata services",
    "172.16.0.0/12": "a private network",
    "192.0.0.0/24": "reserved for protocols",
    "192.0.2.0/24": "reserved for documentation",
    "192.88.99.0/24": "a relay to another network",
    "192.168.0.0/16": "a private network",
    "198.18.0.0/15": "reserved for benchmarks",
    "198.51.100.0/24": "reserved for documentation",
    "203.0.113.0/24": "reserved for documentation",
    "224.0.0.0/4": "a multicast address",
    "240.0.0.0/4": "reserved",
    "::1/128": "this machine",
    "::/128": "this machine",
    "fc00::/7": "a private network",
    "fe80::/10": "link-local",
    "fec0::/10": "a private network",
    "ff00::/8": "a multicast address",
    # Embedded IPv4 addresses: no public server needs them, and they hide the target.
    "::/96": "an embedded IPv4 address",
    "::ffff:0:0/96": "an embedded IPv4 address",
    "64:ff9b:1::/48": "an embedded IPv4 address",
    "2002::/16": "an embedded IPv4 address",
    "2001::/23": "reserved for protocols",
    "2001:db8::/32": "reserved for documentation",
    "3fff::/20": "reserved for documentation",
}
"""Networks outside the public web, with a description."""

_NON_PUBLIC: Final = [(ip_network(network), description) for network, description in NON_PUBLIC_NETWORKS.items()]
_PUBLIC: Final = IPv6Network("2000::/3")
_NAT64: Final = IPv6Network("64:ff9b::/96")
"""Prefix under which the name servers of an IPv6-only network embed IPv4 addresses (RFC 6052)."""
_WEB_PORTS: Final = (80, 443)
_FIRST_UNRESERVED_PORT: Final = 1024
"""First port that does not belong to another well-known service."""


class AllowedHost(NamedTuple):
    """Host or network that the settings allow in addition to the public web."""

    host: str
    network: IpNetwork | None
    port: int | None


async def resolve_with_system(host: str, port: int) -> Sequence[str]:
    """Resolve a name with the resolver of the operating system."""
    records = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(address[0]) for *_, address in records]


class AddressGuard:
    """Resolver of hosts that checks every address."""

    def __init__(
        self,
        allow: Iterable[str] = (),
        domains: Sequence[str] = (),
        deny: Sequence[str] = (),
        resolver: Resolver = resolve_with_system,
    ) -> None:
        """Use the lists of the settings.

        Args:
            allow: hosts, `host:port` or networks that are allowed although they are not public.
            domains: permitted domains; empty for all.
            deny: forbidden domains.
            resolver: function that resolves names.

        Raises:
            ValueError: an allowed host is invalid.
        """
        self._allowed = tuple(map(parse_allowed_host, allow))
        self._domains, self._deny = tuple(domains), tuple(deny)
        self._resolver = resolver

    async def resolve(self, host: str, port: int) -> tuple[str, ...]:
        """Return the addresses of a host, all of them checked.

        Raises:
            RequestRefused: the host is forbidden.
            NoResponse: the name does not exist.
        """
        self._check_lists(host)
        try:
            addresses = list(dict.fromkeys(await self._resolver(host, port)))
        except (OSError, UnicodeError):
            raise NoResponse(f"the host {host!r} does not exist") from None
        if not addresses:
            raise NoResponse(f"the host {host!r} does not exist")
        for address in addresses:
            self._check(host, ip_address(address), port)
        return tuple(addresses)

    def _check_lists(self, host: str) -> None:
        if is_in_domains(host, self._deny):
            raise RequestRefused(f"TENURE_FETCH_DENY forbids {host!r}")
        if self._domains and not is_in_domains(host, self._domains):
            raise RequestRefused(f"TENURE_FETCH_DOMAINS does not contain {host!r}")

    def _check(self, host: str, address: IpAddress, port: int) -> None:
        if any(_covers(entry, host, address, port) for entry in self._allowed):
            return
        if description := describe_non_public_address(address):
            prefix = "it leads to " if host == str(address) else f"{host!r} resolves to "
            raise RequestRefused(f"{prefix}{address}, which is {description}; TENURE_FETCH_ALLOW can allow it")
        if port < _FIRST_UNRESERVED_PORT and port not in _WEB_PORTS:
            raise RequestRefused(f"port {port} of {host!r} is not a web port; TENURE_FETCH_ALLOW can allow it")


def describe_non_public_address(address: IpAddress) -> str:
    """Return a description of an address outside the public web, or an empty text for a public address."""
    if isinstance(address, IPv6Address):
        if address in _NAT64:
            return describe_non_public_address(IPv4Address(int(address) & 0xFFFF_FFFF))
        if address.scope_id:
            return "link-local"
    for network, description in _NON_PUBLIC:
        if address.version == network.version and address in network:
            return description
    return "" if address.version == 4 or address in _PUBLIC else "reserved"


def parse_allowed_host(text: str) -> AllowedHost:
    """Parse an allowed host of the settings.

    Raises:
        ValueError: the text is neither a host, a host with a port, nor a network.
    """
    try:
        return AllowedHost("", ip_network(text, strict=False), None)
    except ValueError:
        pass
    try:
        parts = parse_url(f"http://{text}")
    except InvalidUrlError as error:
        raise ValueError(f"TENURE_FETCH_ALLOW contains {text!r}: {error.reason}") from None
    if parts.target != "/":
        raise ValueError(f"TENURE_FETCH_ALLOW contains {text!r}, which is neither a host nor a network")
    port = parts.port if text.rpartition("]")[2].count(":") else None
    try:
        return AllowedHost("", ip_network(parts.host), port)
    except ValueError:
        return AllowedHost(parts.host, None, port)


def _covers(entry: AllowedHost, host: str, address: IpAddress, port: int) -> bool:
    if entry.port not in (None, port):
        return False
    if entry.network is None:
        return host == entry.host
    return address.version == entry.network.version and address in entry.network
