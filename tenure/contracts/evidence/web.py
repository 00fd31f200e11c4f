"""The web: what is searched for, which pages are fetched, and what of them became evidence."""

from typing import Literal

from pydantic import Field

from tenure.contracts.base import Contract, RunId, SourceId

WEB_PREFIX = "web/"
"""What names of corpora of the web's pages begin with; those that people make have no slash."""

WRITING = 1_000
"""The cycle of pages that are read while a report is written: later than any cycle of research."""

TimeRange = Literal["day", "week", "month", "year"]
"""How old a page may be."""

ProviderStatus = Literal["answered", "left_out", "failed"]
"""What became of asking a provider: it answered, also with nothing; it is not set up; or it did not answer."""

FetchStatus = Literal["fetched", "unchanged", "cached", "refused", "failed"]
"""What became of a page: its body was transferred; the server said that the one at hand is current; the one at hand is
recent enough that nobody was asked; a rule forbade the request; or it could not be had."""

Flaw = Literal["error_page", "paywall", "empty", "near_duplicate", "instructions"]
"""What makes a page worth less than it seems: it reports an error though its status says otherwise; it shows a
beginning and sells the rest; it has hardly any words; it says what another page says; or it tries to give orders to
who reads it."""


PageStatus = Literal["read", "left_out", "refused", "failed"]
"""What became of a page for a report: it is a source; it was fetched and is none; a rule forbade to fetch it; or it
could not be had."""


class WebScope(Contract):
    """What of the web a run may read, and where what it reads is kept."""

    run: RunId = RunId("")
    """The run; it names itself when it begins."""
    cycle: int = 0
    """The cycle of research in which is read; 0 before the first, `WRITING` after the last."""
    pages: int = Field(default=5, ge=1, le=30)
    """Pages read for one search at the most."""
    providers: tuple[str, ...] = ()
    """Providers to ask, by their names in the settings; empty for all that are set up."""
    time_range: TimeRange | None = None
    """How old a page may be."""
    domains: tuple[str, ...] = ()
    """Domains the pages have to be of, subdomains included; empty for any."""
    excluded_domains: tuple[str, ...] = ()
    """Domains they must not be of."""
    language: str = ""
    """Language of the pages as a BCP 47 tag; empty for any."""
    archive: str = ""
    """Address of an archive of the web, with `{address}` and perhaps `{date}` in it; empty for none."""

    @property
    def corpus(self) -> str:
        """The corpus of the pages that the run has read; no person can give one such a name."""
        return f"{WEB_PREFIX}{self.run}"


class WebSearchRequest(Contract):
    """A question to search engines."""

    query: str = Field(min_length=1, max_length=4_000)
    """What to look for."""
    k: int = Field(default=10, ge=1, le=50)
    """Addresses wanted."""
    providers: tuple[str, ...] = ()
    """Providers to ask, by their names in the settings; empty for all that are set up."""
    time_range: TimeRange | None = None
    """How old a page may be."""
    domains: tuple[str, ...] = ()
    """Domains the pages have to be of, subdomains included; empty for any."""
    excluded_domains: tuple[str, ...] = ()
    """Domains they must not be of."""
    language: str = ""
    """Language of the pages as a BCP 47 tag; empty for any."""
    safe: bool = True
    """Whether pages for adults are left out, where a provider can do so."""


class WebHit(Contract):
    """A page that search engines offer."""

    address: str
    """Canonical address."""
    title: str = ""
    """Its title, as the best provider gives it."""
    snippet: str = ""
    """What the best provider shows of it; no evidence."""
    published: str = ""
    """When it was published, ISO 8601; empty where no provider says so."""
    ranks: dict[str, int] = {}
    """Rank from 1 by the name of each provider that offers it."""
    score: float = 0.0
    """Fused over the providers; comparable within one search only."""


class ProviderAnswer(Contract):
    """What became of asking one provider."""

    provider: str
    """Its name."""
    status: ProviderStatus
    """What became of it."""
    hits: int = 0
    """Addresses it gave."""
    note: str = ""
    """Why it was left out or failed, in words for a reader."""
    passing: bool = False
    """Whether the failure may be over a moment later."""
    seconds: float = 0.0
    """How long it took."""


