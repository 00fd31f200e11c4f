"""Search GitHub: repositories and issues."""

import asyncio
from typing import Final

from pydantic import BaseModel

from tenure.algorithms.retrieval.rrf import interleave_rankings
from tenure.contracts.evidence.web import WebSearchRequest
from tenure.sources.search.api_provider import ApiProvider
from tenure.sources.search.provider import SearchResult, build_result, format_first_day, truncate_query

_MAX_QUERY_LENGTH: Final = 200
"""Maximum length of a query; GitHub accepts 256 characters with qualifiers."""
_API_VERSION: Final = "2022-11-28"


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


class GitHub(ApiProvider):
    """The search of GitHub; a token allows three times as many searches and needs no permission.

    The time range filters repositories by last push and issues by creation. Language and safe search are not
    supported.
    """

    description = "repositories and issues of GitHub"
    base_url = "https://api.github.com"
    key = "optional"
    key_noun = "token"
    domains = ("github.com",)

    async def search(self, request: WebSearchRequest) -> list[SearchResult]:
        """Return repositories and issues, alternating."""
        since = format_first_day(request)
        repositories, issues = await asyncio.gather(
            self._fetch_items("/search/repositories", request, f" pushed:>={since}" if since else ""),
            self._fetch_items("/search/issues", request, " is:issue" + (f" created:>={since}" if since else "")),
        )
        projects = [
            build_result(item.html_url, item.full_name, item.description, item.pushed_at) for item in repositories
        ]
        threads = [build_result(item.html_url, item.title, item.body, item.created_at) for item in issues]
        return interleave_rankings((projects, threads))

    async def _fetch_items(self, path: str, request: WebSearchRequest, qualifiers: str) -> list[_Item]:
        params: dict[str, str | int] = {
            "q": truncate_query(request.query, _MAX_QUERY_LENGTH) + qualifiers,
            "per_page": request.k,
        }
        headers = {
            "Accept": "application/vnd.github+json",
            "X-GitHub-Api-Version": _API_VERSION,
            **self._client.bearer_header,
        }
        return self._client.parse(_Reply, await self._client.get(path, params, headers)).items
