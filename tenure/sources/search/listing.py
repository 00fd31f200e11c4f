"""Results in JSON whose shape nobody has told: of OpenSearch engines and of the search tools of MCP servers.

Whatever the names around it are, a list of results is a list of objects of which each has an address. The longest such
list is taken, and in each object the first of the names that engines use for address, title, words and date.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from tenure.sources.search.base import Found, found

_ADDRESSES: Final = ("url", "link", "href", "address", "uri", "html_url", "web_url", "permalink", "id")
_TITLES: Final = ("title", "name", "headline", "label")
_WORDS: Final = ("snippet", "summary", "description", "content", "abstract", "excerpt", "text", "body")
_DATES: Final = ("published", "published_date", "publishedDate", "date", "pubDate", "created_at", "updated")
_DEEPEST: Final = 8
"""Levels that are looked into."""
_WEB: Final = re.compile(r"https?://\S+")
_IN_TEXT: Final = re.compile(
    r"\[(?P<title>[^\[\]]{1,300})\]\((?P<linked>https?://[^\s()]+)\)|(?P<bare>https?://[^\s<>()\"'\]]+)"
)


def listed(value: object) -> list[Found]:
    """Return the results in a JSON value, in order; none where it has none."""
    return max(_lists(value, _DEEPEST), key=len, default=[])


def linked(text: str) -> list[Found]:
    """Return the pages that a text names, by links of Markdown or by their addresses."""
    return [
        found((match["linked"] or match["bare"]).rstrip(".,;:!?"), match["title"]) for match in _IN_TEXT.finditer(text)
    ]


def _lists(value: object, deepest: int) -> Iterator[list[Found]]:
    """Yield every list of results in a value."""
    if deepest == 0 or not isinstance(value, dict | list):
        return
    if isinstance(value, list):
        results = [_found(item) for item in value if isinstance(item, dict)]
        yield [result for result in results if _WEB.fullmatch(result.address)]
    for inner in value.values() if isinstance(value, dict) else value:
        yield from _lists(inner, deepest - 1)


def _found(item: Mapping[str, object]) -> Found:
    address = next((said for said in _texts(item, _ADDRESSES) if _WEB.fullmatch(said)), "")
    title, words, date = (next(_texts(item, names), "") for names in (_TITLES, _WORDS, _DATES))
    return found(address, title, words, date)


def _texts(item: Mapping[str, object], names: tuple[str, ...]) -> Iterator[str]:
    """Yield what an object says under some names."""
    for name in names:
        said = item.get(name)
        if isinstance(said, str) and said.strip():
            yield said.strip()
