"""Search any server with an OpenSearch 1.1 description, which defines its URL template and response format.

The description is fetched once, before the first search. Its template may lead only to the description's own host or
a subdomain: the operator trusts that host, but not its statements about others. For another host, the operator puts
the template itself into the settings.
"""

import asyncio
import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import quote

from tenure.algorithms.text.urls import InvalidUrlError, extract_host, is_in_domains
from tenure.contracts.evidence.web import WebSearchRequest
from tenure.sources.search.api_client import ApiClient, parse_json
from tenure.sources.search.feeds import parse_xml, read_entries
from tenure.sources.search.json_results import find_results
from tenure.sources.search.provider import SearchRefused, SearchResult, parse_primary_language

_FORMATS: Final = ("application/atom+xml", "application/rss+xml", "application/json")
"""Supported response formats, best first."""
# "{searchTerms}", "{startPage?}", "{geo:name?}".
_PARAMETER: Final = re.compile(r"\{(?:[\w.-]+:)?(?P<name>\w+)(?P<optional>\?)?\}")
_TERMS: Final = "searchTerms"


class OpenSearchProvider:
    """A server of the operator's choice, by the URL of its description or by its URL template.

    The number of results and the language are passed on if the template has parameters for them. OpenSearch has no
    parameters for time range, domains and safe search.
    """

    domains = ()

    def __init__(self, name: str, client: ApiClient) -> None:
        """Search the server whose description or template is the base URL of `client`."""
        self.name, self._client = name, client
        self._template = client.base_url if _has_search_terms(client.base_url) else ""
        self._template_lock = asyncio.Lock()

    async def search(self, request: WebSearchRequest) -> list[SearchResult]:
        """Return the results of the server."""
        async with self._template_lock:
            self._template = self._template or await self._fetch_template()
        body = await self._client.get("", {}, base_url=fill_template(self._template, _build_parameters(request)))
        try:
            if body.lstrip()[:1] == b"<":
                return read_entries(parse_xml(body))
            return find_results(parse_json(body))
        except ValueError as error:
            raise self._client.build_parse_error() from error

    async def _fetch_template(self) -> str:
        """Return the template of the best format in the description."""
        try:
            root = parse_xml(await self._client.get("", {}))
        except ValueError as error:
            raise self._client.build_parse_error() from error
        offered = {
            node.get("type", ""): node.get("template", "")
            for node in reversed(list(root.iter("{*}Url")))
            # Not the template of suggestions, nor one for POST.
            if node.get("rel", "results") == "results" and node.get("method", "get").lower() == "get"
        }
        for kind in _FORMATS:
            if _has_search_terms(template := offered.get(kind, "")):
                return self._check_host(template)
        raise SearchRefused(f"{self.name} offers no results as Atom, RSS or JSON; check {self._client.url_setting}")

    def _check_host(self, template: str) -> str:
        """Return a template if it leads to the description's own host."""
        try:
            host = extract_host(self._client.base_url).removeprefix("www.")
            is_own = is_in_domains(extract_host(fill_template(template, {_TERMS: "x"})), (host,))
        except InvalidUrlError:
            is_own = False
        if not is_own:
            advice = f"put the template itself into {self._client.url_setting}"
            raise SearchRefused(f"the template of {self.name} leads to another host; {advice}")
        return template


def fill_template(template: str, values: Mapping[str, str]) -> str:
    """Return the URL of a template with values for its parameters; a parameter without a value stays empty."""
    return _PARAMETER.sub(lambda match: quote(values.get(match["name"], ""), safe=""), template)


def _build_parameters(request: WebSearchRequest) -> dict[str, str]:
    return {
        _TERMS: request.query,
        "count": str(request.k),
        "startIndex": "1",
        "startPage": "1",
        "language": request.language if parse_primary_language(request.language) else "*",
        "inputEncoding": "UTF-8",
        "outputEncoding": "UTF-8",
    }


def _has_search_terms(template: str) -> bool:
    return any(match["name"] == _TERMS for match in _PARAMETER.finditer(template))
