"""Parse, canonicalise and resolve URLs of web pages (RFC 3986).

Search providers, pages and redirects write the URL of a page in different forms. `canonicalize_url` returns the single
form that is the key of the page in the page cache, in search fusion and among the sources. The parser is stricter than
browsers: it rejects everything that two parsers could read differently (a backslash, a numeric host in disguise, a user
name that looks like a host). Every function raises `InvalidUrlError` for what is not the URL of a web page.
"""

import re
from ipaddress import AddressValueError, IPv6Address
from typing import NamedTuple

import idna

# Servers accept 8,000 bytes of a request line (RFC 9112, section 3), and characters may be escaped.
MAX_URL_CHARACTERS = 4_000

_PORTS = {"http": 80, "https": 443}
_PARTS = re.compile(r"(?:([^:/?#]*):)?(?://([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#.*)?", re.DOTALL)  # RFC 3986, app. B
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")  # "https:", "mailto:".
# "docs.example.org": labels of 63 characters and 253 in all (RFC 1035).
_HOST = re.compile(r"(?=.{1,253}\Z)[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?)*")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")  # "017" and "0x7f": forms of numbers in which a host can hide an address.
_OCTET = r"(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"  # 0 to 255, without leading zeros.
_IPV4 = re.compile(rf"{_OCTET}(?:\.{_OCTET}){{3}}")
_HIDDEN = re.compile(r"[\x00-\x1f\x7f\\]")  # Control characters and the backslash, which browsers read as a slash.
_ESCAPED = re.compile(r"%([0-9A-Fa-f]{2})")  # "%2F".
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
# "é", " ", and the "%" of "100%".
_NOT_IN_URL = re.compile(r"[^A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=%]|%(?![0-9A-Fa-f]{2})")
_LONE = re.compile(r"\s*(https?://\S+)\s*", re.IGNORECASE)  # "https://host/issues/12", and nothing else.
_SESSION = re.compile(r";jsessionid=[^/;]*", re.IGNORECASE)  # ";jsessionid=1A2B".
_TRACKING = re.compile(
    r"(?:utm_\w+|[gdf]clid|fbclid|gclsrc|gbraid|wbraid|msclkid|yclid|ysclid|twclid|ttclid|igshid|srsltid|mc_[ce]id"
    r"|_hs(?:enc|mi)|__hs\w+|mkt_tok|oly_(?:anon|enc)_id|vero_(?:id|conv)|li_fat_id|_ga|_gl|_openstat|ref_src"
    r"|wt_mc|at_(?:medium|campaign)|phpsessid|jsessionid)",
    re.IGNORECASE,
)
"""Query parameters that identify the visitor or the referrer and do not select the page."""


class InvalidUrlError(ValueError):
    """String that is not the URL of a web page, or is ambiguous."""

    def __init__(self, reason: str) -> None:
        """Store the reason; the message omits the URL, which may contain a password."""
        super().__init__(f"invalid URL: {reason}")
        self.reason = reason


