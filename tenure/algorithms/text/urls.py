"""Addresses of web pages: the one form of each, and what leads from one to another.

Search engines, pages and redirects write the address of a page in many ways. `canonical` gives each page one,
which is its key everywhere: in the page cache, in the fusion of searches and among the sources. It is strict where
browsers are lenient: what two parsers could read differently (a backslash, a host that is a number in disguise, a
user name that looks like a host) is no address at all.
"""

import re
from ipaddress import AddressValueError, IPv6Address
from typing import NamedTuple

import idna

LONGEST = 4_000
"""Characters of an address at the most."""

_PORTS = {"http": 80, "https": 443}
_PARTS = re.compile(r"(?:([^:/?#]*):)?(?://([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#.*)?", re.DOTALL)  # RFC 3986, app. B
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_HOST = re.compile(r"(?=.{1,253}\Z)[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?)*")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_OCTET = r"(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
_IPV4 = re.compile(rf"{_OCTET}(?:\.{_OCTET}){{3}}")
_HIDDEN = re.compile(r"[\x00-\x1f\x7f\\]")
_ESCAPED = re.compile(r"%([0-9A-Fa-f]{2})")
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_NOT_IN_ADDRESS = re.compile(r"[^A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=%]|%(?![0-9A-Fa-f]{2})")
_SESSION = re.compile(r";jsessionid=[^/;]*", re.IGNORECASE)
_TRACKING = re.compile(
    r"(?:utm_\w+|[gdf]clid|fbclid|gclsrc|gbraid|wbraid|msclkid|yclid|ysclid|twclid|ttclid|igshid|srsltid|mc_[ce]id"
    r"|_hs(?:enc|mi)|__hs\w+|mkt_tok|oly_(?:anon|enc)_id|vero_(?:id|conv)|li_fat_id|_ga|_gl|_openstat|ref_src"
    r"|wt_mc|at_(?:medium|campaign)|phpsessid|jsessionid)",
    re.IGNORECASE,
)
"""Names in a query that say where a reader comes from or who it is, and nothing about the page."""


class InvalidAddress(ValueError):
    """An address that is none of a web page, or whose meaning depends on who reads it."""

    def __init__(self, reason: str) -> None:
        """Say what is wrong; the address itself may hold a password and is not repeated."""
        super().__init__(f"the address cannot be used: {reason}")
        self.reason = reason


