"""GitHub: repositories, and what people say in their issues."""

import asyncio
from datetime import UTC, datetime
from itertools import chain, zip_longest
from typing import Final

from pydantic import BaseModel

from tenure.contracts.evidence.web import WebSearchRequest
from tenure.sources.search.base import Found, found, oldest, shortened
from tenure.sources.search.service import Service

_LONGEST: Final = 200
"""Characters of a query; GitHub takes 256 with its qualifiers."""
_VERSION: Final = "2022-11-28"


class _Item(BaseModel):
    html_url: str | None = None
    full_name: str | None = None
    title: str | None = None
    description: str | None = None
    body: str | None = None
    created_at: str | None = None
    pushed_at: str | None = None


class _Reply(BaseModel):
    items: list[_Item]


class GitHub:
    """The search of GitHub; a token allows three times as many searches.

    A time range asks for repositories with newer commits and for newer issues. Languages of people and safe search
    cannot be asked for.
    """

    name = "github"
    domains = ("github.com",)

    def __init__(self, service: Service) -> None:
        """Ask the API behind `service`."""
        self._service = service

    async def search(self, request: WebSearchRequest) -> list[Found]:
        """Return repositories and issues in turns."""
        since = oldest(request.time_range, datetime.now(UTC).date()).isoformat() if request.time_range else ""
        repositories, issues = await asyncio.gather(
            self._items("/search/repositories", request, f" pushed:>={since}" if since else ""),
            self._items("/search/issues", request, " is:issue" + (f" created:>={since}" if since else "")),
        )
        projects = [found(item.html_url, item.full_name, item.description, item.pushed_at) for item in repositories]
        threads = [found(item.html_url, item.title, item.body, item.created_at) for item in issues]
        return [result for result in chain(*zip_longest(projects, threads)) if result is not None]

    async def _items(self, path: str, request: WebSearchRequest, qualifiers: str) -> list[_Item]:
        params: dict[str, str | int] = {"q": shortened(request.query, _LONGEST) + qualifiers, "per_page": request.k}
        headers = {"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": _VERSION, **self._service.bearer}
        return self._service.read(_Reply, await self._service.get(path, params, headers)).items
