"""Tests of link checks."""

import pytest

from tenure.algorithms.retrieval.link_check import apply_link_checks, build_archive_url, find_domain_violation
from tenure.contracts.base import RunId, SourceId
from tenure.contracts.evidence.web import FetchedPage
from tenure.contracts.result.result import LinkStatus, Result, SourceEntry
from tenure.contracts.run.run import Usage

PAGE = "https://a.example/%C3%A4?b=c%20d"
SOURCES = (
    SourceEntry(n=1, id=SourceId("p"), uri=PAGE, title="A page", accessed="2026-02-03T04:05:06+00:00"),
    SourceEntry(n=2, id=SourceId("f"), uri="docs/a.md", title="A file", accessed="2026-02-03T04:05:06+00:00"),
)
RESULT = Result(
    id=RunId("r"), mode="RESEARCH", question="?", title="T", abstract="", sources=SOURCES, usage=Usage(), status="done"
)


@pytest.mark.parametrize(
    ("page", "link"),
    [
        (FetchedPage(url=PAGE, status="unchanged", canonical_url=PAGE), "alive"),
        (FetchedPage(url=PAGE, status="cached", canonical_url=PAGE), "alive"),
        (FetchedPage(url=PAGE, status="cached", canonical_url=PAGE, note="does not answer"), "silent"),
        (FetchedPage(url=PAGE, status="failed", status_code=410, note="410"), "dead"),
        (FetchedPage(url=PAGE, status="failed", status_code=403, note="403"), "silent"),
        (FetchedPage(url=PAGE, status="failed", note="cannot be used"), "silent"),
        (FetchedPage(url=PAGE, status="refused"), ""),
        (FetchedPage(url="https://b.example/", status="failed"), ""),
    ],
)
def test_sources_record_their_link_status(page: FetchedPage, link: LinkStatus) -> None:
    """Pages are alive, silent, dead or not checked; files are unchanged, and only dead pages are noted."""
    result = apply_link_checks(RESULT, [page], "")

    assert [source.link for source in result.sources] == [link, ""]
    assert bool(result.notes) == (link == "dead")


def test_archive_url_contains_the_access_date() -> None:
    """Date and URL fill the template; without a template, and for files, there is no link."""
    assert build_archive_url("https://archive.example/{date}/{address}", PAGE, "2026-02-03") == (
        "https://archive.example/20260203/https://a.example/%C3%A4?b=c%20d"
    )
    assert build_archive_url("", PAGE, "2026-02-03") == ""
    assert apply_link_checks(RESULT, [], "https://archive.example/{address}").sources[1].archived == ""


@pytest.mark.parametrize(
    ("address", "problem"),
    [
        ("https://a.example.org/x", ""),
        ("https://b.example.org/x", "pages of b.example.org are outside the domains that this run may fetch"),
        ("https://example.net/x", "pages of example.net are outside the domains that this run may fetch"),
        ("ftp://a.example.org/x", "invalid URL: its scheme 'ftp' is not http or https"),
    ],
)
def test_urls_outside_the_allowed_domains_are_rejected(address: str, problem: str) -> None:
    """A page must be in an allowed domain and in no excluded domain."""
    assert find_domain_violation(address, ("example.org",), ("b.example.org",)) == problem
