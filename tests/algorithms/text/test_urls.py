"""Tests of URL parsing and canonicalisation."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.algorithms.text.urls import (
    MAX_URL_CHARACTERS,
    InvalidUrlError,
    canonicalize_url,
    extract_host,
    find_domain_violation,
    find_lone_url,
    is_in_domains,
    parse_url,
    resolve_url,
)

SAME = {
    "http://example.com/": [
        *(
            "http://example.com",
            "HTTP://Example.COM",
            "http://example.com:80",
            "http://example.com:",
            " http://example.com/ ",
        ),
        *("http://example.com/#part", "http://example.com./", "http://example.com/?", "http://example.com/a/.."),
        *(
            "http://example.com/../..",
            "http://example.com/%2e%2E/",
            "http://ｅｘａｍｐｌｅ。com/",
            "http://exam\u200bple.com/",
        ),
    ],
    "https://example.com/a/b": [
        *(
            "https://example.com:443/a/b",
            "https://example.com/a/./b",
            "https://example.com/a/x/../b",
            "https://example.com/%61/b",
        ),
        *(
            "https://example.com/a;jsessionid=1A2B/b",
            "https://example.com/a/b?utm_source=x&UTM_Medium=y&fbclid=1&gclid=2",
        ),
    ],
    "https://example.com/?a=1&b=2&b=1": ["https://example.com/?b=2&a=1&b=1", "https://example.com?a=1&&b=2&b=1#x?y"],
    "https://example.com/?z&a": ["https://example.com/?z&a"],
    "https://xn--bcher-kva.example/%C3%BC%20x?q=%C3%A4%3D": [
        "https://Bücher.example/ü x?q=%c3%a4%3d",
        "https://bücher.example/%c3%bc%20x?q=ä%3D",
    ],
    "https://example.com/100%25": ["https://example.com/100%", "https://example.com/100%25"],
    "https://example.com:8443/a//b/": ["https://example.com:08443/a//b/", "https://example.com:8443/a//b/c/.."],
    "http://[2001:db8::1]:81/": ["http://[2001:DB8:0:0:0:0:0:1]:81", "http://[2001:db8::0.0.0.1]:81/"],
    "http://192.0.2.1/": ["http://192.0.2.1", "http://１９２.0.2.1./"],
    "https://under_score.example/": ["https://under_score.example"],
}

NONE = {
    "nothing": "",
    "no scheme": "example.com/a",
    "relative": "/a",
    "other scheme": "ftp://example.com/",
    "script": "javascript:alert(1)",
    "file": "file:///etc/hosts",
    "no slashes": "http:example.com",
    "no host": "http:///a",
    "only a port": "http://:80/",
    "user": "http://user@example.com/",
    "password": "http://user:secret@example.com/",
    "host for a user": "http://example.com@192.0.2.1/",
    "backslash": "http://example.com\\@192.0.2.1/",
    "line break": "http://example.com/\r\nHost: other",
    "tab": "http://exa\tmple.com/",
    "null": "http://example.com/\0",
    "escaped host": "http://%31%32%37.0.0.1/",
    "space in the host": "http://exam ple.com/",
    "empty label": "http://a..b/",
    "long label": f"http://{'a' * 64}.example/",
    "long name": f"http://{'a.' * 130}example/",
    "direction override": "http://exa\u202emple.com/",
    "decimal": "http://2130706433/",
    "octal": "http://0177.0.0.1/",
    "hexadecimal": "http://0x7f000001/",
    "hexadecimal parts": "http://0x7f.0x0.0x0.0x1/",
    "short": "http://127.1/",
    "too large": "http://256.0.0.1/",
    "five numbers": "http://1.2.3.4.5/",
    "open bracket": "http://[::1/",
    "no address in brackets": "http://[example.com]/",
    "behind brackets": "http://[::1]x/",
    "one interface": "http://[fe80::1%25eth0]/",
    "scope": "http://[fe80::1%eth0]/",
    "port 0": "http://example.com:0/",
    "large port": "http://example.com:65536/",
    "port of letters": "http://example.com:http/",
    "digits of another script": "http://example.com:８０/",
    "long": "http://example.com/" + "a" * MAX_URL_CHARACTERS,
}


@pytest.mark.parametrize(("form", "written"), [(form, one) for form, ways in SAME.items() for one in ways])
def test_equivalent_urls_have_one_canonical_form(form: str, written: str) -> None:
    """Case, default ports, dots, escapes, fragments, tracking and parameter order do not change the page."""
    assert canonicalize_url(written) == form
    assert canonicalize_url(form) == form


@pytest.mark.parametrize("written", NONE.values(), ids=NONE)
def test_invalid_and_ambiguous_urls_are_rejected(written: str) -> None:
    """Every string that is not clearly the URL of a web page is rejected."""
    with pytest.raises(InvalidUrlError):
        canonicalize_url(written)


def test_error_message_omits_the_password() -> None:
    """The error of a URL with a password gives the reason without the URL."""
    with pytest.raises(InvalidUrlError) as caught:
        canonicalize_url("http://user:hunter2@example.com/")

    assert "hunter2" not in str(caught.value)
    assert caught.value.reason == "it contains a user name or a password"


@given(st.text(max_size=40), st.text(max_size=40))
def test_canonicalisation_is_idempotent(path: str, query: str) -> None:
    """For any URL the canonical form is stable."""
    try:
        form = canonicalize_url(f"https://example.com/{path}?{query}")
    except InvalidUrlError:
        return

    assert form.isascii()
    assert canonicalize_url(form) == form


def test_url_is_split_into_parts() -> None:
    """Scheme, host, port and target are separate, and the origin omits a default port."""
    parts = parse_url("https://[2001:db8::1]/a?b=c")

    assert parts == ("https", "2001:db8::1", 443, "/a?b=c")
    assert parts.origin == "https://[2001:db8::1]"
    assert parse_url("http://example.com:443").origin == "http://example.com:443"
    assert extract_host("https://Example.com/a") == "example.com"


@pytest.mark.parametrize(
    ("reference", "goal"),
    [
        ("", "https://example.com/a/b?c=d"),
        ("#part", "https://example.com/a/b?c=d"),
        ("e", "https://example.com/a/e"),
        ("../e?f=g", "https://example.com/e?f=g"),
        ("?f=g", "https://example.com/a/b?f=g"),
        ("/e", "https://example.com/e"),
        ("//other.example/e", "https://other.example/e"),
        ("http://other.example:80/e", "http://other.example/e"),
    ],
)
def test_references_are_resolved_against_the_page(reference: str, goal: str) -> None:
    """A link or a redirect is resolved against the URL of its page."""
    assert resolve_url("https://example.com/a/b?c=d", reference) == goal


@pytest.mark.parametrize("reference", ["file:///etc/hosts", "//user@host/", "//", "javascript:1", "\\\\host\\a"])
def test_non_web_references_are_rejected(reference: str) -> None:
    """A reference that is invalid or leaves the web is rejected."""
    with pytest.raises(InvalidUrlError):
        resolve_url("https://example.com/", reference)


@pytest.mark.parametrize("written", ["example.com", ".example.com", "*.example.com", " EXAMPLE.com. "])
def test_domain_includes_subdomains(written: str) -> None:
    """A domain matches itself and its subdomains, and no host with the same suffix only."""
    assert is_in_domains("example.com", (written,))
    assert is_in_domains("www.example.com", ("other.example", written))
    assert not is_in_domains("badexample.com", (written,))
    assert not is_in_domains("example.com", ("www.example.com", "", "no domain"))


@pytest.mark.parametrize(
    ("address", "problem"),
    [
        ("https://a.example.org/x", ""),
        ("https://b.example.org/x", "pages of b.example.org are outside the domains that this run may fetch"),
        ("https://example.net/x", "pages of example.net are outside the domains that this run may fetch"),
        ("ftp://a.example.org/x", "invalid URL: its scheme 'ftp' is not http or https"),
    ],
)
def test_urls_outside_the_allowed_domains_are_rejected(address: str, problem: str) -> None:
    """A page must be in an allowed domain and in no excluded domain."""
    assert find_domain_violation(address, ("example.org",), ("b.example.org",)) == problem


@pytest.mark.parametrize(
    ("text", "url"),
    [
        (" https://a.org/issues/12#issue-1\n", "https://a.org/issues/12#issue-1"),
        ("HTTP://a.org", "HTTP://a.org"),
        ("https://me:word@a.org/", "https://me:word@a.org/"),
        ("See https://a.org/issues/12", ""),
        ("https://a.org/1 https://a.org/2", ""),
        ("ssh://a.org/1", ""),
        ("https://", ""),
    ],
)
def test_a_url_alone_is_found(text: str, url: str) -> None:
    """A text with anything besides a URL of the web is no URL; an invalid URL is one, so that its reader refuses it."""
    assert find_lone_url(text) == url
