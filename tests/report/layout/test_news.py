"""Test the opening of a scheduled question's report in every format."""

from pathlib import Path

from tenure.contracts.result.changes import CitedStatement, QuotedSource, ReportChanges, RevisedStatement
from tenure.contracts.result.result import Result
from tenure.report.layout.news import set_news
from tenure.report.render.html import render_html
from tenure.report.render.markdown import render_markdown, write_markdown
from tests.report.samples import full


def stated(text: str, quote: str) -> CitedStatement:
    """Return a statement that quotes a sample source."""
    return CitedStatement(
        topic="Tides", text=text, quotes=(QuotedSource(uri="tides.md", title="On *tides*", quote=quote),)
    )


def _make_scheduled(changes: ReportChanges | None) -> Result:
    """Return the sample report as that of a scheduled question."""
    return full(changes=changes)


HEADING = "Since the last report"
FULL = ReportChanges(
    at="2026-01-08T08:00:00+00:00",
    since="question-tides-1",
    since_at="2026-01-01T08:00:00+00:00",
    new=(stated("A new <b>thing</b>.", "words\nof it"),),
    changed=(RevisedStatement(before=stated("Old.", "Old."), after=stated("Now.", "Now, it is so.")),),
    withdrawn=(stated("Gone.", "It was so."),),
    unchanged=3,
)


def test_a_report_tells_what_is_new_changed_and_gone() -> None:
    """Every statement comes with the words it rests or rested on, and foreign text stays text."""
    told = write_markdown(set_news(FULL))

    assert told.startswith("The last report: `question-tides-1` (2026-01-01). Statements: 1 new, 1 changed, 1 no")
    assert "- A new \\<b>thing\\</b>. — “words of it” (On \\*tides\\*)" in told
    assert "- Now. — “Now, it is so.” (On \\*tides\\*); before: “Old.” (On \\*tides\\*)" in told
    assert "- Gone. — “It was so.” (On \\*tides\\*) (no longer in the source)" in told


def test_every_quote_of_a_statement_is_shown() -> None:
    """A statement that rests on several sources names them all; one without quotes is a plain sentence."""
    more = (QuotedSource(uri="moon.md", title="The Moon", quote="It pulls."),)
    both = stated("So.", "words").model_copy(update={"quotes": stated("So.", "words").quotes + more})
    bare = CitedStatement(topic="Tides", text="Bare.")
    told = write_markdown(set_news(FULL.model_copy(update={"new": (both, bare)})))

    assert "- So. — “words” (On \\*tides\\*); “It pulls.” (The Moon)\n- Bare." in told


def test_it_stands_before_everything_else() -> None:
    """Markdown and HTML open with it."""
    markdown, html = render_markdown(_make_scheduled(FULL)), render_html(_make_scheduled(FULL), Path())

    assert markdown.index(f"## {HEADING}") < markdown.index("## Abstract")
    assert html.index('id="news"') < html.index('id="abstract"')
    assert "<b>thing" not in html


def test_without_a_last_report_there_is_no_such_part() -> None:
    """Neither the first report of a scheduled question nor an ordinary one has news."""
    for one in (_make_scheduled(None), _make_scheduled(ReportChanges(at=FULL.at))):
        assert list(set_news(one.changes)) == []
        assert HEADING not in render_markdown(one) + render_html(one, Path())


def test_no_change_is_one_line() -> None:
    """Without changes the counts say so, and there is no empty list."""
    told = write_markdown(set_news(ReportChanges(at=FULL.at, since="r-1", unchanged=7)))

    assert told == (
        "The last report: `r-1`. Statements: 0 new, 0 changed, 0 no longer supported; "
        "7 statements of the last report are still supported."
    )
