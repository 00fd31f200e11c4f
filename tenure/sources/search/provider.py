"""Define search providers: they take a query and return URLs, or raise an error that says what to do.

    SearchError
    ├── ProviderSkipped     no request was sent: a setting is missing, or the provider has no such pages
    ├── SearchUnavailable   the same search may succeed later
    └── SearchRefused       the search fails until a person changes something

Results are untrusted text: they are truncated, stripped of markup, and never evidence. A provider passes on the
filters that its API supports and documents the others; dates and domains are checked again when the results of all
providers are fused.
"""

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Final, Protocol

from tenure.algorithms.text.character_references import decode_character_references
from tenure.contracts.choices import TimeRange
from tenure.contracts.evidence.web import WebSearchRequest

MAX_TITLE_LENGTH: Final = 300
MAX_SNIPPET_LENGTH: Final = 1_000
"""Maximum length of a snippet: fifty results stay far below the size limit of an activity result."""

_DAYS: Final[dict[TimeRange, int]] = {"day": 1, "week": 7, "month": 31, "year": 366}
# "<b>", "</span>", "<!-- a comment -->"; not "a < b".
_TAG: Final = re.compile(r"</?([A-Za-z][\w:-]*+)[^<>]*+>|<!--(?:(?!<!--).)*?-->", re.DOTALL)
_LANGUAGE: Final = re.compile(r"([a-z]{2,3})(?:[-_][a-z0-9]{1,8})*")  # "de" of "de-AT".
_INLINE: Final = frozenset({"a", "b", "em", "i", "mark", "span", "strong", "sub", "sup"})


class SearchError(Exception):
    """Base of the errors of a provider; the message is shown to users."""


class ProviderSkipped(SearchError):
    """A provider that is not queried."""


class SearchUnavailable(SearchError):
    """A provider that does not answer now; `retry_after` is 0 if the server does not say how long to wait."""

    def __init__(self, message: str, *, retry_after: float = 0.0) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class SearchRefused(SearchError):
    """A provider that rejects the search permanently."""

    def __init__(self, message: str, *, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True)
class SearchResult:
    """A page that a provider returns, not yet checked."""

    url: str
    """URL as the provider writes it."""
    title: str = ""
    """Title, without markup."""
    snippet: str = ""
    """Excerpt or summary, without markup."""
    published: str = ""
    """Date of publication, in any notation."""


class SearchProvider(Protocol):
    """A service that returns pages for a query."""

    @property
    def name(self) -> str:
        """Name in settings and replies."""

    @property
    def domains(self) -> tuple[str, ...]:
        """Domains of all its pages; empty for any domain."""

    async def search(self, request: WebSearchRequest) -> list[SearchResult]:
        """Return the results of a search, best first.

        Raises:
            SearchError: the provider gave no answer.
        """


def build_result(
    url: str | None, title: str | None = "", snippet: str | None = "", published: str | None = ""
) -> SearchResult:
    """Return a result from fields of a response, each of which may be missing."""
    return SearchResult(
        url=url or "",
        title=strip_markup(title or "", MAX_TITLE_LENGTH),
        snippet=strip_markup(snippet or "", MAX_SNIPPET_LENGTH),
        published=(published or "")[:40],
    )


def strip_markup(markup: str, max_length: int) -> str:
    """Return the text of HTML, with entities decoded, truncated to a number of characters."""
    text = _TAG.sub(lambda tag: "" if (tag[1] or "").lower() in _INLINE else " ", markup[: max_length * 20])
    return " ".join(decode_character_references(text).split())[:max_length]


def compute_first_day(time_range: TimeRange, today: date) -> date:
    """Return the first day of a time range that ends today."""
    return today - timedelta(days=_DAYS[time_range])


def format_first_day(request: WebSearchRequest) -> str:
    """Return the first day of the request's time range in ISO 8601, or an empty text without a time range."""
    if request.time_range is None:
        return ""
    return compute_first_day(request.time_range, datetime.now(UTC).date()).isoformat()


def add_site_operators(request: WebSearchRequest) -> str:
    """Return the query with `site:` operators for the wanted and excluded domains."""
    sites = " OR ".join(f"site:{domain}" for domain in request.domains)
    sites = f"({sites})" if len(request.domains) > 1 else sites
    return " ".join(filter(None, (request.query, sites, *(f"-site:{domain}" for domain in request.excluded_domains))))


def truncate_query(query: str, characters: int) -> str:
    """Return the whole words of a query that fit into a number of characters."""
    if len(query) <= characters:
        return query
    return query[: characters + 1].rpartition(" ")[0] or query[:characters]


def parse_primary_language(language: str) -> str:
    """Return the language of a BCP 47 tag without region and script, or an empty text if the tag is invalid."""
    tag = _LANGUAGE.fullmatch(language.strip().lower())
    return tag[1] if tag else ""
