"""Fuse the results of several providers by reciprocal rank fusion (Cormack et al., 2009), each page once."""

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Final

from tenure.algorithms.retrieval import rrf
from tenure.algorithms.text.dates import parse_date_range
from tenure.algorithms.text.urls import InvalidUrlError, canonicalize_url, extract_host, is_in_domains
from tenure.contracts.evidence.web import WebHit, WebSearchRequest
from tenure.sources.search.provider import SearchResult, compute_first_day

MAX_URL_LENGTH: Final = 2_000


def fuse(results: Mapping[str, Sequence[SearchResult]], request: WebSearchRequest, today: date) -> tuple[WebHit, ...]:
    """Return the pages that providers found, best first by reciprocal rank fusion.

    Filters that a provider does not support are applied here: domains, and the age of pages whose date is known.
    Duplicates are merged by canonical URL. The result does not depend on the order of the providers.

    The knowledge base is not part of this fusion: its passages are evidence already, whereas a page has to be fetched
    and ingested first. A search of the knowledge base then ranks the passages of documents and pages together.
    """
    filtered = {name: _filter_results(results[name], request, today) for name in sorted(results)}
    ranks = {name: {url: rank for rank, url in enumerate(pages, 1)} for name, pages in filtered.items()}
    scores = rrf.fuse_rankings(list(ranks.values()))
    best = sorted(scores, key=lambda url: (-scores[url], url))[: request.k]
    return tuple(_build_hit(url, scores[url], ranks, filtered) for url in best)


def _filter_results(results: Sequence[SearchResult], request: WebSearchRequest, today: date) -> dict[str, SearchResult]:
    """Return the results of one provider that the request permits, by canonical URL."""
    filtered: dict[str, SearchResult] = {}
    for result in results:
        try:
            url = canonicalize_url(result.url)
        except InvalidUrlError:
            continue
        if len(url) <= MAX_URL_LENGTH and _is_allowed(url, result, request, today):
            filtered.setdefault(url, result)
    return filtered


def _is_allowed(url: str, result: SearchResult, request: WebSearchRequest, today: date) -> bool:
    """Return whether a page has a wanted domain and, if its date is known, a wanted age."""
    host = extract_host(url)
    if (request.domains and not is_in_domains(host, request.domains)) or is_in_domains(host, request.excluded_domains):
        return False
    days = parse_date_range(result.published)
    return (
        request.time_range is None
        or days is None
        or days.last >= compute_first_day(request.time_range, today).isoformat()
    )


def _build_hit(
    url: str, score: float, ranks: Mapping[str, Mapping[str, int]], filtered: Mapping[str, Mapping[str, SearchResult]]
) -> WebHit:
    """Return one page; each field comes from the provider with the best rank that has it."""
    own_ranks = {name: of[url] for name, of in ranks.items() if url in of}
    results = [filtered[name][url] for name in sorted(own_ranks, key=lambda name: (own_ranks[name], name))]
    days = next((days for result in results if (days := parse_date_range(result.published))), None)
    return WebHit(
        url=url,
        title=next((result.title for result in results if result.title), ""),
        snippet=next((result.snippet for result in results if result.snippet), ""),
        published=days.first if days else "",
        ranks=own_ranks,
        score=score,
    )
