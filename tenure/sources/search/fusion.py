"""One list out of the lists of several providers: by ranks, each page once."""

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Final

from tenure.algorithms.retrieval import rrf
from tenure.algorithms.text.dates import period
from tenure.algorithms.text.urls import InvalidAddress, canonical, host, within
from tenure.contracts.evidence.web import WebHit, WebSearchRequest
from tenure.sources.search.base import Found, oldest

LONGEST_ADDRESS: Final = 2_000
"""Characters of an address that may travel."""


def fuse(offers: Mapping[str, Sequence[Found]], request: WebSearchRequest, today: date) -> tuple[WebHit, ...]:
    """Return the pages that providers offer, best first by reciprocal rank fusion.

    What a provider could not filter is filtered here: domains, and the age of pages whose date is known. A page that
    several offer, or one twice, is one. The order of the providers changes nothing.

    The knowledge base is no provider of this list: its passages are evidence already, while a page has still to be
    fetched and read into it. A search of the knowledge base then ranks the passages of documents and of fetched pages
    together, by the same fusion.
    """
    kept = {name: _kept(offers[name], request, today) for name in sorted(offers)}
    ranks = {name: {address: rank for rank, address in enumerate(pages, 1)} for name, pages in kept.items()}
    scores = rrf.fuse(list(ranks.values()))
    best = sorted(scores, key=lambda address: (-scores[address], address))[: request.k]
    return tuple(_hit(address, scores[address], ranks, kept) for address in best)


def _kept(offered: Sequence[Found], request: WebSearchRequest, today: date) -> dict[str, Found]:
    """Return by canonical address what one provider offers and the request allows."""
    kept: dict[str, Found] = {}
    for found in offered:
        try:
            address = canonical(found.address)
        except InvalidAddress:
            continue  # no address of a web page: there is nothing that could be fetched
        if len(address) <= LONGEST_ADDRESS and _allowed(address, found, request, today):
            kept.setdefault(address, found)
    return kept


def _allowed(address: str, found: Found, request: WebSearchRequest, today: date) -> bool:
    """Whether a page is of the wanted domains and, as far as one can tell, of the wanted time."""
    name = host(address)
    if (request.domains and not within(name, request.domains)) or within(name, request.excluded_domains):
        return False
    days = period(found.published)
    return request.time_range is None or days is None or days.last >= oldest(request.time_range, today).isoformat()


def _hit(
    address: str, score: float, ranks: Mapping[str, Mapping[str, int]], kept: Mapping[str, Mapping[str, Found]]
) -> WebHit:
    """Return one page with the words of the provider that ranks it best, and of the next where that one has none."""
    own = {name: of[address] for name, of in ranks.items() if address in of}
    said = [kept[name][address] for name in sorted(own, key=lambda name: (own[name], name))]
    days = next((days for found in said if (days := period(found.published))), None)
    return WebHit(
        address=address,
        title=next((found.title for found in said if found.title), ""),
        snippet=next((found.snippet for found in said if found.snippet), ""),
        published=days.first if days else "",
        ranks=own,
        score=score,
    )
