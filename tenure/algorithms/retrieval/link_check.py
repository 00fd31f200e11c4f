"""References to pages of the web: whether they still lead somewhere, and where an archive has what they led to."""

from collections.abc import Sequence

from tenure.algorithms.text.urls import InvalidAddress, host, within
from tenure.contracts.evidence.web import FetchedPage
from tenure.contracts.result.result import Link, Result, SourceEntry

_GONE = (404, 410)
"""Statuses by which a server says outright that it does not have a page; others leave that open."""


def is_web(uri: str) -> bool:
    """Whether a source is a page of the web, and no file."""
    return uri.startswith(("http://", "https://"))


def forbidden(address: str, domains: tuple[str, ...], excluded: tuple[str, ...]) -> str:
    """Say why a page is none of those that may be read; empty where it is one.

    Args:
        address: of the page.
        domains: the domains it has to be of; none for any.
        excluded: the domains it must not be of.
    """
    try:
        name = host(address)
    except InvalidAddress as error:
        return str(error)
    if (domains and not within(name, domains)) or within(name, excluded):
        return f"pages of {name} may not be read by this run"
    return ""


def confirmed(result: Result, pages: Sequence[FetchedPage], archive: str) -> Result:
    """Return a result whose sources say what became of asking for their pages once more.

    Args:
        result: the finished result.
        pages: what became of it.
        archive: address of an archive with `{address}` and perhaps `{date}`; empty for none.
    """
    became = {page.address: page for page in pages}
    sources = tuple(
        source.model_copy(
            update={"link": _link(became.get(source.uri)), "archived": archived(archive, source.uri, source.accessed)}
        )
        if is_web(source.uri)
        else source
        for source in result.sources
    )
    notes = tuple(_note(source) for source in sources if source.link == "dead")
    return result.model_copy(update={"sources": sources, "notes": (*result.notes, *notes)})


def archived(archive: str, address: str, accessed: str) -> str:
    """Return where an archive has a page as it was when it was read; empty without an archive.

    The date is written as archives of the web write it, without hyphens; the address is in canonical form.
    """
    return archive.replace("{date}", accessed[:10].replace("-", "")).replace("{address}", address)


def _link(page: FetchedPage | None) -> Link:
    if page is None or page.status == "refused":
        return ""
    if page.status == "failed":
        return "dead" if page.code in _GONE else "silent"
    return "silent" if page.status == "cached" and page.note else "alive"


def _note(source: SourceEntry) -> str:
    elsewhere = f"; an archive may have it: {source.archived}" if source.archived else ""
    return f"The page of source {source.n} was gone when the report was finished{elsewhere}."
