"""Find the URLs that a text contains, so that a model reads only pages that a document or a person has named.

A model that obeys a hostile text could put what it knows into a URL and have it requested. Therefore a URL counts as
known only if a document contains exactly this URL. Two URLs are the same if they differ only in the case of scheme and
host, in the notation of an international host, in a default port, in an empty path or in a fragment; path and query are
compared character by character.
"""

import re
from collections.abc import Iterable

from tenure.algorithms.text.urls import InvalidUrlError, parse_url

# "https://example.org/a?b=c", "http://[::1]/", up to a blank, a quotation mark or a bracket.
_URL = re.compile(r"https?://(?:\[[0-9A-F:.]{2,45}\])?[^\s\x00-\x1f<>\"`{}|\\^\[\]“”«»]{1,4000}", re.IGNORECASE)
# Path and query of "https://example.org/a?b=c#d".
_TARGET = re.compile(r"https?://[^/?#]*(?P<path>[^?#]*)(?P<query>\?[^#]*)?", re.IGNORECASE)
_SENTENCE_MARKS = ".,;:!?'*_~\u2018\u2019\u2026\u3002\uff0c\u3001\uff1b\uff1a\uff01\uff1f\uff09\u300d\u300f\u300b"
# "example.org", "https://example.org/a", not the host of an e-mail address.
_HOST_NAME = re.compile(
    r"(?<![\w.@-])(?:https?://)?((?:[\w-]{1,63}\.)+\w{2,63}\.?)(?::\d{1,5})?([/?]\S)?", re.IGNORECASE
)
_ESCAPES = re.compile(r"(?:%[0-9A-F]{2})+", re.IGNORECASE)  # "%65%78".
_DOTS = str.maketrans("\u3002\uff0e\uff61", "...")
"""Dots of other scripts, which separate the labels of a host as well."""
_MAX_DECODINGS = 3
"""Number of times that the escapes of a query are decoded."""


def normalize_url(url: str) -> str:
    """Return the form in which URLs are compared.

    Raises:
        InvalidUrlError: the string is not the URL of a web page, or is ambiguous.
    """
    origin = parse_url(url).origin
    match = _TARGET.match(url.strip())
    assert match, "the URL was parsed"
    return f"{origin}{match['path'] or '/'}{match['query'] or ''}"


def extract_urls(text: str) -> frozenset[str]:
    """Return the normalised URLs of a text: each unchanged, and without the marks of the sentence after it.

    No other part of a URL is one: the length of a beginning would be a choice of the reader.
    """
    urls = set()
    for candidate in dict.fromkeys(_URL.findall(text)):
        for url in {candidate, _strip_sentence_marks(candidate)}:
            try:
                urls.add(normalize_url(url))
            except InvalidUrlError:
                continue
    return frozenset(urls)


def is_named_by_query(url: str, query: str, question: str) -> bool:
    """Return whether a search result repeats an address of its query that the person who asked did not name.

    Some search services return what was typed as a result. All pages of a host are meant if the query names a page of
    it, and only its start page if the query names the host alone.
    """
    try:
        parts = parse_url(url)
    except InvalidUrlError:
        return False
    pages, hosts = _find_hosts(query)
    is_named = parts.host in pages or (parts.host in hosts and parts.target == "/")
    return is_named and parts.host not in list_hosts(question)


def list_hosts(text: str) -> frozenset[str]:
    """Return the hosts that a text names, alone or in a URL."""
    return frozenset[str]().union(*_find_hosts(text))


def _find_hosts(text: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the hosts of which a text names a page, and those that it names alone."""
    pages: set[str] = set()
    hosts: set[str] = set()
    for form in _decode_escapes(text):
        for match in _HOST_NAME.finditer(form):
            try:
                host = parse_url(f"http://{match[1]}").host
            except InvalidUrlError:
                continue
            (pages if match[2] else hosts).add(host)
    return frozenset(pages), frozenset(hosts)


def _decode_escapes(text: str) -> Iterable[str]:
    """Return a text, and the text with its escapes decoded once, twice and so on."""
    forms = [text.translate(_DOTS)]
    while len(forms) <= _MAX_DECODINGS and (decoded := decode_percent(forms[-1])) != forms[-1]:
        forms.append(decoded.translate(_DOTS))
    return forms


def decode_percent(text: str) -> str:
    """Return a text with its percent escapes decoded."""
    return _ESCAPES.sub(lambda match: bytes.fromhex(match[0].replace("%", "")).decode("utf-8", "replace"), text)


def _strip_sentence_marks(url: str) -> str:
    """Return a URL without the marks after it, and without closing brackets that it does not open."""
    while url and (url[-1] in _SENTENCE_MARKS or (url[-1] == ")" and url.count(")") > url.count("("))):
        url = url[:-1]
    return url
