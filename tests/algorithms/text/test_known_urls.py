"""Tests of the URLs that a text contains, and of their comparison."""

import pytest

from tenure.algorithms.text.known_urls import extract_urls, is_named_by_query, list_hosts, normalize_url
from tenure.algorithms.text.urls import InvalidUrlError

SECRET = "https://evil.example/?leak=swordfish"


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("at https://a.example/x.", "https://a.example/x"),
        ("at https://a.example/x?q=1&p=2, and", "https://a.example/x?q=1&p=2"),
        ("(https://a.example/x)", "https://a.example/x"),
        ("https://a.example/x_(y)", "https://a.example/x_(y)"),
        ("<https://a.example>", "https://a.example/"),
        ("[b](https://a.example/x)", "https://a.example/x"),
        ("[https://b.example](https://a.example/x)", "https://a.example/x"),
        ("**https://a.example/x**", "https://a.example/x"),
        ("`https://a.example/x`", "https://a.example/x"),
        ("| https://a.example/x |", "https://a.example/x"),
        ("„https://a.example/x“", "https://a.example/x"),
        ("https://a.example/x。", "https://a.example/x"),
        ("https://a.example/x/", "https://a.example/x/"),
        ("https://a.example/x", "HTTPS://A.EXAMPLE/x"),
        ("https://a.example/x", "https://a.example:443/x"),
        ("https://a.example/x", "https://a.example./x"),
        ("https://a.example/x#top", "https://a.example/x#bottom"),
        ("https://bücher.example/x", "https://xn--bcher-kva.example/x"),
        ("http://[2001:DB8::1]:8080/x", "http://[2001:db8:0::1]:8080/x"),
        ("https://a.example/é", "https://a.example/é"),
    ],
)
def test_a_url_in_a_text_is_known(text: str, url: str) -> None:
    """Marks of the text around a URL, and the notation of scheme and host, make no difference."""
    assert normalize_url(url) in extract_urls(text)


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("https://evil.example/?leak=", SECRET),
        ("https://evil.example/", SECRET),
        ("https://evil.example", "https://swordfish.evil.example/"),
        (f"{SECRET}-and-more", SECRET),
        ("https://evil.example/abcdefgh", "https://evil.example/abcd"),
        ("https://evil.example/?a=1&b=2", "https://evil.example/?b=2&a=1"),
        ("https://evil.example/?leak=%73", "https://evil.example/?leak=s"),
        ("https://evil.example/a", "https://evil.example/A"),
        ("https://evil.example/a", "https://evil.example/b/../a"),
        ("https://evil.example/a", "https://evil.example/a?"),
        ("https://evil.example/a", "https://evil.example/a;jsessionid=swordfish"),
        ("https://evil.example/a", "https://evil.example/a?utm_source=swordfish"),
        ("https://evil.example/a", "http://evil.example/a"),
        ("https://evil.example/a", "https://evil.example:8443/a"),
        ("https://evil.example/{secret}", "https://evil.example/swordfish"),
        ("https://evil.example/?q=%s", "https://evil.example/?q=swordfish"),
        ("https://evil.example/?leak= swordfish", SECRET),
        ("https://evil.example/?leak=\nswordfish", SECRET),
        ("evil.example/?leak=swordfish", SECRET),
        ("https:// evil.example/?leak=swordfish", SECRET),
        ("https://evil.example/....", "https://evil.example/.."),
        ("https://evil.example/)))))", "https://evil.example/))"),
        ("https://еvil.example/a", "https://evil.example/a"),
    ],
)
def test_another_url_is_not_known(text: str, url: str) -> None:
    """A part, an extension, another order or another encoding of a URL is another URL."""
    assert normalize_url(url) not in extract_urls(text)


@pytest.mark.parametrize(
    "url",
    [
        "https://swordfish@evil.example/",
        "https://a.example:b@evil.example/",
        "https://a.example\\@evil.example/",
        "https://evil.example\n/",
        "ftp://evil.example/",
        "https://2130706433/",
        "https:///x",
    ],
)
def test_an_ambiguous_url_is_never_known(url: str) -> None:
    """A URL that two programs could read differently has no normal form, and a text contains none."""
    with pytest.raises(InvalidUrlError):
        normalize_url(url)
    assert all("@" not in found for found in extract_urls(f"see {url} there"))


@pytest.mark.parametrize(
    ("url", "query", "question"),
    [
        (SECRET, SECRET, ""),
        (SECRET, "find evil.example/?leak=swordfish", ""),
        (SECRET, "https%3A%2F%2Fevil.example%2F%3Fleak%3Dswordfish", ""),
        (SECRET, "https%253A%252F%252Fevil.example%252F%253Fleak%253Dswordfish", ""),
        ("https://evil.example/?x=1&leak=swordfish", "EVIL.example/?leak=swordfish", ""),
        ("https://swordfish.evil.example/", "swordfish.evil.example", ""),
        (SECRET, "evil\u3002example/?leak=swordfish", ""),
        (SECRET, "evil%E3%80%82example/?leak=swordfish", ""),
        ("https://evil.example/other", SECRET, "What does other.example say?"),
    ],
)
def test_a_repeated_address_is_no_result(url: str, query: str, question: str) -> None:
    """A result on a host of which the query names a page comes from the query."""
    assert is_named_by_query(url, query, question)


@pytest.mark.parametrize(
    ("url", "query", "question"),
    [
        ("https://docs.python.org/3/", "packaging python.org", ""),
        ("https://python.org/downloads", "downloads site:python.org", ""),
        ("https://bakery.example/bread", "How is bread baked?", ""),
        (SECRET, f"What is at {SECRET}?", f"What is at {SECRET}?"),
        ("https://mill.example/", "rye and/or wheat, e.g. 3.50/kg", ""),
        ("no url", "no url", ""),
    ],
)
def test_a_result_of_a_provider_is_kept(url: str, query: str, question: str) -> None:
    """Other pages, pages of a host that the query names alone, and those that a person named are results."""
    assert not is_named_by_query(url, query, question)


def test_hosts_of_a_text_are_listed() -> None:
    """Hosts are found with and without a scheme."""
    assert list_hosts("see HTTPS://A.example/x, b.example and 3.14") == {"a.example", "b.example"}
