from pathlib import PurePosixPath

import pytest

from tenure.contracts.base import SourceId
from tenure.contracts.result.result import SourceEntry
from tenure.report.layout.references import describe_source, make_address
from tenure.report.render.html import render_html
from tenure.report.render.markdown import write_line
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
