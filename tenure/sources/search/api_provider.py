"""Define the base class of search providers with an HTTP API."""

from abc import ABC, abstractmethod
from typing import ClassVar, Literal

from tenure.contracts.evidence.web import WebSearchRequest
from tenure.sources.search.api_client import ApiClient
from tenure.sources.search.provider import SearchResult


class ApiProvider(ABC):
    """Base of the providers in `tenure/sources/search/providers/`; the module's name is the provider's name.

    A provider declares with class attributes what it needs; the operator sets `TENURE_<NAME>_KEY` (or `_TOKEN`) and
    `TENURE_<NAME>_URL`.
    """

    description: ClassVar[str]
    """Searched content, for the documentation."""
    base_url: ClassVar[str] = ""
    """URL of the API; empty if the operator has to set `TENURE_<NAME>_URL`."""
    key: ClassVar[Literal["none", "optional", "required"]] = "none"
    """Whether the API takes a key."""
    key_noun: ClassVar[Literal["key", "token"]] = "key"
    """Name of the key in the API's own documentation, which ends the name of the variable."""
    min_interval: ClassVar[float] = 0.0
    """Seconds between two requests that the rules of the API require."""
    domains: ClassVar[tuple[str, ...]] = ()
    """Domains of all its pages; empty for any domain."""

    def __init__(self, client: ApiClient) -> None:
        self._client = client

    @property
    def name(self) -> str:
        """Name in settings and replies."""
        return self._client.name

    @abstractmethod
    async def search(self, request: WebSearchRequest) -> list[SearchResult]:
        """Return the results of a search, best first."""
