"""Requests and replies of web search, page fetching and page ingestion."""

from typing import Literal

from pydantic import Field

from tenure.contracts.base import Contract, RunId, SourceId
from tenure.contracts.choices import TimeRange

WEB_PREFIX = "web/"
"""Prefix of the names of web page corpora; names given by people contain no slash."""

ProviderStatus = Literal["answered", "left_out", "failed"]
"""Result of a request to a search provider: answered, possibly without hits; not configured; or failed."""

FetchStatus = Literal["fetched", "unchanged", "cached", "refused", "failed"]
"""Result of a fetch: the body was transferred; the server confirmed the cached copy; the cached copy was recent enough;
a rule forbade the request; or the page could not be retrieved."""

PageFlaw = Literal["error_page", "paywall", "empty", "near_duplicate", "instructions"]
"""Quality problem of a page: an error page with a success status; a paywall; hardly any text; a near duplicate of
another page; or instructions to its readers (prompt injection)."""


PageStatus = Literal["read", "left_out", "refused", "failed"]
"""Result for a page offered to a run: ingested as a source; fetched but not used; forbidden by a rule; or not
retrievable."""


class WebDomains(Contract):
    """Domains that requests and redirects may lead to."""

    domains: tuple[str, ...] = ()
    """Allowed domains, subdomains included; empty for any."""
    excluded_domains: tuple[str, ...] = ()


class WebLimits(WebDomains):
    """Readable part of the web."""

    providers: tuple[str, ...] = ()
    """Names of the search providers to use; empty for all configured ones."""
    time_range: TimeRange | None = None
    """Maximum age of a page."""
    language: str = ""
    """Language of the pages as a BCP 47 tag; empty for any."""


class WebScope(WebLimits):
    """Readable part of the web and the storage of its pages."""

    run: RunId = RunId("")
    """Id of the run, set when it starts."""
    cycle: int = 0
    """Research cycle of the reading; 0 before the first."""
    urls: tuple[str, ...] = ()
    """Pages that the person names, which are read first."""
    max_pages: int = Field(default=5, ge=1, le=30)
    """Maximum number of pages read per search."""

    @property
    def corpus(self) -> str:
        """Corpus of the pages that the run has read; its name cannot clash with one chosen by a person."""
        return f"{WEB_PREFIX}{self.run}"


MAX_WEB_QUERY_CHARACTERS = 4_000
"""Maximum length of a query to search providers."""


class WebSearchRequest(WebLimits):
    """A query to search providers."""

    query: str = Field(min_length=1, max_length=MAX_WEB_QUERY_CHARACTERS)
    question: str = ""
    """Question of the person, whose addresses may be results; an address that only the query names is none."""
    k: int = Field(default=10, ge=1, le=50)


class WebHit(Contract):
    """A page returned by search providers."""

    url: str
    """Canonical URL."""
    title: str = ""
    """Title given by the best-ranking provider."""
    snippet: str = ""
    """Snippet of the best-ranking provider; not evidence."""
    published: str = ""
    """Publication date, ISO 8601; empty if unknown."""
    ranks: dict[str, int] = {}
    """Rank from 1, by provider name."""
    score: float = 0.0
    """Score fused over the providers; comparable only within one search."""


class ProviderOutcome(Contract):
    """Result of a request to one search provider."""

    provider: str
    status: ProviderStatus
    hits: int = 0
    note: str = ""
    """Reason for leaving it out or for its failure, for readers of the report."""
    transient: bool = False
    """Whether the failure may be temporary."""
    seconds: float = 0.0


class WebSearchReply(Contract):
    """Results of the search providers."""

    hits: tuple[WebHit, ...] = ()
    """Pages with distinct URLs, best first."""
    outcomes: tuple[ProviderOutcome, ...] = ()

    @property
    def has_failed(self) -> bool:
        """Whether no provider answered, so that an empty result means nothing."""
        return not any(answer.status == "answered" for answer in self.outcomes)


