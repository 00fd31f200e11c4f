"""Tests of the SSRF guard: only public addresses and allowed hosts are reachable."""

from collections.abc import AsyncIterator, Sequence
from ipaddress import ip_address, ip_network

import pytest

from tenure.sources.fetch.address_guard import (
    NON_PUBLIC_NETWORKS,
    AddressGuard,
    describe_non_public_address,
    parse_allowed_host,
    resolve_with_system,
)
from tenure.sources.fetch.errors import FetchError, NoResponse, RequestRefused
from tenure.sources.fetch.fetcher import CrawlPolicy, Fetcher
from tests.support.tiers import slow
from tests.web import Reply, Web
from tests.web.connects import connects

PUBLIC = "93.184.216.34"
NAMES = {
    "public.example": [PUBLIC],
    "inside.example": ["127.0.0.1"],
    "127.0.0.1.nip.example": ["127.0.0.1"],
    "both.example": [PUBLIC, "10.0.0.1"],
    "mapped.example": ["::ffff:127.0.0.1"],
    "zone.example": ["fe80::1%eth0"],
    "metadata.google.internal": ["169.254.169.254"],
    "nat64.example": ["64:ff9b::a9fe:a9fe"],
    "empty.example": [],
}
"""Answers of an untrusted name server."""

ATTACKS = {
    "loopback": "http://127.0.0.1:{port}/",
    "another loopback": "http://127.255.255.254:{port}/",
    "its name": "http://localhost:{port}/",
    "its name with a dot": "http://LOCALHOST.:{port}/",
    "a dot behind": "http://127.0.0.1.:{port}/",
    "short": "http://127.1:{port}/",
    "shorter": "http://127.0.1:{port}/",
    "decimal": "http://2130706433:{port}/",
    "hexadecimal": "http://0x7f000001:{port}/",
    "hexadecimal part": "http://0x7f.0.0.1:{port}/",
    "octal": "http://017700000001:{port}/",
    "octal part": "http://0177.0.0.1:{port}/",
    "zeros in front": "http://127.000.000.001:{port}/",
    "too large": "http://383.0.0.1:{port}/",
    "unspecified": "http://0.0.0.0:{port}/",
    "zero": "http://0:{port}/",
    "IPv6": "http://[::1]:{port}/",
    "long IPv6": "http://[0:0:0:0:0:0:0:1]:{port}/",
    "unspecified IPv6": "http://[::]:{port}/",
    "mapped": "http://[::ffff:127.0.0.1]:{port}/",
    "mapped in hexadecimal": "http://[::ffff:7f00:1]:{port}/",
    "compatible": "http://[::127.0.0.1]:{port}/",
    "translated": "http://[64:ff9b::7f00:1]:{port}/",
    "translated locally": "http://[64:ff9b:1::7f00:1]:{port}/",
    "6to4": "http://[2002:7f00:1::]:{port}/",
    "Teredo": "http://[2001:0:7f00:1::]:{port}/",
    "link-local IPv6": "http://[fe80::1]/",
    "with its interface": "http://[fe80::1%25lo]:{port}/",
    "site-local": "http://[fec0::1]/",
    "unique local": "http://[fd12:3456::1]/",
    "multicast IPv6": "http://[ff02::1]/",
    "metadata": "http://169.254.169.254/latest/meta-data/",
    "metadata in decimal": "http://2852039166/latest/meta-data/",
    "metadata over IPv6": "http://[fd00:ec2::254]/",
    "metadata, mapped": "http://[::ffff:a9fe:a9fe]/",
    "metadata of another cloud": "http://100.100.100.200/",
    "metadata of a third": "http://192.0.0.192/",
    "wire server": "http://168.63.129.16/",
    "private, class A": "http://10.0.0.1/",
    "private, class B": "http://172.16.0.1/",
    "private, class C": "http://192.168.0.1/",
    "shared": "http://100.64.0.1/",
    "measurements": "http://198.18.0.1/",
    "multicast": "http://224.0.0.1/",
    "broadcast": "http://255.255.255.255/",
    "user": "http://someone@127.0.0.1:{port}/",
    "host for a user": "http://public.example@127.0.0.1:{port}/",
    "host for user and password": "http://public.example:80@127.0.0.1:{port}/",
    "backslash": "http://public.example\\@127.0.0.1:{port}/",
    "backslash for a slash": "http:\\\\127.0.0.1:{port}\\",
    "escaped": "http://%31%32%37.0.0.1:{port}/",
    "escaped dots": "http://127%2e0%2e0%2e1:{port}/",
    "wide digits": "http://１２７.0.0.1:{port}/",
    "wide dots": "http://127。0。0。1:{port}/",
    "circled digits": "http://①②⑦.0.0.1:{port}/",
    "circled letters": "http://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ:{port}/",
    "invisible letters": "http://local\u200bhost:{port}/",
    "line break": "http://127.0.0.1:{port}/\r\nHost: public.example",
    "tab": "http://127.0.0.1\t:{port}/",
    "two ports": "http://127.0.0.1:{port}:80/",
    "no slashes": "http:127.0.0.1:{port}/",
    "many slashes": "http:////127.0.0.1:{port}/",
    "behind a name": "http://public.example:80#@127.0.0.1:25/",
    "file": "file:///etc/passwd",
    "ftp": "ftp://127.0.0.1:{port}/",
    "gopher": "gopher://127.0.0.1:{port}/_GET%20/",
    "dict": "dict://127.0.0.1:{port}/info",
    "socket": "unix:///run/docker.sock",
    "data": "data:text/html,hello",
    "script": "javascript:fetch('http://127.0.0.1:{port}/')",
    "name that leads inside": "http://inside.example:{port}/",
    "name that looks like an address": "http://127.0.0.1.nip.example:{port}/",
    "name that leads inside as well": "http://both.example:{port}/",
    "name that leads to a mapped address": "http://mapped.example:{port}/",
    "name that leads to an interface": "http://zone.example:{port}/",
    "name of metadata": "http://metadata.google.internal/computeMetadata/v1/",
    "name that is translated": "http://nat64.example/",
    "name that leads nowhere": "http://empty.example/",
    "port of mail": "http://public.example:25/",
    "port of a shell": "http://public.example:22/",
}
"""Tricks to send a request to a forbidden target; `{port}` is a listening port of the loopback interface."""


