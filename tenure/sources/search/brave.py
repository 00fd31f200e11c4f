"""Brave Search, an index of the web of its own."""

from typing import Final

from pydantic import BaseModel

from tenure.contracts.evidence.web import TimeRange, WebSearchRequest
from tenure.sources.search.base import Found, found, primary, restricted, shortened
from tenure.sources.search.service import Service

_MOST: Final = 20
"""Results that one answer has at the most."""
_LONGEST: Final = 400
_MOST_WORDS: Final = 50
"""Characters and words of a query at the most."""
_FRESH: Final[dict[TimeRange, str]] = {"day": "pd", "week": "pw", "month": "pm", "year": "py"}
_LANGUAGES: Final = {
    **{name: name for name in "ar bg bn ca cs da de el en es et eu fi fr gl gu he hi hr hu is it kn ko lt".split()},
    **{name: name for name in "lv ml mr ms nb nl pa pl ro ru sk sl sr sv ta te th tr uk vi".split()},
    **{"ja": "jp", "no": "nb", "pt": "pt-pt", "pt-br": "pt-br"},
    **{"zh": "zh-hans", "zh-tw": "zh-hant", "zh-hk": "zh-hant", "zh-hant": "zh-hant"},
}
"""Languages that Brave knows, by the names that everybody has for them; it refuses any other."""


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


class Brave:
    """The web search of the Brave Search API; needs a key.

    Time range, language and safe search are parameters, domains the operator `site:`. It takes queries of 400
    characters and 50 words, and gives twenty results at the most.
    """

    name = "brave"
    domains = ()

    def __init__(self, service: Service) -> None:
        """Ask the API behind `service`."""
        self._service = service

    async def search(self, request: WebSearchRequest) -> list[Found]:
        """Return what its index offers."""
        params: dict[str, str | int] = {
            "q": shortened(" ".join(restricted(request).split()[:_MOST_WORDS]), _LONGEST),
            "count": min(request.k, _MOST),
            "safesearch": "moderate" if request.safe else "off",
            "freshness": _FRESH[request.time_range] if request.time_range else "",
            "search_lang": _language(request.language),
            "result_filter": "web",
            "text_decorations": "false",
        }
        body = await self._service.get("/web/search", params, {"X-Subscription-Token": self._service.secret})
        web = self._service.read(_Reply, body).web or _Web()
        return [found(hit.url, hit.title, hit.description, hit.page_age) for hit in web.results]


def _language(tag: str) -> str:
    """Return a language as Brave names it; empty for one that it does not know."""
    whole = tag.replace("_", "-").lower()
    return _LANGUAGES.get(whole) or _LANGUAGES.get(primary(tag), "")
