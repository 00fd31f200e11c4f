"""Find search results in JSON of an unknown schema, as OpenSearch servers and search tools of MCP servers return it.

A list of results is a list of objects that each have a URL, under any key. The longest such list is used, and in each
object the first of the usual keys for URL, title, snippet and date.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from tenure.sources.search.provider import SearchResult, build_result

_URL_KEYS: Final = ("url", "link", "href", "address", "uri", "html_url", "web_url", "permalink", "id")
_TITLE_KEYS: Final = ("title", "name", "headline", "label")
_SNIPPET_KEYS: Final = ("snippet", "summary", "description", "content", "abstract", "excerpt", "text", "body")
_DATE_KEYS: Final = ("published", "published_date", "publishedDate", "date", "pubDate", "created_at", "updated")
_MAX_DEPTH: Final = 8
_URL: Final = re.compile(r"https?://\S+")  # A whole value that is a URL, not a sentence with one.
# "[Bees](https://example.org/bees)", or "https://example.org/bees" alone.
_LINK: Final = re.compile(
    r"\[(?P<title>[^\[\]]{1,300})\]\((?P<linked>https?://[^\s()]+)\)|(?P<bare>https?://[^\s<>()\"'\]]+)"
)


def find_results(value: object) -> list[SearchResult]:
    """Return the results in a JSON value, in order; empty if there are none."""
    return max(_iterate_lists(value, _MAX_DEPTH), key=len, default=[])


def find_links(text: str) -> list[SearchResult]:
    """Return the pages that a text links to, in Markdown or as plain URLs."""
    return [
        build_result((match["linked"] or match["bare"]).rstrip(".,;:!?"), match["title"])
        for match in _LINK.finditer(text)
    ]


def _iterate_lists(value: object, deepest: int) -> Iterator[list[SearchResult]]:
    if deepest == 0 or not isinstance(value, dict | list):
        return
    if isinstance(value, list):
        results = [_build_result(item) for item in value if isinstance(item, dict)]
        yield [result for result in results if _URL.fullmatch(result.url)]
    for inner in value.values() if isinstance(value, dict) else value:
        yield from _iterate_lists(inner, deepest - 1)


def _build_result(item: Mapping[str, object]) -> SearchResult:
    address = next((text for text in _iterate_texts(item, _URL_KEYS) if _URL.fullmatch(text)), "")
    title, words, date = (next(_iterate_texts(item, names), "") for names in (_TITLE_KEYS, _SNIPPET_KEYS, _DATE_KEYS))
    return build_result(address, title, words, date)


def _iterate_texts(item: Mapping[str, object], names: tuple[str, ...]) -> Iterator[str]:
    for name in names:
        value = item.get(name)
        if isinstance(value, str) and value.strip():
            yield value.strip()