async def resolve(host: str, port: int) -> Sequence[str]:
    """Resolve the names of the untrusted name server, and other names with the system."""
    if host == "public.example" and port == 80:
        raise OSError("it is not to be reached from a test")
    return NAMES[host] if host in NAMES else await resolve_with_system(host, port)


class Stage:
    """A forbidden server on the loopback interface, and a site that redirects to any target."""

    def __init__(self) -> None:
        self.location = ""
        self.victim = Web()
        self.web = Web(extra={"/": lambda request: Reply(b"", 302, {"location": self.location})})


@pytest.fixture(scope="module")
async def stage() -> AsyncIterator[Stage]:
    made = Stage()
    with made.victim, made.web:
        yield made


@pytest.fixture(scope="module")
async def fetcher(stage: Stage) -> AsyncIterator[Fetcher]:
    made = Fetcher(
        AddressGuard([stage.web.allow], resolver=resolve), policy=CrawlPolicy(obey_robots=False, min_interval=0)
    )
    yield made
    await made.aclose()


def test_attacks_are_unique() -> None:
    """The table contains many different tricks."""
    assert len(set(ATTACKS.values())) == len(ATTACKS) >= 40


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
async def test_no_trick_connects(attack: str, stage: Stage, fetcher: Fetcher) -> None:
    """No trick opens a connection, and the forbidden server is not reached."""
    with connects() as begun, pytest.raises(FetchError):
        await fetcher.fetch(attack.format(port=stage.victim.port))

    assert (begun, stage.victim.accepted) == ([], 0)


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
async def test_no_trick_connects_by_a_redirect(attack: str, stage: Stage, fetcher: Fetcher) -> None:
    """A permitted page cannot redirect a request to a forbidden target."""
    attack = attack.format(port=stage.victim.port).replace("\r\n", "\r\n ")  # a header that continues in the next line
    stage.location = attack.encode().decode("latin-1")
    with connects() as begun, pytest.raises(FetchError):
        await fetcher.fetch(stage.web.build_url("/"))

    assert {address[:2] for address in begun} <= {("127.0.0.1", stage.web.port)}
    assert stage.victim.accepted == 0


