"""Any engine that describes itself by OpenSearch: its description says how it is asked, in which format it answers.

A description is fetched once, when the engine is first asked. The template in it may lead to the description's own
host or below it, and nowhere else: the operator trusts that host, and not what it says of others. Who wants another
host puts the template itself into the settings.
"""

import asyncio
import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import quote
from xml.etree.ElementTree import Element

from tenure.algorithms.text.urls import InvalidAddress, host, within
from tenure.contracts.evidence.web import WebSearchRequest
from tenure.sources.search.base import Found, Refused, primary
from tenure.sources.search.feeds import document, entries, local
from tenure.sources.search.listing import listed
from tenure.sources.search.service import Service, parsed

_FORMATS: Final = ("application/atom+xml", "application/rss+xml", "application/json")
"""Formats that can be read, the best first."""
_PARAMETER: Final = re.compile(r"\{(?:[\w.-]+:)?(?P<name>\w+)(?P<optional>\?)?\}")
_TERMS: Final = "searchTerms"


class OpenSearch:
    """An engine of the operator's choice, by the address of its description or by its template.

    The number of results and the language are handed on where the template has a place for them. Time ranges, domains
    and safe search have none in OpenSearch.
    """

    domains = ()

    def __init__(self, name: str, service: Service) -> None:
        """Ask the engine whose description, or template, is the address of `service`."""
        self.name, self._service = name, service
        self._template = service.base if _takes_terms(service.base) else ""
        self._describing = asyncio.Lock()

    async def search(self, request: WebSearchRequest) -> list[Found]:
        """Return what it offers."""
        async with self._describing:
            self._template = self._template or await self._described()
        body = await self._service.get("", {}, base=filled(self._template, _given(request)))
        try:
            if body.lstrip()[:1] == b"<":
                return entries(document(body))
            return listed(parsed(body))
        except ValueError as error:
            raise self._service.unexpected() from error

    async def _described(self) -> str:
        """Return the template of the best format that the description offers.

        Raises:
            SearchError: there is no description, or none of a format that can be read.
        """
        try:
            root = document(await self._service.get("", {}))
        except ValueError as error:
            raise self._service.unexpected() from error
        offered = {
            node.get("type", ""): node.get("template", "") for node in reversed(list(root.iter())) if _searches(node)
        }
        for kind in _FORMATS:
            if _takes_terms(template := offered.get(kind, "")):
                return self._trusted(template)
        raise Refused(f"{self.name} offers no results as Atom, RSS or JSON; check {self._service.address_setting}")

    def _trusted(self, template: str) -> str:
        """Return a template of the description's own host.

        Raises:
            Refused: it leads somewhere else.
        """
        try:
            own = host(self._service.base).removeprefix("www.")
            is_own = within(host(filled(template, {_TERMS: "x"})), (own,))
        except InvalidAddress:
            is_own = False
        if not is_own:
            advice = f"put its template itself into {self._service.address_setting}"
            raise Refused(f"{self.name} would have another host asked than its own; {advice}")
        return template


def filled(template: str, given: Mapping[str, str]) -> str:
    """Return the address that a template stands for; a place that nothing is given for stays empty."""
    return _PARAMETER.sub(lambda place: quote(given.get(place["name"], ""), safe=""), template)


def _given(request: WebSearchRequest) -> dict[str, str]:
    """Return what a request has to say at the places of a template."""
    return {
        _TERMS: request.query,
        "count": str(request.k),
        "startIndex": "1",
        "startPage": "1",
        "language": request.language if primary(request.language) else "*",
        "inputEncoding": "UTF-8",
        "outputEncoding": "UTF-8",
    }


def _takes_terms(template: str) -> bool:
    return any(place["name"] == _TERMS for place in _PARAMETER.finditer(template))


def _searches(node: Element) -> bool:
    """Whether an element of a description is the template of a search with GET, and not of suggestions."""
    return (
        local(node) == "url" and node.get("rel", "results") == "results" and node.get("method", "get").lower() == "get"
    )
