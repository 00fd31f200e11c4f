"""Search the web index of Brave."""

from typing import Final

from pydantic import BaseModel

from tenure.contracts.choices import TimeRange
from tenure.contracts.evidence.web import WebSearchRequest
from tenure.sources.search.api_provider import ApiProvider
from tenure.sources.search.provider import (
    SearchResult,
    add_site_operators,
    build_result,
    parse_primary_language,
    truncate_query,
)

_MAX_RESULTS: Final = 20
_MAX_QUERY_LENGTH: Final = 400
_MAX_QUERY_WORDS: Final = 50
_FRESHNESS: Final[dict[TimeRange, str]] = {"day": "pd", "week": "pw", "month": "pm", "year": "py"}
_LANGUAGES: Final = {
    **{name: name for name in "ar bg bn ca cs da de el en es et eu fi fr gl gu he hi hr hu is it kn ko lt".split()},
    **{name: name for name in "lv ml mr ms nb nl pa pl ro ru sk sl sr sv ta te th tr uk vi".split()},
    **{"ja": "jp", "no": "nb", "pt": "pt-pt", "pt-br": "pt-br"},
    **{"zh": "zh-hans", "zh-tw": "zh-hant", "zh-hk": "zh-hant", "zh-hant": "zh-hant"},
}
"""Language codes of Brave by BCP 47 tag; it rejects any other code."""


class _Result(BaseModel):
    url: str | None = None
    title: str | None = None
    description: str | None = None
    page_age: str | None = None


class _Web(BaseModel):
    results: list[_Result] = []


class _Reply(BaseModel):
    type: str
    web: _Web | None = None


class Brave(ApiProvider):
    """The web search of the Brave Search API.

    Time range and language are parameters; domains become `site:` operators. Adult content is excluded. A query has at
    most 400 characters and 50 words, a response at most twenty results.
    """

    description = "the web index of Brave"
    base_url = "https://api.search.brave.com/res/v1"
    key = "required"

    async def search(self, request: WebSearchRequest) -> list[SearchResult]:
        """Return pages of the web."""
        params: dict[str, str | int] = {
            "q": truncate_query(" ".join(add_site_operators(request).split()[:_MAX_QUERY_WORDS]), _MAX_QUERY_LENGTH),
            "count": min(request.k, _MAX_RESULTS),
            "safesearch": "moderate",
            "freshness": _FRESHNESS[request.time_range] if request.time_range else "",
            "search_lang": _to_brave_language(request.language),
            "result_filter": "web",
            "text_decorations": "false",
        }
        body = await self._client.get("/web/search", params, {"X-Subscription-Token": self._client.key_text})
        web = self._client.parse(_Reply, body).web or _Web()
        return [build_result(hit.url, hit.title, hit.description, hit.page_age) for hit in web.results]


def _to_brave_language(tag: str) -> str:
    """Return the language code of Brave for a BCP 47 tag, or an empty text if Brave does not support the language."""
    full_tag = tag.replace("_", "-").lower()
    return _LANGUAGES.get(full_tag) or _LANGUAGES.get(parse_primary_language(tag), "")