async def test_a_name_is_resolved_once_and_every_address_is_checked() -> None:
    """The guard returns the checked addresses, so that later answers of the name server have no effect."""
    answers = iter([[PUBLIC, "2606:2800:220:1::1", PUBLIC], ["127.0.0.1"]])

    async def rebinding(host: str, port: int) -> Sequence[str]:
        return next(answers)

    guard = AddressGuard(resolver=rebinding)

    assert await guard.resolve("host.example", 443) == (PUBLIC, "2606:2800:220:1::1")
    with pytest.raises(RequestRefused, match=r"'host\.example' resolves to 127\.0\.0\.1, which is this machine"):
        await guard.resolve("host.example", 443)


@pytest.mark.parametrize(
    ("allow", "host", "port"),
    [
        ("inside.example", "inside.example", 8080),
        ("Inside.Example.", "inside.example", 22),
        ("inside.example:8080", "inside.example", 8080),
        ("127.0.0.0/8", "inside.example", 80),
        ("127.0.0.1", "127.0.0.1", 5000),
        ("127.0.0.1:5000", "127.0.0.1", 5000),
        ("::1", "::1", 80),
        ("[::1]", "::1", 81),
        ("[::1]:81", "::1", 81),
        ("fe80::/10", "zone.example", 80),
    ],
)
async def test_the_settings_allow_hosts(allow: str, host: str, port: int) -> None:
    """A host, a host with a port, an address or a network may be allowed."""
    assert await AddressGuard([allow], resolver=resolve).resolve(host, port)


@pytest.mark.parametrize(
    ("allow", "host", "port"),
    [
        ("inside.example:8080", "inside.example", 8081),
        ("127.0.0.1:5000", "127.0.0.1", 5001),
        ("10.0.0.0/8", "inside.example", 80),
        ("inside.example", "127.0.0.1", 80),
        ("inside.example", "127.0.0.1.nip.example", 80),
        ("127.0.0.1", "::1", 80),
        ("127.0.0.0/8", "both.example", 80),
    ],
)
async def test_an_allowed_host_allows_nothing_else(allow: str, host: str, port: int) -> None:
    """Another port, another host with the same address, or another address of the host remains forbidden."""
    with pytest.raises(RequestRefused):
        await AddressGuard([allow], resolver=resolve).resolve(host, port)


@pytest.mark.parametrize("written", ["", "host:port", "https://host/", "host/path", "10.0.0.0/33", "user@host", "*"])
def test_an_invalid_allowed_host_is_an_error(written: str) -> None:
    """A text that is neither host nor network is an error when the worker starts."""
    with pytest.raises(ValueError, match="TENURE_FETCH_ALLOW"):
        parse_allowed_host(written)


async def test_lists_of_domains_apply() -> None:
    """With a list of domains no other domain is reached, and a forbidden domain is never reached."""
    guard = AddressGuard(domains=["example", "nip.example"], deny=["*.both.example", "both.example"], resolver=resolve)

    assert await guard.resolve("public.example", 443)
    with pytest.raises(RequestRefused, match="TENURE_FETCH_DENY"):
        await guard.resolve("both.example", 443)
    with pytest.raises(RequestRefused, match="TENURE_FETCH_DOMAINS"):
        await guard.resolve("metadata.google.internal", 443)


@pytest.mark.parametrize("host", ["empty.example", "no.such.name.invalid", "a" * 64 + ".example"])
async def test_an_unknown_name_is_no_response(host: str) -> None:
    """An unknown host is distinguished from a forbidden one."""
    with pytest.raises(NoResponse, match="does not exist"):
        await AddressGuard(resolver=resolve).resolve(host, 80)


@slow
def test_non_public_networks_include_those_of_python() -> None:
    """Each network of the table and each non-global network of the standard library is refused."""
    for network in NON_PUBLIC_NETWORKS:
        assert describe_non_public_address(ip_network(network)[0])
        assert describe_non_public_address(ip_network(network)[-1])
    for address in ("8.8.8.8", "1.1.1.1", "2606:4700::1111", "2a00:1450::1", "64:ff9b::808:808"):
        assert not describe_non_public_address(ip_address(address))
    for number in range(0, 2**32, 2**16 + 257):
        address4 = ip_address(number)
        assert describe_non_public_address(address4) or address4.is_global
    assert describe_non_public_address(ip_address("4000::1")) == "reserved"
