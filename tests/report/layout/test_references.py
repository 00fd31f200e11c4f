from pathlib import PurePosixPath

import pytest

from tenure.contracts.base import SourceId
from tenure.contracts.result.result import ResultCitation, ResultClaim, SourceEntry
from tenure.report.layout.claims import ClaimLayout
from tenure.report.layout.marks import NUMERIC
from tenure.report.layout.references import describe_source, list_quotes, make_address
from tenure.report.layout.tree import PartNode
from tenure.report.render.html import render_html
from tenure.report.render.markdown import write_line, write_markdown
from tenure.report.render.pdf import render_pdf
from tests.report.render.test_pdf import words
from tests.report.samples import full


@pytest.mark.parametrize(
    ("uri", "shown"),
    [
        ("https://a.example/x", "<https://a.example/x>"),
        ("javascript:alert(1)", "`javascript:alert(1)`"),
        ("https://a.example/x> <b>", "`https:/a.example/x> <b>`"),
        ("/home/ann/docs/a.md", "`docs/a.md`"),
        ("/srv/a.md", "`/srv/a.md`"),
        ("docs/a.md", "`docs/a.md`"),
        ("file:///home/ann/my%20notes.md", "`my notes.md`"),
    ],
)
def test_an_address_is_shown_so_that_it_can_be_opened(uri: str, shown: str) -> None:
    """Web addresses link to themselves, paths are literal and relative where they can be, nothing else is a link."""
    assert write_line((make_address(uri, PurePosixPath("/home/ann")),)) == shown


def test_a_suspicious_source_is_named_as_such() -> None:
    """The reference of a source with instructions to language models says so."""
    source = SourceEntry(n=1, id=SourceId("a"), uri="a.md", title="Lamps", accessed="2026-01-01", suspicious=True)

    assert write_line(describe_source(source, None)) == (
        "*Lamps*, `a.md`, read 2026-01-01, contains words like instructions to language models."
    )
    first, *others = full().sources
    result = full(sources=(first.model_copy(update={"suspicious": True}), *others))
    assert "contains words like instructions to language models" in render_html(result)
    assert "contains words like instructions to language models" in words(render_pdf(result))


def test_a_retired_source_is_named_as_such() -> None:
    """The reference of a source names its version and that it calls itself retired."""
    source = SourceEntry(n=1, id=SourceId("a"), uri="a.md", title="A", accessed="2026", version="3.4", retired=True)

    assert write_line(describe_source(source, None)) == "*A*, version 3.4, retired, `a.md`, read 2026."


def test_words_that_several_quotes_share_are_quoted_once() -> None:
    """Quotes that overlap or contain each other are one, with all parts that use them; neighbours stay apart."""

    def cite_words(first: int, last: int) -> ResultClaim:
        words = "a b c d e f g h"[first:last]
        citation = ResultCitation(source=1, start=first, end=last, quote=words)
        return ResultClaim(text=f"{words}.", status="supported", citations=(citation,))

    parts = [
        PartNode("one", "One", ClaimLayout().set_claims([cite_words(0, 5), cite_words(12, 15)])),
        PartNode("two", "Two", ClaimLayout().set_claims([cite_words(2, 3), cite_words(4, 9), cite_words(10, 11)])),
    ]
    source = SourceEntry(n=1, id=SourceId("a"), uri="a.md", title="A", accessed="2026-01-01")

    text = write_markdown(list(list_quotes([source], NUMERIC, parts)))
    assert [line for line in text.splitlines() if line.startswith("- ")] == [
        "- “a b c d e” (from character 0; in: One; Two)",
        "- “f” (from character 10; in: Two)",
        "- “g h” (from character 12; in: One)",
    ]
