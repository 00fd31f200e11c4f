"""Report link rot: record in a result which web sources are still reachable, with links to an archive."""

from collections.abc import Sequence

from tenure.algorithms.text.urls import InvalidUrlError, extract_host, is_in_domains
from tenure.contracts.evidence.web import FetchedPage
from tenure.contracts.result.result import LinkStatus, Result, SourceEntry

_GONE = (404, 410)
"""HTTP statuses that state that a page does not exist; other errors leave that open."""


def is_web_url(uri: str) -> bool:
    """Return whether a source is a web page and not a file."""
    return uri.startswith(("http://", "https://"))


def find_domain_violation(url: str, domains: tuple[str, ...], excluded_domains: tuple[str, ...]) -> str:
    """Return the reason why a run may not fetch a URL; empty if it may.

    Args:
        url: URL of the page.
        domains: allowed domains; empty to allow all.
        excluded_domains: forbidden domains.
    """
    try:
        host = extract_host(url)
    except InvalidUrlError as error:
        return str(error)
    if (domains and not is_in_domains(host, domains)) or is_in_domains(host, excluded_domains):
        return f"pages of {host} are outside the domains that this run may fetch"
    return ""


def apply_link_checks(result: Result, pages: Sequence[FetchedPage], archive: str) -> Result:
    """Return a result whose sources record the outcome of fetching their pages again.

    Args:
        result: the finished result.
        pages: outcomes of the fetches.
        archive: URL template of an archive with `{address}` and optionally `{date}`; empty for none.
    """
    pages_by_url = {page.url: page for page in pages}
    sources = tuple(
        source.model_copy(
            update={
                "link": _classify_link(pages_by_url.get(source.uri)),
                "archived": build_archive_url(archive, source.uri, source.accessed),
            }
        )
        if is_web_url(source.uri)
        else source
        for source in result.sources
    )
    notes = tuple(_describe_dead_link(source) for source in sources if source.link == "dead")
    return result.model_copy(update={"sources": sources, "notes": (*result.notes, *notes)})


def build_archive_url(archive: str, url: str, access_date: str) -> str:
    """Return the archive URL of a page on the day of its access; empty without an archive.

    Web archives write the date without hyphens; the page URL is in canonical form.
    """
    return archive.replace("{date}", access_date[:10].replace("-", "")).replace("{address}", url)


def _classify_link(page: FetchedPage | None) -> LinkStatus:
    if page is None or page.status == "refused":
        return ""
    if page.status == "failed":
        return "dead" if page.status_code in _GONE else "silent"
    return "silent" if page.status == "cached" and page.note else "alive"


def _describe_dead_link(source: SourceEntry) -> str:
    archive_note = f"; an archive may have it: {source.archived}" if source.archived else ""
    return f"The page of source {source.n} was no longer available when the report was finished{archive_note}."