class FetchRequest(WebDomains):
    """Pages to fetch into the page cache."""

    run: RunId
    urls: tuple[str, ...] = Field(max_length=100)
    """URLs, most important first."""
    revalidate: bool = False
    """Whether a cached copy is used only after its server has confirmed it, or if the server does not answer."""


class FetchedPage(Contract):
    """Result of fetching one page."""

    url: str
    status: FetchStatus
    canonical_url: str = ""
    """Canonical URL after redirects, which is the key in the page cache; empty if there is no page."""
    media_type: str = ""
    """Media type, such as `text/html`."""
    size: int = 0
    """Size of the decompressed body in bytes."""
    note: str = ""
    """Reason for the refusal or failure, for readers of the report."""


class FetchReply(Contract):
    """Results of fetching pages."""

    pages: tuple[FetchedPage, ...] = ()
    """One entry per URL, in the order of the request."""


class PageTextRequest(Contract):
    """A cached page whose text is read as a whole."""

    url: str
    """Canonical URL."""
    max_characters: int
    """Length above which it is refused."""


class WebSource(Contract):
    """A page ingested into a corpus."""

    source: SourceId
    """Source id in the knowledge base."""
    url: str
    """Canonical URL."""
    title: str
    published: str = ""
    """Publication date, ISO 8601; empty if unknown."""
    chunks: int = 0
    quality: float = Field(default=1.0, ge=0, le=1)
    """Quality score from its domain, age and flaws."""
    flaws: tuple[PageFlaw, ...] = ()
    note: str = ""
    """Quality problems in words, for readers of the report."""


class ReadPagesRequest(Contract):
    """Cached pages to ingest into a corpus."""

    corpus: str
    """Name of the corpus, created if necessary."""
    query: str
    """Query that found the pages."""
    cycle: int = 0
    """Research cycle that found the pages."""
    hits: tuple[WebHit, ...] = ()
    fetched: tuple[FetchedPage, ...] = ()
    outcomes: tuple[ProviderOutcome, ...] = ()
    """Results of the search providers."""
    rendered: bool = False
    """Whether a browser has rendered them since they were read; pages that were not usable are then read again."""


class ReadPagesReply(Contract):
    """Result of ingesting pages."""

    sources: tuple[WebSource, ...] = ()
    """Pages that are now sources of the corpus."""
    left_out: tuple[WebSource, ...] = ()
    """Fetched pages that were not used."""
    unrendered: tuple[str, ...] = ()
    """URLs of pages that contain no text until a browser runs their scripts."""


class ProviderUsage(Contract):
    """Use of a search provider in a run."""

    provider: str
    """Name of the provider."""
    searches: int = 0
    """Number of searches sent to it."""
    answered: int = 0
    """Number of searches it answered, possibly without hits."""
    configured: bool = True
    """Whether the provider is configured."""
    note: str = ""
    """Last reason for a missing answer."""


class WebPage(Contract):
    """A page offered to a run, with the result."""

    url: str
    """Canonical URL."""
    title: str = ""
    """Title."""
    status: PageStatus
    """Result for the page."""
    quality: float = Field(default=1.0, ge=0, le=1)
    """Quality score from its domain, age and flaws."""
    flaws: tuple[PageFlaw, ...] = ()
    """Quality problems."""
    note: str = ""
    """Reason for its exclusion, or its quality problems."""


class WebReport(Contract):
    """Summary of a run's use of the web."""

    providers: tuple[ProviderUsage, ...] = ()
    """Search providers, by name."""
    pages: tuple[WebPage, ...] = ()
    """Pages by URL, sources first; at most 150."""
    omitted: int = 0
    """Number of pages not listed."""

    @property
    def is_unanswered(self) -> bool:
        """Whether no provider answered, so that a lack of pages means nothing."""
        return not any(engine.answered for engine in self.providers)
