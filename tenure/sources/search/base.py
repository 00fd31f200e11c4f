"""What a search provider is: a query in, addresses out, and errors that say who has to do something.

    SearchError
    ├── LeftOut       nothing was asked: a setting is missing, or the provider has no such pages
    ├── Unavailable   the same search may succeed later
    └── Refused       it will not; a person has to change something

Whatever a provider says is somebody else's text: it is cut to length, freed of markup, and never evidence. A provider
asks for what its engine can filter and says in its docstring what it cannot; dates and domains are looked at again
when everything is fused, for all providers alike.
"""

import html
import re
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final, Protocol

from tenure.contracts.evidence.web import TimeRange, WebSearchRequest

LONGEST_TITLE: Final = 300
LONGEST_SNIPPET: Final = 1_000
"""Characters that are kept, so that fifty results stay far below what may travel."""

_DAYS: Final[dict[TimeRange, int]] = {"day": 1, "week": 7, "month": 31, "year": 366}
_TAG: Final = re.compile(r"</?([A-Za-z][\w:-]*)[^<>]*>|<!--.*?-->", re.DOTALL)
_LANGUAGE: Final = re.compile(r"([a-z]{2,3})(?:[-_][a-z0-9]{1,8})*")
_INLINE: Final = frozenset({"a", "b", "em", "i", "mark", "span", "strong", "sub", "sup"})


class SearchError(Exception):
    """Why a provider gave no answer, in words for a reader."""


class LeftOut(SearchError):
    """A provider is not asked."""


class Unavailable(SearchError):
    """A provider does not answer now.

    Args:
        message: what happened.
        retry_after: seconds for which it wants to be left alone; 0 where it does not say.
    """

    def __init__(self, message: str, *, retry_after: float = 0.0) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class Refused(SearchError):
    """A provider will not answer this search, however often it is asked.

    Args:
        message: what happened.
        status: of its HTTP answer, where it is what refuses.
    """

    def __init__(self, message: str, *, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True)
class Found:
    """A page that a provider offers, as it says it."""

    address: str
    """Its address, not looked at yet."""
    title: str = ""
    """Its title, without markup."""
    snippet: str = ""
    """What the provider shows of it, without markup."""
    published: str = ""
    """When it was published, in any form that dates are written in."""


class SearchProvider(Protocol):
    """Someone who offers pages for a query."""

    @property
    def name(self) -> str:
        """Its name in settings and answers."""
        ...

    @property
    def domains(self) -> tuple[str, ...]:
        """Domains that all its pages are of; empty for any."""
        ...

    async def search(self, request: WebSearchRequest) -> list[Found]:
        """Return what it offers, best first.

        Raises:
            SearchError: it gave no answer.
        """
        ...


def found(address: str | None, title: str | None = "", snippet: str | None = "", published: str | None = "") -> Found:
    """Return a result out of a provider's words; each may be missing."""
    return Found(
        address or "", plain(title or "", LONGEST_TITLE), plain(snippet or "", LONGEST_SNIPPET), (published or "")[:40]
    )


def plain(marked: str, most: int) -> str:
    """Return the words of a text with markup and entities, cut to a number of characters."""
    words = _TAG.sub(lambda tag: "" if (tag[1] or "").lower() in _INLINE else " ", marked[: most * 20])
    return " ".join(html.unescape(words).split())[:most]


def oldest(time_range: TimeRange, today: date) -> date:
    """Return the first day of a time range that ends today."""
    return today - timedelta(days=_DAYS[time_range])


def restricted(request: WebSearchRequest) -> str:
    """Return the query with the operators that most engines of the whole web know for wanted and unwanted domains."""
    wanted = " OR ".join(f"site:{domain}" for domain in request.domains)
    wanted = f"({wanted})" if len(request.domains) > 1 else wanted
    return " ".join(filter(None, (request.query, wanted, *(f"-site:{domain}" for domain in request.excluded_domains))))


def shortened(query: str, characters: int) -> str:
    """Return as many whole words of a query as fit into a number of characters."""
    if len(query) <= characters:
        return query
    return query[: characters + 1].rpartition(" ")[0] or query[:characters]


def primary(language: str) -> str:
    """Return the language of a BCP 47 tag without region and script; empty for what is no tag."""
    tag = _LANGUAGE.fullmatch(language.strip().lower())
    return tag[1] if tag else ""