class Address(NamedTuple):
    """The parts of a canonical address."""

    scheme: str
    """`http` or `https`."""
    host: str
    """A name in lower case and ASCII, an IPv4 address, or an IPv6 address without brackets."""
    port: int
    """The port, also where the address leaves it out."""
    target: str
    """Path and query."""

    @property
    def origin(self) -> str:
        """Scheme, host and port: what cookies, credentials and `robots.txt` belong to."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}" + ("" if self.port == _PORTS[self.scheme] else f":{self.port}")

    def __str__(self) -> str:
        """Return the address."""
        return self.origin + self.target


def parse(address: str) -> Address:
    """Return the parts of an address in their canonical form.

    Raises:
        InvalidAddress: it is not the address of a web page.
    """
    address = address.strip()
    if len(address) > LONGEST:
        raise InvalidAddress(f"it has more than {LONGEST} characters")
    if _HIDDEN.search(address):
        raise InvalidAddress("it holds a control character or a backslash")
    found = _PARTS.fullmatch(address)
    assert found  # the pattern takes every text
    scheme, authority, path, query = found.groups()
    scheme = (scheme or "").lower()
    if scheme not in _PORTS:
        raise InvalidAddress(f"{scheme or 'nothing'!r} in front of its colon is not http or https")
    host, port = _authority(authority or "", _PORTS[scheme])
    return Address(scheme, host, port, _path(path) + _query(query or ""))


def canonical(address: str) -> str:
    """Return the one form of an address that all ways to write it have in common.

    Without fragment, default port, tracking parameters and session; with the query's parameters in order.

    Raises:
        InvalidAddress: it is not the address of a web page.
    """
    return str(parse(address))


def resolved(base: str, reference: str) -> str:
    """Return the canonical address that a reference in a page, or in a redirect of it, leads to.

    Raises:
        InvalidAddress: base or reference is none.
    """
    reference = reference.strip()
    if _SCHEME.match(reference):
        return canonical(reference)
    start = parse(base)
    if reference.startswith("//"):
        return canonical(f"{start.scheme}:{reference}")
    path = start.target.partition("?")[0]
    if reference.startswith("/"):
        return canonical(start.origin + reference)
    if reference.startswith("?"):
        return canonical(start.origin + path + reference)
    if not reference or reference.startswith("#"):
        return str(start)
    return canonical(f"{start.origin}{path.rpartition('/')[0]}/{reference}")


def host(address: str) -> str:
    """Return the host of an address.

    Raises:
        InvalidAddress: it is none.
    """
    return parse(address).host


def within(host: str, domains: tuple[str, ...]) -> bool:
    """Whether a host is one of some domains or below one; how a domain is written does not matter."""
    return any(host == domain or host.endswith(f".{domain}") for domain in map(_domain, domains) if domain)


def _domain(written: str) -> str:
    """Return a domain as hosts have it; empty for a text that is no domain."""
    try:
        return _host_name(written.strip().removeprefix("*").strip("."))
    except InvalidAddress:
        return ""


def _authority(authority: str, default: int) -> tuple[str, int]:
    """Return host and port."""
    if "@" in authority:
        raise InvalidAddress("it holds a user name or a password")
    if authority.startswith("["):
        name, bracket, port = authority[1:].partition("]")
        host = _ipv6(name) if bracket else ""
        if not host or (port and not port.startswith(":")):
            raise InvalidAddress("its brackets hold no IPv6 address")
        port = port[1:]
    else:
        name, _, port = authority.partition(":")
        host = _host_name(name.removesuffix("."))
    if port and not (re.fullmatch(r"[0-9]{1,5}", port) and 0 < int(port) < 2**16):
        raise InvalidAddress("its port is no number from 1 to 65535")
    return host, int(port or default)


def _ipv6(written: str) -> str:
    """Return an IPv6 address in its shortest form; empty for what is none, or belongs to one interface only."""
    try:
        address = IPv6Address(written)
    except AddressValueError:
        return ""
    return "" if address.scope_id else address.compressed


def _host_name(written: str) -> str:
    """Return a host's name in lower case and ASCII, or an IPv4 address as four decimal numbers."""
    try:
        mapped = idna.uts46_remap(written, std3_rules=False, transitional=False)
        labels = [label if label.isascii() else idna.alabel(label).decode() for label in mapped.split(".")]
    except (idna.IDNAError, UnicodeError):
        raise InvalidAddress("its host is no name that can be looked up") from None
    name = ".".join(labels)
    if not _HOST.fullmatch(name):
        raise InvalidAddress("its host is no name that can be looked up" if name else "it has no host")
    if _NUMBER.fullmatch(labels[-1]) and not _IPV4.fullmatch(name):
        raise InvalidAddress("its host is a number in disguise")
    return name


def _escaped(text: str) -> str:
    """Return a part of an address in which everything is escaped that has to be, and nothing else."""
    text = _NOT_IN_ADDRESS.sub(lambda found: "".join(f"%{byte:02X}" for byte in _bytes(found[0])), text)
    return _ESCAPED.sub(
        lambda found: char if (char := chr(int(found[1], 16))) in _UNRESERVED else found[0].upper(), text
    )


def _bytes(text: str) -> bytes:
    """Return what an address stands for a text; half a surrogate pair is replaced."""
    return text.encode("utf-8", "replace")


def _path(path: str) -> str:
    """Return an absolute path without dot segments and without a session."""
    kept: list[str] = []
    segments = _SESSION.sub("", _escaped(path)).removeprefix("/").split("/")
    for segment in segments:
        if segment == "..":
            del kept[-1:]
        elif segment != ".":
            kept.append(segment)
    if segments[-1] in (".", ".."):
        kept.append("")
    return "/" + "/".join(kept)


def _query(query: str) -> str:
    """Return a query without what only tracks, in order where order does not matter; with its question mark."""
    parts = [part for part in _escaped(query).split("&") if part and not _TRACKING.fullmatch(part.partition("=")[0])]
    if all("=" in part for part in parts):
        parts.sort(key=lambda part: part.partition("=")[0])  # stable: values of one name keep their order
    return f"?{'&'.join(parts)}" if parts else ""
