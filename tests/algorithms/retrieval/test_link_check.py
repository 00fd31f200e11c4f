"""What a report says of its links once they were followed again."""

import pytest

from tenure.algorithms.retrieval.link_check import archived, confirmed, forbidden
from tenure.contracts.base import RunId
from tenure.contracts.evidence.web import FetchedPage
from tenure.contracts.result.result import Link, Result, SourceEntry
from tenure.contracts.run.run import Usage

PAGE = "https://a.example/%C3%A4?b=c%20d"
SOURCES = (
    SourceEntry(n=1, id="p", uri=PAGE, title="A page", accessed="2026-02-03T04:05:06+00:00"),
    SourceEntry(n=2, id="f", uri="docs/a.md", title="A file", accessed="2026-02-03T04:05:06+00:00"),
)
RESULT = Result(
    id=RunId("r"), mode="RESEARCH", question="?", title="T", abstract="", sources=SOURCES, usage=Usage(), status="done"
)


@pytest.mark.parametrize(
    ("page", "link"),
    [
        (FetchedPage(address=PAGE, status="unchanged", page=PAGE), "alive"),
        (FetchedPage(address=PAGE, status="cached", page=PAGE), "alive"),
        (FetchedPage(address=PAGE, status="cached", page=PAGE, note="does not answer"), "silent"),
        (FetchedPage(address=PAGE, status="failed", code=410, note="410"), "dead"),
        (FetchedPage(address=PAGE, status="failed", code=403, note="403"), "silent"),
        (FetchedPage(address=PAGE, status="failed", note="cannot be used"), "silent"),
        (FetchedPage(address=PAGE, status="refused"), ""),
        (FetchedPage(address="https://b.example/", status="failed"), ""),
    ],
)
def test_a_reference_says_what_became_of_its_page(page: FetchedPage, link: Link) -> None:
    """Confirmed, silent, gone, or not asked for; files are left alone, and only what is gone is noted."""
    result = confirmed(RESULT, [page], "")

    assert [source.link for source in result.sources] == [link, ""]
    assert bool(result.notes) == (link == "dead")


def test_an_archive_is_named_with_the_day_of_reading() -> None:
    """Day and address go into the template; without one there is no link, and a file has none."""
    assert archived("https://archive.example/{date}/{address}", PAGE, "2026-02-03") == (
        "https://archive.example/20260203/https://a.example/%C3%A4?b=c%20d"
    )
    assert archived("", PAGE, "2026-02-03") == ""
    assert confirmed(RESULT, [], "https://archive.example/{address}").sources[1].archived == ""


@pytest.mark.parametrize(
    ("address", "problem"),
    [
        ("https://a.example.org/x", ""),
        ("https://b.example.org/x", "pages of b.example.org may not be read by this run"),
        ("https://example.net/x", "pages of example.net may not be read by this run"),
        ("ftp://a.example.org/x", "the address cannot be used: 'ftp' in front of its colon is not http or https"),
    ],
)
def test_pages_outside_the_domains_of_a_run_are_forbidden(address: str, problem: str) -> None:
    """A page has to be of a domain that may be read and of none that may not."""
    assert forbidden(address, ("example.org",), ("b.example.org",)) == problem