class CanonicalUrl(NamedTuple):
    """Parts of a canonical URL."""

    scheme: str
    """`http` or `https`."""
    host: str
    """Lower-case ASCII name, IPv4 address, or IPv6 address without brackets."""
    port: int
    """Port, also if it is the default of the scheme."""
    target: str
    """Path and query."""

    @property
    def origin(self) -> str:
        """Scheme, host and port: the scope of cookies, credentials and `robots.txt`."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}" + ("" if self.port == _PORTS[self.scheme] else f":{self.port}")

    def __str__(self) -> str:
        """Return the URL."""
        return self.origin + self.target


def parse_url(url: str) -> CanonicalUrl:
    """Parse a URL into its canonical parts."""
    url = url.strip()
    if len(url) > MAX_URL_CHARACTERS:
        raise InvalidUrlError(f"it is longer than {MAX_URL_CHARACTERS} characters")
    if _HIDDEN.search(url):
        raise InvalidUrlError("it contains a control character or a backslash")
    match = _PARTS.fullmatch(url)
    assert match  # the pattern takes every text
    scheme, authority, path, query = match.groups()
    scheme = (scheme or "").lower()
    if scheme not in _PORTS:
        raise InvalidUrlError(f"its scheme {scheme!r} is not http or https" if scheme else "it has no scheme")
    host, port = _parse_authority(authority or "", _PORTS[scheme])
    return CanonicalUrl(scheme, host, port, _normalize_path(path) + _normalize_query(query or ""))


def canonicalize_url(url: str) -> str:
    """Return the canonical form of a URL.

    It has no fragment, default port, tracking parameters or session id, and its query is sorted.
    """
    return str(parse_url(url))


def resolve_url(base: str, reference: str) -> str:
    """Resolve the reference of a link or a redirect against the URL of its page, and canonicalise the result."""
    reference = reference.strip()
    if _SCHEME.match(reference):
        return canonicalize_url(reference)
    start = parse_url(base)
    path = start.target.partition("?")[0]
    if reference.startswith("//"):
        return canonicalize_url(f"{start.scheme}:{reference}")
    if reference.startswith("/"):
        return canonicalize_url(start.origin + reference)
    if reference.startswith("?"):
        return canonicalize_url(start.origin + path + reference)
    if not reference or reference.startswith("#"):
        return str(start)
    return canonicalize_url(f"{start.origin}{path.rpartition('/')[0]}/{reference}")


def find_lone_url(text: str) -> str:
    """Return the URL that a text consists of, also an invalid one; empty if there is anything else in the text."""
    match = _LONE.fullmatch(text)
    return match[1] if match else ""


def extract_host(url: str) -> str:
    """Return the canonical host of a URL; an InvalidUrlError if the URL has none."""
    return parse_url(url).host


def is_in_domains(host: str, domains: tuple[str, ...]) -> bool:
    """Return whether a host is one of the domains or a subdomain of one; domains may be written in any form."""
    return any(host == domain or host.endswith(f".{domain}") for domain in map(_normalize_domain, domains) if domain)


def _normalize_domain(domain: str) -> str:
    """Return a domain in the form of a host; empty if it is not a domain."""
    try:
        return _normalize_host(domain.strip().removeprefix("*").strip("."))
    except InvalidUrlError:
        return ""


def _parse_authority(authority: str, default: int) -> tuple[str, int]:
    """Return host and port."""
    if "@" in authority:
        raise InvalidUrlError("it contains a user name or a password")
    if authority.startswith("["):
        name, bracket, port = authority[1:].partition("]")
        host = _normalize_ipv6(name) if bracket else ""
        if not host or (port and not port.startswith(":")):
            raise InvalidUrlError("its brackets do not contain an IPv6 address")
        port = port[1:]
    else:
        name, _, port = authority.partition(":")
        host = _normalize_host(name.removesuffix("."))
    if port and not (re.fullmatch(r"[0-9]{1,5}", port) and 0 < int(port) < 2**16):
        raise InvalidUrlError("its port is not a number from 1 to 65535")
    return host, int(port or default)


def _normalize_ipv6(text: str) -> str:
    """Return an IPv6 address in its shortest form; empty if it is invalid or has a zone id."""
    try:
        address = IPv6Address(text)
    except AddressValueError:
        return ""
    return "" if address.scope_id else address.compressed


def _normalize_host(text: str) -> str:
    """Return a host name in lower-case ASCII, or an IPv4 address as four decimal numbers."""
    try:
        mapped = idna.uts46_remap(text, std3_rules=False, transitional=False)
        labels = [label if label.isascii() else idna.alabel(label).decode() for label in mapped.split(".")]
    except (idna.IDNAError, UnicodeError):
        raise InvalidUrlError("its host name is invalid") from None
    name = ".".join(labels)
    if not _HOST.fullmatch(name):
        raise InvalidUrlError("its host name is invalid" if name else "it has no host")
    if _NUMBER.fullmatch(labels[-1]) and not _IPV4.fullmatch(name):
        raise InvalidUrlError("its host is a non-canonical IPv4 address")
    return name


def _normalize_escapes(text: str) -> str:
    """Percent-encode exactly the characters that need it."""
    # Lone surrogates are replaced.
    text = _NOT_IN_URL.sub(lambda match: "".join(f"%{byte:02X}" for byte in match[0].encode("utf-8", "replace")), text)
    return _ESCAPED.sub(
        lambda match: char if (char := chr(int(match[1], 16))) in _UNRESERVED else match[0].upper(), text
    )


def _normalize_path(path: str) -> str:
    """Return an absolute path without dot segments and session id."""
    result: list[str] = []
    segments = _SESSION.sub("", _normalize_escapes(path)).removeprefix("/").split("/")
    for segment in segments:
        if segment == "..":
            del result[-1:]
        elif segment != ".":
            result.append(segment)
    if segments[-1] in (".", ".."):
        result.append("")
    return "/" + "/".join(result)


def _normalize_query(query: str) -> str:
    """Return a query with its question mark, sorted by name and without tracking parameters."""
    parts = [
        part
        for part in _normalize_escapes(query).split("&")
        if part and not _TRACKING.fullmatch(part.partition("=")[0])
    ]
    if all("=" in part for part in parts):
        parts.sort(key=lambda part: part.partition("=")[0])  # stable: values of one name keep their order
    return f"?{'&'.join(parts)}" if parts else ""


def find_domain_violation(url: str, domains: tuple[str, ...], excluded_domains: tuple[str, ...]) -> str:
    """Return the reason why a run may not fetch a URL; empty if it may. Without `domains`, all others are allowed."""
    try:
        host = extract_host(url)
    except InvalidUrlError as error:
        return str(error)
    if (domains and not is_in_domains(host, domains)) or is_in_domains(host, excluded_domains):
        return f"pages of {host} are outside the domains that this run may fetch"
    return ""