class WebSearchReply(Contract):
    """What search engines found."""

    hits: tuple[WebHit, ...] = ()
    """Pages, best first, each address once."""
    answers: tuple[ProviderAnswer, ...] = ()
    """What became of each provider."""

    @property
    def failed(self) -> bool:
        """Whether nobody answered: then that nothing was found says nothing."""
        return not any(answer.status == "answered" for answer in self.answers)


class FetchRequest(Contract):
    """Pages to be fetched into the page cache."""

    run: RunId
    """The run that wants them."""
    addresses: tuple[str, ...] = Field(max_length=100)
    """Their addresses, most wanted first."""
    confirm: bool = False
    """Whether servers are asked for pages at hand, too, unless they were so within the hour."""


class FetchedPage(Contract):
    """What became of one page."""

    address: str
    """The address that was asked for."""
    status: FetchStatus
    """What became of it."""
    page: str = ""
    """Canonical address of what was delivered, after redirects: its key in the page cache; empty if there is none."""
    media_type: str = ""
    """What it is, such as `text/html`."""
    size: int = 0
    """Bytes of the body, unpacked."""
    transferred: int = 0
    """Bytes that came over the wire for it."""
    code: int = 0
    """Status of the last answer; 0 where nobody was asked or nobody answered."""
    note: str = ""
    """Why it was refused or failed, in words for a reader."""


class FetchReply(Contract):
    """What became of pages."""

    pages: tuple[FetchedPage, ...] = ()
    """One for each address, in their order."""


class WebSource(Contract):
    """A page that was read into a corpus."""

    source: SourceId
    """Its id in the knowledge base."""
    address: str
    """Its canonical address."""
    title: str
    """Its title."""
    published: str = ""
    """When it was published, ISO 8601; empty where unknown."""
    chunks: int = 0
    """Chunks it was cut into."""
    quality: float = Field(default=1.0, ge=0, le=1)
    """How much it is worth by its domain, its age and its flaws."""
    flaws: tuple[Flaw, ...] = ()
    """What is wrong with it."""
    note: str = ""
    """What is wrong with it, in words for a reader."""


class ReadPagesRequest(Contract):
    """Pages of the page cache to be read into a corpus."""

    corpus: str
    """Name of the corpus; it is made where there is none."""
    query: str
    """What they were found for."""
    cycle: int = 0
    """The cycle of research that found them."""
    hits: tuple[WebHit, ...] = ()
    """What search engines said of them."""
    fetched: tuple[FetchedPage, ...] = ()
    """What became of fetching them."""
    answers: tuple[ProviderAnswer, ...] = ()
    """What became of asking for them."""
    shown: bool = False
    """Whether a browser has shown them since they were read: those that were no sources are then read again."""


class ReadPagesReply(Contract):
    """What came of reading pages."""

    sources: tuple[WebSource, ...] = ()
    """Pages that are sources of the corpus now."""
    left_out: tuple[WebSource, ...] = ()
    """Pages that were fetched and are none."""
    wordless: tuple[str, ...] = ()
    """Addresses of pages that say nothing unless a browser runs their scripts."""


class WebEngine(Contract):
    """How a search engine served a run."""

    engine: str
    """Its name."""
    asked: int = 0
    """Searches it was asked for."""
    answered: int = 0
    """Those it answered, also with nothing."""
    set_up: bool = True
    """Whether it could be asked at all."""
    note: str = ""
    """The last reason why it did not answer."""


class WebPage(Contract):
    """A page that engines offered a run, and what became of it."""

    address: str
    """Its canonical address."""
    title: str = ""
    """Its title."""
    status: PageStatus
    """What became of it."""
    quality: float = Field(default=1.0, ge=0, le=1)
    """How much it is worth by its domain, its age and its flaws."""
    flaws: tuple[Flaw, ...] = ()
    """What is wrong with it."""
    note: str = ""
    """Why it is no source, or what is wrong with it."""


class WebAccount(Contract):
    """What a run has read of the web."""

    engines: tuple[WebEngine, ...] = ()
    """The engines, by name."""
    pages: tuple[WebPage, ...] = ()
    """Pages by address, those that are sources first; at most a hundred and fifty."""
    more: int = 0
    """Pages that are not listed."""

    @property
    def unanswered(self) -> bool:
        """Whether no engine answered anything: that nothing was found then says nothing."""
        return not any(engine.answered for engine in self.engines)
